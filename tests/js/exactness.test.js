/**
 * Guarantee 1: every result within 3 eps * M of exact arithmetic, the statistics within their bounds, for every kind of
 * row at lengths around the vector width, the flush intervals and the arena.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { bitsAt, families, familyRow, newRow, Random } from "./data.js";
import { MomentSum, Normalizer, worstElement } from "./exact.js";
import { BOUND, judge, Maxima, operations, parameters } from "./judge.js";

const SHORT = [
  1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 191, 192, 193,
  255, 256, 257,
];
const MEDIUM = [768, 1023, 1024, 4096];
const LONG = [10_007, 65_537];
const LONGEST = 1_000_000;
/** Kinds that a million values are a trial of their own for; the others differ from these only when short. */
const LONGEST_FAMILIES = [
  "normal",
  "mean1e4",
  "mean1e7",
  "magnitude1e_38",
  "magnitude1e38",
  "nearMaxSigned",
  "subnormal",
  "outlierFirst",
  "prefixFar",
  "secondHalfFar",
  "rampFromFar",
  "twoHalves",
  "oneUlp",
  "canceling",
  "heavySigned",
  "spike",
  "constant0_1",
];
const EPS_VALUES = [0, 1e-5, 1e-12];
const KINDS = Object.keys(parameters);

const maxima = new Maxima();

/**
 * Judges one run and fails with all that is needed to see it again.
 * @param {import("./judge.js").Operation} operation
 * @param {import("./data.js").DType} dtype
 * @param {string} family
 * @param {number} n
 * @param {number} eps
 * @param {string} kind of parameters
 */
function check(operation, dtype, family, n, eps, kind) {
  const seed = n;
  const x = familyRow(family, dtype, n, seed);
  const normalizer = new Normalizer(new MomentSum().add(x).moments(), {
    eps,
    centered: operations[operation].centered,
  });
  const options = parameters[kind](x, new Random(seed + 1), normalizer);
  const verdict = judge(operation, x, eps, options, normalizer);
  const where = `${family} n ${n} seed ${seed} eps ${eps} ${kind}`;
  maxima.add(`${operation} ${dtype}`, verdict, where);
  assertVerdict(verdict, `${operation} ${dtype} ${where}`);
}

/** @param {import("./judge.js").Verdict} verdict @param {string} where */
function assertVerdict(verdict, where) {
  const { index, got, expected, error, mean, rstd } = verdict;
  if (!(error <= BOUND.error)) {
    assert.fail(`${where}: index ${index} got ${got}, expected ${expected}, error ${error} eps`);
  }
  if (!(mean <= BOUND.mean)) assert.fail(`${where}: mean is off by ${mean} times its bound`);
  if (!(rstd <= BOUND.rstd)) assert.fail(`${where}: rstd is off by ${rstd} eps`);
}

for (const operation of /** @type {const} */ (["layerNorm", "rmsNorm"])) {
  for (const dtype of /** @type {const} */ (["float32", "float64"])) {
    for (const [position, family] of families(dtype).entries()) {
      test(`${operation} is exact to 3 eps: ${family} (${dtype}, seed = length)`, () => {
        // Every fourth kind of parameters at each length and eps, so that all come round.
        let turn = position;
        for (const n of SHORT) {
          for (const eps of EPS_VALUES) {
            for (let k = turn++ % 4; k < KINDS.length; k += 4)
              check(operation, dtype, family, n, eps, KINDS[k]);
          }
        }
        for (const n of MEDIUM) {
          for (const eps of EPS_VALUES)
            check(operation, dtype, family, n, eps, KINDS[turn++ % KINDS.length]);
        }
        for (const n of LONG) {
          const eps = EPS_VALUES[turn % EPS_VALUES.length];
          check(operation, dtype, family, n, eps, KINDS[turn++ % KINDS.length]);
        }
        if (LONGEST_FAMILIES.includes(family)) {
          check(operation, dtype, family, LONGEST, 0, KINDS[turn % KINDS.length]);
        }
      });
    }
  }
}

// Runs too long to be held twice: values that depend on their index alone are made again, in pieces here and there, to
// judge a result that overwrote them.

const SEED = 5;
const PIECE = 2 ** 16;
/** Pieces that are judged of each run: the first, the last and others between, at odd distances. */
const PIECES = 97;

/** @typedef {(i: number) => number} ValueAt */

/** @param {import("./data.js").Row} x @param {number} begin index of x[0] @param {ValueAt} value */
function fillFrom(x, begin, value) {
  for (let i = 0; i < x.length; i++) x[i] = value(begin + i);
}

/**
 * @param {import("./judge.js").Operation} operation
 * @param {import("./data.js").DType} dtype
 * @param {number} n
 * @param {ValueAt} value
 */
function checkInPlace(operation, dtype, n, value) {
  const eps = 0;
  const x = newRow(dtype, n);
  fillFrom(x, 0, value);
  const { call, centered } = operations[operation];
  const normalizer = new Normalizer(new MomentSum().add(x).moments(), { eps, centered });
  const { output, mean, rstd } = call(x, { eps, out: x, returnStats: true });
  assert.equal(output, x);

  const statistics = {
    mean: centered ? normalizer.meanError(mean[0], dtype) : 0,
    rstd: normalizer.rstdError(rstd[0], dtype),
  };
  const piece = newRow(dtype, PIECE);
  for (let k = 0; k < PIECES; k++) {
    const begin = Math.floor((k * (n - PIECE)) / (PIECES - 1));
    fillFrom(piece, begin, value);
    const got = x.subarray(begin, begin + PIECE);
    const worst = worstElement(normalizer, piece, got, {});
    const verdict = { ...worst, ...statistics, index: begin + worst.index, got: got[worst.index] };
    const where = `${value.name} n ${n} seed ${SEED} eps ${eps} in place`;
    maxima.add(`${operation} ${dtype}`, verdict, where);
    assertVerdict(verdict, `${operation} ${dtype} ${where}`);
  }
}

/** A mean of 3464 deviations. @type {ValueAt} */
const farMean = (i) => 1000 + bitsAt(SEED, i) * 2 ** -32;
/** One in a thousand differs, by a unit in the last place. @type {ValueAt} */
const nearlyConstant = (i) => (bitsAt(SEED, i) % 1000 === 0 ? 1.3 + 2 ** -23 : 1.3);
/** Signed, magnitudes over 2^16. @type {ValueAt} */
const wide = (i) => {
  const bits = bitsAt(SEED, i);
  return (bits & 1 ? 1 : -1) * (1 + (bits >>> 9) * 2 ** -23) * (1 << ((bits >>> 1) & 15));
};

for (const n of [10_000_000, 100_000_000]) {
  test(`layerNorm is exact to 3 eps in place: ${n} values of a far mean (float32, seed 5)`, () => {
    checkInPlace("layerNorm", "float32", n, farMean);
  });
  test(`rmsNorm is exact to 3 eps in place: ${n} values of many magnitudes (float32, seed 5)`, () => {
    checkInPlace("rmsNorm", "float32", n, wide);
  });
}

test("layerNorm is exact to 3 eps in place: 10000000 values of which few differ (float32, seed 5)", () => {
  checkInPlace("layerNorm", "float32", 10_000_000, nearlyConstant);
});

test("layerNorm is exact to 3 eps in place: 10000000 values of a far mean (float64, seed 5)", () => {
  checkInPlace("layerNorm", "float64", 10_000_000, farMean);
});

test("layerNorm and rmsNorm: the largest errors of all runs above", (t) => {
  for (const line of maxima.lines()) t.diagnostic(line);
});
