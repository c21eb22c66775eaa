/** Every kind of x and of parameters: what comes back, and that all kinds agree. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import vm from "node:vm";
import { layerNorm, rmsNorm, Tensor, tensor } from "../../dist/index.js";

const values = Array.from({ length: 24 }, (_, i) => Math.sin(3 * i) * 4 + i / 5);
const weights = [1, 0.5, -2, 0.25];
const biases = [0, 3, 1, -1];
const f32 = Float32Array.from(values);
const f64 = Float64Array.from(values);
const shape = [2, 3, 4];
/** Both operations; no type tells what each kind of x gives. @type {[string, any][]} */
const operations = [
  ["layerNorm", layerNorm],
  ["rmsNorm", rmsNorm],
];

/** @param {ArrayLike<number>} flat @param {number[]} dims @returns {any} */
function nest(flat, dims) {
  if (dims.length === 1) return Array.from(flat);
  const size = flat.length / dims[0];
  return Array.from({ length: dims[0] }, (_, i) =>
    nest(Array.from(flat).slice(i * size, (i + 1) * size), dims.slice(1)),
  );
}

describe("the result has the kind and element type of x", () => {
  for (const [name, call] of operations) {
    const options = { weight: weights, bias: biases };
    test(`${name}: typed arrays`, () => {
      for (const x of [f32, f64]) {
        const y = call(x, { ...options, shape });
        assert.equal(y.constructor, x.constructor);
        assert.equal(y.length, x.length);
        assert.notEqual(y.buffer, x.buffer);
        assert.deepEqual(x, x === f32 ? Float32Array.from(values) : Float64Array.from(values));
      }
    });

    test(`${name}: tensor-likes, with their own names`, () => {
      const expected = call(f32, { ...options, shape });
      assert.deepEqual(call({ data: f32, dims: shape, type: "float32" }, options), {
        data: expected,
        dims: shape,
        type: "float32",
      });
      assert.deepEqual(call({ data: f32, shape, dtype: "float32" }, options), {
        data: expected,
        shape,
        dtype: "float32",
      });
      assert.deepEqual(call({ data: f32, shape }, options), { data: expected, shape });
      const both = { data: f32, dims: shape, shape: [24], type: "float32", dtype: "no" };
      assert.deepEqual(call(both, options), { data: expected, dims: shape, type: "float32" });
    });

    test(`${name}: nested arrays, in float64`, () => {
      const x = nest(values, shape);
      const y = call(x, options);
      assert.deepEqual(y, nest(call(f64, { ...options, shape }), shape));
      assert.deepEqual(x, nest(values, shape));
      assert.deepEqual(call(values.slice(0, 4), options), y[0][0]);
    });

    test(`${name}: resident tensors`, () => {
      for (const flat of [f32, f64]) {
        const x = tensor(flat, shape);
        const y = call(x, options);
        assert.ok(y instanceof Tensor);
        assert.deepEqual([y.shape, y.dtype], [shape, x.dtype]);
        assert.deepEqual(y.data.slice(), call(flat, { ...options, shape }));
        x.dispose();
        y.dispose();
      }
    });
  }
});

