/** layernorm/auto picks what computes, and gives the same either way. */
import assert from "node:assert/strict";
import test, { after } from "node:test";
import * as layernorm from "../../dist/index.js";
import { Random } from "../js/data.js";
import { store } from "../js/half.js";
import { gpu, skip } from "./adapter.js";
import { limited } from "./cases.js";

/** Node's navigator has no gpu. @type {any} */
const own = { gpu: undefined };
Object.defineProperty(globalThis, "navigator", { value: own, configurable: true });
const auto = /** @type {any} */ (await import("../../dist/auto.js"));
const ops = /** @type {any} */ (layernorm);
after(async () => {
  if (skip) return;
  (await auto.webgpu()).dispose();
});

const random = new Random(1);
const values = Float32Array.from({ length: 60 }, () => random.normal());

test("without WebGPU all is wasm's, and asking for it rejects", async () => {
  const y = await auto.layerNorm(values, { shape: [6, 10] });
  assert.deepEqual(y, ops.layerNorm(values, { shape: [6, 10] }));
  await assert.rejects(
    auto.layerNorm(values, { backend: "webgpu" }),
    /^Error: layernorm\/auto: there is no WebGPU, or it has no adapter here/,
  );
  await assert.rejects(
    auto.layerNorm(values, { backend: "gpu" }),
    /^RangeError: layerNorm: "backend" expected one of "wasm", "webgpu", got "gpu"/,
  );
  await assert.rejects(
    auto.layerNorm(values, { backnd: "webgpu" }),
    /^TypeError: layerNorm: "options" expected only backend, shape, .*, got "backnd"$/,
  );
  const inherited = Object.create({ backend: "webgpu", wrong: 1 });
  assert.deepEqual(await auto.layerNorm(values, inherited), ops.layerNorm(values));
  await assert.rejects(auto.layerNorm(), /^TypeError: layerNorm: "x" expected/);
});

test("large values are wasm's too where the adapter is a CPU", { skip }, async () => {
  let asked = 0;
  own.gpu = {
    requestAdapter: async (/** @type {any} */ options) => {
      asked++;
      return gpu.requestAdapter(options);
    },
  };
  const { isFallbackAdapter } = (await gpu.requestAdapter()).info;
  const large = new Float32Array(auto.THRESHOLD_BYTES.arithmetic / 4).fill(1);
  const options = { shape: [1, 1024, large.length / 1024], size: 3 };
  const y = await auto.localResponseNorm(large, options);
  assert.equal(asked, 1);
  if (isFallbackAdapter) assert.deepEqual(y, ops.localResponseNorm(large, options));
  assert.equal(y.length, large.length);
});

/** @param {ArrayLike<number>} got @param {ArrayLike<number>} expected @param {number} [most] */
function assertClose(got, expected, most = 2e-6) {
  assert.equal(got.length, expected.length);
  for (let i = 0; i < got.length; i++)
    assert.ok(Math.abs(got[i] - expected[i]) <= most, `${i}: ${got[i]}, ${expected[i]}`);
}

test("asked for, the GPU gives x's kind back", { skip }, async () => {
  const weight = values.slice(0, 10);
  for (const options of [
    { shape: [6, 10], weight },
    { normalizedShape: 10, weight, bias: 1, scale: 0.5 },
    { normalizedShape: 60 },
  ]) {
    const y = await auto.layerNorm(values, { ...options, backend: "webgpu" });
    assert.ok(y instanceof Float32Array);
    assertClose(y, ops.layerNorm(values, options));
  }
  const like = { data: store(values, "float16"), dims: [6, 10], type: "float16" };
  const y = await auto.rmsNorm(like, { backend: "webgpu" });
  assert.deepEqual(Object.keys(y), ["data", "dims", "type"]);
  assert.ok(y.data instanceof Uint16Array);
  assert.deepEqual([y.dims, y.type], [[6, 10], "float16"]);
  const out = new Float32Array(60);
  const sumOut = new Float32Array(60);
  const result = await auto.addLayerNorm(values, values, {
    shape: [6, 10],
    out,
    sumOut,
    returnStats: true,
    backend: "webgpu",
  });
  assert.equal(result.output, out);
  assert.equal(result.sum, sumOut);
  assert.ok(result.mean instanceof Float64Array && result.mean.length === 6);
  const expected = ops.addLayerNorm(values, values, { shape: [6, 10] });
  assertClose(out, expected.output);
  assert.deepEqual(sumOut, expected.sum);
});

