/**
 * Exact arithmetic to judge normalization results by.
 *
 * A finite float is a dyadic number m * 2^e, and so are sums and products of floats: the moments of a run are held
 * without any rounding. With S1 = sum x, S2 = sum x^2 and n values,
 *
 *   T = n * S2 - S1^2 + n^2 * eps        (layer: n^2 * (var + eps), var biased)
 *   T = n * S2        + n^2 * eps        (rms:   n^2 * (mean(x^2) + eps))
 *   normalized = (n * x - S1) / sqrt(T)  (rms:   n * x / sqrt(T)),   rstd = n / sqrt(T)
 *
 * where T is dyadic too. Only 1 / sqrt(T) is rounded, to PRECISION bits by an integer square root.
 *
 * Layers: exact numbers (dyadic.js), the moments of a run of them (moments.js, Normalizer), then the affine part on exact
 * numbers (affine, errorInEps). Operations that differ in one of them reuse the others: exact_operations.js.
 */
import {
  absolute,
  add,
  dyadic,
  inverseSquareRoot,
  largest,
  multiply,
  ONE,
  ratio,
  squareRoot,
  subtract,
  toNumber,
  ZERO,
} from "./dyadic.js";

export * from "./dyadic.js";
export { MomentSum, momentsOf } from "./moments.js";

/** @typedef {import("./dyadic.js").Dyadic} Dyadic */
/** @typedef {"float32" | "float64" | "float16" | "bfloat16"} DType */
/** @typedef {import("./moments.js").Moments} Moments */
/** @typedef {number | ArrayLike<number> | null | undefined} Parameter one number for all elements, or one each */
/**
 * @typedef {object} AffineOptions
 * @property {Parameter} [weight]
 * @property {Parameter} [bias]
 * @property {number} [weightOffset]
 */

/** One unit of the error bounds: the spacing of the type's values at 1. */
export const EPS = { float32: 2 ** -23, float64: 2 ** -52, float16: 2 ** -10, bfloat16: 2 ** -7 };

const MIN_EXPONENT = -1074;

// --- Statistics of a run -----------------------------------------------------------------------------------------------

/** @param {number} n @returns {Dyadic} */
function whole(n) {
  return { m: BigInt(n), e: 0 };
}

/** Statistics of a run and the map from its values to normalized ones. */
export class Normalizer {
  /**
   * @param {Moments} moments of a finite run, n > 0
   * @param {{ eps: number, centered: boolean }} options centered: layer norm; else rms norm
   */
  constructor(moments, { eps, centered }) {
    if (!moments.finite || moments.n === 0)
      throw new RangeError("Normalizer: expected a finite, not empty run");
    this.n = moments.n;
    this.top = moments.top;
    this.count = whole(moments.n);
    /** n * the mean that is subtracted. */
    this.sum = centered ? moments.sum : ZERO;
    /** n^2 * var, or n^2 * mean(x^2). */
    this.power = subtract(multiply(this.count, moments.squares), multiply(this.sum, this.sum));
    const total = add(this.power, multiply(multiply(this.count, this.count), dyadic(eps)));
    /** rstd / n; null where rstd is infinite. @type {Dyadic | null} */
    this.scale = total.m === 0n ? null : inverseSquareRoot(total);
  }

  /**
   * (x - mean) * rstd, or 0 where the run has no variance and eps is 0.
   * @param {number} x
   * @returns {Dyadic}
   */
  normalized(x) {
    if (this.scale === null) return ZERO;
    return multiply(subtract(multiply(this.count, dyadic(x)), this.sum), this.scale);
  }

  /** @returns {number} the mean, rounded */
  get mean() {
    return ratio(this.sum, this.count);
  }

  /** @returns {number} the biased variance (rms: the mean square), rounded */
  get var() {
    return ratio(this.power, multiply(this.count, this.count));
  }

  /** @returns {number} the standard deviation (rms: the root mean square), without eps, rounded */
  get std() {
    return ratio(squareRoot(this.power), this.count);
  }

