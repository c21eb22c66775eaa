// What eps leaves of a deviation, and what it spares small noise: from the package's results.

import { layerNorm } from "layernorm";
import { spreadAfter } from "../../worked_example.js";

/** The defaults of BERT, Flax, PyTorch and Keras, and none. */
export const EPSES = [0, 1e-12, 1e-6, 1e-5, 1e-3];

/** Four in each power of ten. */
export const DEVIATIONS = Array.from({ length: 41 }, (_, i) => 10 ** (i / 4 - 8));

/** Those that the table has. */
export const TABLE_DEVIATIONS = [1e-6, 1e-4, 1e-2, 1, 100];

/**
 * The standard deviation after normalizing numbers with one before.
 *
 * @param {number} deviation
 * @param {number} eps
 */
export function deviationAfter(deviation, eps) {
  return spreadAfter([-deviation, deviation], eps);
}

/** Two vectors that differ by noise alone: all of it is noise in the first, next to none in the second. */
const NOISE = [1, -1, 0.5, -0.5];
const SIGNAL = [3, 5, 2, 8];

/**
 * How far noise moves a result: the largest change of an element when noise of a size is added to the input.
 *
 * @param {"constant" | "signal"} base
 * @param {number} size
 * @param {number} eps
 */
export function changeByNoise(base, size, eps) {
  const without = SIGNAL.map((value) => (base === "signal" ? value : SIGNAL[0]));
  const before = layerNorm(Float64Array.from(without), { eps });
  const after = layerNorm(
    Float64Array.from(without, (value, i) => value + size * NOISE[i]),
    { eps },
  );
  return Math.max(...after.map((value, i) => Math.abs(value - before[i])));
}

/** Only the visitor's own eps is ever new. */
const MOST_KEPT = 50;

/** @param {(eps: number) => number[]} make */
function kept(make) {
  /** @type {Map<number, number[]>} */
  const curves = new Map();
  return (/** @type {number} */ eps) => {
    const curve = curves.get(eps) ?? make(eps);
    if (curves.size < MOST_KEPT) curves.set(eps, curve);
    return curve;
  };
}

export const deviationCurve = kept((eps) =>
  DEVIATIONS.map((deviation) => deviationAfter(deviation, eps)),
);
export const noiseCurve = kept((eps) =>
  DEVIATIONS.map((size) => changeByNoise("constant", size, eps)),
);
export const signalCurve = kept((eps) =>
  DEVIATIONS.map((size) => changeByNoise("signal", size, eps)),
);
