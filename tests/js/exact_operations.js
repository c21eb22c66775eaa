/**
 * Judges a result of any forward operation by exact arithmetic: every run's statistics as exact.js has them, then weight,
 * bias, scale, shift and activation on exact numbers, against the bounds of the guarantees.
 */
import {
  absolute,
  add,
  bitLength,
  dyadic,
  EPS,
  largest,
  less,
  momentsOf,
  multiply,
  Normalizer,
  ONE,
  PRECISION,
  ratio,
  squareRoot,
  subtract,
  toNumber,
  ZERO,
} from "./exact.js";
import { arithmetic, isHalf, largestHalf, roundTo } from "./half.js";
import { gather, runsOf } from "./runs.js";
import { APPROXIMATE, activation, power } from "./transcendental.js";

/** @typedef {import("./exact.js").Dyadic} Dyadic */
/** @typedef {import("./exact.js").DType} DType */
/** @typedef {number | ArrayLike<number>} Field one number for all elements of x, or one each, as they are computed with */
/**
 * @typedef {object} Constants
 * @property {string} op the name of the public function
 * @property {DType} dtype
 * @property {number} eps
 * @property {number} [p]
 * @property {{ size: number, alpha: number, beta: number, k: number }} [window]
 * @property {Field | null} [weight]
 * @property {number} [weightOffset]
 * @property {Field | null} [bias]
 * @property {Field | null} [scale]
 * @property {Field | null} [shift]
 * @property {import("./transcendental.js").ActivationName | null} [activation]
 * @property {boolean} [rounds] whether the normalized value may be rounded to x's type
 * @property {ArrayLike<number>} [runningMean] of each run, as they are computed with
 * @property {ArrayLike<number>} [runningVar]
 */
/** @typedef {Constants & import("./runs.js").Geometry} Setting */
/**
 * @typedef {object} Verdict
 * @property {number} error of the worst element, as a multiple of its bound
 * @property {number} index of the worst element
 * @property {number} got
 * @property {number} expected
 * @property {number} mean the worst error of a mean as a multiple of its bound
 * @property {number} rstd the same of rstd
 */
/** @typedef {{ exact: Dyadic, M: Dyadic, reach: Dyadic }} Exact reach: the largest magnitude that has to be finite */
/** @typedef {Float32Array | Float64Array} Row */

/** What maps the values of a run to normalized ones: (count * x - sum) * scale. */
export class Linear {
  /** @param {Dyadic} count @param {Dyadic} sum @param {Dyadic | null} scale null: all are 0 */
  constructor(count, sum, scale) {
    this.count = count;
    this.sum = sum;
    this.scale = scale;
  }

  /** @param {number} x @returns {Dyadic} */
  normalized(x) {
    if (this.scale === null) return ZERO;
    return multiply(subtract(multiply(this.count, dyadic(x)), this.sum), this.scale);
  }
}

/** @param {Dyadic} a positive @returns {Dyadic} 1 / a */
export function reciprocal({ m, e }) {
  const k = PRECISION + bitLength(m);
  return { m: (1n << BigInt(k)) / m, e: -k - e };
}

/** @param {Constants} setting @returns {number} how many eps are allowed */
export function boundOf({ op, dtype, rounds, activation: name }) {
  if (isHalf(dtype)) return rounds ? 2 : 1;
  return name || op === "localResponseNorm" ? 8 : 3;
}

/**
 * @param {Setting} setting
 * @param {Row} x the values of one run
 * @param {number} run its number
 * @returns {Linear | Normalizer}
 */
export function normalizerOf({ op, eps, p = 2, runningMean, runningVar }, x, run) {
  if (runningMean && runningVar) {
    const moments = { n: 1, finite: true, sum: ZERO, squares: dyadic(runningVar[run]), top: 0 };
    const { scale } = new Normalizer(moments, { eps, centered: false });
    return new Linear(ONE, dyadic(runningMean[run]), scale);
  }
  if (op === "l2Normalize" || op === "lpNormalize") {
    const magnitudes = /** @type {Row} */ (x.map(Math.abs));
    let most = 0;
    for (const value of magnitudes) most = Math.max(most, value);
    let norm = dyadic(most);
    if (p === 1) norm = momentsOf(magnitudes).sum;
    if (p === 2) norm = squareRoot(momentsOf(x).squares);
    const floored = largest(norm, dyadic(eps));
    return new Linear(ONE, ZERO, floored.m === 0n ? null : reciprocal(floored));
  }
  const moments = momentsOf(x);
  const normalizer = new Normalizer(moments, {
    eps: op === "meanVarianceNormalize" ? 0 : eps,
    centered: !/rms/i.test(op),
  });
  if (op !== "meanVarianceNormalize") return normalizer;
  const { count, sum } = normalizer;
  const deviation = add(squareRoot(normalizer.power), multiply(count, dyadic(eps)));
  return new Linear(count, sum, deviation.m === 0n ? null : reciprocal(deviation));
}

