/** What the tests of error rules share: a rule is a call, and the exact class and message of what it throws. */
import assert from "node:assert/strict";
import { layerNorm, zeros } from "../../dist/index.js";

export const ARRAYS = "Float32Array, Float64Array or Float16Array";
export const KINDS = `a ${ARRAYS}, a tensor-like object, nested arrays of numbers or a Tensor`;
export const PARAMETER = `null, a number, ${KINDS}`;
export const DESTINATION = `a ${ARRAYS}, a Uint16Array of 16-bit floats or a Tensor`;
export const DTYPES = '"float32", "float64", "float16", "bfloat16"';
export const OPS = [
  "layerNorm",
  "rmsNorm",
  "groupNorm",
  "instanceNorm",
  "batchNorm",
  "l2Normalize",
  "lpNormalize",
  "meanVarianceNormalize",
  "localResponseNorm",
  "addLayerNorm",
  "addRmsNorm",
  "addGroupNorm",
];
export const BACKWARD = OPS.filter((name) =>
  /^(add|layer|rms|group|instance|batch|l2)/.test(name),
).map((name) => `${name}Backward`);
export const OP_LIST = [...OPS, ...BACKWARD].map((name) => `"${name}"`).join(", ");
export const EPILOGUE = "weight, bias, weightOffset, scale, shift, activation";
export const LAYER_OPTIONS = `shape, normalizedShape, axis, axes, ${EPILOGUE}, eps, preset, out, returnStats`;

/** @typedef {{ call: () => unknown, type: typeof Error, message: string }} Rule */

/** @param {() => unknown} call @param {string} message @returns {Rule} */
export const typeError = (call, message) => ({ call, type: TypeError, message });
/** @param {() => unknown} call @param {string} message @returns {Rule} */
export const rangeError = (call, message) => ({ call, type: RangeError, message });

/** @param {Rule} rule */
export function check({ call, type, message }) {
  assert.throws(call, (/** @type {any} */ error) => {
    assert.equal(error.message, message);
    assert.equal(error.constructor, type);
    return true;
  });
}

export const x = Float32Array.from([3, 5, 2, 8, 1, 7]);
/** @param {any} options @param {any} [input] @returns {any} */
export const norm = (options, input = x) => layerNorm(input, options);

/** @template {Float32Array | Float64Array | Uint16Array} T @param {T} array @returns {T} */
export function detached(array) {
  structuredClone(array.buffer, { transfer: [/** @type {ArrayBuffer} */ (array.buffer)] });
  return array;
}

export function outOfBounds() {
  const Resizable = /** @type {any} */ (ArrayBuffer);
  const buffer = new Resizable(24, { maxByteLength: 24 });
  const array = new Float32Array(buffer, 8, 4);
  buffer.resize(8);
  return array;
}

export function disposed() {
  const gone = zeros([2, 3]);
  gone.dispose();
  return gone;
}

/** A cycle: deeper than any nest. @type {any[]} */
export const cycle = [];
cycle.push(cycle);
