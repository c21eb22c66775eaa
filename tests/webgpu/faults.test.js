/** What can go wrong on a GPU is told, and the next call works or says why not. */
import assert from "node:assert/strict";
import test from "node:test";
import { GpuTensor, WebGpuNorm } from "../../dist/webgpu.js";
import { gpu, skip } from "./adapter.js";

const own = async () => WebGpuNorm.create({ adapter: await gpu.requestAdapter() });

/** Rejects when a promise does not settle in time. @template T @param {Promise<T>} promise @returns {Promise<T>} */
const soon = (promise) =>
  Promise.race([
    promise,
    new Promise((_, reject) => {
      setTimeout(() => reject(new Error("it hangs")), 30_000).unref();
    }),
  ]);

test("create rejects without WebGPU and without an adapter", async () => {
  await assert.rejects(
    WebGpuNorm.create({ gpu: undefined, adapter: undefined }),
    /^Error: WebGpuNorm.create: there is no WebGPU here, navigator.gpu is missing/,
  );
  await assert.rejects(
    WebGpuNorm.create({ gpu: { requestAdapter: async () => null } }),
    /^Error: WebGpuNorm.create: WebGPU has no adapter here/,
  );
  assert.throws(
    () => new WebGpuNorm(/** @type {any} */ ({})),
    /^TypeError: WebGpuNorm: "device" expected a GPUDevice, got an object/,
  );
  for (const [options, message] of /** @type {[unknown, string][]} */ ([
    [null, "an object, got null"],
    [{ device: {} }, 'only gpu, adapter, powerPreference, got "device"'],
  ])) {
    await assert.rejects(WebGpuNorm.create(/** @type {any} */ (options)), {
      name: "TypeError",
      message: `WebGpuNorm.create: "options" expected ${message}`,
    });
  }
  for (const [options, message] of /** @type {[any, RegExp][]} */ ([
    [{ gpu: 5 }, /^TypeError: WebGpuNorm.create: "gpu" expected a GPU, as navigator.gpu is, got 5/],
    [{ adapter: {} }, /^TypeError: .*"adapter" expected a GPUAdapter, got an object/],
    [{ adapter: null }, /^TypeError: .*"adapter" expected a GPUAdapter, got null/],
    [
      { powerPreference: "fast" },
      /^RangeError: .*"powerPreference" expected one of .*, got "fast"/,
    ],
  ])) {
    await assert.rejects(WebGpuNorm.create(options), message);
  }
  assert.throws(() => new /** @type {any} */ (GpuTensor)(), {
    name: "TypeError",
    message: "GpuTensor: expected a call of gpu.tensor(), got new GpuTensor",
  });
});

