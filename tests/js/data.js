/** Seeded test data: a small generator and named kinds of rows, each of them hard for some way of normalizing. */

import { isHalf, largestHalf, roundTo } from "./half.js";
import { Random } from "./random.js";

/** @typedef {"float32" | "float64"} DType */
/** @typedef {import("./exact.js").DType} ElementType */
/** @typedef {Float32Array | Float64Array} Row */
/**
 * @callback Fill
 * @param {Row} x
 * @param {Random} random
 * @param {Limits} limits
 * @returns {void}
 */
/**
 * @typedef {object} Limits
 * @property {number} max the largest finite value
 * @property {number} tiny the smallest positive value
 * @property {number} normal the smallest positive normal value
 * @property {number} ulp relative spacing
 */

export { bitsAt, Random } from "./random.js";

/** @type {Record<ElementType, Limits>} */
export const LIMITS = {
  float32: { max: (2 - 2 ** -23) * 2 ** 127, tiny: 2 ** -149, normal: 2 ** -126, ulp: 2 ** -23 },
  float64: { max: Number.MAX_VALUE, tiny: Number.MIN_VALUE, normal: 2 ** -1022, ulp: 2 ** -52 },
  float16: { max: 65504, tiny: 2 ** -24, normal: 2 ** -14, ulp: 2 ** -10 },
  bfloat16: { max: largestHalf("bfloat16"), tiny: 2 ** -133, normal: 2 ** -126, ulp: 2 ** -7 },
};

/** @param {(random: Random, i: number, n: number) => number} value @returns {Fill} */
function each(value) {
  return (x, random) => {
    for (let i = 0; i < x.length; i++) x[i] = value(random, i, x.length);
  };
}

/** @param {number} mean @returns {Fill} */
const about = (mean) => each((random) => mean + random.normal());

/** @param {number} magnitude @returns {Fill} */
const ofMagnitude = (magnitude) =>
  each((random) => magnitude * Math.max(-3, Math.min(3, random.normal())));

/** @param {number} value @returns {Fill} */
const constant = (value) => each(() => value);

/**
 * The value next above x[0], where x[0] was just written (so that it is rounded to the row's type).
 * @param {Row} x
 * @param {Limits} limits
 * @returns {number}
 */
function nextAfterFirst(x, limits) {
  const value = x[0];
  if (value === 0) return limits.tiny;
  // value * (1 + ulp / 2 + a little) rounds to the next value away from 0; subnormals step by tiny.
  const step = Math.max(Math.abs(value) * limits.ulp * 0.75, limits.tiny);
  return value + Math.sign(value) * step;
}

/** @param {Random} random @returns {number} in [1, 2) */
const mantissa = (random) => 1 + random.uniform();

