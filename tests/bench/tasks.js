/** What is computed: operations, shapes, data, and the right result. */

import { Random } from "../js/data.js";

/** @typedef {"layerNorm" | "rmsNorm"} Operation */
/** @typedef {{ rows: number, features: number }} Shape */
/**
 * @typedef {object} Task one operation on one matrix
 * @property {Operation} operation
 * @property {number} rows
 * @property {number} features
 * @property {number} eps
 * @property {Float32Array} x [rows, features]
 * @property {Float32Array} weight [features]
 * @property {Float32Array | null} bias [features]; null for rmsNorm
 */

/** A bias for rmsNorm exists in the package only: ONNX, PyTorch and Keras have none. */
export const OPERATIONS = /** @type {const} */ ([
  { operation: "layerNorm", title: "LayerNorm", parameters: "weight and bias" },
  { operation: "rmsNorm", title: "RMSNorm", parameters: "weight" },
]);

/** @type {readonly Shape[]} */
export const SHAPES = [
  { rows: 1, features: 768 },
  { rows: 128, features: 768 },
  { rows: 512, features: 768 },
  { rows: 1024, features: 4096 },
  { rows: 4096, features: 4096 },
  { rows: 16384, features: 128 },
  { rows: 4, features: 262144 },
];

/** @param {Shape} shape @returns {number} bytes of x read once and of the result written once */
export function bytesOf({ rows, features }) {
  return 2 * rows * features * Float32Array.BYTES_PER_ELEMENT;
}

/** A prime, so that rows of any length differ; drawing every value of a large matrix would take seconds. */
const DRAWN = 65_537;

/**
 * @param {Operation} operation
 * @param {Shape} shape
 * @param {number} seed
 * @returns {Task} x normal(0, 1), weight about 1, bias about 0, eps 1e-5
 */
export function makeTask(operation, { rows, features }, seed) {
  const random = new Random(seed);
  const drawn = Float32Array.from({ length: DRAWN }, () => random.normal());
  const x = new Float32Array(rows * features);
  for (let i = 0; i < x.length; i += DRAWN) x.set(drawn.subarray(0, x.length - i), i);
  const weight = Float32Array.from({ length: features }, () => 1 + 0.1 * random.normal());
  const bias = Float32Array.from({ length: features }, () => 0.1 * random.normal());
  return {
    operation,
    rows,
    features,
    eps: 1e-5,
    x,
    weight,
    bias: operation === "layerNorm" ? bias : null,
  };
}

/**
 * The right result in float64: two passes for the statistics, one for the result.
 * @param {Task} task
 * @returns {Float64Array}
 */
export function referenceOf({ operation, rows, features, eps, x, weight, bias }) {
  const y = new Float64Array(x.length);
  for (let row = 0; row < rows; row++) {
    const begin = row * features;
    let mean = 0;
    if (operation === "layerNorm") {
      for (let j = 0; j < features; j++) mean += x[begin + j];
      mean /= features;
    }
    let squares = 0;
    for (let j = 0; j < features; j++) squares += (x[begin + j] - mean) ** 2;
    const rstd = 1 / Math.sqrt(squares / features + eps);
    for (let j = 0; j < features; j++) {
      y[begin + j] = (x[begin + j] - mean) * rstd * weight[j] + (bias === null ? 0 : bias[j]);
    }
  }
  return y;
}

/** Loose: it is to catch a wrong formula or a wrong axis. How exact the results are is another table. */
const BOUND = 1e-3;

/**
 * @param {ArrayLike<number>} got
 * @param {ArrayLike<number>} expected
 * @returns {string | null} what is wrong, or null
 */
export function faultOf(got, expected) {
  if (got.length !== expected.length) return `${got.length} values instead of ${expected.length}`;
  for (let i = 0; i < got.length; i++) {
    const allowed = BOUND * Math.max(1, Math.abs(expected[i]));
    if (!(Math.abs(got[i] - expected[i]) <= allowed)) {
      return `element ${i} is ${got[i]} instead of ${expected[i]}`;
    }
  }
  return null;
}
