/**
 * Judges gradients by exact arithmetic: each run's statistics as exact.js has them, then the analytic gradients on exact
 * numbers, against the bounds of the guarantees. With gw the gradient of a normalized value n:
 *
 *   gradInput = rstd * (gw - mean(gw) - n * mean(gw * n))                  (rms, l2: without mean(gw); l2: a sum, not a mean)
 *   |error| <= 8 eps * the run's largest rstd * (|gw| + |mean(gw)| + |n * mean(gw * n)|)
 *   gradients of parameters: |error| <= 4 eps * sum |terms|
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
  ONE,
  ratio,
  subtract,
  toNumber,
  ZERO,
} from "./exact.js";
import { at, largestOf, normalizerOf, reciprocal, weightsAt } from "./exact_operations.js";
import { arithmetic, isHalf } from "./half.js";
import { gather, runsOf } from "./runs.js";
import { activation } from "./transcendental.js";

/** @typedef {import("./exact.js").Dyadic} Dyadic */
/** @typedef {import("./exact_operations.js").Setting} Setting */
/** @typedef {Float32Array | Float64Array} Row */
/** @typedef {{ rstd: Dyadic, normalized: (x: number) => Dyadic }} RunMap */
/** @typedef {Record<string, { given: number | Row, index: (i: number) => number }>} Places */
/**
 * @typedef {object} Problem
 * @property {Setting} setting
 * @property {Row} x what is normalized
 * @property {Row} grad of the output
 * @property {Places} places of the parameters
 * @property {{ x: Row, residual: { given: Row, index: (i: number) => number }, gate: any, sumBias: any, gradSum?: Row }} [added]
 * @property {{ mean?: ArrayLike<number>, rstd: ArrayLike<number> }} [given] statistics of each run, as exact ones
 */
/** @typedef {{ error: number, where: string, got: number, expected: number }} Finding error as a multiple of its bound */

/** The smallest positive number. */
const TINY = { float32: 2 ** -149, float64: 2 ** -1074, float16: 2 ** -24, bfloat16: 2 ** -133 };

/** Beyond all that is finite, also after it was multiplied by a bound. */
const BEYOND = { m: 1n, e: 5000 };

/** The step of difference quotients: its square times the third derivative is far below all bounds. */
const STEP = { m: 1n, e: -70 };

/** @param {import("./transcendental.js").ActivationName} name @param {Dyadic} v @returns {Dyadic} */
export function slope(name, v) {
  if (name === "relu") return v.m > 0n ? ONE : ZERO;
  const rise = subtract(activation(name, add(v, STEP)), activation(name, subtract(v, STEP)));
  return { m: rise.m, e: rise.e + 69 };
}

/** @param {Dyadic} a @returns {Dyadic} with 220 bits at most */
function shortened({ m, e }) {
  const extra = bitLength(m < 0n ? -m : m) - 220;
  return extra <= 0 ? { m, e } : { m: m >> BigInt(extra), e: e + extra };
}

/**
 * @param {Problem} problem
 * @param {Row} values of a run
 * @param {number} number of the run
 * @returns {RunMap}
 */
function mapOf({ setting, given }, values, number) {
  if (given) {
    const rstd = given.rstd[number];
    const factor = rstd === Number.POSITIVE_INFINITY ? ZERO : dyadic(rstd);
    const mean = dyadic(given.mean ? given.mean[number] : 0);
    return { rstd: factor, normalized: (x) => multiply(subtract(dyadic(x), mean), factor) };
  }
  const normalizer = normalizerOf(setting, values, number);
  const { count, scale } = normalizer;
  const rstd = scale === null ? ZERO : multiply(count, scale);
  return { rstd, normalized: (x) => shortened(normalizer.normalized(x)) };
}

/** Sums of exact terms and of their magnitudes, for each element of a parameter. */
class Sums {
  /** @param {number | Row} given @param {(i: number) => number} index */
  constructor(given, index) {
    this.given = given;
    this.index = index;
    const size = typeof given === "number" ? 1 : given.length;
    this.sums = new Array(size).fill(ZERO);
    this.magnitudes = new Array(size).fill(ZERO);
  }

