/** What memory is in use, of wasm and of JavaScript; and how all of it comes to be. */
import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { zeros } from "../../dist/index.js";

/** @returns {number} bytes of wasm memory: a live view's buffer is all of it */
export function memorySize() {
  const probe = zeros([1]);
  const size = probe.data.buffer.byteLength;
  probe.dispose();
  return size;
}

/** The collector, which can be had without a flag on the command line. @returns {() => void} */
export function collector() {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
}

/**
 * Tensors until no more fit, each size as often as it does.
 *
 * @param {number} most elements of the first
 * @param {number} least elements of the last
 */
export function fillMemory(most, least) {
  /** @type {import("../../dist/index.js").Tensor[]} */
  const held = [];
  for (let elements = most; elements >= least; elements /= 2) {
    for (;;) {
      try {
        held.push(zeros([elements]));
      } catch (error) {
        assert.ok(error instanceof RangeError, `${error}`);
        break;
      }
    }
  }
  return held;
}