/** @type {Record<string, Fill>} */
const COMMON = {
  normal: about(0),
  uniform: each((random) => random.uniform()),
  uniformSigned: each((random) => 2 * random.uniform() - 1),
  integers: each((random) => random.below(17) - 8),
  mean0_5: about(0.5),
  mean0_6: about(0.6),
  mean2: about(2),
  mean7: about(7),
  mean1e2: about(1e2),
  mean1e4: about(1e4),
  mean1e6: about(-1e6),
  mean1e7: about(1e7),
  deviation3e_3: each((random) => 3e-3 * random.normal()),
  deviation1e_6: each((random) => 1e-6 * random.normal()),
  magnitude1e_38: ofMagnitude(1e-38),
  magnitude1e_30: ofMagnitude(1e-30),
  magnitude1e_20: ofMagnitude(1e-20),
  magnitude1e18: ofMagnitude(1e18),
  magnitude1e19: ofMagnitude(1.8e19),
  magnitude1e30: ofMagnitude(1e30),
  magnitude1e38: ofMagnitude(1e38),
  mean1e30: each((random) => 1e30 * (1 + 1e-3 * random.normal())),
  mean1e_30: each((random) => 1e-30 * (1 + 1e-3 * random.normal())),
  nearMax: (x, random, { max }) => {
    for (let i = 0; i < x.length; i++) x[i] = max * (1 - random.uniform() / 8);
  },
  nearMaxSigned: (x, random, { max }) => {
    for (let i = 0; i < x.length; i++) x[i] = random.sign() * max * (1 - random.uniform() / 8);
  },
  maxSigned: (x, random, { max }) => {
    for (let i = 0; i < x.length; i++) x[i] = random.sign() * max;
  },
  subnormal: (x, random, { tiny }) => {
    for (let i = 0; i < x.length; i++) x[i] = (random.below(2001) - 1000) * tiny;
  },
  subnormalMean: (x, random, { tiny }) => {
    for (let i = 0; i < x.length; i++) x[i] = (100_000 + random.below(5)) * tiny;
  },
  aroundNormal: (x, random, { normal }) => {
    for (let i = 0; i < x.length; i++) x[i] = normal * (2 * random.normal());
  },
  outlierFirst: (x, random) => {
    about(0)(x, random, LIMITS.float32);
    x[0] = 1e6;
  },
  outlierLast: (x, random) => {
    about(0)(x, random, LIMITS.float32);
    x[x.length - 1] = -1e6;
  },
  outlierHuge: (x, random) => {
    about(0)(x, random, LIMITS.float32);
    x[random.below(x.length)] = 1e15;
  },
  prefixFar: (x, random) => {
    // The first elements say nothing about the rest.
    for (let i = 0; i < x.length; i++) x[i] = random.normal() + (i < 64 ? 1e6 : 0);
  },
  secondHalfFar: each((random, i, n) => random.normal() + (2 * i < n ? 0 : 1e4)),
  ramp: each((_, i) => i),
  rampFromFar: each((_, i) => 1e6 + 0.25 * i),
  rampSigned: each((_, i, n) => (2 * i + 1 - n) / n),
  // Every block of a sum rounds the same way.
  periodic: (x, random) => {
    const pattern = Array.from({ length: 16 }, () => 0.3 + random.normal());
    for (let i = 0; i < x.length; i++) x[i] = pattern[i % 16];
  },
  twoSigned: (x, random) => {
    const a = mantissa(random);
    for (let i = 0; i < x.length; i++) x[i] = random.sign() * a;
  },
  twoAlternating: (x, random) => {
    const a = mantissa(random);
    for (let i = 0; i < x.length; i++) x[i] = i & 1 ? a : -a;
  },
  twoHalves: (x, random) => {
    const a = mantissa(random);
    const b = 4 * mantissa(random);
    for (let i = 0; i < x.length; i++) x[i] = 2 * i < x.length ? a : b;
  },
  twoOff: (x, random) => {
    const a = mantissa(random);
    const b = -a * 0.37;
    for (let i = 0; i < x.length; i++) x[i] = random.uniform() < 0.3 ? a : b;
  },
  // A mean of 7 deviations: squares about 0 lose six bits, and all in the same way.
  twoOffCentre: (x, random) => {
    const a = 6 * mantissa(random);
    const b = (a * 8) / 6;
    for (let i = 0; i < x.length; i++) x[i] = i & 1 ? a : b;
  },
  twoAdjacent: (x, random, limits) => {
    x[0] = mantissa(random);
    const a = x[0];
    const b = nextAfterFirst(x, limits);
    for (let i = 1; i < x.length; i++) x[i] = random.bits() & 1 ? a : b;
  },
  twoFar: each((random) => (random.bits() & 1 ? 1 : 1e30)),
  twoRare: (x, random) => {
    const a = mantissa(random);
    for (let i = 0; i < x.length; i++) x[i] = random.uniform() < 0.02 ? -3 * a : a;
  },
  oneUlp: (x, random, limits) => {
    x[0] = mantissa(random);
    const a = x[0];
    const b = nextAfterFirst(x, limits);
    x.fill(a);
    x[random.below(x.length)] = b;
  },
  oneUlpOfTiny: (x, random, { tiny }) => {
    x.fill(0);
    x[random.below(x.length)] = tiny;
  },
  oneUlpOfMax: (x, random, { max, ulp }) => {
    x.fill(max);
    x[random.below(x.length)] = max * (1 - ulp);
  },
  hugeAndSmall: each((_, i) => (i & 1 ? 1e-30 : 1e30)),
  canceling: each((random, i) => (i & 1 ? -1e8 : 1e8) + random.normal()),
  heavy: each((random) => Math.exp(3 * random.normal())),
  heavySigned: each((random) => random.sign() * Math.exp(5 * random.normal())),
  geometric: each((random, i) => random.sign() * 2 ** -(i % 60)),
  spike: (x, random) => {
    x.fill(0);
    x[random.below(x.length)] = mantissa(random);
  },
  sparse: each((random) => (random.uniform() < 0.05 ? random.normal() : 0)),
  constant0_1: constant(0.1),
  constant1e30: constant(1e30),
  constant3e_39: constant(3e-39),
  constantMinus7: constant(-7),
  constant0: constant(0),
  constantMax: (x, _, { max }) => {
    x.fill(-max);
  },
};

