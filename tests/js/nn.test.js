/** Layers that own their parameters: construction, forward, printing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import {
  batchNorm,
  groupNorm,
  instanceNorm,
  layerNorm,
  rmsNorm,
  tensor,
} from "../../dist/index.js";
import {
  BatchNorm,
  ConditionalLayerNorm,
  GroupNorm,
  InstanceNorm,
  LayerNorm,
  RMSNorm,
} from "../../dist/nn.js";
import { assertClose, LAYERS, normals, STATE } from "./nn_layers.js";

for (const [name, make] of Object.entries(LAYERS)) {
  test(`${name} has PyTorch's state, and parameters with gradients of 0`, () => {
    const layer = make();
    assert.deepEqual(Object.keys(layer.stateDict()), STATE[name]);
    assert.equal(layer.training, true);
    const parameters = layer.parameters();
    assert.deepEqual(
      parameters.map((/** @type {any} */ parameter) => parameter.name),
      STATE[name].filter((each) => !/running|num/.test(each)),
    );
    for (const { name: own, data, grad, shape, dtype } of parameters) {
      assert.deepEqual(data, new Float32Array(data.length).fill(own === "weight" ? 1 : 0), own);
      assert.deepEqual(grad, new Float32Array(data.length));
      assert.equal(
        shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b),
        data.length,
      );
      assert.equal(dtype, "float32");
    }
  });
}

test("options leave parameters and buffers out, as PyTorch's do", () => {
  const keys = (/** @type {any} */ layer) => Object.keys(layer.stateDict());
  assert.deepEqual(keys(new LayerNorm(4, { bias: false })), ["weight"]);
  assert.deepEqual(keys(new LayerNorm(4, { elementwiseAffine: false })), []);
  assert.deepEqual(keys(new RMSNorm(4, { elementwiseAffine: false })), []);
  assert.deepEqual(keys(new GroupNorm(2, 4, { affine: false })), []);
  assert.deepEqual(keys(new InstanceNorm(4)), []);
  assert.deepEqual(keys(new BatchNorm(4, { affine: false })), STATE.BatchNorm.slice(2));
  assert.deepEqual(keys(new BatchNorm(4, { trackRunningStats: false })), ["weight", "bias"]);
  assert.deepEqual(keys(new ConditionalLayerNorm(4, 3, { bias: false })), [
    "scale.weight",
    "shift.weight",
  ]);
});

test("constructors take PyTorch's order too", () => {
  const norm = new LayerNorm([2, 3], 1e-6, true, false, "float64");
  assert.deepEqual(norm.normalizedShape, [2, 3]);
  assert.equal(norm.eps, 1e-6);
  assert.equal(norm.bias, null);
  assert.deepEqual(norm.weight?.data, new Float64Array(6).fill(1));
  assert.equal(new RMSNorm(4, null).eps, null);
  assert.equal(new RMSNorm(4, 1e-6, false).weight, null);
  assert.equal(new GroupNorm(2, 4, 1e-3, false).weight, null);
  const batch = new BatchNorm(4, 1e-3, null, false, false);
  assert.deepEqual(
    [batch.eps, batch.momentum, batch.weight, batch.runningMean],
    [1e-3, null, null, null],
  );
});

