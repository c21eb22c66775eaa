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
 * Two layers: the moments of a run of exact numbers (MomentSum, Normalizer), then the affine part on exact numbers
 * (affine, errorInEps). Operations that differ in one of them reuse the other.
 */

/** @typedef {{ m: bigint, e: number }} Dyadic the number m * 2^e */
/** @typedef {"float32" | "float64" | "float16" | "bfloat16"} DType */
/**
 * @typedef {object} Moments
 * @property {number} n
 * @property {boolean} finite false if a value is NaN or infinite; sum and squares are then 0
 * @property {Dyadic} sum
 * @property {Dyadic} squares
 * @property {number} top every |value| is below 2^top
 */
/** @typedef {number | ArrayLike<number> | null | undefined} Parameter one number for all elements, or one each */
/**
 * @typedef {object} AffineOptions
 * @property {Parameter} [weight]
 * @property {Parameter} [bias]
 * @property {number} [weightOffset]
 */

/** Bits of 1 / sqrt(T) and of square roots that are right; bounds are judged to far fewer. */
export const PRECISION = 160;

/** One unit of the error bounds: the spacing of the type's values at 1. */
export const EPS = { float32: 2 ** -23, float64: 2 ** -52, float16: 2 ** -10, bfloat16: 2 ** -7 };

const MIN_EXPONENT = -1074;

// --- Dyadic numbers --------------------------------------------------------------------------------------------------

const float64 = new Float64Array(1);
const words = new Uint32Array(float64.buffer);

/** @type {Dyadic} */
export const ZERO = { m: 0n, e: 0 };
/** @type {Dyadic} */
export const ONE = { m: 1n, e: 0 };

/**
 * The exact value of a finite number.
 * @param {number} value
 * @returns {Dyadic}
 */
export function dyadic(value) {
  if (!Number.isFinite(value))
    throw new RangeError(`dyadic: expected a finite number, got ${value}`);
  float64[0] = value;
  const high = words[1];
  const field = (high >>> 20) & 0x7ff;
  const mantissa = ((high & 0xfffff) + (field ? 0x100000 : 0)) * 2 ** 32 + words[0];
  return { m: BigInt(value < 0 ? -mantissa : mantissa), e: (field || 1) - 1075 };
}

/** @param {Dyadic} a @param {Dyadic} b @returns {Dyadic} */
export function add(a, b) {
  if (a.m === 0n) return b;
  if (b.m === 0n) return a;
  if (a.e >= b.e) return { m: (a.m << BigInt(a.e - b.e)) + b.m, e: b.e };
  return { m: a.m + (b.m << BigInt(b.e - a.e)), e: a.e };
}

/** @param {Dyadic} a @returns {Dyadic} */
export function negate(a) {
  return { m: -a.m, e: a.e };
}

/** @param {Dyadic} a @param {Dyadic} b @returns {Dyadic} */
export function subtract(a, b) {
  return add(a, negate(b));
}

/** @param {Dyadic} a @param {Dyadic} b @returns {Dyadic} */
export function multiply(a, b) {
  return { m: a.m * b.m, e: a.e + b.e };
}

/** @param {Dyadic} a @returns {Dyadic} */
export function absolute(a) {
  return a.m < 0n ? negate(a) : a;
}

/** @param {Dyadic} a @param {Dyadic} b @returns {boolean} */
export function less(a, b) {
  return subtract(a, b).m < 0n;
}

/** @param {...Dyadic} values @returns {Dyadic} the largest magnitude among values */
export function largest(...values) {
  let result = ZERO;
  for (const value of values) {
    const magnitude = absolute(value);
    if (less(result, magnitude)) result = magnitude;
  }
  return result;
}

/** @param {bigint} value not negative @returns {number} */
export function bitLength(value) {
  if (value === 0n) return 0;
  float64[0] = Number(value);
  if (float64[0] === Number.POSITIVE_INFINITY) return bitLength(value >> 1000n) + 1000;
  const length = (words[1] >>> 20) - 1022;
  // Number(value) may have been rounded up to a power of two.
  return length > 53 && value >> BigInt(length - 1) === 0n ? length - 1 : length;
}

/**
 * a / b rounded to float64 (twice where the result is subnormal).
 * @param {Dyadic} a
 * @param {Dyadic} b not 0
 * @returns {number}
 */
