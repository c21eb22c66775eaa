// The text that modules carry the binary in: what tools/pack.js writes, bindings/unpack.cc reads.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import unpacker from "../../bindings/generated/unpack.js";
import { pack } from "../../tools/pack.js";

const GENERATED = new URL("../../bindings/generated/", import.meta.url);

/** As bindings/wasm_text.ts does. @param {string} text */
function unpack(text) {
  const digits = Array.from(unpacker, (character) => {
    const code = character.charCodeAt(0);
    return code - (code > 92 ? 36 : 35);
  });
  const bytes = [];
  for (let digit = digits.shift(); digit !== undefined; digit = digits.shift()) {
    bytes.push(digit < 88 ? digit : 88 + (digit - 88) * 91 + (digits.shift() ?? 0));
  }
  const module = new WebAssembly.Module(Uint8Array.from(bytes));
  const { memory, unpack } = /** @type {any} */ (new WebAssembly.Instance(module).exports);
  new TextEncoder().encodeInto(text, new Uint8Array(memory.buffer, 1 << 16));
  return Buffer.from(memory.buffer, 1 << 18, unpack());
}

for (const build of ["", "threads/", "relaxed/", "relaxed_threads/"]) {
  test(`the text of ${build || "the ordinary build"} is its binary`, async () => {
    const binary = await readFile(new URL(`${build}layernorm.wasm`, GENERATED));
    const { default: text } = await import(new URL(`${build}wasm_text.js`, GENERATED).href);
    assert.ok(unpack(text).equals(binary));
    assert.match(text, /^[#-[\]-~]*$/, "of characters that need no escape");
    assert.doesNotMatch(text, /<\/script|<!--/i, "which ends no script of HTML");
  });
}

test("bodies of any size, tables of branches and all kinds of constants come back as they were", () => {
  for (const constants of [0, 1, 10, 100, 1000, 10000]) {
    const binary = binaryOf([
      Array.from({ length: constants }, (_, i) => [0x41, i & 63, 0x1a]).flat(), // i32.const, drop
      [0x42, 0xff, 0x7e, 0x1a, 0x43, 1, 2, 3, 4, 0x1a], // i64.const, f32.const
      [0x44, 0, 127, 128, 253, 254, 255, 1, 2, 0x1a], // f64.const
      [0xfd, 12, ...Array.from({ length: 16 }, (_, i) => i * 16), 0x1a], // v128.const
      [0x02, 0x40, 0x02, 0x40, 0x41, 1, 0x0e, 2, 0, 1, 0, 0x0b, 0x0b], // br_table
      [0x41, 0, 0xfd, 1, 0, 5, 0xfd, 93, 2, 200, 1, 0xfd, 21, 3, 0x1a],
    ]);
    assert.ok(unpack(pack(binary)).equals(binary), `${constants}`);
  }
});

/** A binary of functions, which need not be valid. @param {number[][]} bodies */
function binaryOf(bodies) {
  const sized = (/** @type {number[]} */ bytes) => [...leb(bytes.length), ...bytes];
  const code = bodies.map((body) => sized([1, 2, 0x7f, ...body, 0x0b]));
  const section = [...leb(bodies.length), ...code.flat()];
  const types = [1, 4, 1, 0x60, 0, 0];
  return Buffer.from([0, 97, 115, 109, 1, 0, 0, 0, ...types, 10, ...sized(section), 0, 2, 1, 97]);
}

/** @param {number} value @returns {number[]} */
const leb = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...leb(value >> 7)]);
