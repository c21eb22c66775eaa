/** Rounding to 16-bit floats against the numbers of their definitions, and half.js, which other tests trust. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { layerNorm, tensor } from "../../dist/index.js";
import { halfBits, load, roundTo, store } from "./half.js";

describe("16-bit floats round to the nearest, ties to even", () => {
  /** @type {["float16" | "bfloat16", [number, number][]][]} */
  const cases = [
    [
      "float16",
      [
        [2049, 2048],
        [2051, 2052],
        [1 + 2 ** -11, 1],
        [1 + 3 * 2 ** -11, 1 + 2 ** -9],
        // Not a tie, though it becomes one if it is rounded to float32 first.
        [1 + 2 ** -11 + 2 ** -40, 1 + 2 ** -10],
        [65519.99, 65504],
        [65520, Infinity],
        [-65520, -Infinity],
        [2 ** -25, 0],
        [-(2 ** -25), -0],
        [2 ** -25 + 2 ** -60, 2 ** -24],
        [3 * 2 ** -25, 2 ** -23],
        [2 ** -14 - 2 ** -26, 2 ** -14],
        [0.1, 0.0999755859375],
      ],
    ],
    [
      "bfloat16",
      [
        [257, 256],
        [259, 260],
        [1 + 2 ** -8, 1],
        [1 + 3 * 2 ** -8, 1 + 2 ** -6],
        [1 + 2 ** -8 + 2 ** -40, 1 + 2 ** -7],
        [3.4e38, Infinity],
        [3.39e38, 255 * 2 ** 120],
        [2 ** -134, 0],
        [3 * 2 ** -134, 2 ** -132],
        [2 ** -134 + 2 ** -170, 2 ** -133],
        [0.1, 0.10009765625],
      ],
    ],
  ];
  for (const [dtype, pairs] of cases) {
    test(`${dtype} of parameters and tensors, from float64`, () => {
      for (const [value, want] of pairs) {
        assert.ok(Object.is(roundTo(value, dtype), want), `${value}`);
        const made = tensor([value], [1], dtype);
        const wide = tensor(made, [1], "float64");
        assert.ok(
          Object.is(wide.data[0], want),
          `${value} gives ${wide.data[0]}, expected ${want}`,
        );
        made.dispose();
        wide.dispose();
      }
    });

    test(`${dtype} of results: a bias alone, which float32 holds`, () => {
      for (const [value, want] of pairs) {
        const bias = Math.fround(value);
        const x = { data: new Uint16Array(2), dims: [1, 2], type: dtype };
        const y = layerNorm(x, { bias });
        const bits = store([bias === value ? want : roundTo(bias, dtype)], dtype)[0];
        // A result of -0 + 0 is 0.
        assert.equal(y.data[0] & 0x7fff, bits & 0x7fff, `${value}`);
      }
    });
  }
});

describe("half.js", () => {
  for (const dtype of /** @type {const} */ (["float16", "bfloat16"])) {
    test(`gives every ${dtype} back, and the even neighbour of what lies halfway between two`, () => {
      const patterns = Uint16Array.from({ length: 65536 }, (_, bits) => bits);
      const values = load(patterns, dtype);
      for (const [bits, value] of values.entries()) {
        if (Number.isNaN(value)) continue;
        assert.equal(halfBits(value, dtype), bits);
        const next = values[bits + 1];
        if (!Number.isFinite(value) || !Number.isFinite(next) || bits === 0x7fff) continue;
        const middle = value / 2 + next / 2;
        assert.equal(halfBits(middle, dtype), bits % 2 ? bits + 1 : bits, `${middle}`);
        assert.equal(halfBits(middle + (value - middle) * 2 ** -40, dtype), bits, `${middle}`);
        assert.equal(halfBits(middle + (next - middle) * 2 ** -40, dtype), bits + 1, `${middle}`);
      }
    });
  }
});