describe("x may be", () => {
  const expected = layerNorm(f32, { shape });
  test("a view with an offset, of a subclass, of shared or of resizable memory", () => {
    const offset = new Float32Array(new ArrayBuffer(24 * 4 + 12), 8, 24);
    const shared = new Float32Array(new SharedArrayBuffer(24 * 4));
    class Mine extends Float32Array {}
    const fail = () => {
      throw new Error("my code ran");
    };
    const lies = ["length", "buffer", "byteOffset", "subarray", "set", "slice", Symbol.toStringTag];
    for (const name of lies) Object.defineProperty(Mine.prototype, name, { get: fail });
    Object.defineProperty(Mine, Symbol.species, { get: fail });
    const mine = new Mine(24);
    /** @type {Float32Array[]} */
    const all = [offset, shared, mine];
    if ("resize" in ArrayBuffer.prototype) {
      const Resizable = /** @type {any} */ (ArrayBuffer);
      all.push(new Float32Array(new Resizable(96, { maxByteLength: 192 })));
    }
    for (const x of all) {
      Float32Array.prototype.set.call(x, f32);
      const y = layerNorm(x, { shape });
      assert.equal(Object.getPrototypeOf(y), Float32Array.prototype);
      assert.ok(y.buffer instanceof ArrayBuffer);
      assert.deepEqual(y, expected);
      assert.equal(layerNorm(x, { shape, out: x }), x);
      assert.deepEqual(Float32Array.from(Float32Array.prototype.values.call(x)), expected);
    }
  });

  test("of another realm", () => {
    const context = vm.createContext({ values });
    const other = vm.runInContext(
      "({ array: Float32Array.from(values), nested: [values] })",
      context,
    );
    assert.deepEqual(layerNorm(other.array, { shape }), expected);
    assert.deepEqual(layerNorm(other.nested), [layerNorm(values)]);
  });

  test("a tensor with getters on its prototype, as onnxruntime's is, or a proxy, as transformers.js's is", () => {
    class OrtTensor {
      get dims() {
        return shape;
      }
      get type() {
        return "float32";
      }
      get data() {
        return f32;
      }
      get size() {
        return 24;
      }
    }
    for (const x of [new OrtTensor(), new Proxy(new OrtTensor(), {})]) {
      const y = layerNorm(x);
      assert.equal(Object.getPrototypeOf(y), Object.prototype);
      assert.deepEqual(y, { data: expected, dims: shape, type: "float32" });
    }
  });

  test("the data of a resident tensor, whose result is no view of wasm memory", () => {
    const resident = tensor(f32, shape);
    const y = layerNorm(resident.data, { shape });
    assert.notEqual(y.buffer, resident.data.buffer);
    assert.deepEqual(y, expected);
    assert.equal(layerNorm(resident.data, { shape, out: resident.data }), resident.data);
    assert.deepEqual(resident.data.slice(), expected);
    resident.dispose();
  });
});

describe("a parameter of any kind and element type gives the same", () => {
  const w64 = Float64Array.from(weights);
  const kinds = {
    "float32 array": Float32Array.from(weights),
    "float64 array": w64,
    "tensor-like": { data: w64, dims: [4] },
    "tensor-like with leading ones": { data: w64, shape: [1, 1, 4] },
    "plain array": weights,
    "nested array": [[weights]],
    "resident tensor": tensor(weights),
    "data of a resident tensor": tensor(w64).data,
    "resident float64 tensor": tensor(w64, [1, 4]),
  };
  for (const [name, weight] of Object.entries(kinds)) {
    test(name, () => {
      for (const x of [f32, f64]) {
        const expected = layerNorm(x, { shape, weight: w64, bias: w64 });
        assert.deepEqual(layerNorm(x, { shape, weight, bias: weight }), expected);
        const resident = tensor(x, shape);
        const y = layerNorm(resident, { weight, bias: weight });
        assert.deepEqual(y.data.slice(), expected);
        for (const each of [resident, y]) each.dispose();
      }
    });
  }

  test("numbers stand for all elements", () => {
    const all = { weight: new Float64Array(4).fill(0.5), bias: new Float64Array(4).fill(-3) };
    assert.deepEqual(
      layerNorm(f64, { shape, weight: 0.5, bias: -3 }),
      layerNorm(f64, { shape, ...all }),
    );
    assert.ok(layerNorm(f32, { shape, weight: Number.NaN }).every(Number.isNaN));
  });

  test("dimensions of their own broadcast over the normalized ones", () => {
    const options = { shape, axis: 1 };
    const repeat = (/** @type {(i: number) => number} */ f) =>
      Float64Array.from({ length: 12 }, (_, i) => f(i));
    const column = repeat((i) => [1, 2, 3][Math.floor(i / 4)]);
    const row = repeat((i) => weights[i % 4]);
    for (const [weight, expected] of [
      [[[1], [2], [3]], column],
      [{ data: Float32Array.of(1, 2, 3), dims: [1, 3, 1] }, column],
      [tensor([[1], [2], [3]]), column],
      [{ data: w64, dims: [4] }, row],
      [weights, row],
      [[[2]], repeat(() => 2)],
      [{ data: Float64Array.of(2), dims: [] }, repeat(() => 2)],
      [tensor([2]), repeat(() => 2)],
    ]) {
      const both = (/** @type {any} */ value) =>
        layerNorm(f64, { ...options, weight: value, bias: value });
      assert.deepEqual(both(weight), both(expected));
    }
  });

  test("a flat array of the length of several normalized dimensions", () => {
    const weight = Float64Array.from({ length: 12 }, (_, i) => i);
    const expected = layerNorm(f64, { shape, axis: 1, weight: nest(weight, [3, 4]) });
    assert.deepEqual(layerNorm(f64, { shape, axis: 1, weight }), expected);
    assert.deepEqual(layerNorm(f64, { shape, axis: 1, weight: [...weight] }), expected);
  });
});

