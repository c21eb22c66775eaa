/** Every error rule: the exact class and message, and that nothing was written before it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import {
  dispose,
  init,
  initSync,
  layerNorm,
  plan,
  rmsNorm,
  tensor,
  zeros,
} from "../../dist/index.js";

const ARRAYS = "Float32Array or Float64Array";
const KINDS = `a ${ARRAYS}, a tensor-like object, nested arrays of numbers or a Tensor`;
const PARAMETER = `null, a number, ${KINDS}`;
const LAYER_OPTIONS =
  "shape, normalizedShape, axis, axes, weight, bias, weightOffset, eps, preset, out, returnStats";

/** @typedef {{ call: () => unknown, type: typeof Error, message: string }} Rule */

/** @param {() => unknown} call @param {string} message @returns {Rule} */
const typeError = (call, message) => ({ call, type: TypeError, message });
/** @param {() => unknown} call @param {string} message @returns {Rule} */
const rangeError = (call, message) => ({ call, type: RangeError, message });

/** @param {Rule} rule */
function check({ call, type, message }) {
  assert.throws(call, (/** @type {any} */ error) => {
    assert.equal(error.message, message);
    assert.equal(error.constructor, type);
    return true;
  });
}

const x = Float32Array.from([3, 5, 2, 8, 1, 7]);
const before = x.slice();
/** @param {any} options @param {any} [input] @returns {any} */
const norm = (options, input = x) => layerNorm(input, options);

/** @param {Float32Array | Float64Array} array */
function detached(array) {
  structuredClone(array.buffer, { transfer: [/** @type {ArrayBuffer} */ (array.buffer)] });
  return array;
}

function outOfBounds() {
  const Resizable = /** @type {any} */ (ArrayBuffer);
  const buffer = new Resizable(24, { maxByteLength: 24 });
  const array = new Float32Array(buffer, 8, 4);
  buffer.resize(8);
  return array;
}

function disposed() {
  const gone = zeros([2, 3]);
  gone.dispose();
  return gone;
}

/** A cycle: deeper than any nest. @type {any[]} */
const cycle = [];
cycle.push(cycle);