test("arguments are checked as elsewhere, before anything is written", { skip }, async () => {
  const norm = /** @type {any} */ (await own());
  const x = norm.tensor([
    [1, 2],
    [3, 4],
  ]);
  const wrong = [
    [
      () => norm.layerNorm(new Float32Array(4)),
      /^TypeError: layerNorm: "x" expected a tensor on the GPU: .*, got Float32Array/,
    ],
    [
      () => norm.layerNorm(x, { weight: new Float32Array(3) }),
      /^RangeError: layerNorm: "weight" expected shape \[2\], got \[3\]/,
    ],
    [
      () => norm.layerNorm(x, { epsilon: 1 }),
      /^TypeError: layerNorm: "options" expected only .*encoder, got "epsilon"/,
    ],
    [
      () => norm.layerNorm(x, { out: norm.tensor([1, 2, 3]) }),
      /^RangeError: layerNorm: "out" expected 4 elements, got 3/,
    ],
    [
      () => norm.layerNorm(x, { out: norm.tensor([1, 2, 3, 4], [4], "float16") }),
      /^TypeError: layerNorm: "out" expected a float32 tensor on the GPU, got a float16 tensor on the GPU/,
    ],
    [
      () => norm.layerNorm(x, { out: new Float32Array(4) }),
      /^TypeError: layerNorm: "out" expected a tensor on the GPU/,
    ],
    [
      () => norm.layerNorm(x, { encoder: {} }),
      /^TypeError: layerNorm: "encoder" expected a GPUCommandEncoder/,
    ],
    [
      () => norm.layerNorm({ buffer: x.buffer, offset: 2, shape: [2] }),
      /^RangeError: layerNorm: "x.offset" expected a multiple of 4 bytes, got 2/,
    ],
    [
      () => norm.layerNorm({ buffer: x.buffer, offset: Number.NaN, shape: [2] }),
      /^RangeError: layerNorm: "x.offset" expected a multiple of 4 bytes, got NaN/,
    ],
    [
      () => norm.layerNorm({ buffer: x.buffer, offset: -4, shape: [2] }),
      /^RangeError: layerNorm: "x.offset" expected a multiple of 4 bytes, got -4/,
    ],
    [
      () => norm.layerNorm({ buffer: { getMappedRange: 1 }, shape: [2] }),
      /^TypeError: layerNorm: "x.buffer" expected a GPUBuffer, got an object/,
    ],
    [
      () => norm.layerNorm({ buffer: x.buffer, tensorRef: null }),
      /^TypeError: layerNorm: "x.tensorRef" expected a tensor, got null/,
    ],
    [
      () => norm.layerNorm(x, { encoder: { beginComputePass: 1 } }),
      /^TypeError: layerNorm: "encoder" expected a GPUCommandEncoder/,
    ],
    [
      () => norm.layerNorm({ buffer: x.buffer, offset: 4, shape: [4] }),
      /^RangeError: layerNorm: "x" expected a buffer of 20 bytes for shape \[4\], got 16/,
    ],
    [
      () => norm.layerNorm({ buffer: x.buffer, shape: [2], dtype: "float64" }),
      /^TypeError: layerNorm: "x.dtype" expected .*a GPU has no float64/,
    ],
    [
      () => norm.tensor([1], [1], "float64"),
      /^TypeError: tensor: "dtype" expected .*a GPU has no float64/,
    ],
    [
      () => norm.layerNorm(x, { out: { buffer: x.buffer, offset: 4, shape: [3] } }),
      /^RangeError: layerNorm: "out" expected (4 elements|x itself)/,
    ],
    [
      () => norm.addLayerNorm(x, x, { out: x, sumOut: x }),
      /^RangeError: addLayerNorm: "sumOut" expected memory apart, got an overlap with "out"/,
    ],
    [
      () => norm.batchNorm(x, { training: true, runningMean: new Float32Array(2) }),
      /^TypeError: batchNorm: "runningMean" expected a tensor on the GPU, to be updated in place/,
    ],
  ];
  for (const [call, message] of wrong)
    assert.throws(/** @type {any} */ (call), /** @type {RegExp} */ (message));
  x.dispose();
  x.dispose();
  assert.throws(
    () => norm.layerNorm(x),
    /^TypeError: layerNorm: "x" expected a live tensor, got a disposed tensor/,
  );
  await assert.rejects(norm.read(x), /^TypeError: read: "tensor" expected a live tensor/);
  norm.dispose();
});

test("buffers that allocate gives are checked, and no call takes one twice", { skip }, async () => {
  const norm = /** @type {any} */ (await own());
  const x = norm.tensor([
    [1, 2],
    [3, 4],
  ]);
  const weight = norm.tensor([1, 2]);
  const buffer = (/** @type {number} */ size) => norm.device.createBuffer({ size, usage: 0x84 });
  const shared = buffer(16);
  const calls = {
    layerNorm: [(/** @type {any} */ given) => norm.layerNorm(x, given), "output"],
    addRmsNorm: [(/** @type {any} */ given) => norm.addRmsNorm(x, x, given), "output"],
    rmsNormBackward: [(/** @type {any} */ given) => norm.rmsNormBackward(x, x, given), "gradInput"],
  };
  for (const [op, [call, result]] of /** @type {[string, any][]} */ (Object.entries(calls))) {
    for (const [allocate, ErrorType, message] of /** @type {any[]} */ ([
      [() => ({}), TypeError, "a GPUBuffer or undefined, got an object"],
      [async () => buffer(16), TypeError, "a GPUBuffer or undefined, got an object"],
      [() => 5, TypeError, "a GPUBuffer or undefined, got 5"],
      [() => buffer(12), RangeError, "a buffer of 16 bytes, got 12"],
      [() => x.buffer, RangeError, "memory apart, got a buffer that the call uses already"],
    ])) {
      assert.throws(() => call({ allocate }), {
        name: ErrorType.name,
        message: `${op}: "allocate(16, "${result}")" expected ${message}`,
      });
    }
  }
  const twice = /expected memory apart, got a buffer that the call uses already/;
  const allocate = () => shared;
  assert.throws(() => norm.addRmsNorm(x, x, { allocate }), twice);
  assert.throws(() => norm.rmsNormBackward(x, x, { weight, allocate }), twice);
  assert.throws(() => norm.layerNorm(x, { weight, allocate: () => weight.buffer }), RangeError);
  const y = norm.layerNorm(x, { weight: 2, allocate: () => undefined });
  assert.equal((await soon(norm.read(y))).length, 4);
  norm.dispose();
});