describe("dimensions", () => {
  test("normalizedShape, axis and axes select the same trailing ones", () => {
    for (const [normalizedShape, axis, axes] of /** @type {const} */ ([
      [4, -1, [2]],
      [[3, 4], 1, [1, -1]],
      [[2, 3, 4], 0, [0, 1, 2]],
    ])) {
      const expected = layerNorm(f64, { normalizedShape });
      for (const options of [{ normalizedShape }, { axis }, { axes }]) {
        assert.deepEqual(layerNorm(f64, { shape, ...options }), expected);
      }
    }
    assert.deepEqual(layerNorm(f64, { shape }), layerNorm(f64, { normalizedShape: 4 }));
    assert.deepEqual(layerNorm(f64), layerNorm(f64, { shape: [24] }));
  });

  test("an empty batch gives an empty result", () => {
    const none = new Float32Array();
    assert.deepEqual(layerNorm(none, { shape: [0, 4] }), none);
    assert.deepEqual(layerNorm(none, { normalizedShape: 4, weight: weights }), none);
    assert.equal(layerNorm(none, { normalizedShape: 4, out: none }), none);
    assert.deepEqual(layerNorm({ data: none, dims: [0, 4] }, { returnStats: true }), {
      output: { data: none, dims: [0, 4] },
      mean: { data: new Float64Array(), dims: [0, 1] },
      rstd: { data: new Float64Array(), dims: [0, 1] },
    });
    const resident = layerNorm(tensor(none, [0, 4]));
    assert.deepEqual([resident.shape, resident.data], [[0, 4], none]);
  });
});

describe("out is written and returned", () => {
  test("for typed arrays, also x itself and one of a subclass", () => {
    const expected = layerNorm(f32, { shape });
    const out = new (class Mine extends Float32Array {})(24);
    assert.equal(layerNorm(f32, { shape, out }), out);
    assert.deepEqual(Float32Array.from(out), expected);
    const x = f32.slice();
    assert.equal(layerNorm(x, { shape, out: x }), x);
    assert.deepEqual(x, expected);
  });

  test("for a tensor-like as a typed array", () => {
    const out = new Float32Array(24);
    const x = { data: f32, dims: shape, type: "float32" };
    assert.equal(layerNorm(x, { out }), out);
    assert.deepEqual(out, layerNorm(f32, { shape }));
    const { output, mean } = layerNorm(x, { out, returnStats: true });
    assert.equal(output, out);
    assert.deepEqual(mean.dims, [2, 3, 1]);
  });

  test("for resident tensors of any shape with as many elements", () => {
    const x = tensor(f32, shape);
    const out = tensor(new Float32Array(24));
    assert.equal(layerNorm(x, { out }), out);
    assert.deepEqual(out.data.slice(), layerNorm(f32, { shape }));
    assert.deepEqual(out.shape, [24]);
    assert.equal(layerNorm(x, { out: x }), x);
    assert.deepEqual(x.data, out.data);
  });
});

describe("statistics come as float64 in the kind of x, with kept dimensions", () => {
  const expected = layerNorm(f32, { shape, returnStats: true });
  test("flat", () => {
    assert.deepEqual(Object.keys(expected), ["output", "mean", "rstd"]);
    for (const name of /** @type {const} */ (["mean", "rstd"])) {
      assert.ok(expected[name] instanceof Float64Array);
      assert.equal(expected[name].length, 6);
    }
    assert.deepEqual(expected.output, layerNorm(f32, { shape }));
    const row = values.slice(0, 4).map(Math.fround);
    const mean = row.reduce((a, b) => a + b) / 4;
    assert.ok(Math.abs(expected.mean[0] - mean) < 1e-14);
  });

  test("tensor-like", () => {
    const { output, mean, rstd } = layerNorm(
      { data: f32, dims: shape, type: "float32" },
      { returnStats: true },
    );
    assert.deepEqual(output.data, expected.output);
    assert.deepEqual(mean, { data: expected.mean, dims: [2, 3, 1], type: "float64" });
    assert.deepEqual(rstd, { data: expected.rstd, dims: [2, 3, 1], type: "float64" });
  });

  test("nested", () => {
    const flat = layerNorm(f64, { shape, axis: 1, returnStats: true });
    const nested = layerNorm(nest(values, shape), { axis: 1, returnStats: true });
    assert.deepEqual(nested.mean, nest(flat.mean, [2, 1, 1]));
    assert.deepEqual(nested.rstd, nest(flat.rstd, [2, 1, 1]));
  });

  test("resident", () => {
    const { output, mean, rstd } = layerNorm(tensor(f32, shape), { returnStats: true });
    assert.deepEqual(output.data.slice(), expected.output);
    for (const [got, want] of /** @type {const} */ ([
      [mean, expected.mean],
      [rstd, expected.rstd],
    ])) {
      assert.deepEqual([got.shape, got.dtype], [[2, 3, 1], "float64"]);
      assert.deepEqual(got.data.slice(), want);
    }
  });

  test("rmsNorm has rstd only", () => {
    const result = rmsNorm(f64, { shape, returnStats: true });
    assert.deepEqual(Object.keys(result), ["output", "rstd"]);
  });
});

