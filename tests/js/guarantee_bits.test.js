/** Guarantee 2 as a property: the same bits however a run is brought in. */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { plan, tensor, zeros } from "../../dist/index.js";
import { assertSameBits, shared, unaligned } from "./bits.js";
import { fillFamily, newRow, Random } from "./data.js";
import { calls, dtypeOf, makeParameters, makeRows, OPERATIONS, settings } from "./row_calls.js";

/** @typedef {import("./data.js").Row} Row */
/** @typedef {import("./row_calls.js").Call} Call */

test("layerNorm and rmsNorm give a run the same bits alone, in a batch and at any position (seed 1)", () => {
  fc.assert(
    fc.property(calls, ({ operation, dtype, n, seeds, eps, kind }) => {
      const call = OPERATIONS[operation];
      const x = makeRows(dtype, seeds, n);
      const options = { ...makeParameters(dtype, n, 9, kind), eps, returnStats: true };
      const batch = call(x, { ...options, normalizedShape: n });
      const reversed = makeRows(dtype, seeds.toReversed(), n);
      const other = call(reversed, { ...options, shape: [seeds.length, n] });
      for (let row = 0; row < seeds.length; row++) {
        const alone = /** @type {any} */ (call(x.slice(row * n, (row + 1) * n), options));
        assertSameBits(batch.output.subarray(row * n, (row + 1) * n), alone.output, `row ${row}`);
        const last = seeds.length - 1 - row;
        assertSameBits(
          other.output.subarray(last * n, (last + 1) * n),
          alone.output,
          `row ${row} reversed`,
        );
        assert.ok(
          Object.is(batch.rstd[row], alone.rstd[0]) && Object.is(other.rstd[last], alone.rstd[0]),
          "rstd",
        );
        if (operation === "layerNorm") assert.ok(Object.is(batch.mean[row], alone.mean[0]), "mean");
      }
    }),
    settings(1),
  );
});

/**
 * All ways of bringing in the same x: each gives the output's bits.
 * @param {Call} call
 * @param {string} name
 * @param {Row} x
 * @param {number[]} shape
 * @param {Record<string, any>} options
 * @returns {[string, Row][]}
 */
function everyWay(call, name, x, shape, options) {
  const run = call;
  const dtype = dtypeOf(x);
  /** @type {[string, Row][]} */
  const results = [];
  results.push(["unaligned x", run(unaligned(x), { ...options, shape })]);
  results.push(["shared x", run(shared(x), { ...options, shape })]);
  results.push(["tensor-like", run({ data: x, dims: shape, type: dtype }, options).data]);
  results.push(["tensor-like with shape and dtype", run({ data: x, shape, dtype }, options).data]);

  const inPlace = x.slice();
  assert.equal(run(inPlace, { ...options, shape, out: inPlace }), inPlace);
  results.push(["in place", inPlace]);
  const unalignedInPlace = unaligned(x);
  run(unalignedInPlace, { ...options, shape, out: unalignedInPlace });
  results.push(["unaligned in place", unalignedInPlace]);
  const out = unaligned(x).fill(Number.NaN);
  run(x, { ...options, shape, out });
  results.push(["unaligned out", out]);
  const sharedOut = shared(x).fill(Number.NaN);
  run(shared(x), { ...options, shape, out: sharedOut });
  results.push(["shared out", sharedOut]);

  const resident = tensor(x, shape);
  const y = run(resident, options);
  results.push(["resident", y.data.slice()]);
  y.dispose();
  const step = plan(/** @type {any} */ (name), resident, options);
  step.run();
  results.push(["plan", /** @type {any} */ (step.output).data.slice()]);
  step.dispose();
  run(resident, { ...options, out: resident });
  results.push(["resident in place", /** @type {any} */ (resident.data).slice()]);
  resident.dispose();
  return results;
}