  /** @returns {number} 1 / sqrt(var + eps), rounded */
  get rstd() {
    return this.scale === null
      ? Number.POSITIVE_INFINITY
      : toNumber(multiply(this.count, this.scale));
  }

  /**
   * |got - mean| as a multiple of what is allowed, 3 eps * std + 2^-52 |mean|; at most 1 is right.
   * @param {number} got
   * @param {DType} dtype of x
   * @returns {number}
   */
  meanError(got, dtype) {
    if (!Number.isFinite(got)) return Number.POSITIVE_INFINITY;
    const error = beyondSpacing(
      absolute(subtract(multiply(this.count, dyadic(got)), this.sum)),
      this.count,
    );
    if (error.m === 0n) return 0;
    const allowed = add(
      multiply(dyadic(3 * EPS[dtype]), squareRoot(this.power)),
      multiply({ m: 1n, e: -52 }, absolute(this.sum)),
    );
    return allowed.m === 0n ? Number.POSITIVE_INFINITY : ratio(error, allowed);
  }

  /**
   * The relative error of rstd in units of eps; at most 3 is right.
   * @param {number} got
   * @param {DType} dtype of x
   * @returns {number}
   */
  rstdError(got, dtype) {
    if (this.scale === null || this.rstd === Number.POSITIVE_INFINITY) {
      return got === Number.POSITIVE_INFINITY ? 0 : Number.POSITIVE_INFINITY;
    }
    if (!Number.isFinite(got)) return Number.POSITIVE_INFINITY;
    const exact = multiply(this.count, this.scale);
    const error = beyondSpacing(absolute(subtract(dyadic(got), exact)), ONE);
    return ratio(error, multiply(exact, dyadic(EPS[dtype])));
  }
}

/**
 * error less half of the smallest float64 times n: what no float64 result can do better than.
 * @param {Dyadic} error
 * @param {Dyadic} n
 * @returns {Dyadic}
 */
function beyondSpacing(error, n) {
  const rest = subtract(error, multiply(n, { m: 1n, e: MIN_EXPONENT - 1 }));
  return rest.m < 0n ? ZERO : rest;
}

// --- Affine part -----------------------------------------------------------------------------------------------------

/**
 * Rounds a parameter to the type that the operation computes in.
 * @param {number} value
 * @param {DType} dtype of x
 * @returns {number}
 */
export function roundParameter(value, dtype) {
  return dtype === "float64" ? value : Math.fround(value);
}

/** @param {Parameter} parameter @param {number} i @param {DType} dtype @returns {number | null} */
function parameterAt(parameter, i, dtype) {
  if (parameter === null || parameter === undefined) return null;
  return roundParameter(typeof parameter === "number" ? parameter : parameter[i], dtype);
}

/**
 * normalized * (weightOffset + weight) + bias and the magnitude M that its error is measured by: the largest of 1, the
 * result, weight * normalized and bias. weight is exact here: a number, or the exact sum of two.
 * @param {Dyadic} normalized
 * @param {Dyadic | null} weight
 * @param {number | null} bias
 * @returns {{ exact: Dyadic, M: Dyadic }}
 */
export function affine(normalized, weight, bias) {
  const product = weight === null ? normalized : multiply(normalized, weight);
  const shift = bias === null ? ZERO : dyadic(bias);
  const exact = add(product, shift);
  return { exact, M: largest(ONE, exact, product, shift) };
}

/**
 * |got - exact| / (eps * M).
 * @param {number} got
 * @param {Dyadic} exact
 * @param {Dyadic} M
 * @param {DType} dtype
 * @returns {number}
 */
export function errorInEps(got, exact, M, dtype) {
  if (!Number.isFinite(got)) return Number.POSITIVE_INFINITY;
  return ratio(absolute(subtract(dyadic(got), exact)), multiply(M, dyadic(EPS[dtype])));
}

