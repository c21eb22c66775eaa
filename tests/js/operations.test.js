/** Every operation and option against a plain float64 reference, for every kind of x and element type. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as layernorm from "../../dist/index.js";
import { plan, Tensor, tensor, zeros } from "../../dist/index.js";
import { count, EPSILON, fromBits, indices, nest, reference, round, toBits } from "./reference.js";

/** @typedef {import("./reference.js").DType} DType */
/** @typedef {import("./reference.js").Setting} Setting */
/** @typedef {import("./reference.js").Field} Field */

/** No type tells what each kind of x gives. @type {Record<string, any>} */
const ops = layernorm;
/** @type {any} */
const anyPlan = plan;

/** @type {DType[]} */
const DTYPES = ["float32", "float64", "float16", "bfloat16"];
/** @type {any} */
const Float16 = /** @type {any} */ (globalThis).Float16Array;

/** Deviations of about 2 about a mean of 0.5, as the element type has them. @param {number} n @param {DType} dtype */
const sample = (n, dtype, seed = 1) =>
  Array.from({ length: n }, (_, i) => round(Math.sin(7 * i + seed) * 2.5 + 0.5, dtype));

/** Parameters of n elements that every element type has. @param {number} n */
const parameter = (n, seed = 0) =>
  Array.from({ length: n }, (_, i) => (((i + seed) * 5 + 3) % 11) / 4 - 1);

/** @param {ArrayLike<number>} values @param {DType} dtype @returns {Float32Array | Float64Array | Uint16Array} */
function store(values, dtype) {
  if (dtype === "float32") return Float32Array.from(values);
  if (dtype === "float64") return Float64Array.from(values);
  return Uint16Array.from(values, (value) => toBits(value, dtype));
}

/** A result's elements as numbers. @param {any} result @returns {number[]} */
function load(result) {
  if (Array.isArray(result)) return result.flat(Infinity);
  if (result instanceof Tensor) return numbers(result.data, result.dtype);
  if (ArrayBuffer.isView(result)) return numbers(result, "float32");
  return numbers(result.data, result.type);
}

/** @param {any} array @param {string} dtype */
function numbers(array, dtype) {
  if (!(array instanceof Uint16Array)) return Array.from(array);
  return Array.from(array, (bits) => fromBits(bits, /** @type {"float16"} */ (dtype)));
}

/** The four kinds of x, where they can have the element type. @param {number[]} values @param {number[]} dims @param {DType} dtype */
function kindsOf(values, dims, dtype) {
  const data = store(values, dtype);
  /** @type {[string, any, any][]} */
  const kinds = [
    ["tensor-like", { data, dims, type: dtype }, {}],
    ["resident", tensor(/** @type {any} */ ({ data, dims, type: dtype })), {}],
  ];
  const flat = data.slice();
  if (!(flat instanceof Uint16Array)) kinds.push(["flat", flat, { shape: dims }]);
  else if (dtype === "float16" && Float16) {
    kinds.push(["flat", new Float16(flat.buffer), { shape: dims }]);
  }
  if (dtype === "float64") kinds.push(["nested", nest(values, dims), {}]);
  return kinds;
}

/**
 * @param {number[]} got
 * @param {{ output: number[], terms: number[] }} expected
 * @param {DType} dtype
 * @param {number} units
 */
function assertClose(got, { output, terms }, dtype, units) {
  assert.equal(got.length, output.length);
  for (const [i, want] of output.entries()) {
    const allowed = units * EPSILON[dtype] * Math.max(1, Math.abs(want), terms[i]);
    const error = Math.abs(got[i] - want);
    assert.ok(error <= allowed, `index ${i}: got ${got[i]}, expected ${want}`);
  }
}

/** The bound of the guarantees, and what the reference's own rounding adds. @param {DType} dtype @param {Setting} setting */
function unitsOf(dtype, { activation, op }) {
  if (dtype === "float16" || dtype === "bfloat16") return 1.001;
  const own = dtype === "float64" ? 8 : 0;
  return (activation || op === "localResponseNorm" ? 8 : 3) + own;
}

