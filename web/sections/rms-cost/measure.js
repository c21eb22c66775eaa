// What RMSNorm costs beside LayerNorm on this machine, for one shape.

import { plan, tensor } from "layernorm";
import { normals } from "../../seeded.js";
import { repeat, timeInTurn } from "../../timing.js";

/** @typedef {readonly [rows: number, features: number]} Shape */

/**
 * @typedef {object} Cost
 * @property {Shape} shape
 * @property {number} layer ms a call, median
 * @property {number} rms
 * @property {number} samples of each
 */

/** One token of a small model, texts of several lengths, a wide model, many short rows. @type {readonly Shape[]} */
export const SHAPES = [
  [1, 768],
  [128, 768],
  [512, 768],
  [1024, 4096],
  [16384, 128],
];

/** What is claimed: so much less, as a share. */
export const CLAIM = { from: 0.1, to: 0.15 };

/** The difference is small: long samples, and the most of them. */
const TIMING = { sampleMs: 20, budgetMs: 620 };

/** @param {Cost} cost @returns {number} as a share, below 0 where RMSNorm takes longer */
export function savedIn({ layer, rms }) {
  return 1 - rms / layer;
}

/**
 * Both with a weight, and with the bias that models give to LayerNorm alone.
 *
 * @param {Shape} shape
 * @returns {Promise<Cost>}
 */
export async function measureShape(shape) {
  const [rows, features] = shape;
  const x = tensor(normals(rows * features, 1), [rows, features]);
  const weight = tensor(normals(features, 2, (value) => 1 + value / 10));
  const bias = tensor(normals(features, 3, (value) => value / 10));
  const layerPlan = plan("layerNorm", x, { weight, bias });
  const rmsPlan = plan("rmsNorm", x, { weight });
  try {
    const [layer, rms] = await timeInTurn(
      [layerPlan, rmsPlan].map((step) => ({
        run: (/** @type {number} */ calls) => repeat(calls, () => step.run()),
      })),
      TIMING,
    );
    return { shape, layer: layer.ms, rms: rms.ms, samples: layer.samples };
  } finally {
    for (const held of [layerPlan, rmsPlan, x, weight, bias]) held.dispose();
  }
}
