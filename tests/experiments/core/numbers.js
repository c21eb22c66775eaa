// Seeded numbers, and how results are summed up.
import { Random } from "../../js/random.js";

export const SEEDS = [1, 2, 3];

/** @param {number} n @param {number} seed @param {number} [deviation] */
export function normals(n, seed, deviation = 1) {
  const random = new Random(seed);
  return Float32Array.from({ length: n }, () => deviation * random.normal());
}

/** @param {number} value @param {number} [digits] */
export const round = (value, digits = 4) => Number(value.toPrecision(digits));

/** @param {number[]} values one for each seed */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const [least, median, most] = [0, (sorted.length - 1) / 2, sorted.length - 1].map(
    (at) => sorted[Math.floor(at)],
  );
  return { median: round(median), least: round(least), most: round(most) };
}
