/** What holds of gradients on a GPU beside exactness: limits, encoders, kinds of parameters, NaN, empty batches, long runs, errors. */
import assert from "node:assert/strict";
import test, { after } from "node:test";
import * as layernorm from "../../dist/index.js";
import { WebGpuNorm } from "../../dist/webgpu.js";
import { makeBackwardCase } from "../js/backward_cases.js";

import { judgeGradients } from "../js/exact_backward.js";
import { load, store } from "../js/half.js";
import { adapter, skip } from "./adapter.js";
import { gradientsOnGpu, limited, normal, read } from "./cases.js";

const norm = /** @type {any} */ (skip ? undefined : await WebGpuNorm.create({ adapter }));
after(() => norm?.dispose());

/** No type tells what each kind of x gives. @type {any} */
const ops = layernorm;

/** @param {any} on @param {Record<string, any>} result */
async function readAll(on, result) {
  /** @type {Record<string, any>} */
  const values = {};
  for (const [name, tensor] of Object.entries(result)) {
    values[name] = tensor && (await read(on, tensor));
    tensor?.dispose();
  }
  return values;
}

/** Gradients near those of wasm, by the largest of each. @param {any} got @param {any} expected @param {number} most @param {string} where */
function assertNear(got, expected, most, where) {
  for (const [name, values] of Object.entries(expected)) {
    if (values === null) assert.equal(got[name], null, `${where}: ${name}`);
    else {
      assert.equal(got[name].length, values.length, `${where}: ${name}`);
      const largest = values.reduce(
        (/** @type {number} */ a, /** @type {number} */ b) => Math.max(a, Math.abs(b)),
        1e-30,
      );
      for (let i = 0; i < values.length; i++) {
        const error = Math.abs(got[name][i] - values[i]) / largest;
        assert.ok(
          error <= most,
          `${where}: ${name} ${i} got ${got[name][i]}, expected ${values[i]}`,
        );
      }
    }
  }
}

for (const dtype of /** @type {const} */ (["float32", "float16", "bfloat16"])) {
  test(`gradients are those of wasm where tensors are larger than a binding and workgroups too many (${dtype})`, {
    skip,
  }, async () => {
    const small = limited(norm, {
      maxStorageBufferBindingSize: 4096,
      maxComputeWorkgroupsPerDimension: 5,
    });
    const shapes = {
      float32: [
        [7, 1025],
        [2, 5001],
      ],
      float16: [[3, 1026]],
      bfloat16: [[3, 1025]],
    }[dtype];
    for (const shape of shapes) {
      const [rows, features] = shape;
      const x = store(normal(rows * features, features), dtype);
      const grad = store(normal(rows * features, 3), dtype);
      const like = (/** @type {any} */ data) => ({ data, dims: shape, type: dtype });
      const weight = normal(features, 7);
      for (const options of [
        { weight, bias: normal(features, 8) },
        { axes: [0], shift: normal(rows, 1), activation: "silu" },
      ]) {
        const result = small.layerNormBackward(
          norm.tensor(grad, shape, dtype),
          norm.tensor(x, shape, dtype),
          options,
        );
        const expected = ops.layerNormBackward(like(grad), like(x), options);
        expected.gradInput = load(expected.gradInput.data, dtype);
        const most = { float32: 2e-6, float16: 2e-3, bfloat16: 0.01 }[dtype];
        assertNear(
          await readAll(norm, result),
          expected,
          most,
          `[${shape}] ${Object.keys(options)}`,
        );
      }
    }
  });
}

test("gradients of 70,000 runs, whose parameters' sums are long", { skip }, async () => {
  const shape = [70_000, 12];
  const [x, grad] = [normal(840_000, 1), normal(840_000, 2)];
  const options = { weight: normal(12, 3), bias: normal(12, 4), scale: 0.5 };
  const result = norm.layerNormBackward(norm.tensor(grad, shape), norm.tensor(x, shape), options);
  const got = await readAll(norm, result);
  const { gradScale, ...expected } = ops.layerNormBackward(grad, x, { shape, ...options });
  assertNear(got, { ...expected, gradScale: [gradScale] }, 1e-6, "rows");
});

test("gradients of long runs are within the bounds (seed 2)", { skip }, async () => {
  for (const [name, dims, options] of /** @type {any[]} */ ([
    ["layerNorm", [2, 30_000], {}],
    ["rmsNorm", [1, 30_001], {}],
    ["groupNorm", [1, 4, 10_000], { numGroups: 2 }],
    ["layerNorm", [20_000, 2], { axes: [0] }],
  ])) {
    for (const family of ["normal", "mean1e4", "twoRare"]) {
      if (family === "twoRare" && dims[0] !== 2) continue;
      const axes = name === "groupNorm" ? undefined : (options.axes ?? [1]);
      const layout = { name: "long", dims, axes, numGroups: options.numGroups, options };
      const made = makeBackwardCase({
        name,
        layout,
        dtype: "float32",
        family,
        kind: "weightBias",
        seed: 2,
        gradient: "normal",
      });
      const found = judgeGradients(made.problem, await gradientsOnGpu(norm, made));
      assert.ok(
        found.error <= 1,
        `${name} ${family} [${dims}]: ${found.where} got ${found.got}, expected ${found.expected}, ${found.error} of its bound`,
      );
    }
  }
});