/** @type {Record<string, Rule[]>} */
const RULES = {
  x: [
    typeError(() => norm({}, null), `layerNorm: "x" expected ${KINDS}, got null`),
    typeError(() => norm({}, 3), `layerNorm: "x" expected ${KINDS}, got 3`),
    typeError(() => norm({}, "abc"), `layerNorm: "x" expected ${KINDS}, got "abc"`),
    typeError(() => norm({}, 3n), `layerNorm: "x" expected ${KINDS}, got 3n`),
    typeError(() => norm({}, Symbol("s")), `layerNorm: "x" expected ${KINDS}, got a symbol`),
    typeError(() => norm({}, () => 3), `layerNorm: "x" expected ${KINDS}, got a function`),
    typeError(() => norm({}, {}), `layerNorm: "x" expected ${KINDS}, got an object`),
    typeError(
      () => norm({}, new ArrayBuffer(8)),
      `layerNorm: "x" expected ${KINDS}, got an object`,
    ),
    typeError(
      () => norm({}, new Int32Array(4)),
      `layerNorm: "x" expected ${KINDS}, got Int32Array`,
    ),
    typeError(
      () => norm({}, Object.create(Float32Array.prototype)),
      `layerNorm: "x" expected ${KINDS}, got an object`,
    ),
    typeError(
      () => /** @type {any} */ (rmsNorm)(),
      `rmsNorm: "x" expected ${KINDS}, got undefined`,
    ),
    typeError(
      () => norm({}, detached(new Float32Array(4))),
      'layerNorm: "x" expected memory that is there, got a detached Float32Array',
    ),
    typeError(
      () => norm({}, disposed()),
      'layerNorm: "x" expected a live tensor, got a disposed tensor',
    ),
  ],
  "tensor-like x": [
    typeError(
      () => norm({}, { data: [1, 2], dims: [2] }),
      `layerNorm: "x.data" expected a ${ARRAYS}, got an array`,
    ),
    typeError(
      () => norm({}, { data: () => x, shape: [6] }),
      `layerNorm: "x.data" expected a ${ARRAYS}, got a function`,
    ),
    typeError(
      () => norm({}, { data: x, dims: 6 }),
      'layerNorm: "x.dims" expected an array of integers, got 6',
    ),
    typeError(
      () => norm({}, { data: x, shape: ["6"] }),
      'layerNorm: "x.shape" expected an array of integers, got "6" in it',
    ),
    typeError(
      () => norm({}, { data: x, dims: [6], type: 32 }),
      'layerNorm: "x.type" expected a string, got 32',
    ),
    rangeError(
      () => norm({}, { data: x, shape: [6], dtype: "int8" }),
      'layerNorm: "x.dtype" expected one of "float32", "float64", got "int8"',
    ),
    typeError(
      () => norm({}, { data: x, dims: [6], type: "float64" }),
      'layerNorm: "x.data" expected the typed array of "float64", got Float32Array',
    ),
    rangeError(
      () => norm({}, { data: x, dims: [2, 2] }),
      'layerNorm: "x" expected 4 elements for shape [2, 2], got 6',
    ),
    rangeError(
      () => norm({}, { data: new Float32Array(1), dims: [] }),
      'layerNorm: "x" expected at least one dimension, got shape []',
    ),
    rangeError(
      () => norm({ shape: [3, 2] }, { data: x, dims: [2, 3] }),
      'layerNorm: "shape" expected [2, 3], got [3, 2]',
    ),
  ],
  "nested x": [
    typeError(() => norm({}, [1, "2"]), 'layerNorm: "x" expected numbers, got "2" in it'),
    typeError(() => norm({}, [1, null]), 'layerNorm: "x" expected numbers, got null in it'),
    typeError(
      () => norm({}, [[1], undefined]),
      'layerNorm: "x" expected numbers, got undefined in it',
    ),
    typeError(() => norm({}, new Array(3)), 'layerNorm: "x" expected numbers, got undefined in it'),
    typeError(() => norm({}, [x]), 'layerNorm: "x" expected numbers, got Float32Array in it'),
    rangeError(
      () => norm({}, [[1, 2], [3]]),
      'layerNorm: "x" expected no ragged nesting, got rows of 2 and 1',
    ),
    rangeError(
      () => norm({}, [[1], 2]),
      'layerNorm: "x" expected no ragged nesting, got a number beside arrays',
    ),
    rangeError(
      () => norm({}, [1, [2]]),
      'layerNorm: "x" expected no ragged nesting, got an array beside numbers',
    ),
    rangeError(
      () => norm({}, [[], 1]),
      'layerNorm: "x" expected no ragged nesting, got a number beside arrays',
    ),
    rangeError(() => norm({}, cycle), 'layerNorm: "x" expected at most 64 dimensions, got more'),
    rangeError(
      () => norm({}, []),
      'layerNorm: "x" expected at least one element to normalize, got shape [0]',
    ),
    rangeError(
      () => norm({}, [[], []]),
      'layerNorm: "x" expected at least one element to normalize, got shape [2, 0]',
    ),
    rangeError(
      () =>
        norm({ shape: [4] }, [
          [1, 2],
          [3, 4],
        ]),
      'layerNorm: "shape" expected [2, 2], got [4]',
    ),
    typeError(
      () => norm({ out: new Float64Array(2) }, [1, 2]),
      'layerNorm: "out" expected no value for nested arrays, got a Float64Array',
    ),
  ],
  options: [
    typeError(() => norm(null), 'layerNorm: "options" expected an object, got null'),
    typeError(() => norm(4), 'layerNorm: "options" expected an object, got 4'),
    typeError(() => norm([4]), 'layerNorm: "options" expected an object, got an array'),
    typeError(() => norm(x), 'layerNorm: "options" expected an object, got Float32Array'),
    typeError(() => norm(zeros([6])), 'layerNorm: "options" expected an object, got an object'),
    typeError(
      () => norm({ gamma: x }),
      `layerNorm: "options" expected only ${LAYER_OPTIONS}, got "gamma"`,
    ),
    typeError(
      () => norm(JSON.parse('{"__proto__": 1}')),
      `layerNorm: "options" expected only ${LAYER_OPTIONS}, got "__proto__"`,
    ),
    typeError(
      () => /** @type {any} */ (rmsNorm)(x, { numGroups: 2 }),
      `rmsNorm: "options" expected only ${LAYER_OPTIONS}, got "numGroups"`,
    ),
    typeError(() => norm({ returnStats: 1 }), 'layerNorm: "returnStats" expected a boolean, got 1'),
    typeError(
      () => norm({ returnStats: null }),
      'layerNorm: "returnStats" expected a boolean, got null',
    ),
  ],
  dimensions: [
    typeError(() => norm({ shape: 6 }), 'layerNorm: "shape" expected an array of integers, got 6'),
    typeError(
      () => norm({ shape: null }),
      'layerNorm: "shape" expected an array of integers, got null',
    ),
    typeError(
      () => norm({ shape: new Int32Array([6]) }),
      'layerNorm: "shape" expected an array of integers, got Int32Array',
    ),
    typeError(
      () => norm({ shape: [2, 3n] }),
      'layerNorm: "shape" expected an array of integers, got 3n in it',
    ),
    ...[-1, 1.5, Number.NaN, Infinity, 2 ** 53].map((bad) =>
      rangeError(
        () => norm({ shape: [2, bad] }),
        `layerNorm: "shape" expected integers >= 0, got [2, ${bad}]`,
      ),
    ),
    rangeError(
      () => norm({ shape: [2 ** 27, 2 ** 27] }),
      'layerNorm: "shape" expected fewer than 2^53 elements, got [134217728, 134217728]',
    ),
    rangeError(
      () => norm({ shape: [0, 2 ** 27, 2 ** 27], axis: 1 }, new Float32Array()),
      'layerNorm: "shape" expected fewer than 2^53 elements, got [0, 134217728, 134217728]',
    ),
    rangeError(
      () => norm({ shape: new Array(65).fill(1) }),
      'layerNorm: "shape" expected at most 64 dimensions, got 65',
    ),
    rangeError(
      () => norm({ shape: [2, 2] }),
      'layerNorm: "x" expected 4 elements for shape [2, 2], got 6',
    ),
    rangeError(
      () => norm({ shape: [] }, new Float32Array(1)),
      'layerNorm: "x" expected at least one dimension, got shape []',
    ),
    rangeError(
      () => norm({}, new Float32Array()),
      'layerNorm: "x" expected at least one element to normalize, got shape [0]',
    ),
    rangeError(
      () => norm({ shape: [0, 0] }, new Float32Array()),
      'layerNorm: "x" expected at least one element to normalize, got shape [0, 0]',
    ),
    typeError(
      () => norm({ normalizedShape: 3, axis: 0 }),
      'layerNorm: "axis" expected at most one of normalizedShape, axis, axes, got normalizedShape and axis',
    ),
    typeError(
      () => norm({ axes: [0], axis: 0 }),
      'layerNorm: "axes" expected at most one of normalizedShape, axis, axes, got axis and axes',
    ),
    typeError(
      () => norm({ normalizedShape: "3" }),
      'layerNorm: "normalizedShape" expected an array of integers, got "3"',
    ),
    rangeError(
      () => norm({ normalizedShape: -3 }),
      'layerNorm: "normalizedShape" expected integers >= 0, got [-3]',
    ),
    rangeError(
      () => norm({ normalizedShape: [] }),
      'layerNorm: "normalizedShape" expected at least one dimension, got []',
    ),
    rangeError(
      () => norm({ normalizedShape: 0 }),
      'layerNorm: "x" expected at least one element to normalize, got shape [0, 0]',
    ),
    rangeError(
      () => norm({ normalizedShape: 4 }),
      'layerNorm: "x" expected a multiple of 4 elements, got 6',
    ),
    rangeError(
      () => norm({ shape: [2, 3], normalizedShape: 2 }),
      'layerNorm: "normalizedShape" expected trailing dimensions of [2, 3], got [2]',
    ),
    rangeError(
      () => norm({ shape: [2, 3], normalizedShape: [1, 2, 3] }),
      'layerNorm: "normalizedShape" expected trailing dimensions of [2, 3], got [1, 2, 3]',
    ),
    typeError(() => norm({ axis: [0] }), 'layerNorm: "axis" expected a number, got an array'),
    ...[2, -3, 0.5, Number.NaN].map((axis) =>
      rangeError(
        () => norm({ shape: [2, 3], axis }),
        `layerNorm: "axis" expected an integer from -2 to 1 for shape [2, 3], got ${axis}`,
      ),
    ),
    typeError(() => norm({ axes: -1 }), 'layerNorm: "axes" expected an array of integers, got -1'),
    rangeError(
      () => norm({ axes: [] }),
      'layerNorm: "axes" expected at least one dimension, got []',
    ),
    rangeError(
      () => norm({ axes: [], shape: [0, 2] }, new Float32Array()),
      'layerNorm: "axes" expected at least one dimension, got []',
    ),
    rangeError(
      () => norm({ shape: [2, 3], axes: [1, -1] }),
      'layerNorm: "axes" expected distinct dimensions, got [1, -1]',
    ),
    rangeError(
      () => norm({ shape: [2, 3], axes: [2] }),
      'layerNorm: "axes" expected an integer from -2 to 1 for shape [2, 3], got 2',
    ),
    rangeError(
      () => norm({ shape: [2, 3], axes: [0] }),
      'layerNorm: "axes" expected the trailing dimensions in order, got [0]',
    ),
    rangeError(
      () => norm({ shape: [2, 3], axes: [1, 0] }),
      'layerNorm: "axes" expected the trailing dimensions in order, got [1, 0]',
    ),
  ],
  parameters: [
    typeError(() => norm({ weight: "1" }), `layerNorm: "weight" expected ${PARAMETER}, got "1"`),
    typeError(() => norm({ bias: true }), `layerNorm: "bias" expected ${PARAMETER}, got true`),
    typeError(
      () => norm({ weight: new Int8Array(6) }),
      `layerNorm: "weight" expected ${PARAMETER}, got Int8Array`,
    ),
    rangeError(
      () => norm({ weight: new Float32Array(5) }),
      'layerNorm: "weight" expected shape [6], got [5]',
    ),
    rangeError(
      () => norm({ bias: new Float64Array(1) }),
      'layerNorm: "bias" expected shape [6], got [1]',
    ),
    rangeError(() => norm({ weight: [2] }), 'layerNorm: "weight" expected shape [6], got [1]'),
    rangeError(
      () => norm({ shape: [2, 3], weight: { data: x, dims: [2, 3] } }),
      'layerNorm: "weight" expected shape [3], got [2, 3]',
    ),
    rangeError(
      () => norm({ shape: [2, 3], axis: 0, weight: [[1, 2]] }),
      'layerNorm: "weight" expected shape [2, 3], got [1, 2]',
    ),
    rangeError(
      () => norm({ weight: { data: x, dims: [1, 1, 6] } }),
      'layerNorm: "weight" expected shape [6], got [1, 1, 6]',
    ),
    rangeError(
      () => norm({ weight: { data: x, dims: [5] } }),
      'layerNorm: "weight" expected 5 elements for shape [5], got 6',
    ),
    rangeError(
      () => norm({ weight: [[1], [2, 3]] }),
      'layerNorm: "weight" expected no ragged nesting, got rows of 1 and 2',
    ),
    typeError(
      () => norm({ weight: detached(new Float64Array(6)) }),
      'layerNorm: "weight" expected memory that is there, got a detached Float64Array',
    ),
    typeError(
      () => norm({ bias: disposed() }),
      'layerNorm: "bias" expected a live tensor, got a disposed tensor',
    ),
    typeError(
      () => norm({ weightOffset: "1" }),
      'layerNorm: "weightOffset" expected a number, got "1"',
    ),
    rangeError(
      () => norm({ weightOffset: Number.NaN }),
      'layerNorm: "weightOffset" expected a finite number, got NaN',
    ),
  ],
  constants: [
    typeError(() => norm({ eps: "0" }), 'layerNorm: "eps" expected a number, got "0"'),
    typeError(() => norm({ eps: null }), 'layerNorm: "eps" expected a number, got null'),
    ...[-1e-5, Number.NaN, Infinity].map((eps) =>
      rangeError(() => norm({ eps }), `layerNorm: "eps" expected a finite number >= 0, got ${eps}`),
    ),
    typeError(() => norm({ preset: 1 }), 'layerNorm: "preset" expected a string, got 1'),
    rangeError(
      () => norm({ preset: "caffe" }),
      'layerNorm: "preset" expected one of "pytorch", "keras", "tensorflow", "flax", "onnx", "bert", got "caffe"',
    ),
    rangeError(
      () => norm({ preset: "llama", eps: 0 }),
      'layerNorm: "preset" expected one of "pytorch", "keras", "tensorflow", "flax", "onnx", "bert", got "llama", which is for rmsNorm',
    ),
    rangeError(
      () => /** @type {any} */ (rmsNorm)(x, { preset: "bert" }),
      'rmsNorm: "preset" expected one of "pytorch", "keras", "tensorflow", "flax", "onnx", "llama", "t5", "gemma", got "bert", which is for layerNorm',
    ),
    rangeError(
      () => norm({ preset: "toString" }),
      'layerNorm: "preset" expected one of "pytorch", "keras", "tensorflow", "flax", "onnx", "bert", got "toString"',
    ),
  ],
  out: [
    typeError(
      () => norm({ out: null }),
      `layerNorm: "out" expected a ${ARRAYS} or a Tensor, got null`,
    ),
    typeError(
      () => norm({ out: [1] }),
      `layerNorm: "out" expected a ${ARRAYS} or a Tensor, got an array`,
    ),
    typeError(
      () => norm({ out: { data: x, dims: [6] } }, { data: x, dims: [6] }),
      `layerNorm: "out" expected a ${ARRAYS} or a Tensor, got an object`,
    ),
    typeError(
      () => norm({ out: new Float64Array(6) }),
      'layerNorm: "out" expected a float32 typed array, got a Float64Array',
    ),
    typeError(
      () => norm({ out: zeros([6]) }),
      'layerNorm: "out" expected a float32 typed array, got a float32 Tensor',
    ),
    typeError(
      () => norm({ out: new Float32Array(6) }, zeros([6])),
      'layerNorm: "out" expected a float32 Tensor, got a Float32Array',
    ),
    typeError(
      () => norm({ out: zeros([6], "float64") }, zeros([6])),
      'layerNorm: "out" expected a float32 Tensor, got a float64 Tensor',
    ),
    rangeError(
      () => norm({ out: new Float32Array(7) }),
      'layerNorm: "out" expected 6 elements, got 7',
    ),
    rangeError(
      () => norm({ out: zeros([2, 4]) }, zeros([2, 3])),
      'layerNorm: "out" expected 6 elements, got 8',
    ),
    typeError(
      () => norm({ out: detached(new Float32Array(6)) }),
      'layerNorm: "out" expected memory that is there, got a detached Float32Array',
    ),
    typeError(
      () => norm({ out: disposed() }, zeros([2, 3])),
      'layerNorm: "out" expected a live tensor, got a disposed tensor',
    ),
  ],
};

