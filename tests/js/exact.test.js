import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { families, familyRow } from "./data.js";
import {
  add,
  affine,
  bitLength,
  dyadic,
  elementError,
  errorInEps,
  integerSquareRoot,
  inverseSquareRoot,
  MomentSum,
  momentsOf,
  multiply,
  Normalizer,
  ONE,
  PRECISION,
  ratio,
  squareRoot,
  subtract,
  toNumber,
  worstElement,
} from "./exact.js";

// An independent reference: rationals with a common denominator, sums taken one element at a time.

/** Every float64 is an integer multiple of 2^-1074. */
const UNIT = 1074n;

/** @param {number} value @returns {bigint} value * 2^1074, read from the decimal digits of its exact expansion */
function units(value) {
  let rest = Math.abs(value);
  let result = 0n;
  let power = 0n;
  // Scale to an integer by doubling, which is exact: a path other than the bits that exact.js reads.
  while (!Number.isInteger(rest)) {
    rest *= 2;
    power += 1n;
  }
  result = (BigInt(rest) << UNIT) >> power;
  return value < 0 ? -result : result;
}

/** @param {ArrayLike<number>} x @param {boolean} centered @returns {{ sum: bigint, power: bigint }} n^2 * var etc. */
function naive(x, centered) {
  const values = Array.from(x, units);
  const n = BigInt(values.length);
  const sum = values.reduce((total, value) => total + value, 0n);
  const centre = centered ? sum : 0n;
  let power = 0n;
  for (const value of values) power += (n * value - centre) ** 2n;
  // sum (n x - sum)^2 = n^3 var.
  return { sum, power };
}

/** @param {string} text a decimal number @returns {{ m: bigint, scale: bigint, digits: number }} m / scale */
function decimal(text) {
  const [mantissa, exponent = "0"] = text.toLowerCase().split("e");
  const [whole, fraction = ""] = mantissa.replace("-", "").split(".");
  const power = Number(exponent) - fraction.length;
  const sign = mantissa.startsWith("-") ? -1n : 1n;
  const m = sign * BigInt(whole + fraction);
  if (power >= 0) return { m: m * 10n ** BigInt(power), scale: 1n, digits: power };
  return { m, scale: 10n ** BigInt(-power), digits: power };
}

/**
 * Fails unless text is a / b to half a unit of its last digit (one whole for the published, truncated ones).
 * @param {import("./exact.js").Dyadic} a
 * @param {import("./exact.js").Dyadic} b
 * @param {string} text
 * @param {string} message
 */
function assertDecimal(a, b, text, message) {
  const { m, scale } = decimal(text);
  const error = subtract(multiply(a, { m: scale, e: 0 }), multiply(b, { m, e: 0 }));
  const units = Math.abs(ratio(error, b));
  assert.ok(
    units <= 0.5 + 1e-9,
    `${message}: got ${ratio(a, b)}, expected ${text} (${units} units of the last digit)`,
  );
}

test("dyadic holds numbers exactly", () => {
  for (const value of [
    0,
    -0,
    1,
    -1.5,
    0.1,
    5e-324,
    -2.5e-310,
    Number.MAX_VALUE,
    2 ** -1022,
    123456789.125,
  ]) {
    assert.equal(toNumber(dyadic(value)), value + 0);
  }
  assert.throws(() => dyadic(Number.NaN), RangeError);
  assert.equal(toNumber(subtract(add(dyadic(1e300), dyadic(1e-300)), dyadic(1e300))), 1e-300);
});

test("ratio rounds to nearest even", () => {
  assert.equal(ratio(dyadic(1), dyadic(3)), 1 / 3);
  assert.equal(ratio(dyadic(-2), dyadic(3)), -2 / 3);
  assert.equal(ratio({ m: (1n << 53n) + 1n, e: 0 }, ONE), 2 ** 53);
  assert.equal(ratio({ m: (1n << 120n) + (1n << 67n) + 1n, e: 0 }, ONE), 2 ** 120 + 2 ** 68);
  assert.equal(ratio({ m: 1n, e: 2000 }, ONE), Number.POSITIVE_INFINITY);
  assert.equal(ratio({ m: 3n, e: -1075 }, ONE), 2 * 5e-324);
});