/** @type {[make: () => unknown, type: ErrorConstructor, message: RegExp][]} */
const WRONG = [
  [() => new LayerNorm(/** @type {any} */ ("4")), TypeError, /^LayerNorm: "normalizedShape" exp/],
  [() => new LayerNorm(0), RangeError, /^LayerNorm: "normalizedShape" expected one or more/],
  [() => new LayerNorm([]), RangeError, /^LayerNorm: "normalizedShape" .* got \[\]$/],
  [
    () => new LayerNorm(4, { eps: -1 }),
    RangeError,
    /^LayerNorm: "eps" expected a finite number >= 0/,
  ],
  [
    () => new LayerNorm(4, /** @type {any} */ ({ epsilon: 1 })),
    TypeError,
    /^LayerNorm: "options" expected only eps, elementwiseAffine, bias, dtype, got "epsilon"$/,
  ],
  [
    () => new LayerNorm(4, /** @type {any} */ ({ bias: 1 })),
    TypeError,
    /"bias" expected a boolean/,
  ],
  [() => new LayerNorm(4, /** @type {any} */ ({ dtype: "int8" })), RangeError, /"dtype" expected/],
  [() => new RMSNorm(4, /** @type {any} */ ({ bias: true })), TypeError, /got "bias"/],
  [() => new GroupNorm(3, 4), RangeError, /^GroupNorm: "numGroups" expected a divisor of 4/],
  [() => new GroupNorm(0, 4), RangeError, /^GroupNorm: "numGroups" expected an integer >= 1/],
  [() => new BatchNorm(0), RangeError, /^BatchNorm: "numFeatures"/],
  [() => new BatchNorm(4, { momentum: 2 }), RangeError, /^BatchNorm: "momentum" .* 0 to 1, got 2/],
  [() => new ConditionalLayerNorm(4, 0), RangeError, /^ConditionalLayerNorm: "conditionFeatures"/],
  [() => new LayerNorm(4, .../** @type {any} */ ([1, true, true, "float32", 5])), TypeError, /5/],
];

test("constructors refuse what is wrong, in the package's grammar", () => {
  for (const [make, type, message] of WRONG) assert.throws(make, { name: type.name, message });
});

test("forward is the operation with the layer's parameters", () => {
  const data = normals(2 * 4 * 6);
  const x = { data, dims: [2, 4, 6], type: "float32" };
  const weight = normals(4, 2);
  const bias = normals(4, 3);
  const rows = { data, dims: [12, 4], type: "float32" };
  const load = (/** @type {any} */ layer) => {
    layer.loadStateDict({ weight, bias }, { strict: false });
    return layer;
  };
  assert.deepEqual(load(new LayerNorm(4)).forward(rows), layerNorm(rows, { weight, bias }));
  assert.deepEqual(
    load(new RMSNorm(4)).forward(rows),
    rmsNorm(rows, { weight, preset: "pytorch" }),
  );
  assert.deepEqual(
    load(new RMSNorm(4, { eps: 1e-6 })).forward(rows),
    rmsNorm(rows, { weight, eps: 1e-6 }),
  );
  assert.deepEqual(
    load(new GroupNorm(2, 4)).forward(x),
    groupNorm(x, { numGroups: 2, weight, bias }),
  );
  assert.deepEqual(load(new InstanceNorm(4)).forward(x), instanceNorm(x));
  assert.deepEqual(
    load(new InstanceNorm(4, { affine: true })).forward(x),
    instanceNorm(x, { weight, bias }),
  );
  assert.deepEqual(
    load(new BatchNorm(4)).forward(x),
    batchNorm(x, { weight, bias, training: true }),
  );
  const last = { data, dims: [2, 6, 4] };
  const layout = "channels_last";
  assert.deepEqual(
    load(new GroupNorm(2, 4, { layout })).forward(last),
    groupNorm(last, { numGroups: 2, weight, bias, layout }),
  );
});

test("forward takes every kind of x and gives it back", () => {
  const values = [3, 5, 2, 8];
  const expected = layerNorm(values);
  const norm = new LayerNorm(4);
  assert.deepEqual(norm.forward([values]), [expected]);
  assert.ok(norm.forward(Float64Array.from(values)) instanceof Float64Array);
  assert.deepEqual(norm.forward({ data: Float32Array.from(values), shape: [4] }).shape, [4]);
  const x = tensor(values);
  const y = norm.forward(x);
  assertClose(y.data, expected, 1e-6);
  for (const each of [x, y]) each.dispose();
  const batch = new GroupNorm(2, 4);
  assert.equal(batch.forward(Float32Array.from(values), { shape: [1, 4] }).length, 4);
  assert.throws(() => batch.forward(Float32Array.from(values)), /groupNorm: "shape" expected/);
});

