// backward of layers: gradients against finite differences, how they add up, and training loops that keep no memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import { layerNormBackward, tensor } from "../../dist/index.js";
import {
  BatchNorm,
  ConditionalLayerNorm,
  GroupNorm,
  InstanceNorm,
  LayerNorm,
  RMSNorm,
} from "../../dist/nn.js";
import { Random } from "./data.js";

/** @param {number} n @param {number} seed @returns {Float64Array} */
function normals(n, seed) {
  const random = new Random(seed);
  return Float64Array.from({ length: n }, () => random.normal());
}

/**
 * @typedef {object} Case
 * @property {() => any} make with float64 parameters
 * @property {number[]} dims of x
 * @property {number[]} [condition] its dimensions
 * @property {boolean} [inference]
 */

const float64 = /** @type {const} */ ({ dtype: "float64" });

/** @type {Record<string, Case>} */
const CASES = {
  LayerNorm: { make: () => new LayerNorm([2, 3], float64), dims: [4, 2, 3] },
  "LayerNorm without bias": {
    make: () => new LayerNorm(6, { ...float64, bias: false }),
    dims: [3, 6],
  },
  "LayerNorm without parameters": {
    make: () => new LayerNorm(6, { elementwiseAffine: false }),
    dims: [3, 6],
  },
  RMSNorm: { make: () => new RMSNorm(6, float64), dims: [3, 6] },
  GroupNorm: { make: () => new GroupNorm(2, 4, float64), dims: [2, 4, 3] },
  "GroupNorm, channels last": {
    make: () => new GroupNorm(2, 4, { ...float64, layout: "channels_last" }),
    dims: [2, 3, 4],
  },
  InstanceNorm: { make: () => new InstanceNorm(3, { ...float64, affine: true }), dims: [2, 3, 4] },
  "InstanceNorm with running statistics": {
    make: () => new InstanceNorm(3, { ...float64, trackRunningStats: true }),
    dims: [2, 3, 4],
  },
  "InstanceNorm with running statistics, eval": {
    make: () => new InstanceNorm(3, { ...float64, affine: true, trackRunningStats: true }),
    dims: [2, 3, 4],
    inference: true,
  },
  BatchNorm: { make: () => new BatchNorm(3, float64), dims: [4, 3, 2] },
  "BatchNorm, momentum null": {
    make: () => new BatchNorm(3, { ...float64, momentum: null }),
    dims: [4, 3, 2],
  },
  "BatchNorm, eval": { make: () => new BatchNorm(3, float64), dims: [4, 3, 2], inference: true },
  ConditionalLayerNorm: {
    make: () => new ConditionalLayerNorm(4, 3, { ...float64, elementwiseAffine: true }),
    dims: [2, 5, 4],
    condition: [2, 3],
  },
  "ConditionalLayerNorm, one condition": {
    make: () => new ConditionalLayerNorm([2, 2], 3, float64),
    dims: [3, 2, 2],
    condition: [3],
  },
};

/** @param {number[]} dims */
const sizeOf = (dims) => dims.reduce((a, b) => a * b, 1);

/** @param {Case} testCase */
function prepare({ make, dims, condition, inference }) {
  const layer = make();
  for (const [i, { data }] of layer.parameters().entries()) data.set(normals(data.length, 10 + i));
  if (layer.runningMean) {
    layer.runningMean.data.set(normals(layer.numFeatures, 20));
    layer.runningVar.data.set(normals(layer.numFeatures, 21).map((value) => value ** 2 + 0.5));
  }
  if (inference) layer.eval();
  const x = normals(sizeOf(dims), 1);
  const gradOutput = normals(x.length, 2);
  const conditions = condition ? normals(sizeOf(condition), 3) : undefined;
  const forward = () =>
    layer.forward({ data: x, dims }, ...(conditions ? [{ data: conditions, dims: condition }] : []))
      .data;
  const backward = () => {
    const result = layer.backward({ data: gradOutput, dims });
    return conditions
      ? { gradInput: result.gradInput.data, gradCondition: result.gradCondition.data }
      : { gradInput: result.data };
  };
  return { layer, x, gradOutput, conditions, forward, backward };
}

for (const [name, testCase] of Object.entries(CASES)) {
  test(`${name}: gradients are those of finite differences`, () => {
    const { layer, x, gradOutput, conditions, forward, backward } = prepare(testCase);
    const loss = () => {
      const y = forward();
      return gradOutput.reduce((sum, g, i) => sum + g * y[i], 0);
    };
    forward();
    const { gradInput, gradCondition } = backward();
    /** @type {[string, Float64Array, Float64Array][]} */
    const pairs = [["x", x, gradInput]];
    if (conditions) pairs.push(["condition", conditions, /** @type {any} */ (gradCondition)]);
    for (const { name, data, grad } of layer.parameters()) pairs.push([name, data, grad]);
    const state = layer.stateDict();
    const step = 1e-5;
    for (const [what, values, gradient] of pairs) {
      assert.equal(gradient.length, values.length, what);
      for (let i = 0; i < values.length; i++) {
        const [value] = values.slice(i, i + 1);
        values[i] = value + step;
        const up = loss();
        values[i] = value - step;
        const down = loss();
        values[i] = value;
        // Running statistics move with each forward; they are no part of what is differentiated.
        layer.loadStateDict(state);
        const difference = (up - down) / (2 * step);
        const isClose =
          Math.abs(gradient[i] - difference) <= 1e-7 * Math.max(1, Math.abs(difference));
        assert.ok(isClose, `${what}[${i}]: ${gradient[i]}, by differences ${difference}`);
      }
    }
  });

  test(`${name}: gradients of parameters add up until zeroGrad, and backward changes no state`, () => {
    const { layer, forward, backward } = prepare(testCase);
    forward();
    const state = layer.stateDict();
    backward();
    assert.deepEqual(layer.stateDict(), state);
    const parameters = layer.parameters();
    const once = parameters.map((/** @type {any} */ { grad }) => grad.slice());
    const arrays = parameters.map((/** @type {any} */ { grad }) => grad);
    forward();
    backward();
    for (const [i, { grad }] of parameters.entries()) {
      assert.equal(grad, arrays[i], "the same array");
      for (const [j, value] of grad.entries()) assert.equal(value, 2 * once[i][j]);
    }
    layer.zeroGrad();
    for (const { grad } of parameters) assert.deepEqual(grad, new Float64Array(grad.length));
  });

  test(`${name}: each backward wants a forward before it`, () => {
    const { forward, backward } = prepare(testCase);
    const message = /"backward" expected a forward call before each of its calls, got none$/;
    assert.throws(backward, { name: "TypeError", message });
    forward();
    backward();
    assert.throws(backward, { name: "TypeError", message });
  });
}

