/** Memory that is not there: a RangeError, and nothing is left behind. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { dispose, initSync, layerNorm, plan, zeros } from "../../dist/index.js";
import { check, rangeError, x } from "./rules.js";

describe("memory that is not there", () => {
  test("is a RangeError, and the next call works", () => {
    check(
      rangeError(
        () => zeros([2 ** 40]),
        `zeros: out of memory, ${2 ** 42} bytes are not available`,
      ),
    );
    check(
      rangeError(
        () => zeros([2 ** 30 - 1]),
        `zeros: out of memory, ${2 ** 32 - 4} bytes are not available`,
      ),
    );
    assert.deepEqual(layerNorm([3, 5, 2, 8]), layerNorm([3, 5, 2, 8]));
  });

  test("is so for results and the copies of plans, and what was made before is freed", () => {
    dispose();
    initSync(withMemoryOf(64));
    const bytes = 2 ** 20;
    const big = zeros([bytes / 4]);
    const fill = () => {
      const made = [];
      try {
        for (;;) made.push(layerNorm(big));
      } finally {
        for (const each of made) each.dispose();
      }
    };
    for (let i = 0; i < 3; i++) {
      check(rangeError(fill, `layerNorm: out of memory, ${bytes} bytes are not available`));
    }
    const second = layerNorm(big);
    const weight = new Float64Array(bytes / 4);
    for (let i = 0; i < 3; i++) {
      check(
        rangeError(
          () => plan("rmsNorm", big, { weight, out: second }),
          `rmsNorm: out of memory, ${2 * bytes} bytes are not available`,
        ),
      );
    }
    assert.equal(layerNorm(x).length, 6);
    dispose();
  });
});

/**
 * The package's binary with another limit of its memory: as on a machine that has no more.
 *
 * @param {number} pages of 64 KB, at most 127
 */
function withMemoryOf(pages) {
  const wasm = readFileSync(new URL("../../dist/layernorm.wasm", import.meta.url));
  const number = (/** @type {number} */ at) => {
    let value = 0;
    let length = 0;
    for (; ; length++) {
      value |= (wasm[at + length] & 127) << (7 * length);
      if (wasm[at + length] < 128) return { value, length: length + 1 };
    }
  };
  for (let at = 8; at < wasm.length; ) {
    const size = number(at + 1);
    const content = at + 1 + size.length;
    if (wasm[at] === 5) {
      // One memory, with a maximum that takes three bytes: 65536.
      assert.deepEqual([wasm[content], wasm[content + 1]], [1, 1]);
      const limit = content + 2 + number(content + 2).length;
      assert.deepEqual(number(limit), { value: 65536, length: 3 });
      wasm.set([pages | 128, 128, 0], limit);
      return wasm;
    }
    at = content + size.value;
  }
  throw new Error("no memory section");
}