test("layers with channels refuse another number of them", () => {
  const x = [[1, 2, 3]];
  for (const make of [LAYERS.GroupNorm, LAYERS.BatchNorm, () => new InstanceNorm(4)]) {
    assert.throws(() => make().forward(x), {
      name: "RangeError",
      message: /"x" expected 4 channels, got 3$/,
    });
  }
  assert.throws(
    () => new LayerNorm(4).forward(x),
    /layerNorm: "normalizedShape" expected trailing/,
  );
});

test("parameters of 16 bits are used and loaded as their values", () => {
  for (const dtype of /** @type {const} */ (["float16", "bfloat16"])) {
    const norm = new LayerNorm(4, { dtype });
    const x = Float32Array.of(3, 5, 2, 8);
    assert.deepEqual(norm.forward(x), layerNorm(x));
    norm.loadStateDict({ weight: [1, 2, 0.5, 4], bias: Float64Array.of(1, 0, -1, 0) });
    const expected = layerNorm(x, { weight: [1, 2, 0.5, 4], bias: [1, 0, -1, 0] });
    assert.deepEqual(norm.forward(x), expected);
    const other = new LayerNorm(4);
    other.loadStateDict(norm.stateDict());
    assert.deepEqual(other.weight?.data, Float32Array.of(1, 2, 0.5, 4));
  }
});

test("ConditionalLayerNorm is its formula", () => {
  const norm = new ConditionalLayerNorm([2, 3], 4, { elementwiseAffine: true });
  const x = { data: normals(2 * 5 * 6), dims: [2, 5, 2, 3] };
  const condition = [...normals(8, 2)];
  const affine = {
    weight: [
      [1, 2, 3],
      [4, 5, 6],
    ],
    bias: [
      [1, 1, 1],
      [0, 0, 0],
    ],
  };
  assert.deepEqual(
    new ConditionalLayerNorm([2, 3], 4).forward(x, Float64Array.from(condition)).data,
    layerNorm(x, { normalizedShape: [2, 3] }).data,
    "it begins as plain layer normalization",
  );
  const state = Object.fromEntries(
    ["scale", "shift"].map((name, i) => [
      name,
      { weight: [...normals(24, 3 + i)], bias: [...normals(6, 5 + i)] },
    ]),
  );
  norm.loadStateDict({
    ...affine,
    ...Object.fromEntries(
      Object.entries(state).flatMap(([name, { weight, bias }]) => [
        [`${name}.weight`, { data: Float32Array.from(weight), dims: [6, 4] }],
        [`${name}.bias`, Float32Array.from(bias)],
      ]),
    ),
  });
  const maps = Object.fromEntries(
    Object.entries(state).map(([name, { weight, bias }]) => [
      name,
      {
        data: Float64Array.from({ length: 12 }, (_, i) => {
          const [n, f] = [Math.floor(i / 6), i % 6];
          let sum = bias[f];
          for (let c = 0; c < 4; c++) sum += weight[f * 4 + c] * condition[n * 4 + c];
          return sum;
        }),
        dims: [2, 2, 3],
      },
    ]),
  );
  const expected = layerNorm(x, { normalizedShape: [2, 3], ...affine, ...maps });
  assert.deepEqual(norm.forward(x, Float64Array.from(condition)), expected);
  assert.deepEqual(norm.forward(x, [condition.slice(0, 4), condition.slice(4)]), expected);
  for (const wrong of [[1, 2, 3], [[1, 2, 3]], Float32Array.of(1, 2, 3, 4, 5), [[[1, 2, 3, 4]]]]) {
    assert.throws(() => norm.forward(x, /** @type {any} */ (wrong)), {
      name: "RangeError",
      message: /^ConditionalLayerNorm: "condition" expected shape \[N, 4\] or \[4\], got/,
    });
  }
});

test("layers and parameters say what they are when they are printed", () => {
  const text = inspect(new RMSNorm(2), { breakLength: Infinity });
  const data = "data: Float32Array(2) [ 1, 1 ]";
  const weight = `Parameter { name: 'weight', shape: [ 2 ], dtype: 'float32', ${data} }`;
  assert.equal(
    text,
    `RMSNorm { training: true, normalizedShape: [ 2 ], eps: null, weight: ${weight} }`,
  );
  assert.equal(`${new LayerNorm(2)}`, "[object LayerNorm]");
});