/** @param {Field | null | undefined} field @param {number} i @returns {number | null} */
export const at = (field, i) =>
  field === null || field === undefined ? null : typeof field === "number" ? field : field[i];

/**
 * @param {Setting} setting
 * @param {number} i
 * @returns {(Dyadic | null)[]} weightOffset + weight, exact and rounded once
 */
export function weightsAt({ weight, weightOffset = 0, dtype }, i) {
  const value = at(weight, i);
  if (value === null) return [null];
  const sum = add(dyadic(value), dyadic(weightOffset));
  const rounded = dyadic(roundTo(value + weightOffset, arithmetic(dtype)));
  return subtract(sum, rounded).m === 0n ? [sum] : [sum, rounded];
}

/**
 * What follows normalization, on exact numbers.
 * @param {Setting} setting
 * @param {Dyadic} normalized
 * @param {Dyadic | null} weight
 * @param {number} i
 * @returns {Exact}
 */
function finish(setting, normalized, weight, i) {
  const product = weight === null ? normalized : multiply(normalized, weight);
  const bias = dyadic(at(setting.bias, i) ?? 0);
  let exact = add(product, bias);
  const terms = [ONE, product, bias];
  const scale = at(setting.scale, i);
  if (scale !== null) {
    exact = multiply(exact, add(ONE, dyadic(scale)));
    terms.push(exact);
  }
  const shift = at(setting.shift, i);
  if (shift !== null) {
    terms.push(exact, dyadic(shift));
    exact = add(exact, dyadic(shift));
  }
  if (setting.activation) exact = activation(setting.activation, exact);
  const M = largest(exact, ...terms);
  return { exact, M, reach: largest(M, normalized) };
}

/** The largest magnitude for which terms are finite. @param {DType} dtype @returns {Dyadic} */
export function largestOf(dtype) {
  if (isHalf(dtype)) return dyadic(largestHalf(dtype));
  return dyadic(dtype === "float32" ? (2 - 2 ** -23) * 2 ** 127 : Number.MAX_VALUE);
}

/**
 * |got - exact| as a multiple of its bound; 0 where a term is not finite in the element type.
 * @param {Setting} setting
 * @param {number} got
 * @param {Exact} exact
 * @returns {number}
 */
function errorOf(setting, got, { exact, M, reach }) {
  if (!less(reach, largestOf(setting.dtype))) return 0;
  if (!Number.isFinite(got)) return Number.POSITIVE_INFINITY;
  const allowed = multiply(M, dyadic(boundOf(setting) * EPS[setting.dtype]));
  return ratio(absolute(subtract(dyadic(got), exact)), allowed);
}

/** Elements of a float64 run that are all judged exactly; of more, the worst ones and some others. */
const FEW = 64;

/**
 * Elements to judge exactly, by what float64 makes of all: of float32 results the worst one, of float64 results several.
 * @param {ArrayLike<number>} approximate errors, NaN where there is none
 * @param {DType} dtype
 * @returns {number[]} indices
 */
function choose(approximate, dtype) {
  const n = approximate.length;
  if (dtype === "float64" && n <= FEW) return Array.from({ length: n }, (_, i) => i);
  const spread = Math.ceil(n / 24);
  const chosen = [];
  for (let begin = 0; begin < n; begin += dtype === "float64" ? spread : n) {
    let worst = begin;
    const end = dtype === "float64" ? Math.min(n, begin + spread) : n;
    for (let i = begin; i < end; i++) {
      if (Number.isNaN(approximate[i])) {
        worst = i;
        break;
      }
      if (approximate[i] > approximate[worst]) worst = i;
    }
    chosen.push(worst);
  }
  return chosen;
}

/**
 * @param {Setting} setting
 * @param {Linear | Normalizer} normalizer
 * @param {Row} x of a run
 * @param {Row} got
 * @param {Int32Array} run
 * @returns {Float64Array} errors as float64 has them
 */
