// The block's numbers, normalized by the package in each of the five ways.

import { batchNorm, groupNorm, instanceNorm, layerNorm, rmsNorm } from "layernorm";
import { CHANNELS, countOf, digits, indexOf, POSITIONS, regionOf } from "./block_shape.js";

/** @typedef {import("./block_shape.js").Norm} Norm */
/** @typedef {import("./block_shape.js").Cell} Cell */
/** @typedef {import("./block_shape.js").Choice} Choice */

/**
 * @typedef {object} CellStatistics
 * @property {number} count of values averaged
 * @property {number} [mean] RMSNorm has none
 * @property {number} variance biased; for RMSNorm the mean square
 * @property {number} rstd 1 / sqrt(variance + eps)
 * @property {number} x
 * @property {number} normalized
 * @property {number} alone the same with the cell's item alone in the batch
 */

/**
 * The whole block, normalized in every way.
 *
 * @param {Choice} choice
 * @param {number} eps
 */
export function normalizeBlock(choice, eps) {
  const { items, groups, perPosition, seed } = choice;
  const shape = [items, CHANNELS, POSITIONS];
  const x = Float64Array.from(digits(seed).slice(0, items * CHANNELS * POSITIONS));
  const run = perPosition ? { axes: [1] } : { normalizedShape: [CHANNELS, POSITIONS] };
  const call = (/** @type {number} */ epsOfCall) => {
    const options = { shape, eps: epsOfCall, returnStats: /** @type {const} */ (true) };
    return {
      batch: batchNorm(x, { ...options, training: true }),
      layer: layerNorm(x, { ...options, ...run }),
      instance: instanceNorm(x, options),
      group: groupNorm(x, { ...options, numGroups: groups }),
      rms: rmsNorm(x, { ...options, ...run }),
    };
  };
  const [results, plain] = [call(eps), call(0)];
  const size = CHANNELS * POSITIONS;
  const alone = Array.from({ length: items }, (_, item) =>
    batchNorm(x.subarray(item * size, (item + 1) * size), {
      shape: [1, CHANNELS, POSITIONS],
      eps,
      training: true,
    }),
  );
  /** @param {Norm} norm @param {Cell} cell @returns {CellStatistics} */
  const of = (norm, cell) => {
    const at = placeOf(norm, choice, cell);
    const { output, rstd } = results[norm];
    return {
      count: countOf(regionOf(norm, choice, cell)),
      mean: norm === "rms" ? undefined : results[norm].mean[at],
      // rstd = 1 / sqrt(variance), with eps 0.
      variance: 1 / plain[norm].rstd[at] ** 2,
      rstd: rstd[at],
      x: x[indexOf(cell)],
      normalized: output[indexOf(cell)],
      // The others never look at another item.
      alone: norm === "batch" ? alone[cell[0]][indexOf(cell) % size] : output[indexOf(cell)],
    };
  };
  return { x, of };
}

/** @typedef {ReturnType<typeof normalizeBlock>} NormalizedBlock */

/**
 * Where a cell's statistics stand among all those of a normalization.
 *
 * @param {Norm} norm
 * @param {Choice} choice
 * @param {Cell} cell
 */
function placeOf(norm, { groups, perPosition }, [item, channel, position]) {
  if (norm === "batch") return channel;
  if (norm === "instance") return item * CHANNELS + channel;
  if (norm === "group") return item * groups + Math.floor((channel * groups) / CHANNELS);
  return perPosition ? item * POSITIONS + position : item;
}
