/**
 * Functions of exact numbers to about 2^-PRECISION, in fixed point: the exponential function, the logarithm, powers and
 * the activations, from their series. Nothing is taken from Math but a first guess of the logarithm.
 */
import { absolute, bitLength, integerSquareRoot, multiply, ONE, toNumber, ZERO } from "./exact.js";

/** @typedef {import("./exact.js").Dyadic} Dyadic */

/** Bits behind the point: some more than are wanted in the end. */
const BITS = 232;
const SHIFT = BigInt(BITS);
const UNIT = 1n << SHIFT;
/** The exponential series is summed at its argument over 2^HALVINGS, and the sum squared as often. */
const HALVINGS = 14n;

/** @param {bigint} a @param {bigint} b @returns {bigint} */
const times = (a, b) => (a * b) >> SHIFT;

/** @param {Dyadic} a @returns {bigint} a in fixed point */
function fixed({ m, e }) {
  const shift = e + BITS;
  return shift >= 0 ? m << BigInt(shift) : m >> BigInt(-shift);
}

/** @param {bigint} value @returns {Dyadic} */
const dyadicOf = (value) => ({ m: value, e: -BITS });

/** @param {bigint} x below 256 @returns {bigint} */
function exponentialOf(x) {
  const r = x >> HALVINGS;
  let term = UNIT;
  let sum = UNIT;
  for (let n = 1n; term !== 0n && term !== -1n; n++) {
    term = times(term, r) / n;
    sum += term;
  }
  for (let k = 0n; k < HALVINGS; k++) sum = times(sum, sum);
  return sum;
}

/** @param {bigint} x in [1, 2) @returns {bigint} */
function logarithmOf(x) {
  let y = fixed({
    m: BigInt(Math.round(Math.log(Number(x >> (SHIFT - 60n)) * 2 ** -60) * 2 ** 50)),
    e: -50,
  });
  // Halley's iteration triples the bits that are right.
  for (let k = 0; k < 3; k++) {
    const power = exponentialOf(y);
    y += (2n * (x - power) * UNIT) / (x + power);
  }
  return y;
}

const LN2 = 2n * logarithmOf(integerSquareRoot(2n * UNIT * UNIT));

/** @param {bigint} n @returns {bigint} arctan(1 / n) */
function inverseArctangent(n) {
  let term = UNIT / n;
  let sum = 0n;
  for (let k = 1n; term !== 0n; k += 4n) {
    sum += term / k;
    term /= n * n;
    sum -= term / (k + 2n);
    term /= n * n;
  }
  return sum;
}

const PI = 16n * inverseArctangent(5n) - 4n * inverseArctangent(239n);
const ROOT_HALF = integerSquareRoot((UNIT * UNIT) / 2n);
const ROOT_2_OVER_PI = integerSquareRoot((2n * UNIT * UNIT * UNIT) / PI);
const CUBIC = (44715n * UNIT) / 1_000_000n;

/** @param {Dyadic} x any magnitude @returns {Dyadic} e^x, to a relative error */
export function exponential(x) {
  const value = fixed(x);
  let k = value / LN2;
  if (value < 0n) k -= 1n;
  return { m: exponentialOf(value - k * LN2), e: Number(k) - BITS };
}

/** @param {Dyadic} x positive @returns {Dyadic} */
export function logarithm(x) {
  const exponent = bitLength(x.m) - 1;
  const m = fixed({ m: x.m, e: -exponent });
  return dyadicOf(logarithmOf(m) + BigInt(exponent + x.e) * LN2);
}

/** @param {Dyadic} base positive @param {Dyadic} exponent @returns {Dyadic} base^exponent, to a relative error */
export function power(base, exponent) {
  return exponential(multiply(logarithm(base), exponent));
}

/** @param {bigint} z not negative @returns {bigint} erf(z): a series of positive terms */
function errorFunction(z) {
  let term = z;
  let sum = z;
  const twice = 2n * times(z, z);
  for (let n = 3n; term !== 0n; n += 2n) {
    term = times(term, twice) / n;
    sum += term;
  }
  const scaled = (sum * UNIT) / exponentialOf(times(z, z));
  // 2 / sqrt(pi).
  return times(scaled, (2n * UNIT * UNIT) / integerSquareRoot(PI * UNIT));
}

/** @param {bigint} x @returns {bigint} */
const sigmoidOf = (x) => (UNIT * UNIT) / (UNIT + exponentialOf(-x));

/** Beyond this the rest of sigmoid, tanh and the normal distribution is below 2^-140 (of gelu: 2^-200). */
const FAR = { sigmoid: 100, silu: 100, tanh: 60, gelu: 17, gelu_tanh: 17 };

/** @typedef {"relu" | "silu" | "gelu" | "gelu_tanh" | "sigmoid" | "tanh"} ActivationName */

/**
 * Each within 2^-130 times the largest of 1 and |x|.
 * @param {ActivationName} name
 * @param {Dyadic} x
 * @returns {Dyadic}
 */
export function activation(name, x) {
  const positive = x.m > 0n;
  if (name === "relu") return positive ? x : ZERO;
  if (Math.abs(toNumber(x)) > FAR[name]) {
    if (name === "tanh") return positive ? ONE : { m: -1n, e: 0 };
    if (!positive) return ZERO;
    return name === "sigmoid" ? ONE : x;
  }
  const value = fixed(x);
  switch (name) {
    case "sigmoid":
      return dyadicOf(sigmoidOf(value));
    case "silu":
      return multiply(x, dyadicOf(sigmoidOf(value)));
    case "tanh":
      return dyadicOf(2n * sigmoidOf(2n * value) - UNIT);
    case "gelu_tanh": {
      const cube = times(times(value, value), value);
      const inner = times(ROOT_2_OVER_PI, value + times(CUBIC, cube));
      // (1 + tanh(u)) / 2 is sigmoid(2 * u).
      const far = inner >> SHIFT;
      if (far > 60n) return x;
      if (far < -60n) return ZERO;
      return multiply(x, dyadicOf(sigmoidOf(2n * inner)));
    }
    default: {
      const magnitude = times(fixed(absolute(x)), ROOT_HALF);
      const erf = errorFunction(magnitude);
      const half = dyadicOf((UNIT + (positive ? erf : -erf)) >> 1n);
      return multiply(x, half);
    }
  }
}

/** The activations in float64, to look for the worst of many elements. @type {Record<ActivationName, (x: number) => number>} */
export const APPROXIMATE = {
  relu: (x) => Math.max(x, 0),
  silu: (x) => (x < -700 ? 0 : x / (1 + Math.exp(-x))),
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  tanh: Math.tanh,
  gelu: (x) => (Math.abs(x) > 17 ? Math.max(x, 0) : x * normalDistribution(x)),
  gelu_tanh: (x) =>
    Math.abs(x) > 17
      ? Math.max(x, 0)
      : x / (1 + Math.exp(-2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x))),
};

/** @param {number} x @returns {number} */
function normalDistribution(x) {
  let term = x;
  let sum = x;
  for (let n = 3; Math.abs(term) > 1e-20 * Math.abs(sum); n += 2) {
    term *= (x * x) / n;
    sum += term;
  }
  return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}