  /** @param {number} i of x @param {Dyadic} term @param {Dyadic} [magnitude] */
  add(i, term, magnitude = absolute(term)) {
    const k = this.index(i);
    this.sums[k] = add(this.sums[k], term);
    this.magnitudes[k] = add(this.magnitudes[k], magnitude);
  }
}

/**
 * @param {number} got
 * @param {Dyadic} exact
 * @param {Dyadic} allowed without what the spacing of small numbers adds
 * @param {import("./exact.js").DType} dtype
 * @param {Dyadic} [spacing] how many of the smallest numbers count for nothing
 * @returns {number} the error as a multiple of the bound; 0 where a term is not finite in the type
 */
function errorOf(got, exact, allowed, dtype, spacing = ONE) {
  if (!less(largest(exact, allowed), largestOf(dtype))) return 0;
  if (!Number.isFinite(got)) return Number.POSITIVE_INFINITY;
  const error = absolute(subtract(dyadic(got), exact));
  return error.m === 0n ? 0 : ratio(error, add(allowed, multiply(spacing, dyadic(TINY[dtype]))));
}

/**
 * The worst of all gradients, each as a multiple of its bound.
 * @param {Problem} problem
 * @param {Record<string, any>} got numbers and rows of numbers, by the names of the results
 * @param {number} [flushed] where subnormal numbers are taken for 0: the smallest that is not
 * @returns {Finding}
 */
