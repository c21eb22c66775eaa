// What is timed: one LayerNorm with weight and bias, at several sizes, and whether its result is right.

import { normals } from "../../seeded.js";

/** @typedef {{ rows: number, features: number, x: Float32Array, weight: Float32Array, bias: Float32Array }} Problem */
/** @typedef {{ rows: number, features: number }} Size */

export const EPS = 1e-5;
const BYTES = 4;
const KB = 1024;

/** Features of a row, to choose from. */
export const FEATURES = [128, 768, 4096];
/** How large the largest tensor is, in MiB, to choose from. */
export const LARGEST = [1, 8, 64];
/** From a few KB up, each tensor four times the one before. */
const SMALLEST_BYTES = 4 * KB;
const FACTOR = 4;

/**
 * @param {number} features
 * @param {number} largest in MiB
 * @returns {Size[]} of whole rows, the smallest tensor first
 */
export function sizesOf(features, largest) {
  /** @type {Size[]} */
  const sizes = [];
  for (let bytes = SMALLEST_BYTES; bytes <= largest * KB * KB; bytes *= FACTOR) {
    const rows = Math.max(1, Math.round(bytes / (BYTES * features)));
    if (sizes.at(-1)?.rows !== rows) sizes.push({ rows, features });
  }
  return sizes;
}

/** @param {Size} size */
export function bytesOf({ rows, features }) {
  return rows * features * BYTES;
}

/**
 * What is read and written in the time, in GB/s.
 *
 * @param {Size} size
 * @param {number} ms
 */
export function rateOf(size, ms) {
  return (2 * bytesOf(size)) / ms / 1e6;
}

/** @param {Size} size @returns {Problem} */
export function makeProblem({ rows, features }) {
  return {
    rows,
    features,
    x: normals(rows * features, 1),
    weight: normals(features, 2, (value) => 1 + value / 10),
    bias: normals(features, 3, (value) => value / 10),
  };
}

/**
 * The plain loop, which sums in double precision: a way of its own, and what the others are held against.
 *
 * @param {Problem} problem
 * @param {Float32Array} out
 */
export function plainLayerNorm({ rows, features, x, weight, bias }, out) {
  for (let row = 0; row < rows; row++) {
    const begin = row * features;
    const end = begin + features;
    let sum = 0;
    for (let i = begin; i < end; i++) sum += x[i];
    const mean = sum / features;
    let squares = 0;
    for (let i = begin; i < end; i++) squares += (x[i] - mean) ** 2;
    const rstd = 1 / Math.sqrt(squares / features + EPS);
    for (let i = begin; i < end; i++) {
      out[i] = (x[i] - mean) * rstd * weight[i - begin] + bias[i - begin];
    }
  }
}

/**
 * The largest difference, against the larger of 1 and what is expected.
 *
 * @param {Float32Array} got
 * @param {Float32Array} expected
 */
export function largestDifference(got, expected) {
  let largest = 0;
  for (let i = 0; i < expected.length; i++) {
    const difference = Math.abs(got[i] - expected[i]) / Math.max(1, Math.abs(expected[i]));
    // What is no number must not pass.
    if (Number.isNaN(difference)) return Number.POSITIVE_INFINITY;
    largest = Math.max(largest, difference);
  }
  return largest;
}
