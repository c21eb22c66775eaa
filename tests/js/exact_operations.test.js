/** The references themselves: functions against published digits, and that a result beyond its bound is found. */
import assert from "node:assert/strict";
import test from "node:test";
import { add, dyadic, multiply, ONE, ratio, subtract, toNumber } from "./exact.js";
import { boundOf, judgeOperation } from "./exact_operations.js";
import { isHalf } from "./half.js";
import {
  DTYPES,
  hasAffine,
  layoutsOf,
  makeCase,
  OPERATIONS,
  resultsOf,
} from "./operation_cases.js";
import { count, gather, runsOf, scatter } from "./runs.js";
import { APPROXIMATE, activation, exponential, logarithm, power } from "./transcendental.js";

/** @typedef {import("./exact.js").Dyadic} Dyadic */
/** @typedef {import("./transcendental.js").ActivationName} ActivationName */

/** @param {string} digits 0.… or 1.… and so on @param {Dyadic} got @param {string} what */
function assertDigits(digits, got, what) {
  const [whole, fraction] = digits.replace("-", "").split(".");
  const scale = 10n ** BigInt(fraction.length);
  const exact = BigInt(whole + fraction) * (digits.startsWith("-") ? -1n : 1n);
  const difference = subtract(multiply(got, { m: scale, e: 0 }), { m: exact, e: 0 });
  assert.ok(Math.abs(toNumber(difference)) <= 1, `${what}: ${toNumber(got)}, ${digits}`);
}

test("the reference's functions have the digits of tables", () => {
  // OEIS A001113, A002162, A002392, and 1 / A002193.
  assertDigits("2.71828182845904523536028747135266249775724", exponential(ONE), "e");
  assertDigits("0.69314718055994530941723212145817656807550", logarithm(dyadic(2)), "ln 2");
  assertDigits("2.30258509299404568401799145468436420760110", logarithm(dyadic(10)), "ln 10");
  const root = power(dyadic(2), dyadic(-0.5));
  assertDigits("0.70710678118654752440084436210484903928483", root, "1 / sqrt 2");
  // OEIS A073744 (tanh 1); sigmoid(2 x) is (1 + tanh x) / 2.
  const tanh1 = "0.76159415595576488811945828260479359041276";
  assertDigits(tanh1, activation("tanh", ONE), "tanh 1");
  const sigmoid2 = activation("sigmoid", dyadic(2));
  assertDigits(tanh1, subtract(add(sigmoid2, sigmoid2), ONE), "sigmoid 2");
  assertDigits(tanh1, subtract(activation("silu", dyadic(2)), ONE), "silu 2");
  // The normal distribution at 1 and 2: 0.84134474606854294858..., 0.97724986805182079280...
  assertDigits("0.84134474606854294858", activation("gelu", ONE), "gelu 1");
  assertDigits("-0.15865525393145705142", activation("gelu", dyadic(-1)), "gelu -1");
  assertDigits("1.95449973610364158560", activation("gelu", dyadic(2)), "gelu 2");
  assertDigits("1.5", activation("relu", dyadic(1.5)), "relu");
  assert.equal(toNumber(activation("relu", dyadic(-1.5))), 0);
});

test("the reference's functions agree with identities at any magnitude", () => {
  for (let k = -12; k <= 12; k++) {
    const x = dyadic(k * 1.37);
    const e = multiply(exponential(x), exponential(dyadic(-k * 1.37)));
    assert.ok(Math.abs(toNumber(subtract(e, ONE))) < 2 ** -150, `exp ${k}`);
    const big = dyadic(1.7 * 2 ** (80 * k));
    const back = ratio(subtract(exponential(logarithm(big)), big), big);
    assert.ok(Math.abs(back) < 2 ** -150, `exp ln ${k}`);
    const cube = power(big, dyadic(3));
    const product = multiply(big, multiply(big, big));
    assert.ok(Math.abs(ratio(subtract(cube, product), product)) < 2 ** -150, `cube ${k}`);
    for (const name of /** @type {const} */ (["silu", "gelu", "gelu_tanh"])) {
      // f(x) - f(-x) is x.
      const sum = subtract(activation(name, x), activation(name, dyadic(-k * 1.37)));
      assert.ok(Math.abs(toNumber(subtract(sum, x))) < 2 ** -125, `${name} ${k}`);
    }
  }
});

