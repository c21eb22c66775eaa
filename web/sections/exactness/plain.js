// LayerNorm as it is often written, with every step rounded to the element type.

/** @typedef {(value: number) => number} Round to the element type */

/**
 * The mean first, then the squared deviations from it.
 *
 * @param {ArrayLike<number>} x
 * @param {number} eps
 * @param {Round} round
 */
export function twoPass(x, eps, round) {
  const mean = round(sumOf(x, round) / x.length);
  const deviations = Float64Array.from(x, (value) => round(value - mean));
  const variance = round(sumOf(squaresOf(deviations, round), round) / x.length);
  return normalized(deviations, variance, eps, round);
}

/**
 * The variance as E[x²] − E[x]², so that x is read once.
 *
 * @param {ArrayLike<number>} x
 * @param {number} eps
 * @param {Round} round
 */
export function onePass(x, eps, round) {
  const mean = round(sumOf(x, round) / x.length);
  const meanSquare = round(sumOf(squaresOf(x, round), round) / x.length);
  const variance = round(meanSquare - round(mean * mean));
  const deviations = Float64Array.from(x, (value) => round(value - mean));
  return normalized(deviations, variance, eps, round);
}

/**
 * @param {Float64Array} deviations
 * @param {number} variance
 * @param {number} eps
 * @param {Round} round
 */
function normalized(deviations, variance, eps, round) {
  const deviation = round(Math.sqrt(round(variance + round(eps))));
  const rstd = round(1 / deviation);
  return deviations.map((value) => round(value * rstd));
}

/** @param {ArrayLike<number>} values @param {Round} round */
function sumOf(values, round) {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum = round(sum + values[i]);
  return sum;
}

/** @param {ArrayLike<number>} values @param {Round} round */
function squaresOf(values, round) {
  return Float64Array.from(values, (value) => round(value * value));
}
