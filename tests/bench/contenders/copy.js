/**
 * What the machine allows: copying the bytes of the inputs inside wasm memory.
 *
 * The package's memory is not public, so these have one of their own, laid out as the package lays out resident tensors:
 * x and y start on cache lines, and their addresses differ by one line modulo a page. Offsets that agree modulo a page
 * would make a store wait for an unrelated load, and the ceiling would be too low.
 */

import { copyModule } from "../copy_module.js";
import { inputsOf } from "./contender.js";

/** @typedef {import("./contender.js").Contender} Contender */
/** @typedef {import("./contender.js").Task} Task */

const LINE = 64;
const PAGE = 4096;
const WASM_PAGE = 65_536;

/** @param {Task} task @param {"copy" | "simd_copy"} name */
async function prepare(task, name) {
  const inputs = inputsOf(task);
  const length = inputs[0].byteLength;
  const bytes = inputs.length * length;
  const source = LINE;
  const target = Math.ceil((source + bytes) / PAGE) * PAGE + 2 * LINE;
  const initial = Math.ceil((target + bytes) / WASM_PAGE);
  const memory = new WebAssembly.Memory({ initial });
  const instance = await WebAssembly.instantiate(await WebAssembly.compile(copyModule()), {
    bench: { memory },
  });
  const copy = /** @type {(target: number, source: number, bytes: number) => void} */ (
    instance.exports[name]
  );
  const Stored = task.dtype === "float32" ? Float32Array : Uint16Array;
  inputs.forEach((input, i) => {
    new Stored(memory.buffer, source + i * length, input.length).set(input);
  });
  return {
    run: () => copy(target, source, bytes),
    read: () =>
      inputs.map((input, i) => new Stored(memory.buffer, target + i * length, input.length)),
  };
}

/** @type {Contender} */
export const memoryCopy = {
  id: "memory.copy",
  name: "memory.copy",
  detail: "the same bytes copied by the wasm instruction, in a memory of its own",
  kind: "baseline",
  copies: true,
  prepare: (task) => prepare(task, "copy"),
};

/** @type {Contender} */
export const simdCopy = {
  id: "simd-copy",
  name: "SIMD copy loop",
  detail: "the same bytes loaded and stored as v128, in a memory of its own",
  kind: "baseline",
  copies: true,
  prepare: (task) => prepare(task, "simd_copy"),
};