test("bitLength and integerSquareRoot agree with their definitions", () => {
  for (let k = 0n; k < 400n; k++) {
    for (const value of [(1n << k) - 1n, 1n << k, (1n << k) + 1n, 7n ** k]) {
      assert.equal(bitLength(value), value === 0n ? 0 : value.toString(2).length);
      const root = integerSquareRoot(value);
      assert.ok(root * root <= value && value < (root + 1n) ** 2n, `root of ${value}`);
      assert.equal(integerSquareRoot(root * root), root);
    }
  }
});

test("squareRoot and inverseSquareRoot have PRECISION right bits", () => {
  for (const value of [1, 2, 3, 0.1, 5e-324, 7e-310, Number.MAX_VALUE, 12345.678]) {
    const exact = dyadic(value);
    const root = squareRoot(exact);
    const error = subtract(multiply(root, root), exact);
    assert.ok(Math.abs(ratio(error, exact)) <= 2 ** (2 - PRECISION), `sqrt(${value})`);
    const inverse = inverseSquareRoot(exact);
    const one = multiply(multiply(inverse, inverse), exact);
    assert.ok(Math.abs(toNumber(subtract(one, ONE))) <= 2 ** (2 - PRECISION), `1 / sqrt(${value})`);
  }
});

test("Normalizer gives rationals that are known by hand", () => {
  const x = new Float32Array([1, 2, 3, 4]);
  const layer = new Normalizer(momentsOf(x), { eps: 0, centered: true });
  assert.equal(layer.mean, 2.5);
  assert.equal(layer.var, 1.25);
  assert.equal(layer.rstd, 1 / Math.sqrt(1.25));
  const rms = new Normalizer(momentsOf(x), { eps: 0, centered: false });
  assert.equal(rms.mean, 0);
  assert.equal(rms.var, 7.5);
  // 7 / sqrt(49) and a variance of 1 / 4 with eps 2: 1 / sqrt(9 / 4).
  const seven = new Normalizer(momentsOf(new Float64Array([7, -7])), { eps: 0, centered: false });
  assert.equal(toNumber(seven.normalized(7)), 1);
  const half = new Normalizer(momentsOf(new Float32Array([4.5, 5.5])), { eps: 2, centered: true });
  assert.equal(half.mean, 5);
  assert.ok(Math.abs(half.rstd - 2 / 3) < 1e-16);
  assert.ok(Math.abs(toNumber(half.normalized(5.5)) - 1 / 3) < 1e-16);
});

test("Normalizer of a constant run has rstd Infinity at eps 0 and normalizes to 0", () => {
  for (const [value, centered] of /** @type {[number, boolean][]} */ ([
    [0.1, true],
    [1e30, true],
    [0, true],
    [0, false],
  ])) {
    const normalizer = new Normalizer(momentsOf(new Float32Array(9).fill(value)), {
      eps: 0,
      centered,
    });
    assert.equal(normalizer.rstd, Number.POSITIVE_INFINITY);
    assert.equal(toNumber(normalizer.normalized(value)), 0);
    assert.equal(normalizer.rstdError(Number.POSITIVE_INFINITY, "float32"), 0);
    assert.equal(normalizer.rstdError(1e300, "float32"), Number.POSITIVE_INFINITY);
  }
});