/** @type {any[]} */
const made = [];
/** @param {any} result */
function free(result) {
  for (const each of result instanceof Tensor ? [result] : Object.values(result)) {
    if (each instanceof Tensor) each.dispose();
  }
}

/**
 * Runs a call for all kinds and element types of x, and as a plan.
 *
 * @param {{ dims: number[], options?: any, setting: Setting, dtypes?: DType[] }} call
 */
function checkCall({ dims, options = {}, setting, dtypes = DTYPES }) {
  const { op } = setting;
  const isAdd = op.startsWith("add");
  const hasStats = !/Normalize|Response/.test(op);
  for (const dtype of dtypes) {
    const values = sample(count(dims), dtype);
    const expected = reference(values, dims, dtype, setting);
    const units = unitsOf(dtype, setting);
    for (const [kind, x, own] of kindsOf(values, dims, dtype)) {
      const residual = isAdd ? [options.residual] : [];
      const { residual: _, ...rest } = options;
      const given = { ...own, ...rest };
      const result = ops[op](x, ...residual, given);
      const where = `${op} ${dtype} ${kind}`;
      const output = isAdd ? result.output : result;
      assertClose(load(output), expected, dtype, units);
      if (isAdd) assert.deepEqual(load(result.sum), expected.sum, where);
      if (kind === "resident") assert.deepEqual([output.shape, output.dtype], [dims, dtype]);
      if (kind === "tensor-like") assert.deepEqual([output.dims, output.type], [dims, dtype]);

      if (hasStats) {
        const all = ops[op](x, ...residual, { ...given, returnStats: true });
        assert.deepEqual(load(all.output), load(output), `${where}: with statistics`);
        const names = /rms/i.test(op) ? ["rstd"] : ["mean", "rstd"];
        assert.deepEqual(
          Object.keys(all),
          isAdd ? ["output", "sum", ...names] : ["output", ...names],
        );
        for (const name of names) {
          const want = /** @type {any} */ (expected)[name];
          const got = load(all[name]);
          assert.equal(got.length, want.length, where);
          for (const [i, value] of want.entries()) {
            const allowed = 4 * 2 ** -23 * Math.max(1, Math.abs(value));
            assert.ok(Math.abs(got[i] - value) <= allowed, `${where}: ${name}[${i}] ${got[i]}`);
          }
        }
        free(all);
      }

      if (kind === "resident") {
        const residents = residual.map((value) => tensor(/** @type {any} */ (value)));
        const step = anyPlan(op, x, ...residents, { ...rest });
        const again = step.run();
        assert.equal(step.run(), again);
        assert.deepEqual(load(isAdd ? again.output : again), load(output), `${where}: plan`);
        if (isAdd) assert.deepEqual(load(again.sum), load(result.sum));
        step.dispose();
        for (const each of residents) each.dispose();
      }
      // In place.
      if (kind !== "nested") {
        const out = kind === "tensor-like" ? x.data : x;
        const inPlace = ops[op](x, ...residual, { ...given, out });
        assert.equal(isAdd ? inPlace.output : inPlace, out);
        const bits = kind === "tensor-like" ? { data: out, type: dtype } : out;
        assert.deepEqual(load(bits), load(output), `${where}: in place`);
      }
      free(result);
      made.push(x);
    }
    for (const each of made.splice(0)) free(each);
  }
}

const UNARY = ["layerNorm", "rmsNorm"];
const CHANNELS = ["groupNorm", "instanceNorm", "batchNorm"];

