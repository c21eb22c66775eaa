/** Guarantees 4 and 6 as properties: empty batches are empty, errors come before anything is written. */
import assert from "node:assert/strict";
import test from "node:test";
import { plan, zeros } from "../../dist/index.js";
import { assertSameBits } from "./bits.js";
import { makeParameters, makeRows, OPERATIONS } from "./row_calls.js";

for (const [name, call] of Object.entries(OPERATIONS)) {
  const run = call;

  test(`${name} of an empty batch is empty`, () => {
    for (const Type of [Float32Array, Float64Array]) {
      const empty = new Type(0);
      assert.deepEqual(run(empty, { shape: [0, 768] }), empty);
      assert.deepEqual(run(empty, { shape: [3, 0, 5], normalizedShape: 5 }), empty);
      assert.deepEqual(run(empty, { normalizedShape: 768 }), empty);
      assert.deepEqual(run(empty, { shape: [0, 4], weight: new Type(4), bias: 1 }), empty);
      assert.equal(run(empty, { shape: [0, 4], out: empty }), empty);
      const { output, rstd } = run({ data: empty, dims: [0, 4] }, { returnStats: true });
      assert.deepEqual(output.dims, [0, 4]);
      assert.equal(output.data.length, 0);
      assert.deepEqual(rstd.dims, [0, 1]);
      assert.equal(rstd.data.length, 0);
    }
    const resident = zeros([0, 8]);
    const y = run(resident);
    assert.deepEqual([...y.shape], [0, 8]);
    assert.equal(y.data.length, 0);
    y.dispose();
    resident.dispose();
  });

  test(`${name} of an empty normalized set is a RangeError`, () => {
    const empty = new Float32Array(0);
    for (const options of [
      {},
      { shape: [4, 0] },
      { shape: [0, 0] },
      { shape: [0, 3], axis: 0 },
      { shape: [2, 3], normalizedShape: [] },
      { shape: [2, 3], axes: [] },
      { shape: [] },
    ]) {
      const x =
        options.shape?.length === 2 && !options.shape.includes(0) ? new Float32Array(6) : empty;
      assert.throws(() => run(x, options), RangeError, JSON.stringify(options));
    }
  });
}

test("layerNorm and rmsNorm write nothing on an error, and the next call works", () => {
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    const call = operation;
    for (const [rows, n] of [
      [2, 6],
      [3, 100_002],
    ]) {
      const shape = [rows, n];
      const x = makeRows("float32", [4, 5, 6].slice(0, rows), n);
      const { weight, bias } = makeParameters("float32", n, 9, "weightBias");
      const valid = { shape, weight, bias };
      const expected = call(x, valid);
      const before = x.slice();
      const out = new Float32Array(rows * n).fill(77);
      const untouched = out.slice();
      const detached = new Float32Array(n);
      structuredClone(detached, { transfer: [detached.buffer] });
      const disposed = zeros([n]);
      disposed.dispose();
      const buffer = new ArrayBuffer(4 * (rows * n + 8));
      const front = new Float32Array(buffer, 0, rows * n);
      const shifted = new Float32Array(buffer, 4, rows * n);

      /** @type {[ErrorConstructor, string, () => unknown][]} */
      const faults = [
        [
          RangeError,
          "weight too long",
          () => call(x, { ...valid, out, weight: new Float32Array(n + 1) }),
        ],
        [
          RangeError,
          "weight of length 1",
          () => call(x, { ...valid, out, weight: new Float32Array(1) }),
        ],
        [
          RangeError,
          "bias too short",
          () => call(x, { ...valid, out, bias: new Float32Array(n - 1) }),
        ],
        [TypeError, "weight of a wrong kind", () => call(x, { ...valid, out, weight: "1" })],
        [TypeError, "detached weight", () => call(x, { ...valid, out, weight: detached })],
        [TypeError, "disposed weight", () => call(x, { ...valid, out, weight: disposed })],
        [TypeError, "unknown option", () => call(x, { ...valid, out, epsilon: 1e-5 })],
        [RangeError, "negative eps", () => call(x, { ...valid, out, eps: -1 })],
        [RangeError, "eps NaN", () => call(x, { ...valid, out, eps: Number.NaN })],
        [
          RangeError,
          "eps infinite",
          () => call(x, { ...valid, out, eps: Number.POSITIVE_INFINITY }),
        ],
        [TypeError, "eps of a wrong kind", () => call(x, { ...valid, out, eps: "1e-5" })],
        [
          TypeError,
          "two ways to name dimensions",
          () => call(x, { ...valid, out, axis: 1, normalizedShape: n }),
        ],
        [RangeError, "axis out of range", () => call(x, { ...valid, out, axis: 2 })],
        [
          RangeError,
          "shape of another size",
          () => call(x, { ...valid, out, shape: [rows, n + 1] }),
        ],
        [RangeError, "out too short", () => call(x, { ...valid, out: out.subarray(1) })],
        [
          TypeError,
          "out of another type",
          () => call(x, { ...valid, out: new Float64Array(rows * n) }),
        ],
        [RangeError, "out that overlaps x", () => call(front, { ...valid, out: shifted })],
        [
          RangeError,
          "out that overlaps weight",
          () => call(x, { ...valid, weight: out.subarray(3, 3 + n), out }),
        ],
        [TypeError, "detached x", () => call(detached, { out })],
        [TypeError, "x of a wrong kind", () => call("x", { out })],
        [TypeError, "no x", () => call()],
        [
          TypeError,
          "plan of a typed array",
          () => plan(/** @type {any} */ (name), /** @type {any} */ (x), valid),
        ],
        [RangeError, "a tensor larger than memory", () => zeros([2 ** 20, 2 ** 20])],
      ];
      for (const [kind, what, fault] of faults) {
        assert.throws(
          fault,
          (error) => error instanceof kind && error.constructor === kind,
          `${name} [${shape}]: ${what} is a ${kind.name}`,
        );
        assertSameBits(out, untouched, `${what}: out`);
        assertSameBits(x, before, `${what}: x`);
        assertSameBits(call(x, valid), expected, `${what}: the next call`);
      }
    }
  }
});
