/** Guarantee 1 as a property: whatever finite values fast-check comes up with, and shrinks to. */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { BOUND, judge } from "./judge.js";

/** Weights beyond this are outside the bound, as the README says. */
const LARGEST_WEIGHT = 2 ** 20;

/** @typedef {{ dtype: "float32" | "float64", array: typeof Float32Array | typeof Float64Array }} Type */
/** @type {Type[]} */
const TYPES = [
  { dtype: "float32", array: Float32Array },
  { dtype: "float64", array: Float64Array },
];

/**
 * Rows of any finite values, of values of one magnitude, and of few values about a mean.
 * @param {Type} type
 */
function rows({ dtype, array }) {
  const settings = { noNaN: true, noDefaultInfinity: true };
  const any = dtype === "float32" ? fc.float(settings) : fc.double(settings);
  const moderate = fc.double({ ...settings, min: -4, max: 4 });
  const row = (/** @type {fc.Arbitrary<number>} */ value) =>
    fc.array(value, { minLength: 1, maxLength: 300, size: "max" });
  const about = fc
    .tuple(fc.double({ ...settings, min: -1e6, max: 1e6 }), row(fc.constantFrom(-1, 0, 0.25, 3)))
    .map(([mean, values]) => values.map((value) => mean + value));
  return fc.oneof(row(any), row(moderate), about).map((values) => array.from(values));
}

for (const operation of /** @type {const} */ (["layerNorm", "rmsNorm"])) {
  for (const type of TYPES) {
    test(`${operation} stays within 3 eps of exact arithmetic for any ${type.dtype} row`, () => {
      const weight = fc.double({ noNaN: true, min: -LARGEST_WEIGHT, max: LARGEST_WEIGHT });
      const bias = fc.double({ noNaN: true, min: -1e6, max: 1e6 });
      const eps = fc.constantFrom(0, 1e-12, 1e-5, 1e-3);
      const holds = fc.property(rows(type), weight, bias, eps, (x, w, b, e) => {
        const array = /** @type {any} */ (type.array);
        const options = { weight: array.from(x, () => w), bias: array.from(x, () => b) };
        const verdict = judge(operation, x, e, options);
        const text = JSON.stringify(verdict, (_, value) =>
          typeof value === "bigint" ? `${value}` : value,
        );
        assert.ok(verdict.error <= BOUND.error, text);
        assert.ok(verdict.mean <= BOUND.mean, text);
        assert.ok(verdict.rstd <= BOUND.rstd, text);
      });
      fc.assert(holds, { numRuns: 1000, seed: 20 });
    });
  }
}