describe("dimensions: any set in any order", () => {
  for (const op of [...UNARY, "l2Normalize", "lpNormalize", "meanVarianceNormalize"]) {
    for (const axes of [[0], [1], [2], [0, 1], [1, 0], [0, 2], [2, 0], [1, 2], [2, 1], [2, 0, 1]]) {
      test(`${op} over [${axes}]`, () => {
        checkCall({ dims: [3, 4, 5], options: { axes }, setting: { op, axes } });
      });
    }
    test(`${op} over negative axes, and by default over the last`, () => {
      const setting = { op, axes: [0, 3] };
      checkCall({ dims: [3, 2, 2, 4], options: { axes: [-1, -4] }, setting });
      checkCall({ dims: [3, 4, 5], setting: { op } });
      checkCall({ dims: [7], setting: { op } });
      checkCall({ dims: [1, 1, 1], options: { axes: [1] }, setting: { op, axes: [1] } });
      checkCall({ dims: [3, 1, 2], options: { axes: [1] }, setting: { op, axes: [1] } });
    });
  }

  test("meanVarianceNormalize takes images' dimensions by default", () => {
    const op = "meanVarianceNormalize";
    checkCall({ dims: [3, 2, 4, 5], setting: { op, axes: [0, 2, 3] } });
  });

  for (const op of CHANNELS) {
    for (const dims of [
      [2, 6],
      [3, 6, 5],
      [2, 6, 3, 4],
      [1, 6, 2, 3, 2],
    ]) {
      // A batch of one value for each channel, or instances of one, have variance 0: for others.
      test(`${op} of [${dims}] in both layouts`, () => {
        const numGroups = op === "groupNorm" ? 3 : undefined;
        const training = op === "batchNorm" ? true : undefined;
        for (const layout of ["channels_first", "channels_last"]) {
          const last = layout === "channels_last";
          const own = last ? [dims[0], ...dims.slice(2), 6] : dims;
          const options = { layout, numGroups, training };
          checkCall({ dims: own, options, setting: { op, last, numGroups } });
        }
      });
    }
  }

  test("groupNorm with one group, and with as many as channels", () => {
    for (const numGroups of [1, 6]) {
      const setting = { op: "groupNorm", numGroups };
      checkCall({ dims: [2, 6, 3], options: { numGroups }, setting });
    }
  });
});

describe("statistics have the dimensions", () => {
  const x = { data: Float32Array.from(sample(120, "float32")), shape: [2, 6, 5, 2] };
  const cases = /** @type {[string, any, number[]][]} */ ([
    ["layerNorm", {}, [2, 6, 5, 1]],
    ["layerNorm", { axes: [3, 1] }, [2, 1, 5, 1]],
    ["rmsNorm", { axis: 0 }, [1, 1, 1, 1]],
    ["groupNorm", { numGroups: 3 }, [2, 3]],
    ["groupNorm", { numGroups: 2, layout: "channels_last" }, [2, 2]],
    ["instanceNorm", {}, [2, 6]],
    ["instanceNorm", { layout: "channels_last" }, [2, 2]],
    ["batchNorm", { training: true }, [6]],
    ["batchNorm", { training: true, layout: "channels_last" }, [2]],
    ["batchNorm", { runningMean: new Float32Array(6), runningVar: new Float32Array(6) }, [6]],
  ]);
  for (const [op, options, shape] of cases) {
    test(`[${shape}] for ${op} with ${Object.keys(options)}`, () => {
      const { rstd, mean } = ops[op](x, { ...options, returnStats: true });
      assert.deepEqual(rstd.shape, shape);
      assert.equal(rstd.data.length, count(shape));
      assert.ok(rstd.data instanceof Float64Array);
      if (op !== "rmsNorm") assert.deepEqual(mean.shape, shape);
    });
  }
});