for (const Type of [Float32Array, Float64Array]) {
  const dtype = Type === Float32Array ? "float32" : "float64";

  test(`momentsOf agrees with sums of rationals (${dtype}, every family, seed 7)`, () => {
    for (const family of families(dtype)) {
      for (const n of [1, 2, 7, 33, 200]) {
        const x = familyRow(family, dtype, n, 7);
        const moments = momentsOf(x);
        for (const centered of [true, false]) {
          const { sum, power } = naive(x, centered);
          const normalizer = new Normalizer(moments, { eps: 0, centered });
          assert.equal(subtract(moments.sum, { m: sum, e: -1074 }).m, 0n, `sum of ${family} ${n}`);
          // power is n^3 var here and n^2 var there.
          const expected = { m: power, e: -2148 };
          const got = multiply(normalizer.power, { m: BigInt(n), e: 0 });
          assert.equal(subtract(got, expected).m, 0n, `power of ${family} ${n}`);
        }
      }
    }
  });

  test(`MomentSum adds pieces and strides exactly (${dtype})`, () => {
    const x = familyRow("heavy", dtype, 100_003, 3);
    const whole = momentsOf(x);
    const pieces = new MomentSum();
    for (let stride = 0; stride < 7; stride++) pieces.add(x, stride, x.length, 7);
    assert.deepEqual(toValues(pieces.moments()), toValues(whole));
    const reversed = new MomentSum().add(x, 40_000).add(x.subarray(0, 40_000)).moments();
    assert.deepEqual(toValues(reversed), toValues(whole));
  });

  test(`MomentSum marks runs that are not finite (${dtype})`, () => {
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      const moments = momentsOf(new Type([1, bad, 2]));
      assert.equal(moments.finite, false);
      assert.throws(() => new Normalizer(moments, { eps: 0, centered: true }), RangeError);
    }
  });

  test(`worstElement finds what exact arithmetic finds (${dtype}, every family, seed 11)`, () => {
    for (const family of families(dtype)) {
      for (const options of [
        {},
        {
          weight: familyRow("normal", dtype, 40, 5),
          bias: familyRow("heavy", dtype, 40, 6),
          weightOffset: 1,
        },
        { weight: 3.7, bias: -1e5 },
      ]) {
        const x = familyRow(family, dtype, 40, 11);
        const normalizer = new Normalizer(momentsOf(x), { eps: 1e-12, centered: true });
        const got = new Type(40);
        /** @type {number[]} */
        const errors = [];
        for (let i = 0; i < 40; i++) {
          // A result in error by a few eps, by a rounding that the reference does not know.
          got[i] =
            elementError(normalizer, x[i], 0, options, i, dtype).expected *
            (1 + (i % 5) * 2 ** -52);
          errors.push(elementError(normalizer, x[i], got[i], options, i, dtype).error);
        }
        const { index, error } = worstElement(normalizer, x, got, options);
        const worst = Math.max(...errors);
        assert.equal(error, errors[index]);
        assert.ok(
          worst - error <= 1e-6,
          `${family}: found ${error} at ${index}, there is ${worst}`,
        );
        got[13] = Number.NaN;
        assert.deepEqual(worstElement(normalizer, x, got, options).index, 13);
      }
    }
  });
}

/** @param {import("./exact.js").Moments} moments */
function toValues({ n, finite, sum, squares, top }) {
  const unit = { m: 1n, e: -2400 };
  return { n, finite, top, sum: subtract(sum, unit).m, squares: subtract(squares, unit).m };
}

test("MomentSum counts float32 runs of millions without rounding", () => {
  const n = 3_000_000;
  const x = new Float32Array(n).fill(16777215);
  x[0] = 2 ** -149;
  const { sum, squares } = momentsOf(x);
  const value = 16777215n;
  const count = BigInt(n - 1);
  assert.equal(subtract(sum, add({ m: count * value, e: 0 }, { m: 1n, e: -149 })).m, 0n);
  assert.equal(
    subtract(squares, add({ m: count * value * value, e: 0 }, { m: 1n, e: -298 })).m,
    0n,
  );
});