function approximateErrors(setting, normalizer, x, got, run) {
  const { weightOffset = 0, activation: name } = setting;
  const { count, sum, scale } = normalizer;
  const mean = ratio(sum, count);
  const rest = ratio(subtract(sum, multiply(dyadic(mean), count)), count);
  const factor = scale === null ? 0 : toNumber(multiply(count, scale));
  return Float64Array.from(x, (value, k) => {
    const i = run[k];
    const weight = at(setting.weight, i);
    const product = (value - mean - rest) * factor * (weight === null ? 1 : weight + weightOffset);
    const bias = at(setting.bias, i) ?? 0;
    const scaled = (product + bias) * (1 + (at(setting.scale, i) ?? 0));
    const shift = at(setting.shift, i) ?? 0;
    const y = name ? APPROXIMATE[name](scaled + shift) : scaled + shift;
    const M = Math.max(1, Math.abs(product), Math.abs(bias), Math.abs(scaled), Math.abs(shift));
    return Math.abs(got[k] - y) / Math.max(M, Math.abs(y));
  });
}

/**
 * @param {Setting} setting
 * @param {Row} x all values, in the arithmetic type
 * @param {{ output: Row, mean?: ArrayLike<number>, rstd?: ArrayLike<number> }} got
 * @returns {Verdict}
 */
export function judgeOperation(setting, x, got) {
  if (setting.op === "localResponseNorm") return judgeWindows(setting, x, got.output);
  const { dtype } = setting;
  const wide = arithmetic(dtype);
  /** @type {Verdict} */
  const verdict = { error: -1, index: 0, got: 0, expected: 0, mean: 0, rstd: 0 };
  for (const [number, run] of runsOf(setting.op, setting).runs.entries()) {
    const values = gather(x, run);
    const results = gather(got.output, run);
    const normalizer = normalizerOf(setting, values, number);
    const errors = approximateErrors(setting, normalizer, values, results, run);
    for (const k of choose(errors, dtype)) {
      const i = run[k];
      const normalized = normalizer.normalized(values[k]);
      for (const weight of weightsAt(setting, i)) {
        const exact = finish(setting, normalized, weight, i);
        const error = errorOf(setting, results[k], exact);
        if (error > verdict.error) {
          const expected = toNumber(exact.exact);
          Object.assign(verdict, { error, index: i, got: results[k], expected });
        }
      }
    }
    if (normalizer instanceof Normalizer) {
      if (got.mean) {
        verdict.mean = Math.max(verdict.mean, normalizer.meanError(got.mean[number], wide));
      }
      if (got.rstd) {
        verdict.rstd = Math.max(verdict.rstd, normalizer.rstdError(got.rstd[number], wide) / 3);
      }
    }
  }
  return verdict;
}

/**
 * @param {Setting} setting
 * @param {Row} x
 * @param {Row} got
 * @returns {Verdict}
 */
function judgeWindows(setting, x, got) {
  const { dims, last = false, dtype } = setting;
  const window = /** @type {NonNullable<Setting["window"]>} */ (setting.window);
  const { size, alpha, beta, k } = window;
  const channel = last ? dims.length - 1 : 1;
  const stride = dims.slice(channel + 1).reduce((a, b) => a * b, 1);
  const channels = dims[channel];
  const below = Math.floor((size - 1) / 2);
  /** @param {number} i @param {(value: number) => void} visit */
  const eachInWindow = (i, visit) => {
    const c = Math.floor(i / stride) % channels;
    const first = Math.max(0, c - below);
    const end = Math.min(channels, c - below + size);
    for (let other = first; other < end; other++) visit(x[i + (other - c) * stride]);
  };
  const errors = Float64Array.from(x, (value, i) => {
    let sum = 0;
    eachInWindow(i, (each) => {
      sum += each * each;
    });
    const y = value / (k + (alpha / size) * sum) ** beta;
    return Math.abs(got[i] - y) / Math.max(1, Math.abs(y));
  });
  /** @type {Verdict} */
  const verdict = { error: -1, index: 0, got: 0, expected: 0, mean: 0, rstd: 0 };
  for (const i of choose(errors, dtype)) {
    let sum = ZERO;
    eachInWindow(i, (each) => {
      sum = add(sum, multiply(dyadic(each), dyadic(each)));
    });
    const mean = multiply(multiply(sum, dyadic(alpha)), reciprocal(dyadic(size)));
    const base = add(dyadic(k), mean);
    if (base.m <= 0n) continue;
    const exact = multiply(dyadic(x[i]), power(base, dyadic(-beta)));
    const error = errorOf(setting, got[i], {
      exact,
      M: largest(ONE, exact),
      reach: largest(exact),
    });
    if (error > verdict.error) {
      Object.assign(verdict, { error, index: i, got: got[i], expected: toNumber(exact) });
    }
  }
  return verdict;
}