describe("parameters match", () => {
  /** A tensor of dimensions, and what it is at an index of them. @param {number[]} dims */
  const make = (dims, seed = 0) => {
    const values = parameter(count(dims), seed);
    const at = new Map(indices(dims).map((index, i) => [index.join(), values[i]]));
    return {
      tensor: { data: Float32Array.from(values), dims },
      flat: Float32Array.from(values),
      /** @param {number[]} index @returns {number} */
      at: (index) => at.get(index.join()) ?? assert.fail(`no index ${index}`),
    };
  };

  /**
   * @typedef {object} Match
   * @property {string} op
   * @property {number[]} dims
   * @property {any} [options]
   * @property {Partial<Setting>} [setting]
   * @property {number[]} own the parameter's dimensions
   * @property {(index: number[]) => number[]} to from an index of x to one of the parameter
   * @property {boolean} [flat] whether a flat array of the length does as well
   */

  /** @param {Match} match @param {string[]} names */
  const check = ({ op, dims, options = {}, setting = {}, own, to, flat }, names) => {
    for (const name of names) {
      const { tensor: like, flat: array, at } = make(own, name.length);
      /** @type {any[]} */
      const values = [like, tensor(like), nest(like.data, own)];
      if (flat) values.push(array, [...array]);
      for (const value of own.length === 0 ? values.slice(0, 2) : values) {
        checkCall({
          dims,
          options: { ...options, [name]: value },
          setting: { op, ...setting, [name]: (/** @type {number[]} */ index) => at(to(index)) },
          dtypes: ["float32", "float64"],
        });
        free(value);
      }
    }
  };
  const CONDITIONAL = ["scale", "shift"];
  const ALL = ["weight", "bias", ...CONDITIONAL];

  /** @type {[string, Match, string[]][]} */
  const matches = [
    [
      "exactly the normalized dimensions",
      { op: "layerNorm", dims: [2, 3, 4], own: [4], to: ([, , c]) => [c], flat: true },
      ALL,
    ],
    [
      "exactly several normalized dimensions",
      {
        op: "rmsNorm",
        dims: [2, 3, 4],
        options: { axis: 1 },
        setting: { axes: [1, 2] },
        own: [3, 4],
        to: ([, b, c]) => [b, c],
        flat: true,
      },
      ALL,
    ],
    [
      "the normalized dimensions in the order of axes",
      {
        op: "layerNorm",
        dims: [2, 3, 4],
        options: { axes: [2, 0] },
        setting: { axes: [2, 0] },
        own: [4, 2],
        to: ([a, , c]) => [c, a],
        flat: true,
      },
      ALL,
    ],
    [
      "the order of axes before broadcasting, where both fit",
      {
        op: "layerNorm",
        dims: [2, 3, 3],
        options: { axes: [2, 1] },
        setting: { axes: [2, 1] },
        own: [3, 3],
        to: ([, b, c]) => [c, b],
        flat: true,
      },
      ALL,
    ],
    [
      "all of x by broadcasting",
      { op: "layerNorm", dims: [2, 3, 4], own: [2, 3, 4], to: (index) => index },
      ALL,
    ],
    [
      "one value for each row by broadcasting",
      { op: "layerNorm", dims: [2, 3, 4], own: [2, 3, 1], to: ([a, b]) => [a, b, 0] },
      ALL,
    ],
    [
      "leading dimensions of 1 by broadcasting",
      { op: "rmsNorm", dims: [2, 3, 4], own: [1, 1, 4], to: ([, , c]) => [0, 0, c] },
      ALL,
    ],
    [
      "positions by broadcasting",
      { op: "layerNorm", dims: [2, 3, 4], own: [1, 3, 4], to: ([, b, c]) => [0, b, c] },
      ALL,
    ],
    [
      "a tensor without dimensions",
      { op: "layerNorm", dims: [2, 3], own: [], to: () => [] },
      ["weight", "shift"],
    ],
    [
      "part of the normalized dimensions by broadcasting",
      {
        op: "layerNorm",
        dims: [2, 3, 4],
        options: { axis: 1 },
        setting: { axes: [1, 2] },
        own: [3, 1],
        to: ([, b]) => [b, 0],
      },
      ALL,
    ],
    [
      "each item of N",
      { op: "layerNorm", dims: [2, 3, 4], own: [2, 4], to: ([a, , c]) => [a, c], flat: true },
      CONDITIONAL,
    ],
    [
      "each item of N before broadcasting, where both fit",
      { op: "rmsNorm", dims: [3, 3, 4], own: [3, 4], to: ([a, , c]) => [a, c], flat: true },
      CONDITIONAL,
    ],
    [
      "x's positions by broadcasting, where N does not fit",
      { op: "layerNorm", dims: [2, 3, 4], own: [3, 4], to: ([, b, c]) => [b, c] },
      ALL,
    ],
    [
      "each row",
      { op: "layerNorm", dims: [2, 3, 4], own: [2, 3, 4], to: (index) => index, flat: true },
      CONDITIONAL,
    ],
    [
      "each row of several dimensions",
      {
        op: "rmsNorm",
        dims: [2, 3, 2, 4],
        own: [2, 3, 2, 4],
        to: (index) => index,
        flat: true,
      },
      CONDITIONAL,
    ],
    [
      "each position",
      { op: "layerNorm", dims: [2, 3, 4], own: [1, 3, 4], to: ([, b, c]) => [0, b, c], flat: true },
      CONDITIONAL,
    ],
    [
      "each item of N in the order of axes",
      {
        op: "layerNorm",
        dims: [2, 3, 4, 2],
        options: { axes: [3, 1] },
        setting: { axes: [3, 1] },
        own: [2, 2, 3],
        to: ([a, b, , d]) => [a, d, b],
        flat: true,
      },
      CONDITIONAL,
    ],
    ...CHANNELS.flatMap((op) => {
      const options = {
        ...(op === "groupNorm" ? { numGroups: 2 } : {}),
        ...(op === "batchNorm" ? { training: true } : {}),
      };
      const setting = { numGroups: 2 };
      /** @type {[string, Match, string[]][]} */
      const rows = [
        [
          `${op}: the channels`,
          { op, dims: [2, 4, 3], options, setting, own: [4], to: ([, c]) => [c], flat: true },
          ALL,
        ],
        [
          `${op}: the channels of each item`,
          {
            op,
            dims: [2, 4, 3],
            options,
            setting,
            own: [2, 4],
            to: ([n, c]) => [n, c],
            flat: true,
          },
          CONDITIONAL,
        ],
        [
          `${op}: the channels of each item, channels last`,
          {
            op,
            dims: [3, 2, 3, 4],
            options: { ...options, layout: "channels_last" },
            setting: { ...setting, last: true },
            own: [3, 4],
            to: ([n, , , c]) => [n, c],
            flat: true,
          },
          CONDITIONAL,
        ],
        [
          `${op}: the channels of each row, channels last`,
          {
            op,
            dims: [2, 3, 4],
            options: { ...options, layout: "channels_last" },
            setting: { ...setting, last: true },
            own: [2, 3, 4],
            to: (index) => index,
            flat: true,
          },
          CONDITIONAL,
        ],
        [
          `${op}: by broadcasting`,
          { op, dims: [2, 4, 3], options, setting, own: [4, 1], to: ([, c]) => [c, 0] },
          ALL,
        ],
        [
          `${op}: positions by broadcasting`,
          { op, dims: [2, 4, 3], options, setting, own: [1, 1, 3], to: ([, , s]) => [0, 0, s] },
          ALL,
        ],
      ];
      return rows;
    }),
  ];
  for (const [name, match, names] of matches) test(name, () => check(match, names));

  test("numbers stand for all elements", () => {
    const options = { weight: 2, bias: -1, scale: 0.5, shift: 3, weightOffset: 1 };
    /** @type {any} */
    const fields = Object.fromEntries(
      Object.entries(options).map(([name, value]) => [name, () => value]),
    );
    for (const op of UNARY) {
      const setting = { ...fields, op, weightOffset: 1 };
      checkCall({ dims: [3, 5], options, setting });
    }
  });
});

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

