/** Every error rule: the exact class and message, and that nothing was written before it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import * as layernorm from "../../dist/index.js";
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

const ARRAYS = "Float32Array, Float64Array or Float16Array";
const KINDS = `a ${ARRAYS}, a tensor-like object, nested arrays of numbers or a Tensor`;
const PARAMETER = `null, a number, ${KINDS}`;
const DESTINATION = `a ${ARRAYS}, a Uint16Array of 16-bit floats or a Tensor`;
const DTYPES = '"float32", "float64", "float16", "bfloat16"';
const OPS = [
  "layerNorm",
  "rmsNorm",
  "groupNorm",
  "instanceNorm",
  "batchNorm",
  "l2Normalize",
  "lpNormalize",
  "meanVarianceNormalize",
  "localResponseNorm",
  "addLayerNorm",
  "addRmsNorm",
  "addGroupNorm",
];
const BACKWARD = OPS.filter((name) => /^(add|layer|rms|group|instance|batch|l2)/.test(name)).map(
  (name) => `${name}Backward`,
);
const OP_LIST = [...OPS, ...BACKWARD].map((name) => `"${name}"`).join(", ");
const EPILOGUE = "weight, bias, weightOffset, scale, shift, activation";
const LAYER_OPTIONS = `shape, normalizedShape, axis, axes, ${EPILOGUE}, eps, preset, out, returnStats`;

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

/** @template {Float32Array | Float64Array | Uint16Array} T @param {T} array @returns {T} */
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
      `layerNorm: "x.data" expected a ${ARRAYS}, or a Uint16Array, got an array`,
    ),
    typeError(
      () => norm({}, { data: () => x, shape: [6] }),
      `layerNorm: "x.data" expected a ${ARRAYS}, or a Uint16Array, got a function`,
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
      `layerNorm: "x.dtype" expected one of ${DTYPES}, got "int8"`,
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
    typeError(() => norm(zeros([6])), 'layerNorm: "options" expected an object, got a Tensor'),
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
      'layerNorm: "normalizedShape" expected an integer or an array of integers, got "3"',
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
      () => norm({ shape: [2, 0, 3], axes: [0, 1] }, new Float32Array()),
      'layerNorm: "x" expected at least one element to normalize, got shape [2, 0, 3]',
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
      () => norm({ shape: [2, 3], weight: { data: x, dims: [3, 2] } }),
      'layerNorm: "weight" expected shape [3], got [3, 2]',
    ),
    rangeError(
      () => norm({ shape: [2, 3], axes: [1, 0], weight: { data: x, dims: [6] } }),
      'layerNorm: "weight" expected shape [3, 2], got [6]',
    ),
    rangeError(
      () => norm({ shape: [2, 3], weight: new Float32Array(6) }),
      'layerNorm: "weight" expected shape [3], got [6]',
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
      'layerNorm: "preset" expected one of "pytorch", "keras", "tensorflow", "flax", "onnx", "bert", got "llama", which is for rmsNorm, addRmsNorm',
    ),
    rangeError(
      () => /** @type {any} */ (rmsNorm)(x, { preset: "bert" }),
      'rmsNorm: "preset" expected one of "pytorch", "keras", "tensorflow", "flax", "onnx", "llama", "t5", "gemma", got "bert", which is for layerNorm, groupNorm, instanceNorm, addLayerNorm, addGroupNorm',
    ),
    rangeError(
      () => norm({ preset: "toString" }),
      'layerNorm: "preset" expected one of "pytorch", "keras", "tensorflow", "flax", "onnx", "bert", got "toString"',
    ),
  ],
  out: [
    typeError(() => norm({ out: null }), `layerNorm: "out" expected ${DESTINATION}, got null`),
    typeError(() => norm({ out: [1] }), `layerNorm: "out" expected ${DESTINATION}, got an array`),
    typeError(
      () => norm({ out: { data: x, dims: [6] } }, { data: x, dims: [6] }),
      `layerNorm: "out" expected ${DESTINATION}, got an object`,
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

/** Rules of the other operations and options, each by its operation. @type {Record<string, any>} */
const ops = layernorm;
const image = { shape: [1, 6, 1] };
const two = { shape: [2, 3] };
const unknown = (
  /** @type {string} */ op,
  /** @type {string} */ known,
  /** @type {string} */ name,
) =>
  typeError(
    () => ops[op](x, { [name]: 1 }, { [name]: 1 }),
    `${op}: "options" expected only ${known}, got "${name}"`,
  );
const EMPTY = "at least one element to normalize";

/** @type {Record<string, Rule[]>} */
const OTHER_RULES = {
  "unknown options": [
    unknown(
      "groupNorm",
      `shape, layout, numGroups, ${EPILOGUE}, eps, preset, out, returnStats`,
      "axes",
    ),
    unknown(
      "instanceNorm",
      `shape, layout, ${EPILOGUE}, eps, preset, out, returnStats`,
      "numGroups",
    ),
    unknown(
      "batchNorm",
      `shape, layout, runningMean, runningVar, training, momentum, ${EPILOGUE}, eps, preset, out, returnStats`,
      "axis",
    ),
    unknown("l2Normalize", "shape, axes, eps, preset, out", "returnStats"),
    unknown("lpNormalize", "shape, axes, p, eps, preset, out", "weight"),
    unknown("meanVarianceNormalize", "shape, axes, eps, preset, out", "axis"),
    unknown("localResponseNorm", "size, alpha, beta, k, shape, layout, out", "eps"),
    ...["addLayerNorm", "addRmsNorm"].map((op) =>
      typeError(
        () => ops[op](x, x, { residual: 1 }),
        `${op}: "options" expected only shape, normalizedShape, axis, axes, ${EPILOGUE}, gate, sumBias, eps, preset, out, returnStats, sumOut, got "residual"`,
      ),
    ),
    typeError(
      () => ops.addGroupNorm(x, x, { axis: 1 }),
      `addGroupNorm: "options" expected only shape, layout, numGroups, ${EPILOGUE}, gate, sumBias, eps, preset, out, returnStats, sumOut, got "axis"`,
    ),
    typeError(
      () => norm({ gate: 1 }),
      `layerNorm: "options" expected only ${LAYER_OPTIONS}, got "gate"`,
    ),
    typeError(() => ops.addLayerNorm(x, x, 4), 'addLayerNorm: "options" expected an object, got 4'),
  ],
  "channels and groups": [
    typeError(
      () => ops.groupNorm(x, image),
      'groupNorm: "numGroups" expected a number of groups, got undefined',
    ),
    typeError(
      () => ops.addGroupNorm(x, x, { ...image, numGroups: undefined }),
      'addGroupNorm: "numGroups" expected a number of groups, got undefined',
    ),
    typeError(
      () => ops.groupNorm(x, { ...image, numGroups: "2" }),
      'groupNorm: "numGroups" expected a number, got "2"',
    ),
    ...[0, -1, 1.5, Number.NaN, Infinity].map((numGroups) =>
      rangeError(
        () => ops.groupNorm(x, { ...image, numGroups }),
        `groupNorm: "numGroups" expected an integer >= 1, got ${numGroups}`,
      ),
    ),
    ...[4, 12].map((numGroups) =>
      rangeError(
        () => ops.groupNorm(x, { ...image, numGroups }),
        `groupNorm: "numGroups" expected a divisor of 6 channels, got ${numGroups}`,
      ),
    ),
    typeError(
      () => ops.instanceNorm(x, { ...image, layout: 1 }),
      'instanceNorm: "layout" expected a string, got 1',
    ),
    typeError(
      () => ops.instanceNorm(x, { ...image, layout: null }),
      'instanceNorm: "layout" expected a string, got null',
    ),
    rangeError(
      () => ops.instanceNorm(x, { ...image, layout: "NCHW" }),
      'instanceNorm: "layout" expected one of "channels_first", "channels_last", got "NCHW"',
    ),
    typeError(
      () => ops.instanceNorm(x),
      'instanceNorm: "shape" expected the dimensions of a flat x, got undefined',
    ),
    typeError(
      () => ops.localResponseNorm(x, { size: 3 }),
      'localResponseNorm: "shape" expected the dimensions of a flat x, got undefined',
    ),
    rangeError(
      () => ops.instanceNorm(x, { shape: [6] }),
      'instanceNorm: "x" expected at least two dimensions, got shape [6]',
    ),
    rangeError(
      () => ops.batchNorm({ data: x, dims: [6] }, { training: true }),
      'batchNorm: "x" expected at least two dimensions, got shape [6]',
    ),
    rangeError(
      () => ops.groupNorm([1, 2], { numGroups: 1 }),
      'groupNorm: "x" expected at least two dimensions, got shape [2]',
    ),
    rangeError(
      () => ops.instanceNorm({ data: new Float32Array(1), dims: [] }),
      'instanceNorm: "x" expected at least two dimensions, got shape []',
    ),
    rangeError(
      () => ops.instanceNorm(x, { shape: [2, 2] }),
      'instanceNorm: "x" expected 4 elements for shape [2, 2], got 6',
    ),
    rangeError(
      () => ops.instanceNorm([[1, 2]], { shape: [2, 1] }),
      'instanceNorm: "shape" expected [1, 2], got [2, 1]',
    ),
    rangeError(
      () => ops.groupNorm(new Float32Array(), { shape: [0, 4, 0], numGroups: 2 }),
      `groupNorm: "x" expected ${EMPTY}, got shape [0, 4, 0]`,
    ),
    rangeError(
      () => ops.groupNorm(new Float32Array(), { shape: [2, 0, 3], numGroups: 2 }),
      `groupNorm: "x" expected ${EMPTY}, got shape [2, 0, 3]`,
    ),
    rangeError(
      () => ops.instanceNorm(new Float32Array(), { shape: [0, 4, 0] }),
      `instanceNorm: "x" expected ${EMPTY}, got shape [0, 4, 0]`,
    ),
    rangeError(
      () => ops.instanceNorm(x, { ...two, weight: new Float32Array(2) }),
      'instanceNorm: "weight" expected shape [3], got [2]',
    ),
    rangeError(
      () => ops.groupNorm(x, { ...image, numGroups: 2, weight: new Float32Array(2) }),
      'groupNorm: "weight" expected shape [6], got [2]',
    ),
    rangeError(
      () => ops.instanceNorm(x, { shape: [1, 2, 3], bias: [1, 2, 3] }),
      'instanceNorm: "bias" expected shape [2], got [3]',
    ),
    rangeError(
      () => ops.instanceNorm(x, { ...two, bias: { data: x.slice(0, 1), dims: [1] } }),
      'instanceNorm: "bias" expected shape [3], got [1]',
    ),
    rangeError(
      () => ops.instanceNorm(x, { ...two, bias: { data: x.slice(0, 1), dims: [] } }),
      'instanceNorm: "bias" expected shape [3], got []',
    ),
  ],
  "norms and windows": [
    typeError(() => ops.lpNormalize(x, { p: "2" }), 'lpNormalize: "p" expected a number, got "2"'),
    ...[0, 3, -1, 0.5, Number.NaN, -Infinity].map((p) =>
      rangeError(
        () => ops.lpNormalize(x, { p }),
        `lpNormalize: "p" expected 1, 2 or Infinity, got ${p}`,
      ),
    ),
    rangeError(
      () => ops.l2Normalize(x, { eps: -1 }),
      'l2Normalize: "eps" expected a finite number >= 0, got -1',
    ),
    ...["l2Normalize", "lpNormalize", "meanVarianceNormalize"].flatMap((op) => [
      rangeError(
        () => ops[op](x, { axes: [] }),
        `${op}: "axes" expected at least one dimension, got []`,
      ),
      rangeError(
        () => ops[op](x, { ...two, axes: [2] }),
        `${op}: "axes" expected an integer from -2 to 1 for shape [2, 3], got 2`,
      ),
      rangeError(
        () => ops[op](x, { ...two, axes: [0, -2] }),
        `${op}: "axes" expected distinct dimensions, got [0, -2]`,
      ),
      rangeError(
        () => ops[op](new Float32Array(), { shape: [2, 0] }),
        `${op}: "x" expected ${EMPTY}, got shape [2, 0]`,
      ),
      rangeError(
        () => ops[op](x, { preset: "caffe" }),
        `${op}: "preset" expected one of "pytorch", "keras", "tensorflow", "flax", "onnx", "bert", "llama", "t5", "gemma", got "caffe"`,
      ),
    ]),
    rangeError(
      () => ops.localResponseNorm(new Float32Array(9000), { shape: [1, 9000], size: 9000 }),
      'localResponseNorm: "size" expected at most 8192 channels in a window, got 9000',
    ),
    typeError(
      () => ops.localResponseNorm(x, two),
      'localResponseNorm: "size" expected a number of channels, got undefined',
    ),
    rangeError(
      () => ops.localResponseNorm(x, { ...two, size: 0 }),
      'localResponseNorm: "size" expected an integer >= 1, got 0',
    ),
    ...["alpha", "beta", "k"].flatMap((name) => [
      typeError(
        () => ops.localResponseNorm(x, { ...two, size: 3, [name]: null }),
        `localResponseNorm: "${name}" expected a number, got null`,
      ),
      rangeError(
        () => ops.localResponseNorm(x, { ...two, size: 3, [name]: Infinity }),
        `localResponseNorm: "${name}" expected a finite number, got Infinity`,
      ),
    ]),
  ],
  "running statistics": [
    typeError(
      () => ops.batchNorm(x, two),
      'batchNorm: "runningMean" expected a tensor, unless training, got none',
    ),
    typeError(
      () => ops.batchNorm(x, { ...two, runningMean: x.slice(0, 3), runningVar: null }),
      'batchNorm: "runningVar" expected a tensor, unless training, got none',
    ),
    typeError(
      () => ops.batchNorm(x, { ...two, runningMean: 0, runningVar: 1 }),
      `batchNorm: "runningMean" expected null, ${KINDS}, got 0`,
    ),
    ...[
      [new Float32Array(2), "[2]"],
      [new Float32Array(1), "[1]"],
      [[[1, 2, 3]], "[1, 3]"],
      [{ data: x, dims: [2, 3] }, "[2, 3]"],
      [{ data: x.slice(0, 1), dims: [1] }, "[1]"],
    ].flatMap(([wrong, got]) =>
      ["runningMean", "runningVar"].map((name) =>
        rangeError(
          () =>
            ops.batchNorm(x, {
              ...two,
              runningMean: [0, 0, 0],
              runningVar: [1, 1, 1],
              [name]: wrong,
            }),
          `batchNorm: "${name}" expected shape [3], got ${got}`,
        ),
      ),
    ),
    ...[
      [1, -0.5, 1],
      Float32Array.of(1, -0.5, 1),
      { data: Uint16Array.of(0, 0xbf00, 0), dims: [3], type: "bfloat16" },
    ].map((runningVar) =>
      rangeError(
        () => ops.batchNorm(x, { ...two, runningMean: [0, 0, 0], runningVar }),
        'batchNorm: "runningVar" expected variances >= 0, got a negative one at 1',
      ),
    ),
    rangeError(
      () => ops.batchNorm(x, { ...two, training: true, runningVar: tensor([0, 0, -Infinity]) }),
      'batchNorm: "runningVar" expected variances >= 0, got a negative one at 2',
    ),
    ...["runningMean", "runningVar"].map((name) =>
      typeError(
        () => ops.batchNorm(x, { ...two, training: true, [name]: [1, 1, 1] }),
        `batchNorm: "${name}" expected elements to update in place, got nested arrays`,
      ),
    ),
    typeError(
      () => ops.batchNorm(x, { ...two, training: 1 }),
      'batchNorm: "training" expected a boolean, got 1',
    ),
    typeError(
      () => ops.batchNorm(x, { ...two, training: true, momentum: null }),
      'batchNorm: "momentum" expected a number, got null',
    ),
    ...[-0.1, 1.5, Number.NaN].map((momentum) =>
      rangeError(
        () => ops.batchNorm(x, { ...two, training: true, momentum }),
        `batchNorm: "momentum" expected a number from 0 to 1, got ${momentum}`,
      ),
    ),
    rangeError(
      () => ops.batchNorm(x, { shape: [1, 6], training: true, runningVar: new Float32Array(6) }),
      'batchNorm: "x" expected more than one value per channel for the unbiased running variance, got shape [1, 6]',
    ),
    rangeError(
      () => ops.batchNorm(x, { ...two, preset: "bert", training: true }),
      'batchNorm: "preset" expected one of "pytorch", "keras", "tensorflow", "flax", "onnx", got "bert", which is for layerNorm, groupNorm, instanceNorm, addLayerNorm, addGroupNorm',
    ),
    rangeError(
      () => ops.groupNorm(x, { ...image, numGroups: 1, preset: "gemma" }),
      'groupNorm: "preset" expected one of "pytorch", "keras", "tensorflow", "flax", "onnx", "bert", got "gemma", which is for rmsNorm, addRmsNorm',
    ),
  ],
  "conditional parameters and activations": [
    ...["scale", "shift"].flatMap((name) => [
      typeError(() => norm({ [name]: "1" }), `layerNorm: "${name}" expected ${PARAMETER}, got "1"`),
      rangeError(
        () => norm({ ...two, [name]: new Float32Array(2) }),
        `layerNorm: "${name}" expected shape [3] or [2, 3], got [2]`,
      ),
      rangeError(
        () => norm({ ...two, [name]: new Float32Array(1) }),
        `layerNorm: "${name}" expected shape [3] or [2, 3], got [1]`,
      ),
      rangeError(
        () => norm({ ...two, [name]: [[1], [2], [3]] }),
        `layerNorm: "${name}" expected shape [3] or [2, 3], got [3, 1]`,
      ),
      rangeError(
        () => norm({ ...two, axis: 0, [name]: { data: new Float32Array(12), dims: [2, 2, 3] } }),
        `layerNorm: "${name}" expected shape [2, 3], got [2, 2, 3]`,
      ),
      rangeError(
        () => ops.layerNorm(x, { shape: [1, 2, 3], [name]: new Float32Array(4) }),
        `layerNorm: "${name}" expected shape [3] or [1, 3] or [1, 2, 3], got [4]`,
      ),
      rangeError(
        () => ops.instanceNorm(x, { shape: [1, 2, 3], [name]: new Float32Array(3) }),
        `instanceNorm: "${name}" expected shape [2] or [1, 2], got [3]`,
      ),
    ]),
    typeError(() => norm({ activation: 1 }), 'layerNorm: "activation" expected a string, got 1'),
    rangeError(
      () => norm({ activation: "swish" }),
      'layerNorm: "activation" expected one of "relu", "silu", "gelu", "gelu_tanh", "sigmoid", "tanh", got "swish"',
    ),
  ],
  "add forms": [
    typeError(
      () => ops.addLayerNorm(x),
      `addLayerNorm: "residual" expected ${KINDS}, got undefined`,
    ),
    typeError(
      () => ops.addLayerNorm(x, null),
      `addLayerNorm: "residual" expected ${KINDS}, got null`,
    ),
    typeError(() => ops.addLayerNorm(x, 1), `addLayerNorm: "residual" expected ${KINDS}, got 1`),
    typeError(
      () => ops.addLayerNorm(x, disposed()),
      'addLayerNorm: "residual" expected a live tensor, got a disposed tensor',
    ),
    rangeError(
      () => ops.addLayerNorm(x, new Float32Array(5)),
      'addLayerNorm: "residual" expected shape [6], got [5]',
    ),
    rangeError(
      () => ops.addLayerNorm(x, new Float32Array(1)),
      'addLayerNorm: "residual" expected shape [6], got [1]',
    ),
    rangeError(
      () => ops.addRmsNorm(x, { data: x, dims: [3, 2] }, two),
      'addRmsNorm: "residual" expected shape [2, 3], got [3, 2]',
    ),
    rangeError(
      () => ops.addRmsNorm(x, { data: x, dims: [1, 2, 3] }, two),
      'addRmsNorm: "residual" expected shape [2, 3], got [1, 2, 3]',
    ),
    rangeError(
      () => ops.addLayerNorm(x, x, { ...two, gate: new Float32Array(2) }),
      'addLayerNorm: "gate" expected shape [3] or [2, 3], got [2]',
    ),
    rangeError(
      () => ops.addLayerNorm(x, x, { ...two, sumBias: new Float32Array(6) }),
      'addLayerNorm: "sumBias" expected shape [3], got [6]',
    ),
    typeError(
      () => ops.addLayerNorm(x, x, { gate: true }),
      `addLayerNorm: "gate" expected ${PARAMETER}, got true`,
    ),
    typeError(
      () => ops.addLayerNorm(x, x, { sumOut: new Float64Array(6) }),
      'addLayerNorm: "sumOut" expected a float32 typed array, got a Float64Array',
    ),
    rangeError(
      () => ops.addLayerNorm(x, x, { sumOut: new Float32Array(5) }),
      'addLayerNorm: "sumOut" expected 6 elements, got 5',
    ),
    typeError(
      () => ops.addLayerNorm([1, 2], [1, 2], { sumOut: new Float64Array(2) }),
      'addLayerNorm: "sumOut" expected no value for nested arrays, got a Float64Array',
    ),
  ],
  "16-bit elements": [
    typeError(
      () => norm({}, new Uint16Array(6)),
      `layerNorm: "x" expected ${KINDS}, got Uint16Array`,
    ),
    typeError(
      () => norm({ weight: new Uint16Array(6) }),
      `layerNorm: "weight" expected ${PARAMETER}, got Uint16Array`,
    ),
    typeError(
      () => norm({}, { data: new Uint16Array(6), dims: [6] }),
      'layerNorm: "x.type" expected "float16" or "bfloat16" for a Uint16Array, got undefined',
    ),
    typeError(
      () => norm({}, { data: new Uint16Array(6), dims: [6], dtype: undefined }),
      'layerNorm: "x.dtype" expected "float16" or "bfloat16" for a Uint16Array, got undefined',
    ),
    typeError(
      () => norm({}, { data: new Uint16Array(6), dims: [6], type: "float32" }),
      'layerNorm: "x.data" expected the typed array of "float32", got Uint16Array',
    ),
    typeError(
      () => norm({}, { data: x, dims: [6], type: "float16" }),
      'layerNorm: "x.data" expected the typed array of "float16", got Float32Array',
    ),
    rangeError(
      () => norm({}, { data: new Uint16Array(6), dims: [6], type: "uint16" }),
      `layerNorm: "x.type" expected one of ${DTYPES}, got "uint16"`,
    ),
    typeError(
      () => norm({ out: new Uint16Array(6) }),
      'layerNorm: "out" expected a float32 typed array, got a Uint16Array',
    ),
    typeError(
      () => norm({ out: x }, { data: new Uint16Array(6), dims: [6], type: "float16" }),
      'layerNorm: "out" expected a float16 typed array, got a Float32Array',
    ),
    typeError(
      () => norm({ out: zeros([6], "bfloat16") }, zeros([6], "float16")),
      'layerNorm: "out" expected a float16 Tensor, got a bfloat16 Tensor',
    ),
    typeError(
      () => norm({ out: new Uint16Array(6) }, zeros([6], "float16")),
      'layerNorm: "out" expected a float16 Tensor, got a Uint16Array',
    ),
    rangeError(
      () =>
        norm({ out: new Uint16Array(5) }, { data: new Uint16Array(6), dims: [6], type: "float16" }),
      'layerNorm: "out" expected 6 elements, got 5',
    ),
    typeError(
      () => norm({}, { data: detached(new Uint16Array(6)), dims: [6], type: "float16" }),
      'layerNorm: "x" expected memory that is there, got a detached Uint16Array',
    ),
  ],
};

for (const [name, rules] of Object.entries(OTHER_RULES)) {
  describe(`wrong ${name} are refused`, () => {
    for (const rule of rules) test(rule.message, () => check(rule));
  });
}

test("nothing was written to x in any of these cases", () => {
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

describe("what is written is apart from what is read", () => {
  const memory = Float32Array.from({ length: 60 }, (_, i) => (i * i) % 7);
  const copy = memory.slice();
  const part = (/** @type {number} */ begin, n = 6) => memory.subarray(begin, begin + n);
  const shape = [2, 3];
  const message = (
    /** @type {string} */ op,
    /** @type {string} */ name,
    /** @type {string} */ other,
    itself = "",
  ) => `${op}: "${name}" expected ${itself}memory apart, got an overlap with "${other}"`;
  const OWN = "x itself or ";
  const BOTH = "x or residual itself or ";
  const far = { shape, runningMean: part(40, 3), runningVar: part(50, 3) };
  /** @type {[() => unknown, string][]} */
  const cases = [
    ...["scale", "shift"].map(
      (name) =>
        /** @type {[() => unknown, string]} */ ([
          () => norm({ out: part(0), [name]: part(4) }, part(20)),
          message("layerNorm", "out", name, OWN),
        ]),
    ),
    [
      () => ops.groupNorm(part(0), { shape, numGroups: 1, out: part(3) }),
      message("groupNorm", "out", "x", OWN),
    ],
    [() => ops.l2Normalize(part(0), { out: part(3) }), message("l2Normalize", "out", "x", OWN)],
    [
      () => ops.localResponseNorm(part(0), { shape, size: 1, out: part(3) }),
      message("localResponseNorm", "out", "x", OWN),
    ],
    ...["out", "sumOut"].flatMap((name) =>
      /** @type {[any, any, any, string][]} */ ([
        [part(0), part(20), {}, "x"],
        [part(20), part(0), {}, "residual"],
        [part(20), part(30), { gate: part(2) }, "gate"],
        [part(20), part(30), { sumBias: part(2) }, "sumBias"],
        [part(20), part(30), { weight: part(3) }, "weight"],
        // The residual repeats, so it is not the one that is written.
        [part(20), part(3, 3), {}, "residual"],
      ]).map(
        ([a, b, options, other]) =>
          /** @type {[() => unknown, string]} */ ([
            () =>
              ops.addLayerNorm(a, b, {
                shape,
                normalizedShape: shape,
                ...options,
                [name]: part(3),
              }),
            message("addLayerNorm", name, other, BOTH),
          ]),
      ),
    ),
    [
      () => ops.addRmsNorm(part(0), part(10), { out: part(0), sumOut: part(0) }),
      message("addRmsNorm", "sumOut", "out"),
    ],
    [
      () => ops.addRmsNorm(part(0), part(10), { out: part(20), sumOut: part(22) }),
      message("addRmsNorm", "sumOut", "out"),
    ],
    ...["runningMean", "runningVar"].flatMap((name) =>
      /** @type {[any, string][]} */ ([
        [{}, "x"],
        [{ weight: part(2, 3) }, "weight"],
        [{ shift: part(2, 3) }, "shift"],
      ]).map(
        ([options, other]) =>
          /** @type {[() => unknown, string]} */ ([
            () =>
              ops.batchNorm(other === "x" ? part(0) : part(20), {
                ...far,
                training: true,
                ...options,
                [name]: part(1, 3),
              }),
            message("batchNorm", name, other),
          ]),
      ),
    ),
    [
      () => ops.batchNorm(part(0), { ...far, training: true, runningVar: part(40, 3) }),
      message("batchNorm", "runningMean", "runningVar"),
    ],
    [
      () => ops.batchNorm(part(0), { ...far, training: true, out: part(38) }),
      message("batchNorm", "out", "runningMean", OWN),
    ],
    [
      () => ops.batchNorm(part(0), { ...far, out: part(48) }),
      message("batchNorm", "out", "runningVar", OWN),
    ],
  ];
  for (const [i, [call, text]] of cases.entries()) {
    test(`${i}: ${text}`, () => {
      check(rangeError(call, text));
      assert.deepEqual(memory, copy);
    });
  }

  test("bits of another element type are not x itself", () => {
    const bits = new Uint16Array(6);
    const residual = { data: bits, dims: [6], type: "bfloat16" };
    const input = { data: new Uint16Array(6), dims: [6], type: "float16" };
    check(
      rangeError(
        () => ops.addLayerNorm(input, residual, { out: bits }),
        message("addLayerNorm", "out", "residual", BOTH),
      ),
    );
  });

  test("but reading twice, running statistics without training and nothing at all are allowed", () => {
    const options = { shape, runningMean: part(0, 3), runningVar: part(0, 3), weight: part(0, 3) };
    assert.equal(ops.batchNorm(part(0), options).length, 6);
    const none = memory.subarray(3, 3);
    assert.equal(layerNorm(none, { shape: [0, 3], out: none, weight: part(2, 3) }), none);
    assert.deepEqual(memory, copy);
  });
});

describe("options", () => {
  test("are an object of their names: what PyTorch takes in order, and a Map, are refused", () => {
    for (const [given, got] of /** @type {[unknown, string][]} */ ([
      [new Map([["eps", 1]]), "a Map"],
      [tensor([1, 1, 1, 1, 1, 1]), "a Tensor"],
      [new Float32Array(6), "Float32Array"],
      [6, "6"],
    ])) {
      const message = `layerNorm: "options" expected an object, got ${got}`;
      assert.throws(() => norm(given), { name: "TypeError", message });
    }
  });

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
    rangeError(() => anyZeros([1], "int8"), `zeros: "dtype" expected one of ${DTYPES}, got "int8"`),
    rangeError(
      () => anyZeros([1], "toString"),
      `zeros: "dtype" expected one of ${DTYPES}, got "toString"`,
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
      `plan: "op" expected one of ${OP_LIST}, got "softmax"`,
    ),
    rangeError(
      () => anyPlan("toString", t()),
      `plan: "op" expected one of ${OP_LIST}, got "toString"`,
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
      () => anyPlan("layerNorm", t(), { axis: 0, weight: tensor([[1], [2]]) }),
      'layerNorm: "weight" expected shape [3, 2], got [2, 1]',
    ),
    typeError(
      () => anyPlan("addLayerNorm", t()),
      `addLayerNorm: "residual" expected ${KINDS}, got undefined`,
    ),
    typeError(
      () => anyPlan("addLayerNorm", t(), x),
      'addLayerNorm: "residual" expected a Tensor, in a plan, got a Float32Array',
    ),
    typeError(
      () => anyPlan("addLayerNorm", t(), t(), { sumOut: new Float32Array(6) }),
      'addLayerNorm: "sumOut" expected a Tensor, in a plan, got a Float32Array',
    ),
    typeError(
      () => anyPlan("addLayerNorm", t(), t(), {}, {}),
      'plan: "options" expected to be the last argument, got 5 arguments',
    ),
    typeError(
      () => anyPlan("batchNorm", t(), { training: true, runningMean: new Float32Array(2) }),
      'batchNorm: "runningMean" expected a Tensor, in a plan, got a Float32Array',
    ),
    typeError(
      () => anyPlan("batchNorm", t(), { training: true, runningVar: [1, 1] }),
      'batchNorm: "runningVar" expected a Tensor, in a plan, got nested arrays',
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
