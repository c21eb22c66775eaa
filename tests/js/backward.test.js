/** Gradients: their form for every kind of argument, given statistics, edges, and plans. */
import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as layernorm from "../../dist/index.js";
import { DIFFERENTIABLE, gradientsOf, makeBackwardCase } from "./backward_cases.js";
import { assertSameGradients, bitsOf } from "./backward_checks.js";
import { assertSameBits, unaligned } from "./bits.js";
import { familyValues, Random } from "./data.js";
import { load, store } from "./half.js";
import { hasAffine, layoutsOf, OPERATIONS, ops } from "./operation_cases.js";
import { runsOf } from "./runs.js";

const { plan, tensor, zeros } = layernorm;

/** @type {any} */
const anyPlan = plan;

describe("kinds", () => {
  test("layerNormBackward returns each gradient as what it is the gradient of", () => {
    const x = new Float32Array([1, 2, 4, 3, 5, 9]);
    const weight = tensor([1, 2, 3]);
    const result = ops.layerNormBackward(new Float64Array([1, 0, 0, 0, 2, 1]), x, {
      shape: [2, 3],
      weight,
      bias: new Float64Array(3),
      scale: 0.5,
      shift: { data: new Uint16Array(3), shape: [1, 3], dtype: "bfloat16" },
    });
    assert.ok(result.gradInput instanceof Float32Array);
    assert.ok(result.gradWeight instanceof layernorm.Tensor);
    assert.deepEqual([result.gradWeight.shape, result.gradWeight.dtype], [[3], "float32"]);
    assert.ok(result.gradBias instanceof Float64Array);
    assert.deepEqual([...result.gradBias], [1.5, 3, 1.5]);
    assert.equal(typeof result.gradScale, "number");
    assert.deepEqual(result.gradShift.shape, [1, 3]);
    assert.equal(result.gradShift.dtype, "bfloat16");
    assert.deepEqual([...load(result.gradShift.data, "bfloat16")], [1, 2, 1]);
  });

  test("nested arrays give nested gradients, without the parameters nulls", () => {
    const { gradInput, ...rest } = ops.rmsNormBackward([[1, 0]], [[3, 4]], { eps: 0 });
    assert.equal(gradInput.length, 1);
    assert.ok(Math.abs(gradInput[0][0] - 0.181019335983756) < 1e-14);
    assert.deepEqual(rest, { gradWeight: null, gradBias: null, gradScale: null, gradShift: null });
    assert.deepEqual(Object.keys(ops.l2NormalizeBackward([1, 0], [3, 4])), ["gradInput"]);
  });

  test("every kind of x and of the gradient gives the same bits", () => {
    const data = new Float32Array(24).map((_, i) => Math.sin(i * i));
    const grad = data.toReversed();
    const options = { weight: new Float32Array([1, 2, 3, 4]), bias: 0.5 };
    const expected = ops.layerNormBackward(grad, data, { ...options, shape: [6, 4] });
    const like = (/** @type {any} */ values) => ({ data: values, dims: [6, 4], type: "float32" });
    const kinds = (/** @type {any} */ v) => [v, like(v), tensor(v, [6, 4]), like(unaligned(v))];
    for (const x of kinds(data)) {
      for (const g of kinds(grad)) {
        assertSameGradients(
          ops.layerNormBackward(g, x, { ...options, shape: [6, 4] }),
          expected,
          "kinds",
        );
      }
    }
  });

  test("x whose memory is a view of wasm memory survives its growth", () => {
    const x = tensor(new Float32Array(64).map((_, i) => Math.cos(i)));
    const own = Float32Array.from(x.data);
    const weight = zeros([64]);
    const expected = ops.layerNormBackward(own, own, { weight: new Float32Array(64) });
    for (let i = 0; i < 40; i++) {
      const got = ops.layerNormBackward(x.data, x.data, { weight });
      assertSameBits(bitsOf(got.gradWeight), expected.gradWeight, "gradWeight");
      if (i < 39) zeros([2 ** (10 + (i % 12))]);
    }
  });
});