test("backward gives x's kind and element type", () => {
  const norm = new LayerNorm(4);
  const values = [3, 5, 2, 8];
  const gradient = [1, 0, 0, -1];
  norm.forward([values]);
  assert.equal(norm.backward([gradient])[0].length, 4);
  norm.forward(Float32Array.from(values));
  const expected = norm.backward(Float32Array.from(gradient));
  assert.ok(expected instanceof Float32Array);
  const [x, g] = [tensor(values), tensor(gradient)];
  const y = norm.forward(x);
  const result = norm.backward(g);
  assert.deepEqual([...result.data], [...expected]);
  for (const each of [x, g, y, result]) each.dispose();
});

test("backward refuses a gradient of another shape, adds nothing, and can then be given the right one", () => {
  const norm = new LayerNorm(4);
  norm.forward([[3, 5, 2, 8]]);
  assert.throws(() => norm.backward([[1, 2, 3]]), /layerNormBackward: "gradOutput"/);
  for (const { grad } of norm.parameters()) assert.deepEqual(grad, new Float32Array(4));
  norm.backward([[1, 2, 3, 4]]);
});

test("gradients of 16-bit parameters are float32, from the parameters' values", () => {
  const weight = [1, 2, 0.5, -1];
  const x = Float32Array.of(3, 5, 2, 8);
  const g = Float32Array.of(1, -2, 3, 0.5);
  const expected = layerNormBackward(g, x, {
    weight: Float32Array.from(weight),
    bias: new Float32Array(4),
  });
  for (const dtype of /** @type {const} */ (["float16", "bfloat16"])) {
    const norm = new LayerNorm(4, { dtype });
    norm.loadStateDict({ weight, bias: [0, 0, 0, 0] });
    norm.forward(x);
    assert.deepEqual(norm.backward(g), expected.gradInput);
    assert.deepEqual(norm.weight?.grad, expected.gradWeight);
    assert.deepEqual(norm.bias?.grad, expected.gradBias);
  }
});

test("a layer learns: gradient descent finds the weight and bias that made a target", () => {
  const norm = new LayerNorm(4, float64);
  const [weight, bias] = [normals(4, 1), normals(4, 2)];
  const x = normals(64, 3);
  const teacher = new LayerNorm(4, float64);
  teacher.loadStateDict({ weight, bias });
  const target = teacher.forward(x);
  for (let step = 0; step < 300; step++) {
    const y = norm.forward(x);
    norm.zeroGrad();
    norm.backward(y.map((value, i) => (value - target[i]) / 16));
    for (const { data, grad } of norm.parameters()) {
      for (let i = 0; i < data.length; i++) data[i] -= 0.3 * grad[i];
    }
  }
  for (let i = 0; i < 4; i++) {
    assert.ok(Math.abs(/** @type {any} */ (norm.weight).data[i] - weight[i]) <= 1e-9);
    assert.ok(Math.abs(/** @type {any} */ (norm.bias).data[i] - bias[i]) <= 1e-9);
  }
});

test("10^5 training steps leave wasm memory where it was", () => {
  const resident = tensor([3, 5, 2, 8, 1, 2], [1, 6]);
  const before = resident.data.buffer.byteLength;
  const x = Float32Array.of(3, 5, 2, 8, 1, 2);
  const layers = [
    new LayerNorm(6),
    new RMSNorm(6),
    new GroupNorm(2, 6),
    new InstanceNorm(2, { affine: true, trackRunningStats: true }),
    new BatchNorm(2, { momentum: null }),
    new LayerNorm(6, { dtype: "bfloat16" }),
    new ConditionalLayerNorm(6, 1),
  ];
  const input = { data: x, dims: [1, 2, 3] };
  const row = { data: x, dims: [1, 6] };
  const step = (/** @type {number} */ i) => {
    const layer = /** @type {any} */ (layers[i % layers.length]);
    const own = layer instanceof GroupNorm || "numFeatures" in layer === false ? row : input;
    if (layer instanceof ConditionalLayerNorm) layer.forward(own, [1]);
    else layer.forward(own);
    layer.backward(own);
    layer.zeroGrad();
  };
  const heap = () => process.memoryUsage().arrayBuffers;
  for (let i = 0; i < 1000; i++) step(i);
  const arrays = heap();
  for (let i = 0; i < 100_000; i++) step(i);
  assert.equal(resident.data.buffer.byteLength, before);
  assert.ok(heap() - arrays < 64 * 2 ** 20, "typed arrays are collected");
  const norm = new LayerNorm(6);
  for (let i = 0; i < 20_000; i++) {
    const y = norm.forward(resident);
    const g = norm.backward(y);
    y.dispose();
    g.dispose();
  }
  assert.equal(resident.data.buffer.byteLength, before);
  for (const layer of layers) layer.dispose();
});
