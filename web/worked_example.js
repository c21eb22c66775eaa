// The worked example, computed by the package. Nothing is normalized here: what the package does not
// return itself (the variance, the sums) is read off its statistics.

import { layerNorm, rmsNorm } from "layernorm";

/** @typedef {import("./documents.js").Settings} Settings */

/**
 * @typedef {object} Working
 * @property {number[]} x
 * @property {number} mean
 * @property {number} variance biased; 1 / rstd^2 at eps 0
 * @property {number[]} normalized
 * @property {number[]} scaled
 * @property {number} rstd 1 / sqrt(variance + eps)
 */

/**
 * @typedef {object} RmsWorking
 * @property {number} meanSquare
 * @property {number} rms sqrt(meanSquare + eps)
 * @property {number[]} normalized
 * @property {number[]} scaled
 */

/**
 * @param {readonly number[]} vector
 * @param {Pick<Settings, "weight" | "bias" | "eps">} settings
 * @returns {Working & { rmsNorm: RmsWorking }}
 */
export function work(vector, { weight, bias, eps }) {
  const x = Float64Array.from(vector);
  const affine = { weight: parameter(weight), bias: parameter(bias), eps };
  const plain = layerNorm(x, { eps, returnStats: true });
  const rms = rmsNorm(x, { eps, returnStats: true });
  const variance = squareBehind(first(layerNorm(x, { eps: 0, returnStats: true }).rstd));
  return {
    x: [...x],
    mean: first(plain.mean),
    variance: settled(variance, vector),
    normalized: [...plain.output],
    scaled: [...layerNorm(x, affine)],
    rstd: first(plain.rstd),
    rmsNorm: {
      meanSquare: squareBehind(first(rmsNorm(x, { eps: 0, returnStats: true }).rstd)),
      rms: 1 / first(rms.rstd),
      normalized: [...rms.output],
      scaled: [...rmsNorm(x, affine)],
    },
  };
}

/**
 * The mean and the standard deviation of any numbers.
 *
 * @param {readonly number[]} values
 */
export function moments(values) {
  const { mean, rstd } = layerNorm(Float64Array.from(values), { eps: 0, returnStats: true });
  return { mean: first(mean), deviation: 1 / first(rstd) };
}

/**
 * The standard deviation that is left after normalization: 1, less what eps takes.
 *
 * @param {readonly number[]} vector
 * @param {number} eps
 */
export function spreadAfter(vector, eps) {
  return moments([...layerNorm(Float64Array.from(vector), { eps })]).deviation;
}

/** @param {number[]} values */
function parameter(values) {
  return values.length === 1 ? first(values) : Float64Array.from(values);
}

/**
 * rstd = 1 / sqrt(square), with eps 0. A square of 0 has rstd Infinity, and so comes back as 0.
 *
 * @param {number} rstd
 */
function squareBehind(rstd) {
  return 1 / rstd ** 2;
}

/** Half a unit in the last place of a float64 that is near 1. */
const UNIT = 2 ** -53;
/** So many digits have to be 0 or 9 before the end of those that are known. */
const SLACK = 4;

/**
 * A variance without its last digits, where these only say that float64 has no 5.1 but a number close to it: far from 0 against
 * the deviation that takes more than one digit.
 *
 * @param {number} variance
 * @param {readonly number[]} vector
 */
function settled(variance, vector) {
  const isWhole = vector.every(Number.isInteger);
  const distance = isWhole ? 0 : Math.max(...vector.map(Math.abs)) / Math.sqrt(variance);
  const known = Math.floor(-Math.log10(4 * UNIT * (1 + distance)));
  if (!(known > SLACK)) return variance;
  const short = Number(variance.toPrecision(known - SLACK));
  return short === Number(variance.toPrecision(known)) ? short : variance;
}

/**
 * @param {ArrayLike<number>} values
 * @returns {number}
 */
function first(values) {
  return /** @type {number} */ (values[0]);
}