describe("statistics", () => {
  test("given statistics of the forward call give what is computed without them, to rounding", () => {
    for (const name of DIFFERENTIABLE.filter(
      (each) => hasAffine(OPERATIONS[each].op) && each !== "batchNorm",
    )) {
      for (const [l, layout] of layoutsOf(OPERATIONS[name].op, 40, 6).entries()) {
        const draw = {
          name,
          layout,
          dtype: /** @type {const} */ ("float32"),
          family: "normal",
          kind: "weightBias",
        };
        const own = gradientsOf(makeBackwardCase({ ...draw, seed: 2 * l, gradient: "normal" }));
        const given = gradientsOf(
          makeBackwardCase({ ...draw, seed: 2 * l, gradient: "normal", given: true }),
        );
        for (const [i, value] of own.gradInput.entries()) {
          assert.ok(
            Math.abs(given.gradInput[i] - value) < 1e-5 * (1 + Math.abs(value)),
            `${name} ${layout.name} ${i}`,
          );
        }
      }
    }
  });

  test("given statistics count, whatever x is", () => {
    const { gradInput, gradWeight } = ops.layerNormBackward([1, 0], [5, 7], {
      weight: [1, 1],
      mean: [4],
      rstd: [2],
    });
    // n = [2, 6], mean(gw) = 1/2, mean(gw * n) = 1.
    assert.deepEqual(gradInput, [2 * (1 - 0.5 - 2), 2 * (-0.5 - 6)]);
    assert.deepEqual(gradWeight, [2, 0]);
  });

  test("an infinite rstd, given or found, gives the gradient 0", () => {
    const given = ops.layerNormBackward([1, 2], [5, 7], { mean: [6], rstd: [Infinity], weight: 3 });
    assert.deepEqual([given.gradInput, given.gradWeight], [[0, 0], 0]);
    for (const [op, options] of /** @type {any[]} */ ([
      ["layerNormBackward", {}],
      ["rmsNormBackward", {}],
      ["l2NormalizeBackward", {}],
      ["groupNormBackward", { numGroups: 1 }],
      ["batchNormBackward", { training: true }],
    ])) {
      const x = /rms|l2/.test(op) ? 0 : 3;
      for (const dtype of /** @type {const} */ (["float32", "float64", "float16"])) {
        const like = (/** @type {number} */ v) => ({
          data: store(new Float64Array(6).fill(v), dtype),
          dims: [3, 2],
          type: dtype,
        });
        const { gradInput } = ops[op](like(1.25), like(x), { ...options, eps: 0 });
        assert.deepEqual([...load(gradInput.data, dtype)], [0, 0, 0, 0, 0, 0], `${op} ${dtype}`);
      }
    }
  });

  test("a constant run with eps has the gradient of what eps leaves", () => {
    const { gradInput } = ops.layerNormBackward([1, 0], [3, 3], { eps: 0.25 });
    assert.deepEqual(gradInput, [1, -1]);
    assert.deepEqual(ops.rmsNormBackward([1, 0], [0, 0], { eps: 0.25 }).gradInput, [2, 0]);
    assert.deepEqual(ops.l2NormalizeBackward([1, 0], [0, 0], { eps: 0.5 }).gradInput, [2, 0]);
  });

  test("training leaves running statistics alone", () => {
    const runningMean = new Float32Array([7]);
    const runningVar = new Float32Array([8]);
    const options = { training: true, runningMean, runningVar };
    ops.batchNormBackward([[1]], [[2]], options);
    ops.batchNormBackward([[1], [0]], [[2], [5]], options);
    assert.deepEqual([runningMean[0], runningVar[0]], [7, 8]);
  });
});

