/** Exact numbers m * 2^e: every finite float is one, and so are sums and products of them. */

/** @typedef {{ m: bigint, e: number }} Dyadic the number m * 2^e */

/** Bits of inverse square roots and of square roots that are right; bounds are judged to far fewer. */
export const PRECISION = 160;

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