/** @type {((length: number, f: (i: number) => number) => Float32Array | Float64Array)[]} */
const arrays = [
  (length, f) => Float32Array.from({ length }, (_, i) => f(i)),
  (length, f) => Float64Array.from({ length }, (_, i) => f(i)),
];

describe("typed arrays of any length give what resident tensors give", () => {
  // Around the sizes at which rows no longer fit the arena's chunk, and parameters no longer their part of it.
  for (const n of [1, 63, 8191, 8193, 16383, 16385, 32767, 32769, 100_003]) {
    test(`rows of ${n}`, () => {
      for (const make of arrays) {
        const rows = Math.max(2, Math.floor(100_000 / n));
        const x = make(rows * n, (i) => Math.sin(i) * (1 + (i % 7)) + 20);
        for (const makeWeight of arrays) {
          const weight = makeWeight(n, (i) => Math.cos(i));
          const bias = Float64Array.from(weight, (v) => 2 - v);
          const inputs = [x, weight, bias].map((array) => tensor(array));
          for (const [, call] of operations) {
            const options = /** @type {const} */ ({ normalizedShape: n, returnStats: true });
            const flat = call(x, { ...options, weight, bias });
            const input = tensor(x, [rows, n]);
            const resident = call(input, { returnStats: true, weight: inputs[1], bias: inputs[2] });
            const mixed = call(input, { returnStats: true, weight, bias });
            const inPlace = x.slice();
            call(inPlace, { normalizedShape: n, weight, bias, out: inPlace });
            assert.deepEqual(inPlace, flat.output);
            for (const other of [resident, mixed]) {
              assert.deepEqual(other.output.data.slice(), flat.output);
              for (const name of Object.keys(flat).slice(1)) {
                assert.deepEqual(
                  /** @type {any} */ (other)[name].data.slice(),
                  /** @type {any} */ (flat)[name],
                );
              }
              for (const each of Object.values(other)) each.dispose();
            }
            input.dispose();
          }
          for (const each of inputs) each.dispose();
        }
      }
    });
  }

  test("many short rows, with statistics", () => {
    const x = Float32Array.from({ length: 3 * 20_001 }, (_, i) => Math.sin(i));
    const input = tensor(x, [20_001, 3]);
    const flat = layerNorm(x, { normalizedShape: 3, returnStats: true });
    const resident = layerNorm(input, { returnStats: true });
    for (const name of /** @type {const} */ (["output", "mean", "rstd"])) {
      assert.deepEqual(resident[name].data.slice(), flat[name]);
    }
    for (const each of [input, ...Object.values(resident)]) each.dispose();
  });
});

test("of two names of a tensor-like object's field, the second counts where the first is undefined", () => {
  const bits = { data: Uint16Array.of(0x4200, 0x4500), dims: undefined, shape: [2] };
  const like = /** @type {any} */ ({ ...bits, type: undefined, dtype: "float16" });
  const expected = layerNorm({ data: bits.data, dims: [2], type: "float16" });
  assert.deepEqual(layerNorm(like), { data: expected.data, shape: [2], dtype: "float16" });
  assert.throws(() => layerNorm(/** @type {any} */ ({ data: f32, dims: undefined })), {
    name: "TypeError",
    message: 'layerNorm: "x.dims" expected an array of integers, got undefined',
  });
});

test("a size of -0 is one of 0", () => {
  const y = layerNorm({ data: new Float32Array(0), dims: [-0, 3], type: "float32" });
  assert.ok(Object.is(y.dims[0], 0));
});

test("nested arrays have at most 64 dimensions, as shapes do", () => {
  /** @param {number} depth @returns {any} */
  const deep = (depth) => (depth === 1 ? [1, 2] : [deep(depth - 1)]);
  assert.equal(
    JSON.stringify(layerNorm(deep(64))).length,
    JSON.stringify(layerNorm(deep(1))).length + 126,
  );
  assert.throws(() => layerNorm(deep(65)), RangeError);
});
