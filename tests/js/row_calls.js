/** Calls of layerNorm and rmsNorm, drawn at random: what the tests of their guarantees share. */
import fc from "fast-check";
import { layerNorm, rmsNorm } from "../../dist/index.js";
import { families, fillFamily, newRow, Random } from "./data.js";

/** @typedef {import("./data.js").DType} DType */
/** @typedef {import("./data.js").Row} Row */

/**
 * Both functions, as the properties call them: with whatever kind of x and options was drawn.
 * @typedef {(x?: any, options?: any) => any} Call
 */
/** @type {Record<"layerNorm" | "rmsNorm", Call>} */
export const OPERATIONS = { layerNorm, rmsNorm };

/** @param {Row} values @returns {DType} */
export const dtypeOf = (values) => (values instanceof Float32Array ? "float32" : "float64");

/** @param {DType} dtype @param {number[]} seeds one for each row @param {number} n @returns {Row} rows of many kinds */
export function makeRows(dtype, seeds, n) {
  const x = newRow(dtype, seeds.length * n);
  for (const [row, seed] of seeds.entries()) {
    const random = new Random(seed);
    fillFamily(random.pick(families(dtype)), x.subarray(row * n, (row + 1) * n), random);
  }
  return x;
}

/** @param {DType} dtype @param {number} n @param {number} seed @param {string} kind @returns {Record<string, any>} */
export function makeParameters(dtype, n, seed, kind) {
  const random = new Random(seed);
  const vector = () => {
    const values = newRow(dtype, n);
    fillFamily("normal", values, random);
    return values;
  };
  switch (kind) {
    case "weight":
      return { weight: vector() };
    case "weightBias":
      return { weight: vector(), bias: vector() };
    case "scaled":
      // Beside large weights sums are taken in another way.
      return { weight: vector().map((value) => 1000 * value), bias: vector() };
    case "bias":
      return { bias: vector() };
    case "offset":
      return { weight: vector(), bias: vector(), weightOffset: 1 };
    case "numbers":
      return { weight: random.normal(), bias: random.normal() };
    default:
      return {};
  }
}

/** Lengths of a run: all short ones, and those around the vector width and the flush intervals. */
export const lengths = fc.oneof(
  fc.integer({ min: 1, max: 40 }),
  fc.integer({ min: 41, max: 300 }),
  fc.constantFrom(
    63,
    64,
    65,
    95,
    96,
    97,
    127,
    128,
    129,
    191,
    192,
    193,
    255,
    256,
    257,
    768,
    1023,
    1024,
    4099,
  ),
);

export const calls = fc.record({
  operation: fc.constantFrom(.../** @type {const} */ (["layerNorm", "rmsNorm"])),
  dtype: fc.constantFrom(.../** @type {const} */ (["float32", "float64"])),
  n: lengths,
  seeds: fc.array(fc.integer({ min: 1, max: 1e6 }), { minLength: 1, maxLength: 6 }),
  eps: fc.constantFrom(0, 1e-5, 1e-12),
  kind: fc.constantFrom("none", "weight", "weightBias", "scaled", "bias", "offset", "numbers"),
});

/** @param {number} seed @param {number} [numRuns] */
export const settings = (seed, numRuns = 300) => ({ seed, numRuns });