describe("batchNorm", () => {
  const dims = [3, 4, 2];
  const values = sample(24, "float64");
  const { variance } = reference(values, dims, "float64", { op: "batchNorm" });
  const { mean } = reference(values, dims, "float64", { op: "batchNorm" });
  const start = { mean: [1, -2, 0.5, 0], variance: [1, 0.25, 4, 2] };

  test("normalizes with running statistics", () => {
    const runningMean = start.mean;
    const runningVar = start.variance;
    for (const kind of [runningMean.slice(), Float32Array.from(runningMean), tensor(runningMean)]) {
      const options = { runningMean: kind, runningVar, weight: parameter(4), bias: 0.25 };
      const setting = {
        op: "batchNorm",
        runningMean,
        runningVar,
        weight: (/** @type {number[]} */ index) => parameter(4)[index[1]],
        bias: () => 0.25,
      };
      checkCall({ dims, options, setting });
      const last = { ...setting, last: true, weight: (/** @type {any} */ i) => parameter(4)[i[2]] };
      const options2 = { ...options, layout: "channels_last" };
      checkCall({ dims: [3, 2, 4], options: options2, setting: last });
    }
  });

  /** @type {[any, { momentum: number, unbiased: boolean }][]} */
  const updates = [
    [{}, { momentum: 0.1, unbiased: true }],
    [{ momentum: 0.25 }, { momentum: 0.25, unbiased: true }],
    [{ momentum: 0 }, { momentum: 0, unbiased: true }],
    [{ momentum: 1 }, { momentum: 1, unbiased: true }],
    [{ preset: "pytorch" }, { momentum: 0.1, unbiased: true }],
    [
      { preset: "pytorch", momentum: 0.25 },
      { momentum: 0.25, unbiased: true },
    ],
    [{ preset: "keras" }, { momentum: 1 - 0.99, unbiased: false }],
    [
      { preset: "keras", momentum: 0.75 },
      { momentum: 0.25, unbiased: false },
    ],
    [{ preset: "tensorflow" }, { momentum: 1 - 0.99, unbiased: true }],
    [
      { preset: "tensorflow", momentum: 0.75 },
      { momentum: 0.25, unbiased: true },
    ],
    [{ preset: "flax" }, { momentum: 1 - 0.99, unbiased: false }],
    [{ preset: "onnx" }, { momentum: 1 - 0.9, unbiased: false }],
    [
      { preset: "onnx", momentum: 1 },
      { momentum: 0, unbiased: false },
    ],
  ];
  for (const [options, { momentum, unbiased }] of updates) {
    test(`updates running statistics with ${JSON.stringify(options)}`, () => {
      const n = 6;
      const wanted = {
        mean: start.mean.map((old, c) => (1 - momentum) * old + momentum * mean[c]),
        variance: start.variance.map((old, c) => {
          const own = unbiased ? (variance[c] * n) / (n - 1) : variance[c];
          return (1 - momentum) * old + momentum * own;
        }),
      };
      for (const dtype of DTYPES) {
        /** @type {((values: number[]) => any)[]} */
        const makers = [
          (list) => ({ data: store(list, dtype), dims: [4], type: dtype }),
          (list) =>
            tensor(/** @type {any} */ ({ data: store(list, dtype), dims: [4], type: dtype })),
        ];
        if (dtype === "float32") makers.push((list) => Float32Array.from(list));
        for (const make of makers) {
          const running = { runningMean: make(start.mean), runningVar: make(start.variance) };
          const y = ops.batchNorm(Float64Array.from(values), {
            shape: dims,
            training: true,
            ...running,
            ...options,
          });
          // The batch's own statistics normalize.
          const eps = options.preset === "keras" || options.preset === "tensorflow" ? 1e-3 : 1e-5;
          const expected = reference(values, dims, "float64", { op: "batchNorm", eps });
          assertClose(load(y), expected, "float64", 11);
          for (const [got, want] of [
            [running.runningMean, wanted.mean],
            [running.runningVar, wanted.variance],
          ]) {
            const unit = EPSILON[dtype];
            for (const [c, value] of load(got).entries()) {
              const allowed = 4 * unit * Math.max(Math.abs(want[c]), 1);
              assert.ok(Math.abs(value - want[c]) <= allowed, `${dtype}: ${value}, ${want[c]}`);
            }
          }
          free(running);
        }
      }
    });
  }

  test("updates one of them, or none", () => {
    const x = Float64Array.from(values);
    const expected = ops.batchNorm(x, { shape: dims, training: true });
    const runningMean = new Float64Array(4);
    const options = { shape: dims, training: true, runningMean, runningVar: null, momentum: 1 };
    assert.deepEqual(ops.batchNorm(x, options), expected);
    for (const [c, value] of runningMean.entries()) assert.ok(Math.abs(value - mean[c]) < 1e-14);
    const runningVar = new Float64Array(4);
    ops.batchNorm(x, { shape: dims, training: true, runningVar, momentum: 1, preset: "pytorch" });
    for (const [c, value] of runningVar.entries()) {
      assert.ok(Math.abs(value - (variance[c] * 6) / 5) < 1e-14);
    }
  });

  test("inference leaves running statistics alone", () => {
    const runningMean = Float32Array.from(start.mean);
    const runningVar = Float32Array.from(start.variance);
    ops.batchNorm(nest(values, dims), { runningMean, runningVar, momentum: 1 });
    assert.deepEqual([...runningMean], start.mean);
    assert.deepEqual([...runningVar], start.variance);
  });

  test("a training plan updates resident running statistics at each run", () => {
    const x = tensor(nest(values, dims), dims, "float64");
    const runningMean = zeros([4], "float64");
    const runningVar = zeros([4], "float64");
    const given = { training: true, momentum: 0.5, runningMean, runningVar };
    const step = plan("batchNorm", x, given);
    step.run();
    step.run();
    for (const [c, value] of runningMean.data.entries()) {
      assert.ok(Math.abs(value - 0.75 * mean[c]) < 1e-14);
    }
    for (const [c, value] of runningVar.data.entries()) {
      assert.ok(Math.abs(value - (0.75 * variance[c] * 6) / 5) < 1e-14);
    }
    step.dispose();
    free({ x, runningMean, runningVar });
  });

  test("a batch without values is empty and leaves running statistics alone", () => {
    for (const shape of [
      [0, 4],
      [0, 4, 2],
      [3, 4, 0],
      [3, 0, 2],
    ]) {
      const channels = shape[1];
      const runningMean = new Float32Array(channels).fill(7);
      const runningVar = new Float32Array(channels).fill(7);
      for (const training of [false, true]) {
        const options = { shape, training, runningMean, runningVar };
        assert.deepEqual(ops.batchNorm(new Float32Array(), options), new Float32Array());
        const { rstd } = ops.batchNorm(new Float32Array(), { ...options, returnStats: true });
        assert.equal(rstd.length, channels);
        assert.ok([...runningMean, ...runningVar].every((value) => value === 7));
      }
      const x = tensor([], shape);
      const step = plan("batchNorm", x, { training: true });
      assert.deepEqual(step.run().shape, shape);
      step.dispose();
      x.dispose();
    }
  });

  test("an unbiased update of one value for each channel is refused before anything is written", () => {
    const [runningMean, runningVar] = [Float32Array.of(5, 5), Float32Array.of(5, 5)];
    const x = Float32Array.of(1, 2);
    const shape = [1, 2];
    for (const preset of [undefined, "pytorch", "tensorflow"]) {
      const options = { shape, training: true, runningMean, runningVar, preset, out: x };
      assert.throws(() => ops.batchNorm(x, options), RangeError);
    }
    assert.deepEqual([...x, ...runningMean, ...runningVar], [1, 2, 5, 5, 5, 5]);
    const biased = { shape, training: true, runningMean, runningVar, preset: "keras", momentum: 0 };
    assert.deepEqual(ops.batchNorm(x, biased), new Float32Array(2));
    assert.deepEqual([...runningMean, ...runningVar], [1, 2, 0, 0]);
    assert.deepEqual(ops.batchNorm(x, { shape, training: true, runningMean }).length, 2);
  });
});