test("errorInEps is the distance in units of eps times M", () => {
  const { exact, M } = affine(dyadic(1), null, null);
  assert.equal(errorInEps(1 + 2 ** -23, exact, M, "float32"), 1);
  assert.equal(errorInEps(1 - 3 * 2 ** -53, exact, M, "float64"), 1.5);
  // 4 * 2 - 7 = 1, measured by the term 8.
  const canceled = affine(dyadic(4), dyadic(2), -7);
  assert.equal(toNumber(canceled.exact), 1);
  assert.equal(toNumber(canceled.M), 8);
  assert.equal(errorInEps(1 + 2 ** -20, canceled.exact, canceled.M, "float32"), 1);
  assert.equal(errorInEps(Number.NaN, exact, M, "float32"), Number.POSITIVE_INFINITY);
  assert.equal(errorInEps(Number.POSITIVE_INFINITY, exact, M, "float32"), Number.POSITIVE_INFINITY);
});

test("elementError rounds parameters once and judges both readings of the sum with weightOffset", () => {
  const normalizer = new Normalizer(momentsOf(new Float32Array([-1, 1])), {
    eps: 0,
    centered: true,
  });
  // 0.1 is judged as the float32 next to it.
  const weighted = elementError(normalizer, 1, Math.fround(0.1), { weight: 0.1 }, 0, "float32");
  assert.equal(weighted.error, 0);
  const wide = elementError(normalizer, 1, 0.1, { weight: 0.1 }, 0, "float64");
  assert.equal(wide.error, 0);
  // 1 + 2^-25 rounds to 1: either reading is a quarter of 2^-23 from the other.
  const offset = { weight: 2 ** -25, weightOffset: 1 };
  assert.equal(elementError(normalizer, 1, 1, offset, 0, "float32").error, 0.25 / (1 + 2 ** -25));
});

test("meanError and rstdError are relative to what is allowed", () => {
  const normalizer = new Normalizer(momentsOf(new Float32Array([1, 3])), {
    eps: 0,
    centered: true,
  });
  assert.equal(normalizer.meanError(2, "float32"), 0);
  assert.ok(Math.abs(normalizer.meanError(2 + 3 * 2 ** -23, "float32") - 1) < 1e-6);
  assert.ok(normalizer.meanError(2 + 4 * 2 ** -23, "float32") > 1);
  assert.equal(normalizer.rstdError(1, "float32"), 0);
  assert.equal(normalizer.rstdError(1 + 2 ** -23, "float32"), 1);
  assert.equal(normalizer.rstdError(Number.NaN, "float32"), Number.POSITIVE_INFINITY);
});

test("Normalizer agrees with NIST's certified and exact statistics", () => {
  const { cases } = JSON.parse(
    readFileSync(new URL("../golden/nist.json", import.meta.url), "utf8"),
  );
  let certified = 0;
  for (const { name, data, float32, float64, certified: published } of cases) {
    const values = Array.isArray(data) ? data : new Array(data.count).fill(data.fill);
    for (const [x, expected] of [
      [new Float32Array(values), float32],
      [new Float64Array(values), float64],
    ]) {
      const normalizer = new Normalizer(momentsOf(x), { eps: 0, centered: true });
      const { count, sum, power } = normalizer;
      assertDecimal(sum, count, expected.mean, `${name} mean`);
      assertDecimal(power, multiply(count, count), expected.populationVariance, `${name} variance`);
      assertDecimal(squareRoot(power), count, expected.populationStd, `${name} std`);
    }
    if (published === null) continue;

    // The decimals as integers, which float64 holds: moments of the very data that NIST certifies.
    const places = Math.max(...values.map((value) => String(value).split(".")[1]?.length ?? 0));
    const scale = 10 ** places;
    const integers = new Float64Array(values.map((value) => Math.round(value * scale)));
    const { count, sum, power } = new Normalizer(momentsOf(integers), { eps: 0, centered: true });
    assertDecimal(sum, multiply(count, dyadic(scale)), published.mean, `${name} certified mean`);
    const unbiased = multiply(count, { m: BigInt(values.length - 1), e: 0 });
    const deviation = multiply(squareRoot(unbiased), dyadic(scale));
    assertDecimal(squareRoot(power), deviation, published.sampleStd, `${name} certified deviation`);
    certified++;
  }
  assert.equal(cases.length, 17);
  assert.ok(certified >= 9, `${certified} certified sets`);
});
