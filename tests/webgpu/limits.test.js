/** A guest on a GPU: other people's buffers, offsets, encoders and passes; the limits of a device; odd sizes. */
import assert from "node:assert/strict";
import test, { after } from "node:test";
import * as layernorm from "../../dist/index.js";
import { WebGpuNorm } from "../../dist/webgpu.js";

import { load, store } from "../js/half.js";
import { adapter, gpu, skip } from "./adapter.js";
import { limited, normal, read } from "./cases.js";

const STORAGE = 0x80 | 0x4 | 0x8;

const norm = /** @type {any} */ (skip ? undefined : await WebGpuNorm.create({ adapter }));
after(() => norm?.dispose());

/** No type tells what each kind of x gives. @type {any} */
const ops = layernorm;

/** @param {ArrayLike<number>} got @param {ArrayLike<number>} expected @param {number} most @param {string} where */
function assertClose(got, expected, most, where) {
  assert.equal(got.length, expected.length, where);
  for (let i = 0; i < got.length; i++) {
    const error = Math.abs(got[i] - expected[i]) / Math.max(1, Math.abs(expected[i]));
    assert.ok(error <= most, `${where}: index ${i} got ${got[i]}, expected ${expected[i]}`);
  }
}

/** A buffer of the device with some words. @param {any} device @param {ArrayBufferView} data @param {number} [offset] @param {number} [tail] */
function bufferOf(device, data, offset = 0, tail = 0) {
  const size = Math.ceil((offset + data.byteLength + tail) / 4) * 4;
  const buffer = device.createBuffer({ size, usage: STORAGE, mappedAtCreation: true });
  const bytes = new Uint8Array(buffer.getMappedRange());
  bytes.fill(0xa5);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), offset);
  buffer.unmap();
  return buffer;
}

/** All bytes of a buffer. @param {any} buffer */
async function bytesOf(buffer) {
  const tensor = { buffer, shape: [buffer.size / 4], dtype: "float32" };
  return new Uint8Array((await norm.read(tensor)).buffer);
}

for (const dtype of /** @type {const} */ (["float32", "float16", "bfloat16"])) {
  for (const features of [1, 2, 3, 7, 8, 30, 255, 1024]) {
    test(`offsets of any multiple of 4 in one buffer, whose other bytes stay (${dtype}, ${features} features)`, {
      skip,
    }, async () => {
      const { device } = norm;
      const shape = [3, features];
      const values = normal(3 * features, features);
      const stored = store(values, dtype);
      const bytes = stored.byteLength;
      for (const [at, gap] of [
        [4, 0],
        [252, 4],
        [260, 300],
        [1024, 1024],
      ]) {
        // x, then y behind it in the same buffer: their bindings would overlap.
        const begin = Math.ceil((at + bytes) / 4) * 4 + gap;
        const buffer = bufferOf(device, stored, at, begin - at + 8);
        const before = await bytesOf(buffer);
        const x = { buffer, offset: at, shape, dtype };
        const out = { buffer, offset: begin, shape, dtype };
        const result = norm.layerNorm(x, { weight: 1.5, bias: 0.5, out });
        assert.equal(result, out);
        const expected = ops.layerNorm(
          { data: stored, dims: shape, type: dtype },
          { weight: 1.5, bias: 0.5 },
        ).data;
        assertClose(
          await read(norm, out),
          load(expected, dtype),
          dtype === "float32" ? 1e-6 : 0.02,
          `at ${at}`,
        );
        const afterwards = await bytesOf(buffer);
        afterwards.set(before.subarray(begin, begin + bytes), begin);
        assert.deepEqual(afterwards, before, `at ${at}`);
        buffer.destroy();
      }
    });
  }
}

test("records into the caller's encoder and pass, which the caller submits", { skip }, async () => {
  const { device } = norm;
  const values = normal(20, 1);
  const x = norm.tensor(values, [2, 10]);
  const weight = normal(10, 2);
  const encoder = device.createCommandEncoder();
  const first = norm.layerNorm(x, { weight, encoder });
  const pass = encoder.beginComputePass();
  const second = norm.rmsNorm(first, { encoder: pass });
  pass.end();
  device.queue.submit([encoder.finish()]);
  const expected = ops.rmsNorm(ops.layerNorm(values, { shape: [2, 10], weight }), {
    shape: [2, 10],
  });
  assertClose(await norm.read(second), expected, 2e-6, "second");
});

test("takes onnxruntime's tensors on the GPU, and refuses those elsewhere", { skip }, async () => {
  const { device } = norm;
  const values = normal(12, 3);
  const tensor = {
    gpuBuffer: bufferOf(device, values),
    dims: [3, 4],
    type: "float32",
    location: "gpu-buffer",
  };
  assertClose(
    await norm.read(norm.layerNorm(tensor)),
    ops.layerNorm(values, { shape: [3, 4] }),
    1e-6,
    "ort",
  );
  assert.throws(
    () => norm.layerNorm({ ...tensor, location: "cpu" }),
    /^TypeError: layerNorm: "x" expected a tensor on the GPU/,
  );
});

test("70,000 runs are more than one dimension of workgroups holds", { skip }, async () => {
  const { device } = norm;
  // One run for each workgroup where there are no subgroups.
  for (const [runs, features] of [
    [70_000 * 4, 8],
    [70_000, 1],
  ]) {
    const values = normal(runs * features, 5);
    const x = norm.tensor(values, [runs, features]);
    const y = norm.layerNorm(x, { eps: 1e-3 });
    assertClose(
      await norm.read(y),
      ops.layerNorm(values, { shape: [runs, features], eps: 1e-3 }),
      1e-6,
      `${runs}`,
    );
    x.dispose();
    y.dispose();
  }
  void device;
});

