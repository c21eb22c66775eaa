/** Errors of backward calls, before anything is written. */
import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as layernorm from "../../dist/index.js";
import { ops } from "./operation_cases.js";

const { layerNorm, plan, tensor, zeros } = layernorm;

/** @type {any} */
const anyPlan = plan;

describe("errors", () => {
  const x = [
    [1, 2],
    [3, 4],
  ];
  const ones = new Float32Array([1, 1]);
  /** @type {[string, () => unknown, typeof Error, string][]} */
  const rules = [
    [
      "a gradient of the wrong shape",
      () => ops.layerNormBackward([1, 2, 3, 4, 5], x),
      RangeError,
      'layerNormBackward: "gradOutput" expected shape [2, 2], got [5]',
    ],
    [
      "a gradient of other dimensions",
      () => ops.layerNormBackward([[1, 2, 3, 4]], x),
      RangeError,
      'layerNormBackward: "gradOutput" expected shape [2, 2], got [1, 4]',
    ],
    [
      "no gradient",
      () => ops.layerNormBackward(undefined, x),
      TypeError,
      'layerNormBackward: "gradOutput" expected a Float32Array',
    ],
    [
      "no x",
      () => ops.rmsNormBackward(x, 3),
      TypeError,
      'rmsNormBackward: "x" expected a Float32Array',
    ],
    [
      "mean without rstd",
      () => ops.layerNormBackward(x, x, { mean: [1, 2] }),
      TypeError,
      'layerNormBackward: "rstd" expected a tensor beside "mean", got none',
    ],
    [
      "rstd without mean",
      () => ops.groupNormBackward(x, x, { numGroups: 1, rstd: [1, 2] }),
      TypeError,
      'groupNormBackward: "mean" expected a tensor beside "rstd", got none',
    ],
    [
      "a mean of rmsNorm",
      () => ops.rmsNormBackward(x, x, { mean: [1, 2], rstd: [1, 1] }),
      TypeError,
      'rmsNormBackward: "options" expected only shape,',
    ],
    [
      "statistics of the wrong shape",
      () => ops.layerNormBackward(x, x, { mean: [1], rstd: [1] }),
      RangeError,
      'layerNormBackward: "mean" expected shape [2, 1], got [1]',
    ],
    [
      "out",
      () => ops.layerNormBackward(x, x, { out: x }),
      TypeError,
      'layerNormBackward: "options" expected only shape, normalizedShape, axis, axes, weight, bias, weightOffset, scale, shift, activation, eps, preset, mean, rstd, got "out"',
    ],
    [
      "returnStats",
      () => ops.l2NormalizeBackward(x, x, { returnStats: true }),
      TypeError,
      'l2NormalizeBackward: "options" expected only shape, axes, eps, preset, got "returnStats"',
    ],
    [
      "gradSum without a sum",
      () => ops.layerNormBackward(x, x, { gradSum: x }),
      TypeError,
      'layerNormBackward: "options" expected only',
    ],
    [
      "gradSum of the wrong shape",
      () => ops.addLayerNormBackward(x, x, x, { gradSum: [1] }),
      RangeError,
      'addLayerNormBackward: "gradSum" expected shape [2, 2], got [1]',
    ],
    [
      "no residual",
      () => ops.addRmsNormBackward(x, x),
      TypeError,
      'addRmsNormBackward: "residual" expected a Float32Array',
    ],
    [
      "no running statistics",
      () => ops.batchNormBackward(x, x, { mean: [1, 2], rstd: [1, 1] }),
      TypeError,
      'batchNormBackward: "runningMean" expected a tensor, unless training, got none',
    ],
    [
      "running statistics of the wrong shape, in training",
      () => ops.batchNormBackward(x, x, { training: true, runningMean: [1, 2, 3] }),
      RangeError,
      'batchNormBackward: "runningMean" expected shape [2], got [3]',
    ],
    [
      "a running variance of the wrong shape, in training",
      () =>
        ops.batchNormBackward(x, x, { training: true, runningVar: { data: ones, dims: [1, 2] } }),
      RangeError,
      'batchNormBackward: "runningVar" expected shape [2], got [1, 2]',
    ],
    [
      "a negative running variance, in training",
      () => ops.batchNormBackward(x, x, { training: true, runningVar: tensor([1, -1]) }),
      RangeError,
      'batchNormBackward: "runningVar" expected variances >= 0, got a negative one at 1',
    ],
    [
      "a detached running mean, in training",
      () => {
        const runningMean = new Float64Array(2);
        structuredClone(runningMean.buffer, { transfer: [runningMean.buffer] });
        return ops.batchNormBackward(x, x, { training: true, runningMean });
      },
      TypeError,
      'batchNormBackward: "runningMean" expected memory that is there, got a detached Float64Array',
    ],
    [
      "a disposed running variance, in training",
      () => {
        const runningVar = zeros([2]);
        runningVar.dispose();
        return ops.batchNormBackward(x, x, { training: true, runningVar });
      },
      TypeError,
      'batchNormBackward: "runningVar" expected a live tensor, got a disposed tensor',
    ],
    [
      "a preset of others",
      () => ops.layerNormBackward(x, x, { preset: "gemma" }),
      RangeError,
      'layerNormBackward: "preset" expected one of "pytorch", "keras", "tensorflow", "flax", "onnx", "bert", got "gemma", which is for rmsNormBackward, addRmsNormBackward',
    ],
    [
      "a plan without tensors",
      () => anyPlan("layerNormBackward", x, zeros([2, 2])),
      TypeError,
      'layerNormBackward: "gradOutput" expected a Tensor, in a plan, got nested arrays',
    ],
    [
      "a plan with a gradSum that is none",
      () => anyPlan("addRmsNormBackward", zeros([1]), zeros([1]), zeros([1]), { gradSum: [1] }),
      TypeError,
      'addRmsNormBackward: "gradSum" expected a Tensor, in a plan, got nested arrays',
    ],
    [
      "a disposed gradient",
      () => {
        const gone = zeros([2, 2]);
        gone.dispose();
        return ops.layerNormBackward(gone, x);
      },
      TypeError,
      'layerNormBackward: "gradOutput" expected a live tensor, got a disposed tensor',
    ],
  ];
  for (const [what, call, type, message] of rules) {
    test(`${what}: a ${type.name}, and the next call works`, () => {
      assert.throws(call, (/** @type {Error} */ error) => {
        assert.equal(error.constructor, type, error.message);
        assert.equal(error.message.slice(0, message.length), message);
        return true;
      });
      assert.deepEqual([...layerNorm(new Float32Array([1, 3]), { eps: 0 })], [-1, 1]);
    });
  }
});