/**
 * The weights that element i may be judged by. weightOffset + weight is exact or rounded once, whichever is worse for
 * the result: both readings of "rounded once to the arithmetic type" have to hold.
 * @param {AffineOptions} options
 * @param {number} i
 * @param {DType} dtype
 * @returns {(Dyadic | null)[]}
 */
function weightsAt({ weight, weightOffset = 0 }, i, dtype) {
  const value = parameterAt(weight, i, dtype);
  if (value === null) return [null];
  const sum = add(dyadic(value), dyadic(weightOffset));
  const rounded = roundParameter(value + weightOffset, dtype);
  return subtract(sum, dyadic(rounded)).m === 0n ? [sum] : [sum, dyadic(rounded)];
}

/**
 * The error of one element, exactly.
 * @param {Normalizer} normalizer
 * @param {number} x
 * @param {number} got
 * @param {AffineOptions} options
 * @param {number} i index of the element among the parameters
 * @param {DType} dtype
 * @returns {{ error: number, expected: number }} error in eps; expected is rounded to float64
 */
export function elementError(normalizer, x, got, options, i, dtype) {
  const normalized = normalizer.normalized(x);
  const bias = parameterAt(options.bias, i, dtype);
  let worst = { error: -1, expected: Number.NaN };
  for (const weight of weightsAt(options, i, dtype)) {
    const { exact, M } = affine(normalized, weight, bias);
    const error = errorInEps(got, exact, M, dtype);
    if (error > worst.error) worst = { error, expected: toNumber(exact) };
  }
  return worst;
}

// --- Every element of a run, fast ------------------------------------------------------------------------------------

/** @param {Dyadic} a @param {Dyadic} b @returns {[number, number]} a / b as an unevaluated sum of two float64 */
function split(a, b) {
  const high = ratio(a, b);
  return [high, ratio(subtract(a, multiply(dyadic(high), b)), b)];
}

const SPLITTER = 2 ** 27 + 1;
/** Beyond this the splitting of a product overflows, and BigInt has to do. */
const SPLIT_LIMIT = 2 ** 480;

/**
 * The element of a run with the largest error. Every element is looked at in arithmetic whose own error is far below
 * the bounds (float64 for float32 results, double-double for float64 results); the worst is then judged exactly.
 * @param {Normalizer} normalizer
 * @param {Float32Array | Float64Array} x
 * @param {Float32Array | Float64Array} got
 * @param {AffineOptions} options
 * @returns {{ index: number, error: number, expected: number }}
 */
export function worstElement(normalizer, x, got, options) {
  const dtype = x instanceof Float32Array ? "float32" : "float64";
  const approximate = dtype === "float32" ? worst32 : worst64;
  let worst = { index: 0, error: -1, expected: Number.NaN };
  // weightOffset + weight exact, and rounded.
  for (const rounded of options.weightOffset ? [false, true] : [false]) {
    const index = approximate(normalizer, x, got, options, rounded);
    const judged = elementError(normalizer, x[index], got[index], options, index, dtype);
    if (judged.error > worst.error) worst = { index, ...judged };
  }
  return worst;
}

/**
 * @param {Normalizer} normalizer
 * @param {Float32Array | Float64Array} x
 * @param {Float32Array | Float64Array} got
 * @param {AffineOptions} options
 * @param {boolean} rounded whether weightOffset + weight is rounded
 * @returns {number} index of the worst element
 */
function worst32(normalizer, x, got, options, rounded) {
  const { weight = null, bias = null, weightOffset = 0 } = options;
  const [mean, rest] = split(normalizer.sum, normalizer.count);
  const rstd = normalizer.scale === null ? 0 : normalizer.rstd;
  const weightArray = typeof weight === "number" || weight === null ? null : weight;
  const biasArray = typeof bias === "number" || bias === null ? null : bias;
  /** @param {number} value */
  const offsetWeight = (value) => {
    const sum = Math.fround(value) + weightOffset;
    return rounded ? Math.fround(sum) : sum;
  };
  let w = typeof weight === "number" ? offsetWeight(weight) : 1;
  let b = typeof bias === "number" ? Math.fround(bias) : 0;
  let worst = -1;
  let index = 0;
  for (let i = 0; i < x.length; i++) {
    if (weightArray) w = offsetWeight(weightArray[i]);
    if (biasArray) b = Math.fround(biasArray[i]);
    const product = (x[i] - mean - rest) * rstd * w;
    const y = product + b;
    const M = Math.max(1, Math.abs(y), Math.abs(product), Math.abs(b));
    const error = Math.abs(got[i] - y) / M;
    if (Number.isNaN(error)) return i;
    if (error > worst) {
      worst = error;
      index = i;
    }
  }
  return index;
}