export function ratio(a, b) {
  if (a.m === 0n) return 0;
  const numerator = a.m < 0n ? -a.m : a.m;
  const denominator = b.m < 0n ? -b.m : b.m;
  // At least 64 bits of quotient, and an odd last bit in place of the remainder so that no tie is rounded wrongly.
  const shift = 66 - bitLength(numerator) + bitLength(denominator);
  const shifted = shift >= 0 ? numerator << BigInt(shift) : numerator;
  const divisor = shift >= 0 ? denominator : denominator << BigInt(-shift);
  let quotient = shifted / divisor;
  if (quotient * divisor !== shifted) quotient |= 1n;
  const exponent = a.e - b.e - shift;
  const half = Math.trunc(exponent / 2);
  const magnitude = Number(quotient) * 2 ** half * 2 ** (exponent - half);
  return a.m < 0n === b.m < 0n ? magnitude : -magnitude;
}

/** @param {Dyadic} a @returns {number} a rounded to float64 */
export function toNumber(a) {
  return ratio(a, ONE);
}

/**
 * The largest integer whose square is at most value.
 * @param {bigint} value not negative
 * @returns {bigint}
 */
export function integerSquareRoot(value) {
  if (value < 2n) return value;
  // Newton's iteration from above falls until it reaches the root.
  const shift = Math.max(0, bitLength(value) - 100);
  const even = BigInt(shift + (shift & 1));
  let root =
    (BigInt(Math.ceil(Math.sqrt(Number(value >> even)) * (1 + 2 ** -40))) + 1n) << (even / 2n);
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

/**
 * The square root of a, relative error below 2^-PRECISION.
 * @param {Dyadic} a not negative
 * @returns {Dyadic}
 */
export function squareRoot(a) {
  if (a.m === 0n) return ZERO;
  let shift = Math.max(0, 2 * PRECISION + 2 - bitLength(a.m));
  if ((a.e - shift) & 1) shift += 1;
  return { m: integerSquareRoot(a.m << BigInt(shift)), e: (a.e - shift) / 2 };
}

/**
 * 1 / sqrt(a), relative error below 2^-PRECISION.
 * @param {Dyadic} a positive
 * @returns {Dyadic}
 */
export function inverseSquareRoot(a) {
  const m = a.e & 1 ? a.m << 1n : a.m;
  const e = a.e & 1 ? a.e - 1 : a.e;
  const k = PRECISION + 2 + (bitLength(m) >> 1);
  return { m: integerSquareRoot((1n << BigInt(2 * k)) / m), e: -k - e / 2 };
}

// --- Moments of a run ------------------------------------------------------------------------------------------------

/** A float32 run longer than this could make a bin inexact: 2^29 mantissas of 24 bits fill 53. */
const MAX_FLOAT32_COUNT = 2 ** 29;
/** Limbs of 17, 18 and 18 bits: a sum of 2^15 of their products (at most 37 bits) is exact. */
const FLOAT64_FLUSH = 2 ** 15;
const FLOAT64_BINS = 8;

/** @param {Float64Array} bins @param {number} begin @param {number} end @param {bigint} limb @returns {bigint} */
function joinLimbs(bins, begin, end, limb) {
  let result = 0n;
  for (let k = begin; k < end; k++) result = (result << limb) + BigInt(bins[k]);
  return result;
}

/**
 * Exact sums of x and x^2 over any number of pieces. The values of one exponent share bins: float64 sums of integer
 * mantissas and of their squares cut into parts so small that no sum rounds. BigInt only combines the bins.
 */
export class MomentSum {
  #n = 0;
  #finite = true;
  /** Bins for [exponent field][sum, high and low halves of squares]; float32 only. */
  #bins32 = new Float64Array(3 * 256);
  #used32 = false;
  /** Bins for [exponent field][sums of 3 limbs, 5 weights of squares]; float64 only, made when first used. */
  #bins64 = /** @type {Float64Array | null} */ (null);
  #pending64 = 0;
  #sum = ZERO;
  #squares = ZERO;
  #top = Number.NEGATIVE_INFINITY;

  /**
   * Adds x[begin], x[begin + stride], ... before end.
   * @param {Float32Array | Float64Array} x
   * @param {number} [begin]
   * @param {number} [end]
   * @param {number} [stride]
   * @returns {this}
   */
  add(x, begin = 0, end = x.length, stride = 1) {
    if (end <= begin) return this;
    this.#n += Math.ceil((end - begin) / stride);
    if (x instanceof Float32Array) this.#add32(x, begin, end, stride);
    else this.#add64(x, begin, end, stride);
    return this;
  }

  /** @param {Float32Array} x @param {number} begin @param {number} end @param {number} stride */
  #add32(x, begin, end, stride) {
    if (this.#n > MAX_FLOAT32_COUNT)
      throw new RangeError(`MomentSum: ${this.#n} values are too many`);
    this.#used32 = true;
    const bins = this.#bins32;
    const bits = new Int32Array(x.buffer, x.byteOffset, x.length);
    for (let i = begin; i < end; i += stride) {
      const word = bits[i];
      const field = (word >>> 23) & 0xff;
      const mantissa = field === 0 ? word & 0x7fffff : (word & 0x7fffff) | 0x800000;
      const square = mantissa * mantissa;
      const high = Math.floor(square * 2 ** -24);
      const k = 3 * field;
      bins[k] += word < 0 ? -mantissa : mantissa;
      bins[k + 1] += high;
      bins[k + 2] += square - high * 2 ** 24;
    }
  }

  /** @param {Float64Array} x @param {number} begin @param {number} end @param {number} stride */
  #add64(x, begin, end, stride) {
    this.#bins64 ??= new Float64Array(FLOAT64_BINS * 2048);
    const bins = this.#bins64;
    const bits = new Int32Array(x.buffer, x.byteOffset, 2 * x.length);
    for (let i = begin; i < end; i += stride) {
      if (this.#pending64 === FLOAT64_FLUSH) this.#flush64();
      this.#pending64 += 1;
      const low = bits[2 * i];
      const word = bits[2 * i + 1];
      const field = (word >>> 20) & 0x7ff;
      const head = field === 0 ? word & 0xfffff : (word & 0xfffff) | 0x100000;
      const a = head >>> 4;
      const b = ((head & 15) << 14) | (low >>> 18);
      const c = low & 0x3ffff;
      const sign = word < 0 ? -1 : 1;
      const k = FLOAT64_BINS * field;
      bins[k] += sign * a;
      bins[k + 1] += sign * b;
      bins[k + 2] += sign * c;
      bins[k + 3] += a * a;
      bins[k + 4] += 2 * a * b;
      bins[k + 5] += 2 * a * c + b * b;
      bins[k + 6] += 2 * b * c;
      bins[k + 7] += c * c;
    }
  }

  #flush32() {
    if (!this.#used32) return;
    this.#used32 = false;
    this.#combine(this.#bins32, 3, 256, 150, 24, 1, 24n);
  }

  #flush64() {
    if (this.#bins64 === null || this.#pending64 === 0) return;
    this.#pending64 = 0;
    this.#combine(this.#bins64, FLOAT64_BINS, 2048, 1075, 53, 3, 18n);
  }

  /**
   * Adds the bins of each exponent field to the totals and clears them.
   * @param {Float64Array} bins
   * @param {number} width bins of a field: those of the sum, then those of the squares, each most significant first
   * @param {number} fields
   * @param {number} offset a mantissa of field f weighs 2^(f - offset)
   * @param {number} bits of a mantissa
   * @param {number} sums the number of bins of the sum
   * @param {bigint} limb a bin weighs 2^limb times the next one
   */
  #combine(bins, width, fields, offset, bits, sums, limb) {
    let lowest = -1;
    let sum = 0n;
    let squares = 0n;
    for (let field = 0; field < fields; field++) {
      const begin = field * width;
      const end = begin + width;
      // The leading bit of normal values is always in the first bin of the squares.
      let used = bins[begin + sums] !== 0;
      for (let k = begin + sums; field === 0 && k < end; k++) used ||= bins[k] !== 0;
      if (!used) continue;
      if (field === fields - 1) {
        this.#finite = false;
      } else {
        const effective = Math.max(field, 1);
        if (lowest < 0) lowest = effective;
        const shift = BigInt(effective - lowest);
        sum += joinLimbs(bins, begin, begin + sums, limb) << shift;
        squares += joinLimbs(bins, begin + sums, end, limb) << (2n * shift);
        this.#top = Math.max(this.#top, effective - offset + bits);
      }
      bins.fill(0, begin, end);
    }
    if (lowest < 0) return;
    this.#sum = add(this.#sum, { m: sum, e: lowest - offset });
    this.#squares = add(this.#squares, { m: squares, e: 2 * (lowest - offset) });
  }

  /** Back to no values. @returns {this} */
  reset() {
    this.moments();
    this.#n = 0;
    this.#finite = true;
    this.#sum = ZERO;
    this.#squares = ZERO;
    this.#top = Number.NEGATIVE_INFINITY;
    return this;
  }

  /** @returns {Moments} */
  moments() {
    this.#flush32();
    this.#flush64();
    const finite = this.#finite;
    return {
      n: this.#n,
      finite,
      sum: finite ? this.#sum : ZERO,
      squares: finite ? this.#squares : ZERO,
      top: this.#top,
    };
  }
}

/** Its bins are worth keeping: new ones cost more than the moments of a short run. */
const shared = new MomentSum();

/**
 * The exact moments of one contiguous run.
 * @param {Float32Array | Float64Array} x
 * @returns {Moments}
 */
export function momentsOf(x) {
  return shared.reset().add(x).moments();
}

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
