/** Comparing results bit for bit, and other memory for the same values. */
import assert from "node:assert/strict";

/** @typedef {Float32Array | Float64Array | Uint16Array} Elements */

/** @param {ArrayBufferView} view @returns {Buffer} */
const bytesOf = (view) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);

/**
 * Fails unless both have the same bits, NaN payloads aside.
 * @param {Elements} got
 * @param {Elements} expected
 * @param {string} what
 */
export function assertSameBits(got, expected, what) {
  assert.equal(got.constructor, expected.constructor, `${what}: kind of array`);
  assert.equal(got.length, expected.length, `${what}: length`);
  if (bytesOf(got).equals(bytesOf(expected))) return;
  for (let i = 0; i < got.length; i++) {
    assert.ok(
      Object.is(got[i], expected[i]),
      `${what}: index ${i} of ${got.length} got ${got[i]}, expected ${expected[i]}`,
    );
  }
}

/**
 * @template {Elements} T
 * @param {T} values
 * @returns {T} a copy that begins where no vector would: one element into its buffer
 */
export function unaligned(values) {
  const Type = /** @type {any} */ (values.constructor);
  const copy = new Type(values.length + 3).subarray(1, 1 + values.length);
  copy.set(values);
  return copy;
}

/** @template {Elements} T @param {T} values @returns {T} a copy in shared memory */
export function shared(values) {
  const Type = /** @type {any} */ (values.constructor);
  const copy = new Type(new SharedArrayBuffer(values.byteLength));
  copy.set(values);
  return copy;
}
