/** Random calls of every operation, by fast-check: those that are right, and what spoils them. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Tensor, tensor } from "../../dist/index.js";
import { arithmetic, load, store } from "./half.js";
import { DTYPES, hasAffine, OPERATIONS, ops } from "./operation_cases.js";
import { ACTIVATIONS, count, EPSILON, indices, nest, reference } from "./reference.js";
import { isOfChannels } from "./runs.js";

/** @typedef {import("./exact.js").DType} DType */
/** @typedef {import("./reference.js").Setting} Setting */
/** @typedef {fc.GeneratorValue} Draw */
/**
 * @typedef {object} Made
 * @property {string} op
 * @property {DType} dtype
 * @property {number[]} dims
 * @property {number[]} values of x
 * @property {number} ownCount the length of a flat parameter
 * @property {any[]} inputs
 * @property {Record<string, any>} options
 * @property {Setting} setting
 */

/** @param {Draw} g @param {number} min @param {number} max */
export const integer = (g, min, max) => g(fc.integer, { min, max });
/** @template T @param {Draw} g @param {readonly T[]} from @returns {T} */
export const pick = (g, from) => from[integer(g, 0, from.length - 1)];
/** @param {Draw} g @param {number} of */
export const chance = (g, of) => integer(g, 1, of) === of;

/** Numbers that every element type has. @param {Draw} g @param {number} n */
export function numbers(g, n) {
  const seed = integer(g, 0, 200);
  return Array.from({ length: n }, (_, i) => (((i + seed) * (2 * seed + 37)) % 201) / 32 - 3.125);
}

/** @param {Draw} g @param {number[]} values @param {number[]} dims @param {DType} dtype */
export function asAnyKind(g, values, dims, dtype) {
  const data = store(Float64Array.from(values), dtype);
  const kinds = ["like", "resident"];
  if (!(data instanceof Uint16Array)) kinds.push("flat");
  if (dtype === "float64" && count(dims) > 0) kinds.push("nested");
  switch (pick(g, kinds)) {
    case "flat":
      return { x: data, own: { shape: dims } };
    case "nested":
      return { x: nest(values, dims), own: {} };
    case "resident":
      return { x: tensor(/** @type {any} */ (data), dims, dtype), own: {} };
    default: {
      const [size, type] = pick(g, [
        ["dims", "type"],
        ["shape", "dtype"],
      ]);
      return { x: { data, [size]: dims, [type]: dtype }, own: {} };
    }
  }
}

