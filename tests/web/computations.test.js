// What the page's measuring sections compute, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { layerNorm, tensor } from "layernorm";
import { byCondition, byStyle } from "../../web/sections/adaptive/compute.js";
import { fromFloat16, roundToFloat16 } from "../../web/sections/exactness/float16.js";
import {
  aroundMean,
  boundOf,
  hardInput,
  INPUTS,
  MEANS,
} from "../../web/sections/exactness/inputs.js";
import { judgeAll, WAYS } from "../../web/sections/exactness/judge.js";
import { onePass, twoPass } from "../../web/sections/exactness/plain.js";
import { savedBy } from "../../web/sections/rms-cost/shapes.js";
import {
  changeByNoise,
  DEVIATIONS,
  deviationAfter,
  EPSES,
} from "../../web/sections/small-variance/curves.js";
import {
  bytesOf,
  FEATURES,
  LARGEST,
  largestDifference,
  makeProblem,
  plainLayerNorm,
  rateOf,
  sizesOf,
} from "../../web/sections/speed/problem.js";
import { singleWays } from "../../web/sections/speed/ways.js";
import { normals } from "../../web/seeded.js";
import { repeat, timeInTurn } from "../../web/timing.js";

const EPS = 1e-5;

test("float16 is rounded and read as the package does", () => {
  for (let bits = 0; bits < 0x10000; bits++) {
    const value = fromFloat16(bits);
    assert.ok(Object.is(roundToFloat16(value), value), `${bits}: ${value}`);
  }
  // Between neighbours, at their middle, and off it by a little.
  for (let bits = 0; bits < 0x7bff; bits += 7) {
    const [low, high] = [fromFloat16(bits), fromFloat16(bits + 1)];
    const middle = (low + high) / 2;
    assert.equal(roundToFloat16(middle), bits % 2 === 0 ? low : high, `${bits}`);
    assert.equal(roundToFloat16(middle * (1 - 2 ** -40)), low);
    assert.equal(roundToFloat16(-middle * (1 + 2 ** -40)), -high);
  }
  assert.equal(roundToFloat16(65519.99), 65504);
  assert.equal(roundToFloat16(65520), Number.POSITIVE_INFINITY);
  const values = normals(500, 3, (value) => value ** 9);
  const packed = tensor(values, [500], "float16");
  const read = [...packed.data].map((value) =>
    packed.data instanceof Uint16Array ? fromFloat16(value) : value,
  );
  packed.dispose();
  assert.deepEqual(read, Array.from(values, roundToFloat16));
});

test("plain code follows the formula where nothing is hard", () => {
  const x = Float32Array.of(3, 5, 2, 8);
  const expected = [-1.5, 0.5, -2.5, 3.5].map((deviation) => deviation / Math.sqrt(5.25 + EPS));
  for (const way of [onePass, twoPass]) {
    const exactly = way(x, EPS, (value) => value);
    for (const [i, value] of exactly.entries()) assert.ok(Math.abs(value - expected[i]) < 1e-14);
    const rounded = way(x, EPS, Math.fround);
    for (const [i, value] of rounded.entries()) {
      assert.equal(value, Math.fround(value));
      assert.ok(Math.abs(value - expected[i]) < 4 * 2 ** -23);
    }
  }
});

test("hard inputs are within the package's bounds, and beyond those of plain code", () => {
  for (const input of INPUTS) {
    const { onePass: one, twoPass: two, package: own } = judgeAll(hardInput(input), WAYS);
    assert.ok(own.error <= boundOf(input), `${input}: ${own.error}`);
    if (input === "inputUsual") continue;
    assert.ok(one.error > 10 && two.error > 10, `${input}: ${one.error}, ${two.error}`);
  }
  // An error of the size of the values, or no number at all.
  for (const input of ["inputHuge", "inputTiny", "inputConstant", "inputHalf"]) {
    const { twoPass: two } = judgeAll(hardInput(input), WAYS);
    assert.ok(two.error > 1e6, input);
  }
  assert.throws(() => hardInput("toString"), RangeError);
});

test("with a growing mean plain code gets worse and the package does not", () => {
  const errors = MEANS.map((mean) => judgeAll(aroundMean(mean), WAYS));
  assert.equal(MEANS.at(0), 1);
  assert.equal(MEANS.at(-1), 1e7);
  for (const { package: own } of errors) assert.ok(own.error <= 3);
  assert.ok(errors[0].twoPass.error < 100);
  assert.ok((errors.at(-1)?.twoPass.error ?? 0) > 1e6);
});

test("sizes grow fourfold up to what was asked for", () => {
  for (const features of FEATURES) {
    for (const largest of LARGEST) {
      const sizes = sizesOf(features, largest);
      const bytes = sizes.map(bytesOf);
      assert.ok(sizes.length >= 4);
      assert.ok(bytes.every((count, i) => i === 0 || count > 1.9 * bytes[i - 1]));
      const last = bytes.at(-1) ?? 0;
      assert.ok(last > 0.24 * largest * 2 ** 20 && last < 1.01 * largest * 2 ** 20, `${last}`);
    }
  }
  // 8 MB in 2 ms, read and written.
  assert.equal(rateOf({ rows: 2000, features: 1000 }, 2), 8);
});

