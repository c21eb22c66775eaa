/** The other operations and options against a plain float64 reference, for every kind of x and element type. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tensor, zeros } from "../../dist/index.js";
import {
  anyPlan,
  checkCall,
  DTYPES,
  Float16,
  free,
  load,
  numbers,
  ops,
  parameter,
  sample,
  store,
  UNARY,
} from "./operation_checks.js";
import { EPSILON, nest, round, toBits } from "./reference.js";

describe("activations", () => {
  for (const activation of ["relu", "silu", "gelu", "gelu_tanh", "sigmoid", "tanh"]) {
    test(activation, () => {
      const options = { activation, weight: parameter(5), bias: 0.5 };
      const fields = { weight: (/** @type {number[]} */ index) => parameter(5)[index[1]] };
      const setting = { activation, ...fields, bias: () => 0.5 };
      for (const op of UNARY) checkCall({ dims: [4, 5], options, setting: { op, ...setting } });
      const channels = { options: { ...options, numGroups: 5 }, dims: [3, 5, 2] };
      checkCall({ ...channels, setting: { op: "groupNorm", numGroups: 5, ...setting } });
    });
  }

  test("null and undefined mean none", () => {
    const x = Float32Array.from(sample(8, "float32"));
    for (const activation of [null, undefined]) {
      assert.deepEqual(ops.layerNorm(x, { activation }), ops.layerNorm(x));
    }
  });
});

describe("norms", () => {
  for (const p of [1, 2, Infinity]) {
    test(`lpNormalize with p ${p}`, () => {
      checkCall({ dims: [3, 5], options: { p }, setting: { op: "lpNormalize", p } });
      // eps is a floor.
      for (const eps of [0, 0.5, 100]) {
        const setting = { op: "lpNormalize", p, eps };
        checkCall({ dims: [3, 5], options: { p, eps }, setting });
      }
      assert.deepEqual(ops.lpNormalize([0, 0], { p, eps: 0 }), [0, 0]);
    });
  }

  test("l2Normalize is lpNormalize with p 2", () => {
    const x = Float32Array.from(sample(40, "float32"));
    assert.deepEqual(ops.l2Normalize(x), ops.lpNormalize(x));
  });

  test("meanVarianceNormalize adds eps to the deviation", () => {
    const setting = { op: "meanVarianceNormalize", eps: 0.5 };
    checkCall({ dims: [3, 5], options: { eps: 0.5 }, setting });
    assert.deepEqual(ops.meanVarianceNormalize([[2, 2]], { eps: 0 }), [[0, 0]]);
  });

  test("only onnx's preset differs", () => {
    const tiny = [3e-13, 4e-13];
    for (const op of ["l2Normalize", "lpNormalize", "meanVarianceNormalize"]) {
      for (const preset of ["pytorch", "keras", "tensorflow", "flax"]) {
        assert.deepEqual(ops[op](tiny, { preset }), ops[op](tiny));
      }
    }
    const [a, b] = ops.l2Normalize(tiny, { preset: "onnx" });
    assert.ok(Math.abs(a - 0.6) < 1e-15 && Math.abs(b - 0.8) < 1e-15);
    assert.deepEqual(
      ops.meanVarianceNormalize(tiny, { preset: "onnx" }),
      ops.meanVarianceNormalize(tiny),
    );
  });
});

describe("localResponseNorm", () => {
  const op = "localResponseNorm";
  for (const size of [1, 2, 3, 4, 5, 9]) {
    test(`window of ${size}`, () => {
      const constants = { size, alpha: 0.5, beta: 0.5, k: 2 };
      checkCall({ dims: [2, 5, 3], options: constants, setting: { op, ...constants } });
      const options = { ...constants, layout: "channels_last" };
      const setting = { op, ...constants, last: true };
      checkCall({ dims: [2, 3, 2, 5], options, setting });
      checkCall({ dims: [2, 5], options: { size }, setting: { op, size } });
    });
  }
});