test("what the GPU does not have is refused when it is asked for, and wasm's otherwise", {
  skip,
}, async () => {
  const message =
    /^TypeError: layerNorm: "backend" expected "wasm" for float64, nested or resident values and for training/;
  await assert.rejects(auto.layerNorm(new Float64Array(4), { backend: "webgpu" }), message);
  await assert.rejects(auto.layerNorm([[1, 2]], { backend: "webgpu" }), message);
  await assert.rejects(auto.layerNorm(layernorm.zeros([2, 2]), { backend: "webgpu" }), message);
  const out = layernorm.zeros([60]);
  await assert.rejects(auto.layerNorm(values, { out, backend: "webgpu" }), message);
  assert.deepEqual(await auto.layerNorm([[1, 2]]), ops.layerNorm([[1, 2]]));
  await assert.rejects(
    auto.layerNorm(values, { backend: "webgpu", shape: [7, 10] }),
    /^RangeError: layerNorm: "x" expected 70 elements/,
  );
  await assert.rejects(
    auto.layerNorm(values, { backend: "webgpu", out: new Float32Array(3) }),
    /^RangeError: layerNorm: "out" expected 60 elements/,
  );
});

test("on the way to the GPU all is checked as it is for wasm", { skip }, async () => {
  const like = { data: values, dims: [6, 10], type: "float32" };
  const turned = { ...like, dims: [10, 6] };
  const memory = new Float32Array(100);
  const head = memory.subarray(0, 60);
  const gone = new Float32Array(4);
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  const { device } = await auto.webgpu();
  const encoder = device.createCommandEncoder();
  for (const [op, inputs, options] of /** @type {[string, any[], any][]} */ ([
    ["layerNorm", [like], { shape: [10, 6] }],
    ["layerNorm", [values], { shape: "60" }],
    ["layerNorm", [values], { shape: 60 }],
    ["layerNorm", [values], { shape: [-6, -10] }],
    ["groupNorm", [values], { numGroups: 2 }],
    ["layerNorm", [gone], {}],
    ["layerNorm", [head], { out: memory.subarray(10, 70) }],
    ["layerNorm", [values], { weight: head, out: head }],
    ["addRmsNorm", [like, like], { out: head, sumOut: head }],
    ["addLayerNorm", [like, turned], {}],
    ["addLayerNorm", [values, null], {}],
    ["layerNormBackward", [turned, like], {}],
    ["rmsNormBackward", [undefined, like], {}],
    // What is only there with x on the GPU: nobody would submit it.
    ["layerNorm", [values], { encoder }],
    ["layerNorm", [values], { allocate: () => undefined }],
    ["layerNorm", [values], { epsilon: 1 }],
    ["layerNorm", [values], null],
  ])) {
    const errors = [];
    for (const given of [options, options && { ...options, backend: "webgpu" }]) {
      errors.push(await auto[op](...inputs, given).then(() => "none", String));
    }
    assert.match(errors[0], /^(Type|Range)Error: /);
    assert.equal(errors[1], errors[0]);
  }
  assert.ok(memory.every((v) => v === 0));
  for (const [backend, got] of [
    [null, "null"],
    [5, "5"],
    [{}, "an object"],
  ]) {
    await assert.rejects(auto.layerNorm(values, { backend }), {
      name: "TypeError",
      message: `layerNorm: "backend" expected a string, got ${got}`,
    });
  }
});

test("a residual that broadcasts, or has a dtype of its own, goes to the GPU with x", {
  skip,
}, async () => {
  const norm = await auto.webgpu();
  const like = { data: values, dims: [6, 10], type: "float32" };
  let submitted = 0;
  const queue = withOwn(norm.device.queue, {
    submit: (/** @type {any} */ buffers) => {
      submitted++;
      norm.device.queue.submit(buffers);
    },
  });
  await auto.webgpu(withOwn(norm.device, { queue }));
  for (const residual of [
    { data: values.slice(0, 10), dims: [10], type: "float32" },
    { data: store(values, "float16"), dims: [6, 10], type: "float16" },
  ]) {
    submitted = 0;
    const got = await auto.addLayerNorm(like, residual, { backend: "webgpu" });
    assert.ok(submitted > 0);
    const expected = ops.addLayerNorm(like, residual);
    assertClose(got.sum.data, expected.sum.data);
    assertClose(got.output.data, expected.output.data);
  }
  await auto.webgpu(norm.device);
});

const A_GPU = { vendor: "a maker of GPUs" };
const A_CPU = { vendor: "mesa", description: "llvmpipe (LLVM 15.0.6, 256 bits)" };