/** @param {Draw} g @param {string} name of OPERATIONS @returns {Made} a call that is right */
export function makeRight(g, name) {
  const { op, options: fixed = {} } = OPERATIONS[name];
  const dtype = pick(g, DTYPES);
  const byChannels = isOfChannels(op);
  const rank = integer(g, byChannels ? 2 : 1, 4);
  const dims = Array.from({ length: rank }, () => (chance(g, 40) ? 0 : integer(g, 1, 5)));
  const size = count(dims);
  const values = numbers(g, size);
  const { x, own } = asAnyKind(g, values, dims, dtype);
  /** @type {Record<string, any>} */
  const options = { ...own, ...fixed };
  /** @type {Setting} */
  const setting = { op, p: fixed.p };
  const inputs = [x];

  /** @type {number[]} */
  let ownDims = [];
  /** Where a flat parameter has the value of an index. @type {(index: number[]) => number} */
  let at = () => 0;
  if (byChannels) {
    const last = chance(g, 2);
    const channel = last ? rank - 1 : 1;
    if (last || chance(g, 2)) options.layout = last ? "channels_last" : "channels_first";
    setting.last = last;
    ownDims = [dims[channel]];
    at = (index) => index[channel];
    if (/group/i.test(op)) {
      const divisors = [1, 2, 3, 4, 5].filter((groups) => dims[channel] % groups === 0);
      options.numGroups = setting.numGroups = pick(g, divisors);
    }
  } else {
    const first = integer(g, 0, rank - 1);
    const trailing = dims.map((_, d) => d).slice(first);
    const shuffled = g(fc.shuffledSubarray, [...dims.keys()], { minLength: 1 });
    const canTrail = !/^(l2|lp|mean)/.test(op);
    const way = pick(g, canTrail ? ["none", "normalizedShape", "axis", "axes"] : ["none", "axes"]);
    const isImage = op.startsWith("mean") && rank === 4;
    let axes = isImage ? [0, 2, 3] : [rank - 1];
    if (way === "normalizedShape") options.normalizedShape = dims.slice(first);
    if (way === "axis") options.axis = chance(g, 2) ? first : first - rank;
    if (way === "axes") options.axes = shuffled.map((d) => (chance(g, 2) ? d : d - rank));
    if (way === "normalizedShape" || way === "axis") axes = trailing;
    if (way === "axes") axes = shuffled;
    setting.axes = axes;
    ownDims = axes.map((d) => dims[d]);
    at = (index) => axes.reduce((position, d) => position * dims[d] + index[d], 0);
  }
  const ownCount = count(ownDims);

  /** @param {number} bias @returns {{ given: any, field: (index: number[]) => number }} */
  const parameter = (bias) => {
    const way = pick(g, ["number", "flat", "own", "broadcast"]);
    if (way === "number") {
      const [value] = numbers(g, 1);
      return { given: value + bias, field: () => value + bias };
    }
    const type = pick(g, DTYPES);
    /** @param {number[]} list @param {number[]} shape */
    const like = (list, shape) => ({
      data: store(Float64Array.from(list), type),
      dims: shape,
      type,
    });
    const d = integer(g, 0, rank - 1);
    // Of fewer dimensions are normalized than x has, nothing else could be meant.
    if (way === "broadcast" && rank > 2 && ownDims.length < rank) {
      const list = numbers(g, dims[d]);
      const shape = dims.map((n, i) => (i === d ? n : 1));
      return { given: like(list, shape), field: (index) => list[index[d]] };
    }
    const list = numbers(g, ownCount);
    const isFlat = way === "flat" || byChannels;
    const given = isFlat ? Float32Array.from(list) : like(list, ownDims);
    return { given, field: (index) => list[at(index)] };
  };
  if (hasAffine(op)) {
    for (const key of /** @type {const} */ (["weight", "bias", "scale", "shift"])) {
      if (chance(g, 2)) continue;
      const { given, field } = parameter(0);
      options[key] = given;
      setting[key] = field;
    }
    if (chance(g, 3)) options.weightOffset = setting.weightOffset = 1;
    if (chance(g, 4)) {
      options.activation = setting.activation = pick(g, Object.keys(ACTIVATIONS));
    }
  }
  if (op === "localResponseNorm") {
    options.size = setting.size = integer(g, 1, 6);
    if (chance(g, 2)) options.alpha = setting.alpha = 0.5;
    if (chance(g, 2)) options.beta = setting.beta = 0.5;
    if (chance(g, 2)) options.k = setting.k = 2;
  } else if (chance(g, 2)) options.eps = setting.eps = pick(g, [1e-3, 1e-5]);
  if (op.startsWith("add")) {
    const residual = numbers(g, size);
    const all = new Map(indices(dims).map((index, i) => [index.join(), residual[i]]));
    inputs.push({ data: store(Float64Array.from(residual), dtype), dims, type: dtype });
    setting.residual = (index) => /** @type {number} */ (all.get(index.join()));
    for (const key of /** @type {const} */ (["gate", "sumBias"])) {
      if (chance(g, 2)) continue;
      const { given, field } = parameter(0);
      options[key] = given;
      setting[key] = field;
    }
  }
  if (name === "batchNorm") {
    options.runningMean = Float64Array.from(numbers(g, ownCount));
    options.runningVar = Float64Array.from(numbers(g, ownCount), (value) => value + 4);
    setting.runningMean = [...options.runningMean];
    setting.runningVar = [...options.runningVar];
  }
  if (name === "batchNorm training" && chance(g, 2)) {
    options.runningMean = new Float32Array(ownCount);
    options.runningVar = new Float32Array(ownCount).fill(1);
  }
  return { op, dtype, dims, values, ownCount, inputs, options, setting };
}

/** @param {any} result */
export const outputOf = (result) => (result.output === undefined ? result : result.output);

/** @param {any} output of any kind @param {DType} dtype @returns {number[]} */
export function numbersOf(output, dtype) {
  if (Array.isArray(output)) return output.flat(Infinity);
  const data = ArrayBuffer.isView(output) ? output : output.data;
  return Array.from(data instanceof Uint16Array ? load(data, dtype) : data);
}

/** @param {unknown[]} values that may be resident */
export function free(...values) {
  for (const value of values) if (value instanceof Tensor) value.dispose();
}

/** @param {Made} made @param {any} result */
export function assertRight({ dims, dtype, values, setting }, result) {
  const got = numbersOf(outputOf(result), dtype);
  const { output, terms } = reference(values, dims, dtype, setting);
  assert.equal(got.length, output.length);
  const isHalf = arithmetic(dtype) !== dtype;
  const units = isHalf ? 1.01 : 32;
  for (const [i, expected] of output.entries()) {
    const allowed = units * EPSILON[dtype] * Math.max(1, Math.abs(expected), terms[i]);
    assert.ok(Math.abs(got[i] - expected) <= allowed, `${i}: got ${got[i]}, expected ${expected}`);
  }
}

