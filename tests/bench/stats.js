/** Order statistics of samples. */

/**
 * @param {ArrayLike<number>} samples not empty
 * @param {number} share 0 for the least, 0.5 for the median, 1 for the greatest
 * @returns {number} interpolated between its neighbours
 */
export function quantile(samples, share) {
  const sorted = Float64Array.from(samples).sort();
  const position = share * (sorted.length - 1);
  const below = Math.floor(position);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
}

/** @param {ArrayLike<number>} samples not empty @returns {number} */
export function median(samples) {
  return quantile(samples, 0.5);
}
