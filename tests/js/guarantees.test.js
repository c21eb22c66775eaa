/**
 * Guarantees 2, 3, 4 and 6 as properties: same bits however a run is brought in, NaN and infinity spoil their own run,
 * constant runs give the bias, empty batches are empty, errors come before anything is written.
 */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { layerNorm, plan, rmsNorm, tensor, zeros } from "../../dist/index.js";
import { assertSameBits, shared, unaligned } from "./bits.js";
import { families, fillFamily, newRow, Random } from "./data.js";

/** @typedef {import("./data.js").DType} DType */
/** @typedef {import("./data.js").Row} Row */

/**
 * Both functions, as the properties call them: with whatever kind of x and options was drawn.
 * @typedef {(x?: any, options?: any) => any} Call
 */
/** @type {Record<"layerNorm" | "rmsNorm", Call>} */
const OPERATIONS = { layerNorm, rmsNorm };

/** @param {Row} values @returns {DType} */
const dtypeOf = (values) => (values instanceof Float32Array ? "float32" : "float64");

/** @param {DType} dtype @param {number[]} seeds one for each row @param {number} n @returns {Row} rows of many kinds */
function makeRows(dtype, seeds, n) {
  const x = newRow(dtype, seeds.length * n);
  for (const [row, seed] of seeds.entries()) {
    const random = new Random(seed);
    fillFamily(random.pick(families(dtype)), x.subarray(row * n, (row + 1) * n), random);
  }
  return x;
}

/** @param {DType} dtype @param {number} n @param {number} seed @param {string} kind @returns {Record<string, any>} */
function makeParameters(dtype, n, seed, kind) {
  const random = new Random(seed);
  const vector = () => {
    const values = newRow(dtype, n);
    fillFamily("normal", values, random);
    return values;
  };
  switch (kind) {
    case "weight":
      return { weight: vector() };
    case "weightBias":
      return { weight: vector(), bias: vector() };
    case "scaled":
      // Beside large weights sums are taken in another way.
      return { weight: vector().map((value) => 1000 * value), bias: vector() };
    case "bias":
      return { bias: vector() };
    case "offset":
      return { weight: vector(), bias: vector(), weightOffset: 1 };
    case "numbers":
      return { weight: random.normal(), bias: random.normal() };
    default:
      return {};
  }
}

/** Lengths of a run: all short ones, and those around the vector width and the flush intervals. */
const lengths = fc.oneof(
  fc.integer({ min: 1, max: 40 }),
  fc.integer({ min: 41, max: 300 }),
  fc.constantFrom(
    63,
    64,
    65,
    95,
    96,
    97,
    127,
    128,
    129,
    191,
    192,
    193,
    255,
    256,
    257,
    768,
    1023,
    1024,
    4099,
  ),
);

const calls = fc.record({
  operation: fc.constantFrom(.../** @type {const} */ (["layerNorm", "rmsNorm"])),
  dtype: fc.constantFrom(.../** @type {const} */ (["float32", "float64"])),
  n: lengths,
  seeds: fc.array(fc.integer({ min: 1, max: 1e6 }), { minLength: 1, maxLength: 6 }),
  eps: fc.constantFrom(0, 1e-5, 1e-12),
  kind: fc.constantFrom("none", "weight", "weightBias", "scaled", "bias", "offset", "numbers"),
});

/** @param {number} seed @param {number} [numRuns] */
const settings = (seed, numRuns = 300) => ({ seed, numRuns });

// --- Same bits ---------------------------------------------------------------------------------------------------------

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

// --- NaN, infinity, constant runs ----------------------------------------------------------------------------------------

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

// --- Empty ---------------------------------------------------------------------------------------------------------------

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

// --- Errors --------------------------------------------------------------------------------------------------------------

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