for (const [name, rules] of Object.entries(RULES)) {
  describe(`layerNorm refuses wrong ${name}`, () => {
    for (const rule of rules) test(rule.message, () => check(rule));
  });
}

test("layerNorm has written nothing to x in any of these cases", () => {
  assert.deepEqual(x, before);
});

test("layerNorm refuses an array that its resizable buffer has left", (t) => {
  if (!("resize" in ArrayBuffer.prototype)) return t.skip("no resizable ArrayBuffer");
  check(
    typeError(
      () => norm({}, outOfBounds()),
      'layerNorm: "x" expected memory that is there, got a detached Float32Array',
    ),
  );
});

describe("layerNorm refuses out that overlaps", () => {
  const message = (/** @type {string} */ name) =>
    `layerNorm: "out" expected x itself or memory apart, got an overlap with "${name}"`;

  /** @param {Float32Array} memory @param {() => unknown} call @param {string} name */
  const unwritten = (memory, call, name) => {
    const copy = memory.slice();
    check(rangeError(call, message(name)));
    assert.deepEqual(memory, copy);
  };

  test("x in part", () => {
    const memory = Float32Array.from({ length: 10 }, (_, i) => i * i);
    const [a, b] = [memory.subarray(0, 6), memory.subarray(2, 8)];
    unwritten(memory, () => norm({ out: b }, a), "x");
    unwritten(memory, () => norm({ out: a }, b), "x");
    unwritten(memory, () => norm({ out: b }, { data: a, dims: [6] }), "x");
  });

  test("a parameter in part or whole", () => {
    const memory = Float32Array.from({ length: 10 }, (_, i) => i * i);
    const out = memory.subarray(0, 6);
    unwritten(memory, () => norm({ out, weight: memory.subarray(0, 6) }), "weight");
    unwritten(memory, () => norm({ out, bias: memory.subarray(4, 10) }), "bias");
    const like = { data: memory.subarray(5, 6), dims: [1] };
    unwritten(memory, () => norm({ out, bias: like }), "bias");
    unwritten(memory, () => norm({ weight: out, out }, out), "weight");
  });

  test("shared memory in part", () => {
    const memory = new SharedArrayBuffer(40);
    const a = new Float32Array(memory, 0, 6);
    const b = new Float32Array(memory, 16, 6);
    check(rangeError(() => norm({ out: b }, a), message("x")));
  });

  test("a view of other elements on the same memory", () => {
    const memory = new ArrayBuffer(48);
    const weight = new Float64Array(memory);
    const out = new Float32Array(memory, 0, 6);
    check(rangeError(() => norm({ out, weight }), message("weight")));
  });

  test("resident rows in part, and a resident parameter through its data", () => {
    const all = tensor([1, 2, 3, 4, 5, 6], [3, 2]);
    check(rangeError(() => norm({ out: all.rows(1, 3) }, all.rows(0, 2)), message("x")));
    check(
      rangeError(
        () => norm({ out: all, weight: all.rows(0, 1) }, zeros([3, 2])),
        message("weight"),
      ),
    );
    const flat = tensor([1, 2, 3, 4, 5, 6]);
    check(rangeError(() => norm({ out: flat.data, weight: flat }), message("weight")));
    assert.deepEqual([...all.data], [1, 2, 3, 4, 5, 6]);
    for (const used of [all, flat]) used.dispose();
  });

  test("but x itself and neighbours are allowed", () => {
    const memory = Float32Array.from({ length: 12 }, (_, i) => i * i);
    const [a, b] = [memory.subarray(0, 6), memory.subarray(6)];
    const expected = layerNorm(a);
    assert.equal(layerNorm(a, { out: b }), b);
    assert.deepEqual(b.slice(), expected);
    const same = new Float32Array(memory.buffer, 0, 6);
    assert.equal(layerNorm(a, { out: same }), same);
    assert.deepEqual(a.slice(), expected);
  });
});

