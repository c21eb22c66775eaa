/** Gradients of very large and very small values. */
import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { assertSameBits } from "./bits.js";
import { load, store } from "./half.js";
import { ops } from "./operation_cases.js";

describe("magnitudes", () => {
  /** Every operation with its options, for x of [4, 2, 40]. @type {[string, Record<string, any>, number][]} */
  const calls = [
    ["layerNormBackward", {}, 40],
    ["layerNormBackward", { axes: [1, 2] }, 80],
    ["layerNormBackward", { axes: [1] }, 2],
    ["rmsNormBackward", {}, 40],
    ["groupNormBackward", { numGroups: 1 }, 2],
    ["instanceNormBackward", {}, 2],
    ["batchNormBackward", { training: true }, 2],
    ["addLayerNormBackward", {}, 40],
    ["addRmsNormBackward", {}, 40],
    ["addGroupNormBackward", { numGroups: 2 }, 2],
  ];
  const dims = [4, 2, 40];
  const like = (/** @type {any} */ data, type = "float32") => ({ data, dims, type });
  const values = Float32Array.from({ length: 320 }, (_, i) => Math.sin((i % 160) ** 2));

  test("gradients of parameters that cancel to 0 do, however large their terms are", () => {
    const grad = Float32Array.from(values, (_, i) => (i < 160 ? 3e38 : -3e38));
    for (const dtype of /** @type {const} */ (["float32", "bfloat16"])) {
      const x = like(store(values, dtype), dtype);
      for (const [op, options, n] of calls) {
        const inputs = op.startsWith("add") ? [x, x] : [x];
        for (const [weight, bias] of [
          [new Float32Array(n).fill(1e-30), new Float32Array(n)],
          [1e-30, 0],
        ]) {
          const got = ops[op](like(grad), ...inputs, { ...options, weight, bias });
          for (const name of ["gradWeight", "gradBias"]) {
            for (const value of [got[name]].flat()) {
              for (const each of typeof value === "number" ? [value] : value) {
                assert.ok(Math.abs(each) < 1e26, `${op} ${dtype} ${name}: ${each}`);
              }
            }
          }
          for (const each of load(got.gradInput.data, dtype)) {
            assert.ok(Math.abs(each) < 1e10, `${op} ${dtype} gradInput: ${each}`);
          }
        }
      }
    }
  });

  test("the gradient of a float64 weight is exact to its bound where terms beside float32 are subnormal", () => {
    const grad = Float32Array.from(values, (_, i) => ((i % 9) + 1) * 1e-44);
    for (const [op, options, n] of calls) {
      const inputs = op.startsWith("add") ? [like(values), like(values)] : [like(values)];
      const given = (/** @type {any[]} */ tensors) =>
        ops[op](...tensors, { ...options, weight: new Float64Array(n).fill(1e35), eps: 1e-5 });
      const { gradWeight } = given([like(grad), ...inputs]);
      const wide = (/** @type {any} */ each) => like(Float64Array.from(each.data), "float64");
      const exact = given([like(grad), ...inputs].map(wide)).gradWeight;
      // No term is larger than seven times the sum of the gradients that it is made of.
      const terms = new Float64Array(n);
      for (const [i, value] of grad.entries()) {
        terms[n === 2 ? Math.floor(i / 40) % 2 : i % n] += 7 * value;
      }
      for (const [i, value] of gradWeight.entries()) {
        const error = Math.abs(value - exact[i]);
        assert.ok(error <= 2 ** -23 * terms[i], `${op} ${i}: ${value}, not ${exact[i]}`);
      }
    }
  });

  test("beside float64 sums may leave its range, and products fall below it", () => {
    const x = Float64Array.from(values);
    const turned = x.toReversed();
    const names = [...calls, ["l2NormalizeBackward", {}, 0]];
    for (const [op, options, n] of /** @type {typeof calls} */ (names)) {
      /** @param {number} ofX @param {number} ofGrad @param {number} ofWeight @param {(i: number) => number} grad */
      const call = (ofX, ofGrad, ofWeight, grad) => {
        const data = like(
          Float64Array.from(x, (value) => value * ofX),
          "float64",
        );
        const gradOutput = like(
          Float64Array.from(x, (_, i) => grad(i) * ofGrad),
          "float64",
        );
        const rest = op.startsWith("add") ? [data] : [];
        const weight = Float64Array.from({ length: n }, (_, i) => (1 + i / 64) * ofWeight);
        const all = n === 0 ? options : { ...options, weight, eps: 0 };
        return ops[op](gradOutput, data, ...rest, all).gradInput.data;
      };
      /** @param {Float64Array} got @param {Float64Array} expected @param {string} where */
      const compare = (got, expected, where) => {
        const most = expected.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
        for (const [i, value] of got.entries()) {
          const error = Math.abs(value - expected[i]) / most;
          assert.ok(error < 1e-14, `${op} ${where} ${i}: ${value}, expected ${expected[i]}`);
        }
      };
      // Nearly all of one sign: sums are beyond 2^1024.
      const ones = (/** @type {number} */ i) => (i % 40 === 3 ? -1 : 1 + turned[i] / 8);
      const scaled = call(2 ** 30, 2 ** 500, 1, ones).map(
        (/** @type {number} */ value) => value * 2 ** 522,
      );
      compare(call(2 ** 30, 2 ** 1022, 1, ones), scaled, "large");
      // Products are subnormal, gradients are not.
      const small = call(2 ** -600, 2 ** -400, 2 ** -100, (i) => turned[i]);
      const expected = small.map((/** @type {number} */ value) => value * 2 ** -570);
      if (n !== 0)
        compare(
          call(2 ** -600, 2 ** -970, 2 ** -100, (i) => turned[i]),
          expected,
          "small",
        );
    }
  });

  test("beside a run whose sums leave float64's range another one has the same bits", () => {
    for (const axes of [[0], [1]]) {
      const shape = axes[0] === 0 ? [50, 2] : [2, 50];
      const other = (/** @type {number} */ i) => (axes[0] === 0 ? i % 2 : Math.floor(i / 50)) === 1;
      const x = Float64Array.from({ length: 100 }, (_, i) => Math.sin(i * i) * 2 ** 40);
      const grad = (/** @type {number} */ most) =>
        Float64Array.from(x, (_, i) => (other(i) ? Math.cos(i) : most) * 2 ** -30);
      const bitsOfOther = (/** @type {number} */ most) =>
        ops
          .layerNormBackward(grad(most), x, { shape, axes })
          .gradInput.filter((/** @type {number} */ _, /** @type {number} */ i) => other(i));
      for (const most of [1e308 * 2 ** 30, 1e-308, Number.NaN, 0]) {
        assertSameBits(bitsOfOther(most), bitsOfOther(1), `axes ${axes}, beside ${most}`);
      }
    }
  });
});