describe("add forms", () => {
  for (const op of ["addLayerNorm", "addRmsNorm", "addGroupNorm"]) {
    const part = /** @type {Record<string, string>} */ ({
      addLayerNorm: "layerNorm",
      addRmsNorm: "rmsNorm",
      addGroupNorm: "groupNorm",
    })[op];
    const own = op === "addGroupNorm" ? { numGroups: 2 } : {};
    const dims = [2, 4, 6];
    const channels = op === "addGroupNorm" ? 4 : 6;

    test(`${op} against the reference`, () => {
      for (const [residualDims, to] of /** @type {[number[], (i: number[]) => number[]][]} */ ([
        [dims, (i) => i],
        [[6], ([, , c]) => [c]],
        [[4, 1], ([, b]) => [b, 0]],
        [[1, 4, 6], ([, b, c]) => [0, b, c]],
        [[2, 1, 1], ([a]) => [a, 0, 0]],
      ])) {
        const list = parameter(count(residualDims), 2);
        const at = new Map(indices(residualDims).map((index, i) => [index.join(), list[i]]));
        const residual = nest(list, residualDims);
        const field = (/** @type {number[]} */ index) =>
          /** @type {number} */ (at.get(to(index).join()));
        const setting = { op, ...own, residual: field };
        checkCall({ dims, options: { ...own, residual }, setting });
        const gated = {
          ...setting,
          gate: () => 0.5,
          sumBias: (/** @type {number[]} */ index) =>
            parameter(channels)[index[channels === 4 ? 1 : 2]],
        };
        const options = { ...own, residual, gate: 0.5, sumBias: parameter(channels) };
        checkCall({ dims, options, setting: gated });
      }
    });

    test(`${op} takes a gate for each item`, () => {
      const gate = nest(parameter(2 * channels), [2, channels]);
      const at = (/** @type {number[]} */ index) => gate[index[0]][index[channels === 4 ? 1 : 2]];
      const residual = nest(parameter(48), dims);
      const setting = {
        op,
        ...own,
        gate: at,
        residual: (/** @type {any} */ [a, b, c]) => residual[a][b][c],
      };
      checkCall({ dims, options: { ...own, residual, gate }, setting });
    });

    test(`${op} has the bits of its parts`, () => {
      for (const dtype of DTYPES) {
        const data = store(sample(48, dtype), dtype);
        const x = { data, dims, type: dtype };
        const residual = { data: store(sample(48, dtype, 5), dtype), dims, type: dtype };
        const options = {
          ...own,
          weight: parameter(channels),
          bias: 0.5,
          scale: nest(parameter(2 * channels), [2, channels]),
          activation: "gelu",
        };
        const fused = ops[op](x, residual, { ...options, returnStats: true });
        const alone = ops[part](fused.sum, { ...options, returnStats: true });
        const { sum, ...rest } = fused;
        assert.deepEqual(rest, alone);
        assert.deepEqual([sum.dims, sum.type], [dims, dtype]);
      }
    });

    test(`${op} writes to out and sumOut, which may be x and the residual`, () => {
      const x = Float32Array.from(sample(48, "float32"));
      const residual = Float32Array.from(sample(48, "float32", 5));
      const options = { ...own, shape: dims };
      const expected = ops[op](x, residual, options);
      for (const [a, b] of [
        [0, 1],
        [1, 0],
        [2, 0],
        [0, 2],
        [1, 2],
        [2, 1],
        [2, 3],
      ]) {
        const memory = [x.slice(), residual.slice(), new Float32Array(48), new Float32Array(48)];
        const [out, sumOut] = [memory[a], memory[b]];
        const result = ops[op](memory[0], memory[1], { ...options, out, sumOut });
        assert.equal(result.output, out);
        assert.equal(result.sum, sumOut);
        assert.deepEqual(result, expected);
      }
      const inPlace = x.slice();
      assert.deepEqual(ops[op](inPlace, inPlace, { ...options, sumOut: inPlace }).sum, inPlace);
    });

    test(`${op} in a plan sees changes of a broadcast residual, gate and weight`, () => {
      const residual = tensor(nest(parameter(6), [1, 1, 6]));
      const [x, gate] = [tensor(nest(parameter(48), dims)), tensor(parameter(1))];
      const weight = tensor(nest(parameter(4), [4, 1]));
      const options = { ...own, gate: tensor([[[1]]]), weight };
      const step = anyPlan(op, x, residual, options);
      for (const each of [residual, weight, x]) each.data.reverse();
      const { output, sum } = step.run();
      const now = ops[op](x, residual, options);
      assert.deepEqual(output.data, now.output.data);
      assert.deepEqual(sum.data, now.sum.data);
      assert.equal(step.sum, sum);
      assert.ok(Object.isFrozen(step.run()));
      step.dispose();
      free({ ...now, residual, x, gate, weight });
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
