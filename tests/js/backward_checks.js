/** Gradients compared bit for bit. */
import assert from "node:assert/strict";
import { assertSameBits } from "./bits.js";

/** @param {any} value a tensor-like or resident gradient, or a number @returns {any} */
export const bitsOf = (value) => {
  const data = value?.data ?? value;
  if (data?.BYTES_PER_ELEMENT !== 2) return data;
  return new Uint16Array(data.buffer, data.byteOffset, data.length);
};

/** @param {Record<string, any>} got @param {Record<string, any>} expected @param {string} where */
export function assertSameGradients(got, expected, where) {
  assert.deepEqual(Object.keys(got), Object.keys(expected), where);
  for (const [name, value] of Object.entries(expected)) {
    if (value === null || typeof value === "number")
      assert.equal(got[name], value, `${where}: ${name}`);
    else assertSameBits(bitsOf(got[name]), bitsOf(value), `${where}: ${name}`);
  }
}
