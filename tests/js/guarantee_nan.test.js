/** Guarantee 3 as a property: NaN and infinity spoil their own run, constant runs give the bias. */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { layerNorm } from "../../dist/index.js";
import { assertSameBits } from "./bits.js";
import { newRow } from "./data.js";
import { calls, makeParameters, makeRows, OPERATIONS, settings } from "./row_calls.js";

test("layerNorm and rmsNorm let NaN and infinity spoil their own run only (seed 8)", () => {
  const bad = fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY);
  fc.assert(
    fc.property(calls, bad, fc.nat(), ({ operation, dtype, n, seeds, eps, kind }, value, pick) => {
      const call = OPERATIONS[operation];
      const options = {
        ...makeParameters(dtype, n, 9, kind),
        eps,
        normalizedShape: n,
        returnStats: true,
      };
      const x = makeRows(dtype, seeds, n);
      const clean = call(x, options);
      const spoiled = x.slice();
      const at = pick % x.length;
      const row = Math.floor(at / n);
      spoiled[at] = value;
      const got = call(spoiled, options);
      for (let other = 0; other < seeds.length; other++) {
        const output = got.output.subarray(other * n, (other + 1) * n);
        if (other !== row) {
          assertSameBits(output, clean.output.subarray(other * n, (other + 1) * n), `row ${other}`);
          assert.ok(Object.is(got.rstd[other], clean.rstd[other]), "rstd of another row");
          if (got.mean)
            assert.ok(Object.is(got.mean[other], clean.mean[other]), "mean of another row");
        } else if (operation === "layerNorm" || Number.isNaN(value)) {
          // The mean or rstd is NaN, or the infinite mean makes x - mean NaN or the variance NaN.
          assert.ok(output.every(Number.isNaN), `spoiled row: ${output}`);
        } else {
          assert.ok(Number.isNaN(got.output[at]), `spoiled element: ${got.output[at]}`);
        }
      }
    }),
    settings(8, 500),
  );
});

test("layerNorm and rmsNorm keep NaN of a long run out of the next (seed 9)", () => {
  for (const dtype of /** @type {const} */ (["float32", "float64"])) {
    for (const [operation, call] of Object.entries(OPERATIONS)) {
      const n = 100_003;
      const x = makeRows(dtype, [1, 2, 3], n);
      const clean = call(x, { normalizedShape: n });
      x[n + 77_777] = Number.NaN;
      const got = call(x, { normalizedShape: n });
      assertSameBits(got.subarray(0, n), clean.subarray(0, n), `${operation} ${dtype} before`);
      assert.ok(got.subarray(n, 2 * n).every(Number.isNaN), `${operation} ${dtype} spoiled`);
      assertSameBits(got.subarray(2 * n), clean.subarray(2 * n), `${operation} ${dtype} after`);
    }
  }
});

test("layerNorm of a constant run and rmsNorm of zeros give the bias, or 0 (seed 10)", () => {
  const anyNumber = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(0, -0, 0.1, 1e30, 3e-39, -7, 1e-45, 3.4e38, 5e-324, 1.7e308),
  );
  const run = fc.property(calls, anyNumber, ({ operation, dtype, n, eps, kind }, number) => {
    const call = OPERATIONS[operation];
    const options = makeParameters(dtype, n, 9, kind);
    const x = newRow(dtype, n).fill(operation === "layerNorm" ? number : 0);
    if (!Number.isFinite(x[0])) return;
    const { output, mean, rstd } = call(x, { ...options, eps, returnStats: true });
    for (let i = 0; i < n; i++) {
      const bias = typeof options.bias === "number" ? options.bias : (options.bias?.[i] ?? 0);
      // 0 and -0 are the same number here.
      assert.ok(
        output[i] === newRow(dtype, 1).fill(bias)[0],
        `index ${i} got ${output[i]}, bias ${bias}`,
      );
    }
    if (mean) assert.ok(mean[0] === x[0], `mean ${mean[0]} of ${x[0]}`);
    if (eps === 0) assert.equal(rstd[0], Number.POSITIVE_INFINITY);
  });
  fc.assert(run, settings(10, 1000));
});

test("layerNorm of a long constant run gives the bias", () => {
  for (const dtype of /** @type {const} */ (["float32", "float64"])) {
    for (const value of [0.1, 1e30, 3e-39, -7, 0]) {
      const x = newRow(dtype, 1_000_003).fill(value);
      const { output, mean, rstd } = /** @type {any} */ (
        layerNorm(x, { eps: 0, bias: 0.5, returnStats: true })
      );
      assert.ok(
        output.every((/** @type {number} */ y) => y === 0.5),
        `${dtype} ${value}`,
      );
      assert.equal(mean[0], x[0]);
      assert.equal(rstd[0], Number.POSITIVE_INFINITY);
    }
  }
});