/** A device with some properties of its own. @param {any} device @param {Record<string, unknown>} own */
const withOwn = (device, own) =>
  new Proxy(device, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return own[/** @type {string} */ (name)];
      const value = target[name];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

test("values in memory go to a GPU where wasm's arithmetic takes long and they are large", {
  skip,
}, async () => {
  const norm = await auto.webgpu();
  // It says so when it is used.
  const createBuffer = () => {
    throw new Error("taken");
  };
  await auto.webgpu(withOwn(norm.device, { adapterInfo: A_GPU, createBuffer }));
  const { memory, arithmetic } = auto.THRESHOLD_BYTES;
  assert.equal(memory, Number.POSITIVE_INFINITY);
  const isTaken = async (/** @type {string} */ op, /** @type {any[]} */ inputs, options = {}) => {
    try {
      await auto[op](...inputs, options);
      return false;
    } catch (error) {
      assert.equal(/** @type {any} */ (error).message, "taken");
      return true;
    }
  };
  // Rows of 1024 bytes: of the threshold's size, and one less.
  const all = arithmetic / 1024;
  const rows = (/** @type {number} */ n) => {
    const data = new Float32Array(256 * n).fill(1);
    const halves = { data: new Uint16Array(512 * n).fill(0x3c00), dims: [n, 512], type: "float16" };
    return { data, halves, flat: { shape: [n, 256] } };
  };
  const [least, below, much] = [all, all - 1, 4 * all].map(rows);
  const silu = { activation: "silu" };
  for (const [x, expected] of /** @type {const} */ ([
    [least, true],
    [below, false],
  ])) {
    const { data, halves, flat } = x;
    const response = { size: 3, shape: [1, ...flat.shape] };
    assert.equal(await isTaken("localResponseNorm", [data], response), expected);
    assert.equal(await isTaken("layerNormBackward", [data, data], { ...flat, ...silu }), expected);
    for (const activation of ["gelu", "tanh"]) {
      assert.equal(await isTaken("layerNorm", [halves], { activation }), expected);
    }
    assert.equal(await isTaken("layerNorm", [data], { ...flat, backend: "webgpu" }), true);
    assert.equal(
      await isTaken("localResponseNorm", [data], { ...response, backend: "wasm" }),
      false,
    );
  }
  // What memory bounds stays, as large as it may be, and so do gradients that the GPU does not have.
  const { data, halves, flat } = much;
  for (const options of [{}, silu, { activation: "gelu" }]) {
    assert.equal(await isTaken("layerNorm", [data], { ...flat, ...options }), false);
  }
  assert.equal(await isTaken("layerNorm", [halves], silu), false);
  assert.equal(await isTaken("addLayerNorm", [halves, halves], { activation: "gelu" }), false);
  assert.equal(await isTaken("layerNormBackward", [data, data], flat), false);
  const { data: x } = least;
  assert.equal(
    await isTaken("batchNormBackward", [x, x], { ...least.flat, training: true }),
    false,
  );
  // A device of the caller's that is a CPU in disguise.
  await auto.webgpu(withOwn(norm.device, { adapterInfo: A_CPU, createBuffer }));
  const response = { size: 3, shape: [1, ...least.flat.shape] };
  assert.equal(await isTaken("localResponseNorm", [x], response), false);
  assert.equal(await isTaken("localResponseNorm", [x], { ...response, backend: "webgpu" }), true);
  await auto.webgpu(norm.device);
});

test("what a GPU gives for large values is what wasm gives", { skip }, async () => {
  const n = auto.THRESHOLD_BYTES.arithmetic / 4;
  const x = Float32Array.from({ length: n }, (_, i) => values[i % 60]);
  const options = { shape: [1, 1024, n / 1024], size: 3 };
  const { device } = await auto.webgpu();
  let compiled = 0;
  const createComputePipeline = (/** @type {object} */ descriptor) => {
    compiled++;
    return device.createComputePipeline(descriptor);
  };
  await auto.webgpu(withOwn(device, { adapterInfo: A_GPU, createComputePipeline }));
  assertClose(await auto.localResponseNorm(x, options), ops.localResponseNorm(x, options));
  assert.ok(compiled > 0);
  await auto.webgpu(device);
});

test("what a GPU has no room for is wasm's, unless the GPU is asked for", { skip }, async () => {
  const norm = await auto.webgpu();
  const { device } = limited(norm, { maxBufferSize: 2 ** 20 });
  await auto.webgpu(withOwn(device, { adapterInfo: A_GPU }));
  const x = new Float32Array(auto.THRESHOLD_BYTES.arithmetic / 4).fill(2);
  const options = { shape: [1, 1024, x.length / 1024], size: 3 };
  const expected = ops.localResponseNorm(x, options);
  await assert.rejects(auto.localResponseNorm(x, { ...options, backend: "webgpu" }), {
    name: "RangeError",
    message: `tensor: "data" expected at most 1048576 bytes in one buffer (the device's maxBufferSize), got ${x.byteLength}`,
  });
  assert.equal(await auto.localResponseNorm(x, { ...options, out: x }), x);
  assert.deepEqual(x, expected);
  await auto.webgpu(norm.device);
});

test("x on the GPU stays there", { skip }, async () => {
  const norm = await auto.webgpu();
  const x = norm.tensor(values, [6, 10]);
  const y = await auto.layerNorm(x, { weight: 2 });
  assert.deepEqual(y.shape, [6, 10]);
  assertClose(await norm.read(y), ops.layerNorm(values, { shape: [6, 10], weight: 2 }), 4e-6);
  await assert.rejects(
    auto.layerNorm(x, { backend: "wasm" }),
    /^TypeError: layerNorm: "backend" expected "webgpu" for x on the GPU, got "wasm"/,
  );
});

test("gradients are the GPU's where x is or where it is asked for, and come back as their parameters", {
  skip,
}, async () => {
  const shape = [6, 10];
  const gradients = values.map((v) => v * v);
  const options = { shape, weight: values.slice(0, 10), bias: 1, shift: null };
  const expected = ops.layerNormBackward(gradients, values, options);
  assert.deepEqual(await auto.layerNormBackward(gradients, values, options), expected);
  const got = await auto.layerNormBackward(gradients, values, { ...options, backend: "webgpu" });
  assert.ok(got.gradInput instanceof Float32Array && got.gradWeight instanceof Float32Array);
  assertClose(got.gradInput, expected.gradInput);
  assertClose(got.gradWeight, expected.gradWeight);
  assertClose([got.gradBias], [expected.gradBias], 1e-5);
  assert.deepEqual([got.gradScale, got.gradShift], [null, null]);
  const norm = await auto.webgpu();
  const [x, grad] = [norm.tensor(values, shape), norm.tensor(gradients, shape)];
  const there = await auto.layerNormBackward(grad, x, { weight: options.weight });
  assertClose(await norm.read(there.gradWeight), expected.gradWeight);
  await assert.rejects(
    auto.instanceNormBackward(grad, x),
    /^TypeError: instanceNormBackward: "x" expected values in memory, got a tensor on the GPU/,
  );
  await assert.rejects(
    auto.instanceNormBackward(gradients, values, { shape: [2, 3, 10], backend: "webgpu" }),
    /^TypeError: instanceNormBackward: "backend" expected "wasm", got "webgpu"/,
  );
  const instance = { shape: [2, 3, 10] };
  assert.deepEqual(
    await auto.instanceNormBackward(gradients, values, instance),
    ops.instanceNormBackward(gradients, values, instance),
  );
});

test("the caller's device stays when one that was found is lost", { skip }, async () => {
  const first = await auto.webgpu();
  const device = await (await gpu.requestAdapter()).requestDevice();
  const guest = await auto.webgpu(device);
  first.device.destroy();
  await first.device.lost;
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(await auto.webgpu(), guest);
});

test("what a GPU that is gone would have computed is wasm's, unless the GPU is asked for", {
  skip,
}, async () => {
  const x = new Float32Array(auto.THRESHOLD_BYTES.arithmetic / 4).fill(2);
  const options = { shape: [1, 1024, x.length / 1024], size: 3 };
  const expected = ops.localResponseNorm(x, options);
  const fresh = async (/** @type {any} */ own = {}) => {
    const device = await (await gpu.requestAdapter()).requestDevice();
    return auto.webgpu(withOwn(device, { adapterInfo: A_GPU, ...own }));
  };
  const disposed = await fresh();
  disposed.dispose();
  assert.deepEqual(await auto.localResponseNorm(x, options), expected);
  await assert.rejects(
    auto.localResponseNorm(x, { ...options, backend: "webgpu" }),
    /^Error: tensor: this WebGpuNorm was disposed/,
  );
  disposed.device.destroy();
  // Lost while it computes.
  const { device } = await fresh();
  const pending = auto.localResponseNorm(x, options);
  await new Promise((resolve) => setImmediate(resolve));
  device.destroy();
  assert.deepEqual(await pending, expected);
  // And before.
  assert.deepEqual(await auto.localResponseNorm(x, options), expected);
  await assert.rejects(
    auto.localResponseNorm(x, { ...options, backend: "webgpu" }),
    /^Error: tensor: the GPU device was lost/,
  );
});
