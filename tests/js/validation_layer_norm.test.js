/** Error rules of layerNorm: the exact class and message, and that nothing was written before it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { rmsNorm, zeros } from "../../dist/index.js";
import {
  ARRAYS,
  check,
  cycle,
  DESTINATION,
  DTYPES,
  detached,
  disposed,
  KINDS,
  LAYER_OPTIONS,
  norm,
  outOfBounds,
  PARAMETER,
  rangeError,
  typeError,
  x,
} from "./rules.js";

/** @typedef {import("./rules.js").Rule} Rule */

const before = x.slice();

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