export function judgeGradients(problem, got, flushed = 0) {
  const { setting, x, grad, places, added } = problem;
  const { op, dtype } = setting;
  const wide = arithmetic(dtype);
  const eps = EPS[dtype];
  const centered = !/rms|l2/i.test(op);
  const constant = setting.runningVar !== undefined;
  /** @type {Finding} */
  let worst = { error: -1, where: "", got: 0, expected: 0 };
  /**
   * @param {string} where
   * @param {number} value
   * @param {Dyadic} exact
   * @param {Dyadic} allowed
   * @param {any} type
   * @param {Dyadic} [spacing]
   */
  const judge = (where, value, exact, allowed, type, spacing) => {
    const error = errorOf(value, exact, allowed, type, spacing);
    if (error > worst.error) worst = { error, where, got: value, expected: toNumber(exact) };
  };

  /** @type {Record<string, Sums>} */
  const sums = {};
  for (const [name, { given, index }] of Object.entries(places))
    sums[name] = new Sums(given, index);
  if (added) {
    const { residual, gate, sumBias } = added;
    sums.residual = new Sums(residual.given, residual.index);
    if (typeof gate === "number") sums.gate = new Sums(gate, () => 0);
    else if (gate) sums.gate = new Sums(gate.given, gate.index);
    if (sumBias) sums.sumBias = new Sums(sumBias.given, sumBias.index);
  }
  for (const [number, run] of runsOf(op, setting).runs.entries()) {
    const values = gather(x, run);
    const n = values.length;
    const map = mapOf(problem, values, number);
    const { rstd } = map;
    const zero = rstd.m === 0n;
    const normalized = Array.from(values, (value) => map.normalized(value));
    const of = Array.from(run, (i, k) => {
      // weightOffset + weight as it is rounded once.
      const weight = weightsAt(setting, i).at(-1) ?? null;
      const scale = at(setting.scale, i);
      const factor = add(ONE, dyadic(scale ?? 0));
      const product = weight === null ? normalized[k] : multiply(normalized[k], weight);
      const affine = add(product, dyadic(at(setting.bias, i) ?? 0));
      let result = dyadic(grad[i]);
      if (setting.activation) {
        const before = add(multiply(affine, factor), dyadic(at(setting.shift, i) ?? 0));
        result = shortened(multiply(result, slope(setting.activation, before)));
      }
      const ofAffine = multiply(result, factor);
      const ofNormalized = weight === null ? ofAffine : multiply(ofAffine, weight);
      sums.weight?.add(i, multiply(ofAffine, normalized[k]));
      sums.bias?.add(i, ofAffine);
      sums.scale?.add(i, multiply(result, affine));
      sums.shift?.add(i, result);
      return shortened(ofNormalized);
    });
    let total = ZERO;
    let products = ZERO;
    for (const [k, each] of of.entries()) {
      total = add(total, each);
      products = add(products, multiply(each, normalized[k]));
    }
    const part = op === "l2Normalize" ? ONE : reciprocal(dyadic(n));
    const meanGrad = centered && !constant ? shortened(multiply(total, part)) : ZERO;
    let meanProduct = constant ? ZERO : shortened(multiply(products, part));
    // Where eps takes the place of the norm, it is a constant.
    const { eps: least } = setting;
    const { squares } = momentsOf(values);
    if (op === "l2Normalize" && less(squares, multiply(dyadic(least), dyadic(least))))
      meanProduct = ZERO;
    let largestTerms = ZERO;
    const exact = of.map((each, k) => {
      const last = multiply(normalized[k], meanProduct);
      const terms = multiply(rstd, add(add(absolute(each), absolute(meanGrad)), absolute(last)));
      if (less(largestTerms, terms)) largestTerms = terms;
      return zero ? ZERO : multiply(rstd, subtract(subtract(each, meanGrad), last));
    });
    // Where a term is not finite, nothing is judged that depends on it.
    const limit = largestOf(dtype);
    const reach = normalized.reduce((most, each) => largest(most, each), rstd);
    if (!less(largestTerms, limit) || !less(reach, limit)) {
      for (const i of run) for (const each of Object.values(sums)) each.add(i, ZERO, BEYOND);
      continue;
    }
    const bound = multiply(dyadic(8 * eps), largestTerms);
    for (const [k, i] of run.entries()) {
      let result = exact[k];
      let allowed = bound;
      let terms = largestTerms;
      if (added) {
        const { gate, gradSum } = added;
        const sumGrad = dyadic(gradSum ? gradSum[i] : 0);
        result = add(result, sumGrad);
        terms = add(terms, absolute(sumGrad));
        allowed = add(allowed, multiply(dyadic(8 * eps), absolute(sumGrad)));
        sums.residual.add(i, result, terms);
        sums.sumBias?.add(i, result, terms);
        const own = dyadic(added.x[i]);
        // The gradient of the sum may be subnormal.
        const spaced = add(terms, dyadic((8 * TINY[wide]) / EPS[wide]));
        sums.gate?.add(i, multiply(result, own), multiply(spaced, absolute(own)));
        const factor = dyadic(
          gate === undefined ? 1 : typeof gate === "number" ? gate : gate.field[i],
        );
        result = multiply(result, factor);
        allowed = multiply(allowed, absolute(factor));
      }
      // Products that are subnormal have lost their last bits before they are multiplied by rstd. A float64 result that is has
      // been rounded in both of its parts.
      const parts = dtype === "float64" ? 2 : 1;
      const spacing = add(dyadic(parts), multiply(dyadic(64), rstd));
      allowed = add(allowed, dyadic(flushed));
      judge(`gradInput ${i}`, got.gradInput[i], result, allowed, dtype, spacing);
    }
  }
  for (const [name, { given, sums: exact, magnitudes }] of Object.entries(sums)) {
    const value = got[`grad${name[0].toUpperCase()}${name.slice(1)}`];
    // As the parameter; the residual has x's type. Gradients through gradInput have its bound.
    const isWide = typeof given === "number" || given instanceof Float64Array;
    const type = name === "residual" ? dtype : isWide ? "float64" : "float32";
    const unit = Math.max(EPS[type], EPS[isHalf(dtype) ? "float32" : wide]);
    const many = /residual|gate|sumBias/.test(name) ? 8 : 4;
    for (const [k, sum] of exact.entries()) {
      const allowed = add(multiply(dyadic(many * unit), magnitudes[k]), dyadic(64 * flushed));
      // Terms that overflow are not judged either.
      const reach = less(magnitudes[k], largestOf(isWide ? wide : "float32")) ? allowed : BEYOND;
      judge(
        `${name} ${k}`,
        typeof value === "number" ? value : value[k],
        sum,
        reach,
        type,
        dyadic(64),
      );
    }
  }
  return worst;
}