test("the reference's functions agree with float64 near and far", () => {
  for (const name of /** @type {ActivationName[]} */ (Object.keys(APPROXIMATE))) {
    for (const x of [
      -1e300, -1e5, -99, -17.5, -16, -8, -3, -1e-3, -1e-200, 0, 1e-9, 0.5, 2, 16.9, 40, 1e300,
    ]) {
      const exact = toNumber(activation(name, dyadic(x)));
      const error = Math.abs(exact - APPROXIMATE[name](x)) / Math.max(1, Math.abs(exact));
      assert.ok(error < 1e-12, `${name}(${x}): ${exact}, ${APPROXIMATE[name](x)}`);
    }
  }
});

test("runsOf takes each element once, as the definitions say", () => {
  const { runs, own, ownCount } = runsOf("layerNorm", { dims: [2, 3, 4], axes: [2, 0] });
  assert.equal(ownCount, 8);
  assert.deepEqual([...runs[1]], [4, 5, 6, 7, 16, 17, 18, 19]);
  // Parameters have the dimensions [4, 2].
  assert.deepEqual([own[4], own[5], own[16], own[19]], [0, 2, 1, 7]);
  const groups = runsOf("groupNorm", { dims: [2, 2, 4], last: true, numGroups: 2 });
  assert.deepEqual([...groups.runs[1]], [2, 3, 6, 7]);
  assert.deepEqual([...groups.own.slice(0, 5)], [0, 1, 2, 3, 0]);
  for (const { op } of Object.values(OPERATIONS)) {
    for (const layout of layoutsOf(op, 12)) {
      const all = runsOf(op, layout).runs.flatMap((run) => [...run]);
      assert.deepEqual(
        all.sort((a, b) => a - b),
        Array.from({ length: count(layout.dims) }, (_, i) => i),
      );
    }
  }
  const x = Float32Array.of(1, 2, 3);
  scatter(x, Int32Array.of(2, 0), gather(x, Int32Array.of(0, 2)));
  assert.deepEqual([...x], [3, 2, 1]);
});

test("judgeOperation finds one element that is off by more than its bound", () => {
  const UNITS = { float32: 2 ** -23, float64: 2 ** -52, float16: 2 ** -10, bfloat16: 2 ** -7 };
  for (const [name, { op }] of Object.entries(OPERATIONS)) {
    for (const dtype of DTYPES) {
      for (const [seed, layout] of layoutsOf(op, 20).entries()) {
        const kind = hasAffine(op) ? "scaleShift" : "none";
        const made = makeCase({ name, layout, dtype, family: "normal", kind, seed: 2 * seed });
        const results = resultsOf(made);
        const { output } = results;
        const at = (seed * 31) % output.length;
        // No term is beyond 20 here, and no result is off by more than its bound already.
        const off = 20 * (boundOf(made.setting) + 1) * UNITS[dtype] * (isHalf(dtype) ? 2 : 1);
        output[at] += off * Math.max(1, Math.abs(output[at]));
        const { error, index } = judgeOperation(made.setting, made.x, results);
        assert.ok(error > 1, `${name} ${dtype} ${layout.name}: ${error}`);
        assert.equal(index, at);
        output[at] = Number.NaN;
        assert.equal(judgeOperation(made.setting, made.x, results).error, Infinity);
        if (results.rstd && !made.setting.runningMean) {
          results.rstd[0] *= 1 + 2 ** (dtype === "float64" ? -47 : -18);
          assert.ok(judgeOperation(made.setting, made.x, results).rstd > 1, `${name}: rstd`);
        }
      }
    }
  }
});