/** @type {Record<string, Fill>} */
const FLOAT64 = {
  mean1e12: about(1e12),
  mean1e15: about(1e15),
  magnitude1e_308: ofMagnitude(1e-308),
  magnitude1e_300: ofMagnitude(1e-300),
  magnitude1e_160: ofMagnitude(1e-160),
  magnitude1e154: ofMagnitude(1e154),
  magnitude1e300: ofMagnitude(1e300),
  mean1e300: each((random) => 1e300 * (1 + 1e-6 * random.normal())),
  hugeAndSmallWide: each((_, i) => (i & 1 ? 1e-300 : 1e300)),
  constant1e300: constant(1e300),
  constant3e_310: constant(3e-310),
};

/** Rows of 16-bit types, whose squares overflow or vanish in them. @type {Record<string, Fill>} */
const HALF = {
  thousand: each((random) => 1000 * random.sign() * (1 + random.uniform())),
  hundredth: each((random) => 0.01 * random.normal()),
  far: each((random) => 30_000 + 64 * random.below(5)),
};

/** @type {Record<ElementType, Record<string, Fill>>} */
const FAMILIES = {
  float32: COMMON,
  float64: { ...COMMON, ...FLOAT64 },
  float16: { ...COMMON, ...HALF },
  bfloat16: { ...COMMON, ...HALF },
};

/** @param {ElementType} dtype @returns {string[]} names of the kinds of rows */
export function families(dtype) {
  return Object.keys(FAMILIES[dtype]);
}

/** @param {DType} dtype @param {number} n @returns {Row} zeros */
export function newRow(dtype, n) {
  return dtype === "float32" ? new Float32Array(n) : new Float64Array(n);
}

/**
 * Writes a row of the named family into x.
 * @param {string} family
 * @param {Row} x not empty
 * @param {Random} random
 */
export function fillFamily(family, x, random) {
  const dtype = x instanceof Float32Array ? "float32" : "float64";
  FAMILIES[dtype][family](x, random, LIMITS[dtype]);
}

/**
 * @param {string} family
 * @param {DType} dtype
 * @param {number} n
 * @param {number} seed
 * @returns {Row} a new row of the named family
 */
export function familyRow(family, dtype, n, seed) {
  const x = newRow(dtype, n);
  fillFamily(family, x, new Random(seed));
  return x;
}

/**
 * @param {string} family
 * @param {ElementType} dtype
 * @param {number} n
 * @param {Random} random
 * @returns {Row} a row of the named family in the arithmetic type, of finite values that the element type has
 */
export function familyValues(family, dtype, n, random) {
  const x = newRow(dtype === "float64" ? "float64" : "float32", n);
  const { max } = LIMITS[dtype];
  FAMILIES[dtype][family](x, random, LIMITS[dtype]);
  if (!isHalf(dtype)) return x;
  return x.map((value) => Math.max(-max, Math.min(max, roundTo(value, dtype))));
}