describe("options", () => {
  test("undefined means absent, null for preset, weight and bias too", () => {
    const absent = Object.fromEntries(LAYER_OPTIONS.split(", ").map((name) => [name, undefined]));
    const expected = layerNorm(x);
    assert.deepEqual(norm(absent), expected);
    assert.deepEqual(norm({ preset: null, weight: null, bias: null }), expected);
    assert.deepEqual(norm({ numGroups: undefined }), expected);
    assert.deepEqual(norm(undefined), expected);
    assert.deepEqual(norm(Object.create(null)), expected);
  });

  test("count only as own properties", () => {
    const expected = layerNorm(x);
    assert.deepEqual(norm(Object.create({ eps: "wrong", wrong: 1 })), expected);
    const prototype = /** @type {any} */ (Object.prototype);
    const names = ["weight", "shape", "eps", "weightOffset", "returnStats", "out", "rms", "wrong"];
    for (const name of names) prototype[name] = "polluted";
    try {
      assert.deepEqual(norm({}), expected);
      assert.deepEqual(norm({ preset: "pytorch" }), expected);
      assert.deepEqual(norm({ weight: 1, bias: 0 }), expected);
    } finally {
      for (const name of names) delete prototype[name];
    }
  });

  test("and their arrays are read once, and before anything is written", () => {
    /** @type {string[]} */
    const reads = [];
    /** @param {string} name @param {any} target */
    const watched = (name, target) =>
      new Proxy(target, {
        get(object, key) {
          if (typeof key === "string") reads.push(`${name}.${key}`);
          return object[key];
        },
      });
    const out = Float32Array.from({ length: 6 }, () => -1);
    const given = watched("options", {
      out,
      weight: watched("weight", { data: x, dims: watched("dims", [6]), type: "float32" }),
      bias: watched("bias", [1, 2, 3, 4, 5, 6]),
      axes: watched("axes", [0]),
    });
    layerNorm(watched("x", { data: x, shape: watched("shape", [6]), dtype: "float32" }), given);
    assert.equal(new Set(reads).size, reads.length, reads.join(" "));

    /** @type {any} */
    const late = {
      out,
      get eps() {
        assert.deepEqual(out, layerNorm(x, { weight: x, bias: [1, 2, 3, 4, 5, 6] }));
        throw new Error("from a getter");
      },
    };
    assert.throws(() => layerNorm(x, late), /^Error: from a getter$/);
  });

  test("a getter that detaches x or calls the package itself does no harm", () => {
    const mine = new Float32Array(6);
    const evil = {
      get eps() {
        detached(mine);
        return 0;
      },
    };
    check(
      typeError(
        () => layerNorm(mine, evil),
        'layerNorm: "x" expected memory that is there, got a detached Float32Array',
      ),
    );
    const nested = {
      get eps() {
        rmsNorm(new Float64Array(100_000).fill(3), { weight: 7, bias: 2 });
        return 1e-5;
      },
    };
    assert.deepEqual(layerNorm(x, nested), layerNorm(x));
    const resident = zeros([2, 3]);
    const disposing = {
      get eps() {
        dispose();
        return 1e-5;
      },
    };
    check(
      typeError(
        () => layerNorm(resident, disposing),
        'layerNorm: "x" expected a live tensor, got a tensor lost by dispose()',
      ),
    );
    assert.deepEqual(layerNorm(x, disposing), layerNorm(x));
  });
});

