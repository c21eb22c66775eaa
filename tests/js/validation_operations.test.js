/** Error rules of the other operations and options, each by its operation. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as layernorm from "../../dist/index.js";
import { tensor, zeros } from "../../dist/index.js";
import {
  check,
  DTYPES,
  detached,
  disposed,
  EPILOGUE,
  KINDS,
  LAYER_OPTIONS,
  norm,
  PARAMETER,
  rangeError,
  typeError,
  x,
} from "./rules.js";

/** @typedef {import("./rules.js").Rule} Rule */

const before = x.slice();

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
