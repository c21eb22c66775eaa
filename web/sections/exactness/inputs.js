// Inputs that are hard to normalize: one row each, the same for everybody.

import { normals } from "../../seeded.js";
import { roundToFloat16 } from "./float16.js";

/**
 * @typedef {object} HardInput
 * @property {string} name also a string's key
 * @property {"float32" | "float16"} dtype
 * @property {number} eps
 * @property {Float32Array} x values that the element type has
 */

const FEATURES = 768;
const LONG = 65_536;
const SEED = 7;
const EPS = 1e-5;
/** BERT's, which does not drown what is small. */
const SMALL_EPS = 1e-12;

/** @type {Record<string, () => Omit<HardInput, "name">>} */
const MAKE = {
  inputUsual: () => ofNormals(FEATURES, EPS, (value) => value),
  inputMean2: () => aroundMean(1e2),
  inputMean4: () => aroundMean(1e4),
  inputMean6: () => aroundMean(1e6),
  inputLong: () => ofNormals(LONG, EPS, (value) => value + 10),
  inputHuge: () => ofNormals(FEATURES, EPS, (value) => value * 1e38),
  inputTiny: () => ofNormals(FEATURES, 0, (value) => value * 1e-38),
  inputConstant: () => ofNormals(FEATURES, SMALL_EPS, () => 1000.1),
  inputHalf: () => ({
    dtype: "float16",
    eps: EPS,
    // Up to 60,000: a float16 holds 65,504, but neither their sum nor a square.
    x: normals(FEATURES, SEED, (value) => roundToFloat16(value * 2e4)),
  }),
};

export const INPUTS = Object.keys(MAKE);

/** Means of the plotted series: three in each power of ten. */
export const MEANS = Array.from({ length: 22 }, (_, i) => Number((10 ** (i / 3)).toPrecision(2)));

/**
 * @param {string} name
 * @returns {HardInput}
 */
export function hardInput(name) {
  const make = Object.hasOwn(MAKE, name) ? MAKE[name] : undefined;
  if (make === undefined) throw new RangeError(`No input "${name}"`);
  return { name, ...make() };
}

/**
 * A row with deviation 1 about a mean.
 *
 * @param {number} mean
 */
export function aroundMean(mean) {
  return ofNormals(FEATURES, EPS, (value) => value + mean);
}

/**
 * @param {number} count
 * @param {number} eps
 * @param {(value: number) => number} map
 * @returns {Omit<HardInput, "name">}
 */
function ofNormals(count, eps, map) {
  return { dtype: "float32", eps, x: normals(count, SEED, map) };
}