describe("memory that is not there", () => {
  test("is a RangeError, and the next call works", () => {
    check(
      rangeError(
        () => zeros([2 ** 40]),
        `zeros: out of memory, ${2 ** 42} bytes are not available`,
      ),
    );
    check(
      rangeError(
        () => zeros([2 ** 30 - 1]),
        `zeros: out of memory, ${2 ** 32 - 4} bytes are not available`,
      ),
    );
    assert.deepEqual(layerNorm([3, 5, 2, 8]), layerNorm([3, 5, 2, 8]));
  });

  test("is so for results and the copies of plans, and what was made before is freed", () => {
    dispose();
    initSync(withMemoryOf(64));
    const bytes = 2 ** 20;
    const big = zeros([bytes / 4]);
    const fill = () => {
      const made = [];
      try {
        for (;;) made.push(layerNorm(big));
      } finally {
        for (const each of made) each.dispose();
      }
    };
    for (let i = 0; i < 3; i++) {
      check(rangeError(fill, `layerNorm: out of memory, ${bytes} bytes are not available`));
    }
    const second = layerNorm(big);
    const weight = new Float64Array(bytes / 4);
    for (let i = 0; i < 3; i++) {
      check(
        rangeError(
          () => plan("rmsNorm", big, { weight, out: second }),
          `rmsNorm: out of memory, ${2 * bytes} bytes are not available`,
        ),
      );
    }
    assert.equal(layerNorm(x).length, 6);
    dispose();
  });
});