describe("presets", () => {
  const layer = { pytorch: 1e-5, keras: 1e-3, tensorflow: 1e-3, flax: 1e-6, onnx: 1e-5 };
  const x = sample(48, "float64").map((value) => value / 500);
  const shape = [2, 4, 6];
  const cases = /** @type {[string, any, Record<string, number>][]} */ ([
    ["groupNorm", { numGroups: 2 }, { ...layer, bert: 1e-12 }],
    ["instanceNorm", {}, { ...layer, bert: 1e-12 }],
    ["batchNorm", { training: true }, { ...layer, flax: 1e-5 }],
    ["addLayerNorm", {}, { ...layer, bert: 1e-12 }],
    ["addGroupNorm", { numGroups: 2 }, { ...layer, bert: 1e-12 }],
    ["addRmsNorm", {}, { keras: 1e-6, flax: 1e-6, onnx: 1e-5, llama: 1e-6, gemma: 1e-6 }],
  ]);
  for (const [op, own, row] of cases) {
    test(`of ${op}`, () => {
      const residual = op.startsWith("add") ? [new Float64Array(48)] : [];
      const call = (/** @type {any} */ options) =>
        ops[op](Float64Array.from(x), ...residual, { shape, ...own, ...options });
      for (const [preset, eps] of Object.entries(row)) {
        assert.deepEqual(call({ preset }), call({ eps }), preset);
        assert.deepEqual(call({ preset, eps: 1 }), call({ eps: 1 }), preset);
      }
    });
  }

  test("llama and t5 round the normalized value before the weight, gemma last", () => {
    const values = sample(64, "bfloat16");
    const data = store(values, "bfloat16");
    const input = { data, dims: [4, 16], type: "bfloat16" };
    const weight = parameter(16).map((value) => value || 3);
    const normalized = load(ops.rmsNorm(input, { eps: 1e-6 }));
    for (const preset of ["llama", "t5"]) {
      const got = load(ops.rmsNorm(input, { preset, weight }));
      const want = normalized.map((value, i) => round(value * weight[i % 16], "bfloat16"));
      assert.deepEqual(got, want);
    }
    assert.deepEqual(
      load(ops.rmsNorm(input, { preset: "gemma", weight })),
      load(ops.rmsNorm(input, { eps: 1e-6, weight, weightOffset: 1 })),
    );
  });

  test("pytorch's rmsNorm takes the machine epsilon of x", () => {
    for (const dtype of DTYPES) {
      const input = { data: store(x, dtype), dims: shape, type: dtype };
      assert.deepEqual(
        ops.rmsNorm(input, { preset: "pytorch" }),
        ops.rmsNorm(input, { eps: EPSILON[dtype] }),
      );
    }
  });
});

describe("16-bit elements", () => {
  const numbersOf = [0, -0, 1, -1.5, 65504, 1e-7, 3e38, Number.NaN, Infinity, 0.1];

  test("tensor rounds once to the element type", () => {
    for (const dtype of /** @type {const} */ (["float16", "bfloat16"])) {
      const t = tensor(numbersOf, undefined, dtype);
      assert.equal(t.dtype, dtype);
      const got = numbers(t.data, dtype);
      assert.deepEqual(
        got,
        numbersOf.map((value) => round(value, dtype)),
      );
      assert.equal(t.data.constructor, dtype === "float16" && Float16 ? Float16 : Uint16Array);
      assert.equal(t.data, t.data);
      const bits = Uint16Array.from(numbersOf, (value) => toBits(value, dtype));
      assert.deepEqual(numbers(tensor(bits, [10], dtype).data, dtype), got);
      const copy = tensor(t, undefined, "float64");
      assert.deepEqual([...copy.data], got);
      assert.deepEqual(numbers(tensor(t).data, dtype), got);
      const other = dtype === "float16" ? "bfloat16" : "float16";
      assert.deepEqual(
        numbers(tensor(t, undefined, other).data, other),
        got.map((value) => round(value, other)),
      );
    }
  });

  test("zeros have them", () => {
    for (const dtype of /** @type {const} */ (["float16", "bfloat16"])) {
      const t = zeros([2, 3], dtype);
      assert.deepEqual(Array.from(t.data), [0, 0, 0, 0, 0, 0]);
      assert.equal(t.data.BYTES_PER_ELEMENT, 2);
      assert.equal(t.rows(1).data.length, 3);
      t.dispose();
    }
  });

  test("a tensor-like's result has an array of the same type", () => {
    const data = store(sample(8, "float16"), "float16");
    const y = ops.layerNorm({ data, dims: [2, 4], type: "float16" });
    assert.equal(y.data.constructor, Uint16Array);
    assert.equal(y.type, "float16");
    const out = new Uint16Array(8);
    const input = { data, shape: [2, 4], dtype: "float16" };
    assert.equal(ops.layerNorm(input, { out }), out);
    assert.deepEqual(out, y.data);
    const { mean } = ops.layerNorm(input, { returnStats: true });
    assert.ok(mean.data instanceof Float64Array);
    assert.equal(mean.dtype, "float64");
  });

  test("a Float16Array and its bits are the same", (t) => {
    if (!Float16) return t.skip("no Float16Array");
    const bits = store(sample(8, "float16"), "float16");
    const x = new Float16(bits.buffer);
    const y = ops.layerNorm(x, { shape: [2, 4], weight: x.slice(0, 4) });
    assert.equal(y.constructor, Float16);
    const like = { data: bits, dims: [2, 4], type: "float16" };
    const weight = { data: bits.slice(0, 4), dims: [4], type: "float16" };
    assert.deepEqual(new Uint16Array(y.buffer), ops.layerNorm(like, { weight }).data);
    assert.equal(ops.layerNorm({ ...like, data: x }).data.constructor, Float16);
    assert.equal(ops.layerNorm(x, { shape: [2, 4], out: x }), x);
    assert.equal(ops.layerNorm({ ...like, data: x }, { out: bits }), bits);
  });

  test("mix with other element types as parameters", () => {
    const x = { data: store(sample(12, "float32"), "float32"), dims: [3, 4], type: "float32" };
    const weight = parameter(4);
    const expected = ops.layerNorm(x, { weight: Float64Array.from(weight) });
    for (const dtype of DTYPES) {
      const like = { data: store(weight, dtype), dims: [4], type: dtype };
      assert.deepEqual(ops.layerNorm(x, { weight: like }), expected);
      assert.deepEqual(ops.layerNorm(x, { weight: tensor(/** @type {any} */ (like)) }), expected);
    }
  });
});