test("a destroyed buffer rejects the next read or done, and the one after works", {
  skip,
}, async () => {
  const norm = /** @type {any} */ (await own());
  const buffer = norm.device.createBuffer({ size: 16, usage: 0x80 | 0x4 });
  const x = { buffer, shape: [4], dtype: "float32" };
  buffer.destroy();
  norm.layerNorm(x);
  await assert.rejects(soon(norm.done()), /^Error: layerNorm: .*destroyed/s);
  await soon(norm.done());
  await assert.rejects(soon(norm.read(x)), /^Error: read: .*destroyed/s);
  const y = norm.layerNorm(norm.tensor([1, 2, 3, 4]));
  assert.equal((await soon(norm.read(y))).length, 4);
  norm.dispose();
});

test("a buffer without the usage it needs is a validation error that is told", {
  skip,
}, async () => {
  const norm = /** @type {any} */ (await own());
  const x = {
    buffer: norm.device.createBuffer({ size: 16, usage: 0x8 }),
    shape: [4],
    dtype: "float32",
  };
  norm.layerNorm(x);
  await assert.rejects(soon(norm.done()), /^Error: layerNorm: .*[Uu]sage/s);
  norm.dispose();
});

test("a lost device rejects what is pending and what follows", { skip }, async () => {
  const norm = /** @type {any} */ (await own());
  const y = norm.layerNorm(norm.tensor(new Float32Array(1e6)));
  const pending = norm.read(y);
  norm.device.destroy();
  await assert.rejects(soon(pending), /device|destroyed|lost/i);
  await soon(norm.device.lost);
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.throws(() => norm.layerNorm(y), /^Error: layerNorm: the GPU device was lost/);
  assert.throws(() => norm.tensor([1]), /^Error: tensor: the GPU device was lost/);
  await assert.rejects(soon(norm.read(y)), /^Error: read: the GPU device was lost/);
  await assert.rejects(soon(norm.done()), /^Error: done: the GPU device was lost/);
  norm.dispose();
});

test("memory that is not there rejects the next done, and the call after works", {
  skip,
}, async () => {
  const norm = /** @type {any} */ (await own());
  // A device that says so, as one that runs out does.
  let filters = /** @type {string[]} */ ([]);
  let full = true;
  const device = new Proxy(norm.device, {
    get(target, name) {
      if (name === "pushErrorScope") {
        return (/** @type {string} */ filter) => {
          filters.push(filter);
          target.pushErrorScope(filter);
        };
      }
      if (name === "popErrorScope") {
        return async () => {
          const filter = filters.pop();
          const error = await target.popErrorScope();
          // What is made of such a buffer is invalid, too, and told first.
          return full && filter !== "internal" ? { message: `${filter}: no buffer` } : error;
        };
      }
      const value = target[name];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const guest = /** @type {any} */ (new WebGpuNorm(device));
  const x = norm.tensor([1, 2, 3, 4]);
  guest.layerNorm(x);
  await assert.rejects(soon(guest.done()), /^RangeError: layerNorm on the GPU: out of memory/);
  full = false;
  filters = [];
  assert.equal((await soon(guest.read(guest.layerNorm(x)))).length, 4);
  guest.dispose();
  norm.dispose();
});

test("errors of WGSL show the line, the column and the source", { skip }, async () => {
  const { device } = /** @type {any} */ (await own());
  const broken = new Proxy(device, {
    get(target, name) {
      const value = target[name];
      if (name === "createShaderModule") {
        return (/** @type {any} */ descriptor) =>
          target.createShaderModule({
            ...descriptor,
            code: descriptor.code.replace("fn work(", "fn work(\nwrong_type_here "),
          });
      }
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const norm = /** @type {any} */ (new WebGpuNorm(broken));
  norm.layerNorm(norm.tensor([1, 2, 3, 4]));
  await assert.rejects(
    soon(norm.done()),
    /^Error: layernorm: WGSL of runs_kernel, line \d+, column \d+: .*\n.*\|.*\n> \d+ \| /s,
  );
  norm.dispose();
  device.destroy();
});