test("layerNorm and rmsNorm give the same bits from every kind of x (seed 2)", () => {
  fc.assert(
    fc.property(calls, ({ operation, dtype, n, seeds, eps, kind }) => {
      const x = makeRows(dtype, seeds, n);
      const shape = [seeds.length, n];
      const options = { ...makeParameters(dtype, n, 9, kind), eps };
      const call = OPERATIONS[operation];
      const expected = call(x, { ...options, shape });
      for (const [way, got] of everyWay(call, operation, x, shape, options))
        assertSameBits(got, expected, way);
      if (dtype === "float64") {
        const nested = Array.from(seeds, (_, row) =>
          Array.from(x.subarray(row * n, (row + 1) * n)),
        );
        const rows = /** @type {number[][]} */ (call(nested, options));
        assertSameBits(new Float64Array(rows.flat()), expected, "nested");
      }
    }),
    settings(2, 200),
  );
});

test("layerNorm and rmsNorm give the same bits from every kind of parameter (seed 3)", () => {
  const run = fc.property(calls, ({ operation, dtype, n, seeds, eps }) => {
    const call = OPERATIONS[operation];
    const x = makeRows(dtype, seeds, n);
    const { weight, bias } = makeParameters(dtype, n, 9, "weightBias");
    const shape = [seeds.length, n];
    const expected = call(x, { shape, eps, weight, bias });
    const residentWeight = tensor(weight);
    const residentBias = tensor(bias);
    for (const [what, w, b] of /** @type {[string, any, any][]} */ ([
      ["unaligned", unaligned(weight), unaligned(bias)],
      ["shared", shared(weight), shared(bias)],
      ["tensor-like", { data: weight, dims: [n], type: dtype }, { data: bias, shape: [n], dtype }],
      ["resident", residentWeight, residentBias],
      // Widened to float64, float32 values are the same numbers.
      ["float64", Float64Array.from(weight), Float64Array.from(bias)],
      ["nested", Array.from(weight), Array.from(bias)],
    ])) {
      assertSameBits(call(x, { shape, eps, weight: w, bias: b }), expected, what);
    }
    residentWeight.dispose();
    residentBias.dispose();
  });
  fc.assert(run, settings(3, 100));
});

test("layerNorm and rmsNorm give the same bits for every way to name the dimensions (seed 4)", () => {
  const shapes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(calls, shapes, fc.nat(), ({ operation, dtype, eps, kind }, shape, pick) => {
      const call = OPERATIONS[operation];
      const axis = pick % shape.length;
      const normalizedShape = shape.slice(axis);
      const n = normalizedShape.reduce((product, size) => product * size, 1);
      const count = shape.reduce((product, size) => product * size, 1);
      const x = makeRows(dtype, [pick + 1], count);
      const options = { ...makeParameters(dtype, n, 9, kind), eps };
      const expected = call(x, { ...options, shape: [count / n, n] });
      assertSameBits(call(x, { ...options, shape, normalizedShape }), expected, "normalizedShape");
      assertSameBits(call(x, { ...options, shape, axis }), expected, "axis");
      assertSameBits(
        call(x, { ...options, shape, axis: axis - shape.length }),
        expected,
        "negative axis",
      );
      const axes = normalizedShape.map((_, i) => axis + i);
      assertSameBits(call(x, { ...options, shape, axes }), expected, "axes");
      assertSameBits(
        call(x, { ...options, normalizedShape: n }),
        expected,
        "implied leading dimension",
      );
      if (axis === 0) assertSameBits(call(x, options), expected, "one row");
    }),
    settings(4),
  );
});

/** Sizes whose data, and with long runs also the parameters, pass through the arena in pieces. */
const STREAMED = [
  [1, 40_000],
  [1, 300_001],
  [3, 65_535],
  [2, 100_003],
  [17, 8191],
  [5, 16_385],
  [700, 193],
  [70_000, 3],
  [40_000, 1],
];

/** Kinds of rows and of parameters that go with them in the streamed cases. */
const STREAMED_KINDS = [
  ["normal", "weightBias"],
  ["mean1e4", "scaled"],
  ["heavySigned", "offset"],
  ["prefixFar", "bias"],
  ["nearMaxSigned", "weight"],
  ["oneUlp", "weightBias"],
];

