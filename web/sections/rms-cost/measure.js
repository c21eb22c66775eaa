// What RMSNorm costs beside LayerNorm on this machine, for one shape.

import { plan, tensor } from "layernorm";
import { normals } from "../../seeded.js";
import { repeat, timeInTurn } from "../../timing.js";

/** @typedef {import("./shapes.js").Shape} Shape */
/** @typedef {import("./shapes.js").Cost} Cost */

/** The difference is small: as many samples as there may be. */
const BUDGET_MS = 600;

/**
 * RMSNorm has a weight; LayerNorm the same, and once more with the bias that models give it.
 *
 * @param {Shape} shape
 * @returns {Promise<Cost>}
 */
export async function measureShape(shape) {
  const [rows, features] = shape;
  const x = tensor(normals(rows * features, 1), [rows, features]);
  const weight = tensor(normals(features, 2, (value) => 1 + value / 10));
  const bias = tensor(normals(features, 3, (value) => value / 10));
  const plans = [
    plan("layerNorm", x, { weight, bias }),
    plan("layerNorm", x, { weight }),
    plan("rmsNorm", x, { weight }),
  ];
  try {
    const contenders = plans.map((step) => ({
      run: (/** @type {number} */ calls) => repeat(calls, () => step.run()),
    }));
    const [withBias, layer, rms] = await timeInTurn(contenders, { budgetMs: BUDGET_MS });
    return {
      shape,
      withBias: withBias.ms,
      layer: layer.ms,
      rms: rms.ms,
      samples: Math.min(withBias.samples, layer.samples, rms.samples),
    };
  } finally {
    for (const held of [...plans, x, weight, bias]) held.dispose();
  }
}