describe("empty batches", () => {
  const none = new Float32Array();
  const cases = /** @type {[string, any][]} */ ([
    ["layerNorm", { shape: [0, 4] }],
    ["rmsNorm", { shape: [2, 0, 4], axes: [2] }],
    ["layerNorm", { shape: [2, 0, 4], axes: [0, 2] }],
    ["groupNorm", { shape: [0, 4, 2], numGroups: 2 }],
    ["instanceNorm", { shape: [0, 4, 2] }],
    ["instanceNorm", { shape: [2, 0, 3] }],
    ["l2Normalize", { shape: [0, 4] }],
    ["lpNormalize", { shape: [0, 4], p: 1 }],
    ["meanVarianceNormalize", { shape: [0, 4] }],
    ["localResponseNorm", { shape: [0, 4, 2], size: 3 }],
    ["localResponseNorm", { shape: [2, 4, 0], size: 3 }],
  ]);
  for (const [op, options] of cases) {
    test(`${op} of [${options.shape}]`, () => {
      assert.deepEqual(ops[op](none, options), none);
      const x = tensor([], options.shape);
      const { shape, ...rest } = options;
      const y = ops[op](x, rest);
      assert.deepEqual(y.shape, shape);
      const step = anyPlan(op, x, rest);
      assert.deepEqual(step.run().shape, shape);
      step.dispose();
      free({ x, y });
    });
  }

  test("add forms", () => {
    const { output, sum } = ops.addLayerNorm(none, none, { shape: [0, 4] });
    assert.deepEqual([output, sum], [none, none]);
    const result = ops.addGroupNorm(none, none, { shape: [0, 4], numGroups: 2, returnStats: true });
    assert.deepEqual(Object.keys(result), ["output", "sum", "mean", "rstd"]);
  });
});

test("results do not depend on the calls before", () => {
  let state = 1;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const dims = [3, 4, 6];
  /** @type {{ run: () => any, bits: string }[]} */
  const calls = [];
  /** @param {any} result */
  const bitsOf = (result) =>
    JSON.stringify(result, (_, value) => {
      if (Object.is(value, -0)) return "-0";
      return ArrayBuffer.isView(value) ? Array.from(/** @type {any} */ (value)) : value;
    });
  for (const dtype of DTYPES) {
    const x = { data: store(sample(72, dtype), dtype), dims, type: dtype };
    const residual = { data: store(sample(6, dtype, 3), dtype), dims: [6], type: dtype };
    const weight = { data: store(parameter(6), "float16"), dims: [6], type: "float16" };
    const channels = { weight: parameter(4), scale: nest(parameter(12), [3, 4]) };
    /** @type {[string, any][]} */
    const list = [
      ["layerNorm", { weight, bias: 1 }],
      ["layerNorm", { axes: [2, 0], weight: parameter(18), activation: "gelu" }],
      ["layerNorm", { axis: 0, bias: weight, returnStats: true }],
      ["rmsNorm", { weight: nest(parameter(4), [4, 1]), weightOffset: 1, preset: "llama" }],
      ["groupNorm", { numGroups: 2, ...channels }],
      ["groupNorm", { numGroups: 3, layout: "channels_last", eps: 0.1 }],
      ["instanceNorm", { ...channels, activation: "tanh" }],
      ["batchNorm", { training: true, ...channels, returnStats: true }],
      ["batchNorm", { runningMean: parameter(4), runningVar: [1, 2, 3, 4] }],
      ["l2Normalize", { axes: [1] }],
      ["lpNormalize", { p: 1 }],
      ["lpNormalize", { p: Infinity, axes: [0, 2] }],
      ["meanVarianceNormalize", {}],
      ["localResponseNorm", { size: 3 }],
      ["addLayerNorm", { gate: 0.5, weight }],
      ["addRmsNorm", { gate: weight, sumBias: 2 }],
      ["addGroupNorm", { numGroups: 4, shift: nest(parameter(12), [3, 4]) }],
    ];
    for (const [op, options] of list) {
      const run = () =>
        op.startsWith("add") ? ops[op](x, residual, options) : ops[op](x, options);
      calls.push({ run, bits: bitsOf(run()) });
    }
  }
  for (let i = 0; i < 1000; i++) {
    const { run, bits } = calls[Math.floor(random() * calls.length)];
    assert.equal(bitsOf(run()), bits);
  }
});
