// Inputs that are hard to normalize: one row each, the same for everybody.

import { normals } from "../../seeded.js";
import { roundToFloat16 } from "./float16.js";

/** @typedef {"float32" | "float16"} DType */
/** @typedef {{ dtype: DType, eps: number, x: Float32Array }} Row of values that the element type has */

/**
 * @typedef {object} Recipe
 * @property {number} [count]
 * @property {DType} [dtype]
 * @property {number} [eps]
 * @property {(value: number) => number} map of normal numbers
 */

const FEATURES = 768;
const SEED = 7;
const EPS = 1e-5;

/** By a string's key. @type {[name: string, recipe: Recipe][]} */
const LIST = [
  ["inputUsual", { map: (value) => value }],
  ["inputMean2", { map: (value) => value + 1e2 }],
  ["inputMean4", { map: (value) => value + 1e4 }],
  ["inputMean6", { map: (value) => value + 1e6 }],
  ["inputLong", { count: 65_536, map: (value) => value + 10 }],
  ["inputHuge", { map: (value) => value * 1e38 }],
  ["inputTiny", { eps: 0, map: (value) => value * 1e-38 }],
  // With BERT's eps, which does not drown what is small.
  ["inputConstant", { eps: 1e-12, map: () => 1000.1 }],
  // Up to 60,000: a float16 holds 65,504, but neither their sum nor a square.
  ["inputHalf", { dtype: "float16", map: (value) => roundToFloat16(value * 2e4) }],
];
const RECIPES = new Map(LIST);

export const INPUTS = [...RECIPES.keys()];

/** What the package promises, in units of each type's eps. */
export const BOUNDS = { float32: 3, float16: 1 };

/** Means of the plotted series: three in each power of ten. */
export const MEANS = Array.from({ length: 22 }, (_, i) => Number((10 ** (i / 3)).toPrecision(2)));

/** @param {string} name @returns {number} the bound for an input's results */
export function boundOf(name) {
  return BOUNDS[recipeOf(name).dtype ?? "float32"];
}

/** @param {string} name @returns {Row} */
export function hardInput(name) {
  return rowOf(recipeOf(name));
}

/** @param {string} name @returns {Recipe} */
function recipeOf(name) {
  const recipe = RECIPES.get(name);
  if (recipe === undefined) throw new RangeError(`No input "${name}"`);
  return recipe;
}

/** @param {number} mean @returns {Row} with deviation 1 about it */
export function aroundMean(mean) {
  return rowOf({ map: (value) => value + mean });
}

/** @param {Recipe} recipe @returns {Row} */
function rowOf({ count = FEATURES, dtype = "float32", eps = EPS, map }) {
  return { dtype, eps, x: normals(count, SEED, map) };
}