describe("edges", () => {
  test("an empty batch gives an empty gradient and zeros for the parameters", () => {
    for (const [op, dims, options] of /** @type {any[]} */ ([
      ["layerNormBackward", [0, 3], {}],
      ["groupNormBackward", [0, 3, 2], { numGroups: 3 }],
      ["batchNormBackward", [0, 3], { training: true }],
      ["addLayerNormBackward", [0, 3], {}],
    ])) {
      const like = () => ({ data: new Float32Array(0), dims });
      const given = {
        ...options,
        weight: tensor([1, 2, 3]),
        bias: new Float32Array(3),
        scale: 0.5,
      };
      const tensors = op.startsWith("add") ? [like(), like(), like()] : [like(), like()];
      const result = ops[op](...tensors, given);
      assert.deepEqual(result.gradInput, like());
      assert.deepEqual([...result.gradWeight.data], [0, 0, 0]);
      assert.deepEqual([...result.gradBias], [0, 0, 0]);
      assert.equal(result.gradScale, 0);
    }
  });

  test("NaN and infinity spoil the gradient of their own run only", () => {
    const random = new Random(3);
    for (const bad of [Number.NaN, Infinity]) {
      for (const [rows, n, axes] of /** @type {any[]} */ ([
        [9, 70, [1]],
        [70, 9, [0]],
      ])) {
        const x = familyValues("normal", "float32", rows * n, random);
        const grad = familyValues("normal", "float32", rows * n, random);
        const options = { shape: [rows, n], axes, weight: new Float32Array(70).fill(2) };
        const good = ops.layerNormBackward(grad, x, options).gradInput;
        x[n + 2] = bad;
        const got = ops.layerNormBackward(grad, x, options).gradInput;
        const { runs } = runsOf("layerNorm", { dims: [rows, n], axes });
        for (const run of runs) {
          for (const i of run) {
            if (run.includes(n + 2)) assert.ok(Number.isNaN(got[i]));
            else assert.equal(got[i], good[i]);
          }
        }
      }
    }
  });

  test("the gradient of relu at 0 is 0", () => {
    const { gradBias } = ops.layerNormBackward([1, 1, 1], [1, 2, 3], {
      activation: "relu",
      bias: [0, 0, 0],
    });
    assert.deepEqual(gradBias, [0, 0, 1]);
  });
});

describe("plans", () => {
  test("a plan's results are the same objects, follow resident parameters, and numbers are read anew", () => {
    const x = tensor(new Float32Array([1, 2, 4, 8]), [2, 2]);
    const grad = tensor(new Float32Array([1, 0, 0, 1]), [2, 2]);
    const weight = tensor([1, 1]);
    const step = anyPlan("layerNormBackward", grad, x, {
      weight,
      bias: 3,
      shift: new Float32Array(2),
    });
    const result = step.run();
    assert.equal(step.run(), result);
    assert.equal(step.gradInput, result.gradInput);
    assert.equal(step.gradBias, 2);
    assert.equal(step.gradScale, null);
    assert.ok(step.gradShift instanceof layernorm.Tensor);
    const before = Float32Array.from(result.gradInput.data);
    weight.data.fill(2);
    grad.data[0] = 5;
    step.run();
    assert.equal(result.gradBias, 6);
    assert.notDeepEqual(Float32Array.from(step.gradInput.data), before);
    step.dispose();
    assert.throws(() => step.run(), TypeError);
    assert.throws(() => step.gradInput.data, TypeError);
  });

  test("the gradient of a number is gone with its plan and with the package's memory", () => {
    const make = () => {
      const given = [tensor([1, 2, 4, 8], [2, 2]), tensor([1, 0, 0, 1], [2, 2])];
      const step = anyPlan("layerNormBackward", ...given, { bias: 3, weight: 2 });
      assert.equal(step.run().gradBias, 15);
      return step;
    };
    for (const [end, got] of /** @type {[(step: any) => void, string][]} */ ([
      [(step) => step.dispose(), "a disposed tensor"],
      [() => layernorm.dispose(), "a tensor lost by dispose()"],
    ])) {
      const step = make();
      const result = step.run();
      end(step);
      const expected = new TypeError(`Tensor: "data" expected a live tensor, got ${got}`);
      for (const each of [step, result]) {
        assert.throws(() => each.gradBias, expected);
        assert.throws(() => each.gradWeight, expected);
      }
    }
  });

  test("a plan of an empty batch gives zeros", () => {
    const step = anyPlan("rmsNormBackward", zeros([0, 2]), zeros([0, 2]), {
      weight: tensor([1, 2]),
      bias: 1,
    });
    const { gradWeight, gradBias } = step.run();
    assert.deepEqual([[...gradWeight.data], gradBias], [[0, 0], 0]);
  });
});
