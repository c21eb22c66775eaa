/** What memory is in use, of wasm and of JavaScript. */
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