/**
 * The package's binary with another limit of its memory: as on a machine that has no more.
 *
 * @param {number} pages of 64 KB, at most 127
 */
function withMemoryOf(pages) {
  const wasm = readFileSync(new URL("../../dist/layernorm.wasm", import.meta.url));
  const number = (/** @type {number} */ at) => {
    let value = 0;
    let length = 0;
    for (; ; length++) {
      value |= (wasm[at + length] & 127) << (7 * length);
      if (wasm[at + length] < 128) return { value, length: length + 1 };
    }
  };
  for (let at = 8; at < wasm.length; ) {
    const size = number(at + 1);
    const content = at + 1 + size.length;
    if (wasm[at] === 5) {
      // One memory, with a maximum that takes three bytes: 65536.
      assert.deepEqual([wasm[content], wasm[content + 1]], [1, 1]);
      const limit = content + 2 + number(content + 2).length;
      assert.deepEqual(number(limit), { value: 65536, length: 3 });
      wasm.set([pages | 128, 128, 0], limit);
      return wasm;
    }
    at = content + size.value;
  }
  throw new Error("no memory section");
}

describe("tensor, zeros, rows and plan refuse", () => {
  const t = () => tensor([1, 2, 3, 4, 5, 6], [3, 2]);
  /** @type {any} */
  const anyPlan = plan;
  /** @type {any} */
  const anyTensor = tensor;
  /** @type {any} */
  const anyZeros = zeros;
  const rules = [
    typeError(() => anyZeros(8), 'zeros: "shape" expected an array of integers, got 8'),
    typeError(() => anyZeros(), 'zeros: "shape" expected an array of integers, got undefined'),
    rangeError(() => anyZeros([-1]), 'zeros: "shape" expected integers >= 0, got [-1]'),
    typeError(() => anyZeros([1], 32), 'zeros: "dtype" expected a string, got 32'),
    rangeError(
      () => anyZeros([1], "int8"),
      'zeros: "dtype" expected one of "float32", "float64", got "int8"',
    ),
    rangeError(
      () => anyZeros([1], "toString"),
      'zeros: "dtype" expected one of "float32", "float64", got "toString"',
    ),
    typeError(() => anyTensor(3), `tensor: "data" expected ${KINDS}, got 3`),
    typeError(() => anyTensor(["3"]), 'tensor: "data" expected numbers, got "3" in it'),
    rangeError(
      () => anyTensor([1, 2], [3]),
      'tensor: "data" expected 3 elements for shape [3], got 2',
    ),
    typeError(
      () => anyTensor(disposed()),
      'tensor: "data" expected a live tensor, got a disposed tensor',
    ),
    typeError(
      () => /** @type {any} */ (t()).rows("0"),
      'rows: "begin" expected an integer, got "0"',
    ),
    rangeError(() => t().rows(-1), 'rows: "begin" expected an integer from 0 to 3, got -1'),
    rangeError(() => t().rows(0, 4), 'rows: "end" expected an integer from 0 to 3, got 4'),
    rangeError(() => t().rows(2, 1), 'rows: "begin" expected an integer from 0 to 1, got 2'),
    rangeError(() => t().rows(0.5), 'rows: "begin" expected an integer from 0 to 3, got 0.5'),
    rangeError(() => zeros([]).rows(), 'rows: "shape" expected at least one dimension, got []'),
    typeError(
      () => disposed().rows(),
      'Tensor: "rows" expected a live tensor, got a disposed tensor',
    ),
    typeError(
      () => disposed().data,
      'Tensor: "data" expected a live tensor, got a disposed tensor',
    ),
    typeError(() => anyPlan(), 'plan: "op" expected a string, got undefined'),
    rangeError(
      () => anyPlan("softmax", t()),
      'plan: "op" expected one of "layerNorm", "rmsNorm", got "softmax"',
    ),
    rangeError(
      () => anyPlan("toString", t()),
      'plan: "op" expected one of "layerNorm", "rmsNorm", got "toString"',
    ),
    typeError(
      () => anyPlan("layerNorm", t(), {}, {}),
      'plan: "options" expected to be the last argument, got 4 arguments',
    ),
    typeError(() => anyPlan("layerNorm"), `layerNorm: "x" expected ${KINDS}, got undefined`),
    typeError(
      () => anyPlan("layerNorm", x),
      'layerNorm: "x" expected a Tensor, in a plan, got a Float32Array',
    ),
    typeError(
      () => anyPlan("layerNorm", [1, 2]),
      'layerNorm: "x" expected a Tensor, in a plan, got nested arrays',
    ),
    typeError(
      () => anyPlan("layerNorm", { data: x, dims: [6] }),
      'layerNorm: "x" expected a Tensor, in a plan, got a tensor-like object',
    ),
    typeError(
      () => anyPlan("layerNorm", t(), { out: new Float32Array(6) }),
      'layerNorm: "out" expected a Tensor, in a plan, got a Float32Array',
    ),
    typeError(
      () => anyPlan("rmsNorm", t(), { epsilon: 1 }),
      `rmsNorm: "options" expected only ${LAYER_OPTIONS}, got "epsilon"`,
    ),
    rangeError(
      () => anyPlan("layerNorm", t(), { weight: [1, 2, 3] }),
      'layerNorm: "weight" expected shape [2], got [3]',
    ),
    rangeError(
      () => anyPlan("layerNorm", t(), { axis: 0, weight: tensor([[1], [2], [3]]) }),
      'layerNorm: "weight" expected shape [3, 2] of a Tensor in a plan, got [3, 1]',
    ),
  ];
  for (const rule of rules) test(rule.message, () => check(rule));
});