/**
 * @param {Normalizer} normalizer
 * @param {Float32Array | Float64Array} x
 * @param {Float32Array | Float64Array} got
 * @param {AffineOptions} options
 * @param {boolean} rounded whether weightOffset + weight is rounded
 * @returns {number} index of the worst element
 */
function worst64(normalizer, x, got, options, rounded) {
  const { weight = null, bias = null, weightOffset = 0 } = options;
  // In units of 2^top the values are at most 1, and rstd cannot overflow: values that differ, differ by 2^-53 at least.
  const top = Number.isFinite(normalizer.top) ? normalizer.top : 0;
  const half = 2 ** Math.trunc(-top / 2);
  const otherHalf = 2 ** (-top - Math.trunc(-top / 2));
  const [mean, meanRest] = split(normalizer.sum, { m: normalizer.count.m, e: top });
  const [rstd, rstdRest] =
    normalizer.scale === null || normalizer.power.m === 0n
      ? [0, 0]
      : split({ m: normalizer.count.m * normalizer.scale.m, e: normalizer.scale.e + top }, ONE);
  const weightArray = typeof weight === "number" || weight === null ? null : weight;
  const biasArray = typeof bias === "number" || bias === null ? null : bias;
  let value = typeof weight === "number" ? weight : 1;
  let b = typeof bias === "number" ? bias : 0;
  const offset = weight === null ? 0 : weightOffset;
  let worst = -1;
  let index = 0;
  for (let i = 0; i < x.length; i++) {
    if (weightArray) value = weightArray[i];
    if (biasArray) b = biasArray[i];
    const xi = x[i] * half * otherHalf;

    // x - mean.
    const d = xi - mean;
    const dv = d - xi;
    const dl = xi - (d - dv) - (mean + dv) - meanRest;
    // times rstd.
    let [ph, pl] = product(d, dl, rstd, rstdRest);
    // times offset + weight.
    if (weight !== null) {
      const w = offset + value;
      const wv = w - offset;
      const wl = rounded ? 0 : offset - (w - wv) + (value - wv);
      [ph, pl] = product(ph, pl, w, wl);
    }
    // plus bias.
    const s = ph + b;
    const sv = s - ph;
    const sl = ph - (s - sv) + (b - sv) + pl;
    const M = Math.max(1, Math.abs(s), Math.abs(ph), Math.abs(b));
    let error = Math.abs(got[i] - s - sl) / M / EPS.float64;
    if (!Number.isFinite(error) || Math.abs(value) > SPLIT_LIMIT) {
      error = elementError(normalizer, x[i], got[i], options, i, "float64").error;
    }
    if (error > worst) {
      worst = error;
      index = i;
      if (error === Number.POSITIVE_INFINITY) return i;
    }
  }
  return index;
}

/**
 * (a + al) * (b + bl) as a double-double (Dekker).
 * @param {number} a
 * @param {number} al
 * @param {number} b
 * @param {number} bl
 * @returns {[number, number]}
 */
function product(a, al, b, bl) {
  const p = a * b;
  const ta = SPLITTER * a;
  const ah = ta - (ta - a);
  const tb = SPLITTER * b;
  const bh = tb - (tb - b);
  const ar = a - ah;
  const br = b - bh;
  const rest = ah * bh - p + ah * br + ar * bh + ar * br + (a * bl + al * b);
  const high = p + rest;
  return [high, p - high + rest];
}