test("gradients of parameters are tensors on the GPU, whatever the parameters are", {
  skip,
}, async () => {
  const shape = [2, 3];
  const [x, grad] = [norm.tensor(normal(6, 1), shape), norm.tensor(normal(6, 2), shape)];
  const half = norm.tensor([1, 2, 3], [3], "bfloat16");
  const result = norm.layerNormBackward(grad, x, { weight: half, bias: [[1, 1, 1]], scale: 2 });
  assert.deepEqual([result.gradWeight.dtype, result.gradWeight.shape], ["bfloat16", [3]]);
  assert.deepEqual([result.gradBias.dtype, result.gradBias.shape], ["float32", [1, 3]]);
  assert.deepEqual([result.gradScale.dtype, result.gradScale.shape], ["float32", [1]]);
  assert.equal(result.gradShift, null);
  const expected = ops.layerNormBackward(normal(6, 2), normal(6, 1), {
    shape,
    weight: [1, 2, 3],
    bias: [1, 1, 1],
    scale: 2,
  });
  const got = await readAll(norm, result);
  assertNear(
    got,
    { gradBias: expected.gradBias, gradScale: [expected.gradScale] },
    1e-6,
    "bias and scale",
  );
  assertNear(got, { gradWeight: expected.gradWeight }, 0.01, "weight");
});

test("gradients are recorded into the caller's encoder and pass, with statistics of the forward call", {
  skip,
}, async () => {
  const shape = [4, 10];
  const [values, gradients] = [normal(40, 1), normal(40, 2)];
  const x = norm.tensor(values, shape);
  const weight = norm.tensor(normal(10, 3));
  const encoder = norm.device.createCommandEncoder();
  const { mean, rstd } = norm.layerNorm(x, { weight, returnStats: true, encoder });
  const pass = encoder.beginComputePass();
  const grad = norm.tensor(gradients, shape);
  const result = norm.layerNormBackward(grad, x, { weight, mean, rstd, encoder: pass });
  pass.end();
  norm.device.queue.submit([encoder.finish()]);
  const expected = ops.layerNormBackward(gradients, values, { shape, weight: normal(10, 3) });
  assertNear(await readAll(norm, result), expected, 2e-6, "recorded");
});

test("NaN in a run leaves the gradients of the others, and an empty batch has none", {
  skip,
}, async () => {
  const shape = [3, 40];
  const [values, gradients] = [normal(120, 1), normal(120, 2)];
  values[50] = Number.NaN;
  const { gradInput } = norm.layerNormBackward(
    norm.tensor(gradients, shape),
    norm.tensor(values, shape),
    { weight: 2 },
  );
  const got = await read(norm, gradInput);
  const expected = ops.layerNormBackward(gradients, values, { shape, weight: 2 }).gradInput;
  for (const i of [0, 20, 39, 80, 119]) assert.ok(Math.abs(got[i] - expected[i]) < 1e-5, `${i}`);
  const empty = norm.layerNormBackward(norm.tensor([], [0, 4]), norm.tensor([], [0, 4]), {
    bias: [1, 2, 3, 4],
  });
  assert.deepEqual(empty.gradInput.shape, [0, 4]);
  assert.deepEqual([...(await read(norm, empty.gradBias))], [0, 0, 0, 0]);
});

test("a constant run has the gradient 0 with eps 0", { skip }, async () => {
  const shape = [2, 5];
  const x = norm.tensor([0.1, 0.1, 0.1, 0.1, 0.1, 1, 2, 3, 4, 6], shape);
  const { gradInput } = norm.layerNormBackward(norm.tensor(normal(10, 1), shape), x, { eps: 0 });
  const got = await read(norm, gradInput);
  assert.ok(got.subarray(0, 5).every((/** @type {number} */ v) => v === 0));
  assert.ok(got[5] !== 0);
});

test("arguments of gradients are checked before anything is written", { skip }, () => {
  const x = norm.tensor(normal(6, 1), [2, 3]);
  const grad = norm.tensor(normal(6, 1), [3, 2]);
  /** @type {[() => unknown, RegExp][]} */
  const cases = [
    [
      () => norm.layerNormBackward(grad, x),
      /^RangeError: layerNormBackward: "gradOutput" expected shape \[2, 3\], got \[3, 2\]/,
    ],
    [
      () => norm.rmsNormBackward(normal(6, 1), x),
      /^TypeError: rmsNormBackward: "gradOutput" expected a tensor on the GPU/,
    ],
    [
      () => norm.layerNormBackward(x, x, { out: x }),
      /^TypeError: layerNormBackward: "options" expected only/,
    ],
    [
      () => norm.layerNormBackward(x, x, { mean: [0, 0] }),
      /^TypeError: layerNormBackward: "rstd" expected a tensor beside "mean", got none/,
    ],
    [() => norm.groupNormBackward(x, x, {}), /^TypeError: groupNormBackward: "numGroups" expected/],
  ];
  for (const [call, message] of cases) assert.throws(call, message);
});