test("every way on one thread gives the same LayerNorm, within its bound", async () => {
  const problem = makeProblem({ rows: 37, features: 129 });
  const expected = new Float32Array(problem.x.length);
  plainLayerNorm(problem, expected);
  const { weight, bias } = problem;
  const own = layerNorm(problem.x, { shape: [37, 129], weight, bias, eps: EPS });
  assert.ok(largestDifference(own, expected) <= 3.5 * 2 ** -23);
  const { ways, dispose } = singleWays(problem);
  for (const { name, run, result, bound } of ways) {
    await run(2);
    const difference = largestDifference(await result(), expected);
    assert.ok(difference <= bound, `${name}: ${difference}`);
  }
  dispose();
  // Neither another number nor none passes.
  expected[77] = Number.NaN;
  assert.equal(largestDifference(own, expected), Number.POSITIVE_INFINITY);
  assert.ok(largestDifference(Float32Array.of(1.5), Float32Array.of(1)) === 0.5);
});

test("contenders are timed in turn, by samples that are long beside the clock's step", async (t) => {
  // A clock of its own, in steps of 0.1 ms: what else the machine does makes no difference.
  let now = 0;
  t.mock.method(performance, "now", () => {
    now += 0.01;
    return Math.floor(now * 10) / 10;
  });
  /** @type {{ which: number, calls: number }[]} */
  const runs = [];
  const contender = (/** @type {number} */ which, /** @type {number} */ ms) => ({
    run: (/** @type {number} */ calls) => {
      runs.push({ which, calls });
      repeat(calls, () => {
        now += ms;
      });
    },
  });
  const times = await timeInTurn([contender(0, 0.03), contender(1, 5)], { budgetMs: 50 });
  assert.ok(Math.abs(times[0].ms / 0.03 - 1) < 0.06 && Math.abs(times[1].ms / 5 - 1) < 0.06);
  // 20 steps are 2 ms: 128 calls of the one, where 64 are too few, and a single one of the other.
  const samples = runs.slice(-13);
  assert.deepEqual(
    new Set(samples.map(({ which, calls }) => `${which}: ${calls}`)),
    new Set(["0: 128", "1: 1"]),
  );
  assert.deepEqual(
    times.map(({ samples: count }) => count),
    [13, 10],
  );
  assert.match(runs.map(({ which }) => which).join(""), /(01){10}000$/);
});

test("what is saved is a share of LayerNorm's time", () => {
  assert.equal(savedBy(10, 9), 1 - 0.9);
  assert.ok(savedBy(10, 11) < 0);
});

test("the deviation after is σ/√(σ² + ε), and what noise changes is bounded by σ/√ε", () => {
  for (const eps of EPSES) {
    for (const deviation of DEVIATIONS) {
      const expected = deviation / Math.sqrt(deviation ** 2 + eps);
      const after = deviationAfter(deviation, eps);
      assert.ok(Math.abs(after / expected - 1) < 1e-14, `${eps}, ${deviation}: ${after}`);
      const change = changeByNoise("constant", deviation, eps);
      // The noise 1, -1, 0.5, -0.5 has the variance 0.625.
      const blown = deviation / Math.sqrt(0.625 * deviation ** 2 + eps);
      assert.ok(Math.abs(change / blown - 1) < 1e-6, `${eps}, ${deviation}: ${change}, ${blown}`);
    }
  }
  // With a spread of its own, eps or not, small noise stays small.
  assert.ok(changeByNoise("signal", 1e-6, 0) < 1e-6);
});

test("each item of a batch has its own scale and shift", () => {
  const vectors = [
    [3, 5, 2, 8],
    [1, 3, 5, 8],
    [3, 2, 7, 9],
  ];
  const items = byCondition(vectors, [0.5, -0.5, 0], EPS);
  const plain = vectors.map((vector) => [...layerNorm(Float64Array.from(vector), { eps: EPS })]);
  for (const [k, { scale, shift, normalized, output }] of items.entries()) {
    assert.deepEqual(normalized, plain[k]);
    for (const [i, value] of output.entries()) {
      assert.ok(Math.abs(value - (normalized[i] * (1 + scale[i]) + shift[i])) < 1e-14);
    }
  }
  assert.deepEqual(items[0].scale, [0.5, -0.5, 0, 0.5]);
  assert.deepEqual(items[1].shift, [0, 0, -1, 0.5]);
  assert.deepEqual(items[2].output, plain[2]);
  // Of several lengths, each by itself.
  const [short] = byCondition([[1, 2], ...vectors.slice(1)], [0, 0, 0], EPS);
  assert.deepEqual(short.output, [...layerNorm(Float64Array.of(1, 2), { eps: EPS })]);
});

test("a style is another item's mean and deviation", () => {
  const vectors = [
    [3, 5, 2, 8],
    [1, 3, 5, 8],
    [3, 2, 7, 9],
  ];
  const [first, , third] = byStyle(vectors, 2, 0);
  const mean = first.output.reduce((sum, value) => sum + value, 0) / 4;
  const variance = first.output.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 4;
  assert.ok(Math.abs(mean - 5.25) < 1e-13 && Math.abs(variance - 8.1875) < 1e-13);
  for (const [i, value] of third.output.entries()) {
    assert.ok(Math.abs(value - vectors[2][i]) < 1e-13);
  }
});
