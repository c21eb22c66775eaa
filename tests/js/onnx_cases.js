/** ONNX's conformance cases (tests/golden/README.md) as calls of the package. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

/** @param {string} name */
export function golden(name) {
  return JSON.parse(readFileSync(new URL(`../golden/${name}`, import.meta.url), "utf8"));
}

/**
 * ONNX's operators as calls of the package. `x` names the input that is normalized; what an operator calls differently:
 * - epsilon is eps, B is bias, scale is weight; axis is all dimensions from that one on, but one dimension for LpNormalization
 * - BatchNormalization's momentum weights the old value and its running variance is the population's: preset onnx
 * - MeanVarianceNormalization adds epsilon to the deviation, LpNormalization divides by the norm alone: preset onnx
 * - skip: sum = input + skip * scalingFactor + residualBias, so x is skip, gate scalingFactor and residual input
 * @typedef {object} Row
 * @property {string} call
 * @property {number} cases
 * @property {"input" | "skip"} [x]
 * @property {(options: any, inputs: any) => Record<string, any>} [options]
 */
export const OPERATORS = new Map(
  /** @type {[string, Row][]} */ ([
    ["layer_norm", { call: "layerNorm", cases: 19, options: ({ axis }) => ({ axis }) }],
    ["rms_norm", { call: "rmsNorm", cases: 19, options: ({ axis }) => ({ axis }) }],
    [
      "batch_norm",
      {
        call: "batchNorm",
        cases: 7,
        options: (_, { mean, variance }) => ({
          runningMean: mean,
          runningVar: variance,
          preset: "onnx",
        }),
      },
    ],
    [
      "batch_norm_training",
      {
        call: "batchNorm",
        cases: 2,
        options: ({ momentum }, { mean, variance }) => ({
          training: true,
          runningMean: mean,
          runningVar: variance,
          momentum,
          preset: "onnx",
        }),
      },
    ],
    ["group_norm", { call: "groupNorm", cases: 2, options: ({ numGroups }) => ({ numGroups }) }],
    ["instance_norm", { call: "instanceNorm", cases: 2 }],
    [
      "lp_norm",
      {
        call: "lpNormalize",
        cases: 6,
        options: ({ p, axis }) => ({ p, axes: [axis], preset: "onnx" }),
      },
    ],
    [
      "mvn",
      {
        call: "meanVarianceNormalize",
        cases: 2,
        options: ({ axes, epsilonOnStd }) => ({ axes, eps: epsilonOnStd }),
      },
    ],
    [
      "lrn",
      {
        call: "localResponseNorm",
        cases: 2,
        options: ({ size, alpha, beta, k }) => ({ size, alpha, beta, k }),
      },
    ],
    ["skip_layer_norm", { call: "addLayerNorm", cases: 4, x: "skip", options: skipOptions }],
    ["skip_rms_norm", { call: "addRmsNorm", cases: 4, x: "skip", options: skipOptions }],
  ]),
);

/** @param {any} options @param {any} inputs */
function skipOptions({ scalingFactor, axes }, { residualBias }) {
  return { axes, gate: scalingFactor, sumBias: residualBias };
}

export const ARRAYS = { float32: Float32Array, float64: Float64Array };

/** @param {{ shape: number[], dtype: "float32" | "float64", data: (number | string)[] }} tensor as onnxruntime has them */
export function tensorLike({ shape, dtype, data }) {
  return { data: new ARRAYS[dtype](data.map(Number)), dims: shape, type: dtype };
}

/**
 * A case as a call.
 * @param {any} each of golden("onnx.json").cases
 * @returns {{ call: string, args: any[], settings: Record<string, any>, isSum: boolean }}
 */
export function callOf({ op, inputs, options }) {
  const { call, x = "input", options: own } = /** @type {Row} */ (OPERATORS.get(op));
  /** @type {Record<string, any>} */
  const given = Object.fromEntries(
    Object.entries(inputs).map(([key, value]) => [key, tensorLike(value)]),
  );
  /** @type {Record<string, any>} */
  const settings = { ...own?.(options, given) };
  if (options.epsilon !== undefined && op !== "lp_norm") settings.eps = options.epsilon;
  if (given.scale) settings.weight = given.scale;
  if (given.bias) settings.bias = given.bias;
  if (options.layout) assert.equal(options.layout, "nchw");
  const isSum = x === "skip";
  return { call, args: isSum ? [given.skip, given.input] : [given.input], settings, isSum };
}

/**
 * @param {any} got a tensor-like
 * @param {{ shape: number[], dtype: string, data: (number | string)[] }} expected
 * @param {{ type: string, rtol: number, atol: number }} tolerance
 * @param {string} what
 */
export function assertClose(got, expected, tolerance, what) {
  assert.equal(tolerance.type, "RTOL_ATOL");
  assert.deepEqual(got.dims, expected.shape, `${what}: dims`);
  assert.equal(got.data.length, expected.data.length, `${what}: length`);
  for (const [i, text] of expected.data.entries()) {
    const value = Number(text);
    const error = Math.abs(got.data[i] - value);
    const allowed = tolerance.atol + tolerance.rtol * Math.abs(value);
    assert.ok(error <= allowed, `${what}: index ${i} got ${got.data[i]}, expected ${value}`);
  }
}