for (const [rows, n] of STREAMED) {
  test(`layerNorm and rmsNorm give [${rows}, ${n}] the same bits streamed and resident (seed 5)`, () => {
    for (const dtype of /** @type {const} */ (["float32", "float64"])) {
      for (const [operation, call] of Object.entries(OPERATIONS)) {
        for (const [family, kind] of STREAMED_KINDS) {
          const where = `${operation} ${dtype} ${family} ${kind}`;
          const x = newRow(dtype, rows * n);
          fillFamily(family, x, new Random(5));
          const parameters = makeParameters(dtype, n, 9, kind);
          const options = { ...parameters, eps: 1e-5, normalizedShape: n, returnStats: true };
          const expected = call(x, options);
          // Widened to float64, float32 parameters are the same numbers and fill twice the memory.
          /** @type {Record<string, any>} */
          const wide = { ...options };
          if (parameters.weight) wide.weight = Float64Array.from(parameters.weight);
          if (parameters.bias) wide.bias = Float64Array.from(parameters.bias);
          assertSameBits(call(x, wide).output, expected.output, `${where} float64`);

          const resident = tensor(x, [rows, n]);
          const step = plan(/** @type {any} */ (operation), resident, {
            ...options,
            out: resident,
          });
          const result = /** @type {any} */ (step.run());
          assertSameBits(/** @type {Row} */ (resident.data), expected.output, `${where} plan`);
          assertSameBits(result.rstd.data, expected.rstd, `${where} plan's rstd`);
          if (expected.mean)
            assertSameBits(result.mean.data, expected.mean, `${where} plan's mean`);
          step.dispose();
          resident.dispose();

          const inPlace = unaligned(x);
          call(inPlace, { ...options, out: inPlace });
          assertSameBits(inPlace, expected.output, `${where} in place`);
          const last = x.slice((rows - 1) * n);
          const alone = call(last, options);
          assertSameBits(
            alone.output,
            expected.output.subarray((rows - 1) * n),
            `${where} last row alone`,
          );
        }
      }
    }
  });
}

test("layerNorm and rmsNorm give the rows of a resident tensor the bits of the whole (seed 6)", () => {
  fc.assert(
    fc.property(calls, fc.nat(), fc.nat(), ({ operation, dtype, n, seeds, eps, kind }, a, b) => {
      const call = OPERATIONS[operation];
      const x = makeRows(dtype, seeds, n);
      const options = { ...makeParameters(dtype, n, 9, kind), eps };
      const begin = a % seeds.length;
      const end = begin + 1 + (b % (seeds.length - begin));
      const expected = call(x, { ...options, normalizedShape: n });
      const whole = tensor(x, [seeds.length, n]);
      const part = whole.rows(begin, end);
      call(part, { ...options, out: part });
      const data = /** @type {Row} */ (whole.data);
      assertSameBits(
        data.subarray(begin * n, end * n),
        expected.subarray(begin * n, end * n),
        "part",
      );
      assertSameBits(data.subarray(0, begin * n), x.subarray(0, begin * n), "before");
      assertSameBits(data.subarray(end * n), x.subarray(end * n), "after");
      part.dispose();
      whole.dispose();
    }),
    settings(6),
  );
});

test("a plan gives the same bits at every run and follows its resident operands (seed 7)", () => {
  fc.assert(
    fc.property(calls, ({ operation, dtype, n, seeds, eps }) => {
      const call = OPERATIONS[operation];
      const shape = [seeds.length, n];
      const { weight, bias } = makeParameters(dtype, n, 9, "weightBias");
      const x = zeros(shape, dtype);
      const residentWeight = zeros([n], dtype);
      const step = plan(/** @type {any} */ (operation), x, { weight: residentWeight, bias, eps });
      for (let turn = 0; turn < 3; turn++) {
        const values = makeRows(
          dtype,
          seeds.map((seed) => seed + turn),
          n,
        );
        const turned = weight.map((/** @type {number} */ value) => value + turn);
        /** @type {Row} */ (x.data).set(values);
        /** @type {Row} */ (residentWeight.data).set(turned);
        const result = /** @type {any} */ (step.run());
        assertSameBits(
          result.data,
          call(values, { shape, weight: turned, bias, eps }),
          `run ${turn}`,
        );
      }
      step.dispose();
      x.dispose();
      residentWeight.dispose();
    }),
    settings(7, 100),
  );
});