for (const dtype of /** @type {const} */ (["float32", "float16", "bfloat16"])) {
  test(`tensors larger than a binding are split, rows of any length too (${dtype})`, {
    skip,
  }, async () => {
    const small = limited(norm, {
      maxStorageBufferBindingSize: 4096,
      maxComputeWorkgroupsPerDimension: 5,
    });
    const shapes = [
      [40, 200],
      [7, 1025],
      [2, 9001],
      [3, 8192],
    ];
    for (const [rows, features] of shapes) {
      const shape = [rows, features];
      const stored = store(normal(rows * features, features), dtype);
      const weight = normal(features, 7);
      const like = { data: stored, dims: shape, type: dtype };
      const x = norm.tensor(stored, shape, dtype);
      const most = dtype === "float32" ? 2e-6 : dtype === "float16" ? 2e-3 : 0.02;
      // A kind of call is some pipelines to compile: the 16-bit types have one of them.
      const calls =
        dtype === "float32" ? [{}, { axes: [0] }, { weight, bias: 1 }] : [{ weight, bias: 1 }];
      for (const options of calls) {
        const where = `[${shape}] ${JSON.stringify(options).slice(0, 40)}`;
        const y = small.layerNorm(x, options);
        assertClose(
          await read(norm, y),
          load(ops.layerNorm(like, options).data, dtype),
          most,
          where,
        );
        y.dispose();
      }
      const added = small.addRmsNorm(x, x, { returnStats: true });
      const expected = ops.addRmsNorm(like, like, {});
      assertClose(await read(norm, added.sum), load(expected.sum.data, dtype), 0, "sum");
      assertClose(
        await read(norm, added.output),
        load(expected.output.data, dtype),
        most,
        "output",
      );
      x.dispose();
    }
  });
}

test("what cannot be split names the limit, its value and the need", { skip }, () => {
  const small = limited(norm, { maxStorageBufferBindingSize: 4096 });
  const x = norm.tensor(normal(4000, 1), [1, 4, 1000]);
  assert.throws(
    () => small.localResponseNorm(x, { size: 3 }),
    /^RangeError: localResponseNorm: "x" expected at most 3840 bytes in one binding \(the device's maxStorageBufferBindingSize\), got 16000/,
  );
  const few = limited(norm, { maxStorageBuffersPerShaderStage: 4 });
  const vector = norm.tensor(normal(1000, 1), [1000]);
  assert.throws(
    () => few.layerNorm(x, { weight: vector, bias: vector, scale: vector, shift: vector }),
    /^RangeError: layerNorm: "options" expected at most 4 tensors in one dispatch \(the device's maxStorageBuffersPerShaderStage\), got 7/,
  );
});

test("all parameters and statistics need no more than the 8 storage buffers that every device has", {
  skip,
}, async () => {
  const { device } = norm;
  assert.equal(device.limits.maxStorageBuffersPerShaderStage, 8);
  for (const shape of [
    [3, 64],
    [3, 9000],
  ]) {
    const [rows, features] = shape;
    const values = normal(rows * features, 1);
    /** @type {Record<string, Float32Array>} */
    const parameters = {};
    /** @type {Record<string, any>} */
    const there = {};
    for (const [i, name] of ["weight", "bias", "scale", "shift"].entries()) {
      parameters[name] = normal(features, 2 + i);
      there[name] = norm.tensor(parameters[name], [features]);
    }
    const given = { returnStats: true };
    const { output, mean, rstd } = norm.layerNorm(norm.tensor(values, shape), {
      ...there,
      ...given,
    });
    const expected = ops.layerNorm(values, { shape, ...parameters, ...given });
    assertClose(await norm.read(output), expected.output, 4e-6, `[${shape}]`);
    assertClose(await norm.read(mean), expected.mean, 1e-6, `[${shape}] mean`);
    assertClose(await norm.read(rstd), expected.rstd, 1e-6, `[${shape}] rstd`);
  }
});

test("a tensor above 128 MiB, with a device of default limits", { skip }, async (t) => {
  const { adapter: other } = { adapter: await gpu.requestAdapter() };
  const device = await other.requestDevice();
  const own = /** @type {any} */ (new WebGpuNorm(device));
  assert.equal(device.limits.maxStorageBufferBindingSize, 128 * 2 ** 20);
  const shape = [130, 262_148];
  const bytes = shape[0] * shape[1] * 4;
  if (bytes > device.limits.maxBufferSize)
    return t.skip(`maxBufferSize is ${device.limits.maxBufferSize}`);
  const row = normal(shape[1], 9);
  const buffer = device.createBuffer({ size: bytes, usage: STORAGE });
  for (let i = 0; i < shape[0]; i++) device.queue.writeBuffer(buffer, i * row.byteLength, row);
  const x = { buffer, shape, dtype: "float32" };
  own.layerNorm(x, { out: x });
  const expected = ops.layerNorm(row);
  for (const i of [0, 1, 63, 64, 127, 128, 129]) {
    const y = await own.read({
      buffer,
      offset: i * row.byteLength,
      shape: [shape[1]],
      dtype: "float32",
    });
    assertClose(y, expected, 1e-6, `row ${i}`);
  }
  buffer.destroy();
  own.dispose();
  device.destroy();
});