/** @param {Made} made @returns {any} */
export const call = ({ op, inputs, options }) => ops[op](...inputs, options);

/** @param {string} op @param {unknown} error */
export function assertDocumented(op, error) {
  assert.ok(error instanceof TypeError || error instanceof RangeError, `${error}`);
  assert.match(error.message, /^\w+: "[\w.]+" expected .+, got .+$/s);
  assert.ok(error.message.startsWith(`${op}: `), error.message);
}

/** What is no option of any kind, whatever its name. */
const WRONG = [Symbol("wrong"), () => 1, 10n, new Date(0), new Map(), new ArrayBuffer(8), "wrong"];
const WRONG_X = [...WRONG, undefined, null, 1, {}, new Int32Array(4), { data: [1, 2], dims: [2] }];
const OPTIONS = [
  ...["shape", "normalizedShape", "axis", "axes", "layout", "numGroups", "weight", "bias"],
  ...["weightOffset", "scale", "shift", "gate", "sumBias", "activation", "eps", "preset", "out"],
  ...["runningMean", "runningVar", "training", "momentum", "p", "size", "alpha", "beta", "k"],
  ...["sumOut", "returnStats"],
];

/**
 * What spoils a call, where it applies.
 *
 * @type {Record<string, (g: Draw, made: Made) => void>}
 */
export const SPOILERS = {
  "an unknown option": (_, { options }) => {
    options.wrong = 1;
  },
  "an option of a wrong kind": (g, { options }) => {
    options[pick(g, OPTIONS)] = pick(g, WRONG);
  },
  "an x of a wrong kind": (g, { inputs }) => {
    inputs[integer(g, 0, inputs.length - 1)] = pick(g, WRONG_X);
  },
  "too few dimensions": (_, { dims, inputs, values, dtype }) => {
    const data = store(Float64Array.from([...values, 1]), dtype);
    inputs[0] = { data, dims, type: dtype };
  },
  "a dimension that is none": (g, { dims, inputs, values, dtype }) => {
    const wrong = dims.with(integer(g, 0, dims.length - 1), pick(g, [-1, 0.5, NaN, 2 ** 53]));
    inputs[0] = { data: store(Float64Array.from(values), dtype), dims: wrong, type: dtype };
  },
  "a parameter of another length": (g, { op, options, ownCount }) => {
    fc.pre(hasAffine(op));
    options[pick(g, ["weight", "bias"])] = new Float32Array(ownCount + 7);
  },
  "eps that is none": (g, { op, options }) => {
    fc.pre(op !== "localResponseNorm");
    options.eps = pick(g, [-1, NaN, Infinity, "1", null]);
  },
  "axes that are none": (g, { op, options, dims }) => {
    fc.pre(!isOfChannels(op));
    for (const name of ["normalizedShape", "axis"]) delete options[name];
    options.axes = pick(g, [[dims.length], [-dims.length - 1], [0, 0], [0.5], [], "0"]);
  },
  "two ways to name the dimensions": (_, { op, options }) => {
    fc.pre(/^(add)?(layer|rms)/i.test(op));
    Object.assign(options, { axis: -1, axes: [-1] });
    delete options.normalizedShape;
  },
  "channels that are none": (g, { op, options }) => {
    fc.pre(isOfChannels(op));
    if (/group/i.test(op) && chance(g, 2)) options.numGroups = pick(g, [0, 7, 1.5, undefined]);
    else options.layout = pick(g, ["NCHW", 1, null]);
  },
  "a string that is none": (g, { op, options }) => {
    options[hasAffine(op) ? pick(g, ["activation", "preset"]) : "wrong"] = pick(g, ["Relu", ""]);
  },
  "out of another type or size": (g, { options, values, dtype }) => {
    const other = dtype === "float64" ? Float32Array : Float64Array;
    const size = values.length;
    options.out = pick(g, [
      new other(size),
      store(new Float64Array(size + 1), dtype),
      new Int8Array(size),
      { data: store(new Float64Array(size), dtype), dims: [size], type: dtype },
      [],
    ]);
  },
  "a residual of other dimensions": (_, { inputs, dims, dtype }) => {
    fc.pre(inputs.length > 1);
    const other = dims.map((n) => n + 2);
    inputs[1] = { data: store(new Float64Array(count(other)), dtype), dims: other, type: dtype };
  },
  "what is needed left out": (_, { op, options }) => {
    const needed = { groupNorm: "numGroups", addGroupNorm: "numGroups", localResponseNorm: "size" };
    const name = /** @type {Record<string, string>} */ (needed)[op];
    fc.pre(name !== undefined);
    delete options[name];
  },
};