test("init refuses wrong options with a rejection", async () => {
  const anyInit = /** @type {any} */ (init);
  const cases = [
    typeError(() => anyInit(4), 'init: "options" expected an object, got 4'),
    typeError(
      () => anyInit({ wasm: 1 }),
      'init: "options" expected only threads, relaxedSimd, module, url, bytes, got "wasm"',
    ),
    typeError(() => anyInit({ threads: "4" }), 'init: "threads" expected a number, got "4"'),
    rangeError(() => anyInit({ threads: 0 }), 'init: "threads" expected an integer >= 1, got 0'),
    typeError(() => anyInit({ relaxedSimd: 1 }), 'init: "relaxedSimd" expected a boolean, got 1'),
    typeError(
      () => anyInit({ module: {} }),
      'init: "module" expected a WebAssembly.Module, got an object',
    ),
    typeError(() => anyInit({ url: 3 }), 'init: "url" expected a string or URL, got 3'),
    typeError(
      () => anyInit({ bytes: [0] }),
      'init: "bytes" expected an ArrayBuffer or a view of one, got an array',
    ),
    typeError(
      () => anyInit({ url: "a", bytes: x }),
      'init: "options" expected one of module, url, bytes, got 2',
    ),
    typeError(
      () => anyInit({ url: "a", threads: 2 }),
      'init: "options" expected threads and relaxedSimd without module, url and bytes, got both',
    ),
  ];
  for (const { call, type, message } of cases) {
    await assert.rejects(/** @type {any} */ (call), (/** @type {any} */ error) => {
      assert.equal(error.message, message);
      assert.equal(error.constructor, type);
      return true;
    });
  }
});
