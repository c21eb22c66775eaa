// What is measured of RMSNorm's cost, and what the document claims.

/** @typedef {readonly [rows: number, features: number]} Shape */

/**
 * @typedef {object} Cost
 * @property {Shape} shape
 * @property {number} withBias LayerNorm with weight and bias: ms a call, median
 * @property {number} layer LayerNorm with a weight alone
 * @property {number} rms RMSNorm with a weight
 * @property {number} samples of each, at least
 */

/** One token of a small model, texts of several lengths, a wide model, many short rows. @type {readonly Shape[]} */
export const SHAPES = [
  [1, 768],
  [128, 768],
  [512, 768],
  [1024, 4096],
  [16384, 128],
];

/** So much less, as a share. */
export const CLAIM = { from: 0.1, to: 0.15 };

/**
 * @param {number} layer
 * @param {number} rms
 * @returns {number} as a share, below 0 where RMSNorm takes longer
 */
export function savedBy(layer, rms) {
  return 1 - rms / layer;
}
