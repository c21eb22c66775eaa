// Adaptive LayerNorm: each item of a batch has a scale and a shift of its own, all in one call.

import { layerNorm } from "layernorm";
import { scaleAndShift } from "../../condition_map.js";
import { moments } from "../../worked_example.js";

/**
 * @typedef {object} Item
 * @property {readonly number[]} x
 * @property {number[]} scale one for each feature
 * @property {number[]} shift
 * @property {number[]} normalized
 * @property {number[]} output
 */

/**
 * Scale and shift from a condition for each item, as in DiT.
 *
 * @param {readonly (readonly number[])[]} vectors
 * @param {readonly number[]} conditions
 * @param {number} eps
 * @returns {Item[]}
 */
export function byCondition(vectors, conditions, eps) {
  return adapted(
    vectors,
    vectors.map(({ length }, k) => scaleAndShift(length, conditions[k])),
    eps,
  );
}

/**
 * Every item takes on the mean and the deviation of one of them, as in AdaIN.
 *
 * @param {readonly (readonly number[])[]} vectors
 * @param {number} style which of them
 * @param {number} eps
 * @returns {Item[]}
 */
export function byStyle(vectors, style, eps) {
  const { mean, deviation } = moments(vectors[style]);
  // The norm multiplies by 1 + scale.
  const parameters = (/** @type {readonly number[]} */ { length }) => ({
    scale: Array(length).fill(deviation - 1),
    shift: Array(length).fill(mean),
  });
  return adapted(vectors, vectors.map(parameters), eps);
}

/**
 * @param {readonly (readonly number[])[]} vectors
 * @param {{ scale: number[], shift: number[] }[]} parameters
 * @param {number} eps
 */
function adapted(vectors, parameters, eps) {
  const isBatch = vectors.every(({ length }) => length === vectors[0].length);
  // Vectors of several lengths are no batch: each is one by itself.
  const batches = isBatch ? [vectors.map((_, k) => k)] : vectors.map((_, k) => [k]);
  return batches.flatMap((items) => {
    const dims = [items.length, vectors[items[0]].length];
    const batch = (/** @type {(k: number) => readonly number[]} */ of) => ({
      data: Float64Array.from(items.flatMap((k) => [...of(k)])),
      dims,
    });
    const x = batch((k) => vectors[k]);
    const scale = batch((k) => parameters[k].scale);
    const shift = batch((k) => parameters[k].shift);
    const rows = (/** @type {{ data: Float64Array }} */ { data }) =>
      items.map((_, row) => [...data.slice(row * dims[1], (row + 1) * dims[1])]);
    const normalized = rows(layerNorm(x, { eps }));
    const output = rows(layerNorm(x, { scale, shift, eps }));
    return items.map((k, row) => ({
      x: vectors[k],
      ...parameters[k],
      normalized: normalized[row],
      output: output[row],
    }));
  });
}
