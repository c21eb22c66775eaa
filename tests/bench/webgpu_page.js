/** LayerNorm of tensors that stand on a GPU: ours, onnxruntime-web's, TensorFlow.js's, and a copy of the same bytes. */

import { normModel } from "./onnx_norms.js";
import { median } from "./stats.js";

const STORAGE = 0x80 | 0x4 | 0x8;
/** Calls of small tensors are queued for one wait, as models queue their layers: a browser looks only now and then whether a GPU is done. */
const ELEMENTS_OF_WAIT = 2 ** 22;
/** Milliseconds for which a contender runs before it is timed, so that its code is compiled. */
const WARM_UP = 300;

/** @typedef {{ run: () => unknown, onGpu?: () => Promise<number>, done: () => Promise<unknown>, read: () => Promise<ArrayLike<number>>, dispose?: () => void }} Prepared */

/** @param {any} device @param {Float32Array} values */
function bufferOf(device, values) {
  const buffer = device.createBuffer({
    size: values.byteLength,
    usage: STORAGE,
    mappedAtCreation: true,
  });
  new Float32Array(buffer.getMappedRange()).set(values);
  buffer.unmap();
  return buffer;
}

/** @param {any} device @param {any} buffer @returns {Promise<Float32Array>} */
async function read(device, buffer) {
  const staging = device.createBuffer({ size: buffer.size, usage: 0x1 | 0x8 });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(1);
  return new Float32Array(staging.getMappedRange().slice(0));
}

/**
 * Milliseconds that a compute pass takes by the GPU's own clock, where the device has timestamps.
 * @param {any} device
 * @param {(pass: any) => unknown} record
 * @returns {(() => Promise<number>) | undefined}
 */
function clockOf(device, record) {
  if (!device.features.has("timestamp-query")) return undefined;
  const querySet = device.createQuerySet({ type: "timestamp", count: 2 });
  const target = device.createBuffer({ size: 16, usage: 0x200 | 0x4 });
  const staging = device.createBuffer({ size: 16, usage: 0x1 | 0x8 });
  return async () => {
    const encoder = device.createCommandEncoder();
    const timestampWrites = { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 };
    const pass = encoder.beginComputePass({ timestampWrites });
    record(pass);
    pass.end();
    encoder.resolveQuerySet(querySet, 0, 2, target, 0);
    encoder.copyBufferToBuffer(target, 0, staging, 0, 16);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(1);
    const [begin, end] = new BigUint64Array(staging.getMappedRange());
    staging.unmap();
    return Number(end - begin) / 1e6;
  };
}

/**
 * @param {number[]} dims
 * @param {Float32Array} x
 * @param {Float32Array} weight
 * @param {Float32Array} bias
 * @param {any} ort
 * @param {any} tf
 * @returns {Promise<Record<string, Prepared>>}
 */
async function prepare(dims, x, weight, bias, ort, tf) {
  // Names in variables: the types of peers need not be installed.
  const ownName = "/dist/webgpu.js";
  const { WebGpuNorm } = await import(ownName);
  const task = {
    operation: "layerNorm",
    dims,
    dtype: "float32",
    options: {},
    parameters: ["weight", "bias"],
    values: { weight, bias },
    weight,
    bias,
    eps: 1e-5,
  };
  const session = await ort.InferenceSession.create(normModel(/** @type {any} */ (task)), {
    executionProviders: ["webgpu"],
    preferredOutputLocation: "gpu-buffer",
  });
  const device = await ort.env.webgpu.device;
  const done = () => device.queue.onSubmittedWorkDone();
  const input = bufferOf(device, x);
  const output = device.createBuffer({ size: input.size, usage: STORAGE });
  const norm = new WebGpuNorm(device);
  const tensor = { buffer: input, shape: dims };
  const out = { buffer: output, shape: dims };
  const parameters = { weight: norm.tensor(weight), bias: norm.tensor(bias) };
  const feeds = { x: ort.Tensor.fromGpuBuffer(input, { dataType: "float32", dims }) };
  /** @type {any} */
  let last;
  const axes = [dims.length - 1];
  const held = { x: tf.tensor(x, dims), weight: tf.tensor(weight), bias: tf.tensor(bias) };
  const compute = () => {
    const { mean, variance } = tf.moments(held.x, axes, true);
    const normalized = tf.mul(tf.sub(held.x, mean), tf.rsqrt(tf.add(variance, 1e-5)));
    return tf.add(tf.mul(normalized, held.weight), held.bias);
  };
  /** @type {any} */
  let kept;
  const tfDevice = tf.backend().device;
  return {
    layernorm: {
      run: () => norm.layerNorm(tensor, { ...parameters, out }),
      onGpu: clockOf(device, (encoder) => norm.layerNorm(tensor, { ...parameters, out, encoder })),
      done,
      read: () => read(device, output),
      dispose: () => norm.dispose(),
    },
    "onnxruntime-web": {
      run: async () => {
        last?.y.dispose();
        last = await session.run(feeds);
      },
      done,
      read: () => read(device, last.y.gpuBuffer),
      dispose: () => session.release(),
    },
    "TensorFlow.js": {
      run: () => {
        kept?.dispose();
        kept = tf.tidy(compute);
        // It leaves a pass open for what may follow, and its submitQueue does not end that.
        tf.backend().endComputePassEncoder();
        tf.backend().submitQueue();
      },
      done: () => tfDevice.queue.onSubmittedWorkDone(),
      read: () => kept.data(),
    },
    "buffer copy": {
      run: () => {
        const encoder = device.createCommandEncoder();
        encoder.copyBufferToBuffer(input, 0, output, 0, input.size);
        device.queue.submit([encoder.finish()]);
      },
      done,
      read: async () => x,
    },
  };
}

/** @param {Float32Array} x @param {number} features @param {Float32Array} weight @param {Float32Array} bias */
function reference(x, features, weight, bias) {
  const y = new Float32Array(x.length);
  for (let row = 0; row < x.length; row += features) {
    let mean = 0;
    for (let k = 0; k < features; k++) mean += x[row + k] / features;
    let variance = 0;
    for (let k = 0; k < features; k++) variance += (x[row + k] - mean) ** 2 / features;
    const rstd = 1 / Math.sqrt(variance + 1e-5);
    for (let k = 0; k < features; k++)
      y[row + k] = (x[row + k] - mean) * rstd * weight[k] + bias[k];
  }
  return y;
}

/**
 * @param {number[][]} shapes
 * @param {number} rounds
 * @param {(line: unknown) => Promise<void>} tell
 */
export async function benchWebGpu(shapes, rounds, tell) {
  const ortName = "onnxruntime-web/webgpu";
  const ort = await import(ortName);
  const tfName = "@tensorflow/tfjs-core";
  const tf = await import(tfName);
  const backendName = "@tensorflow/tfjs-backend-webgpu";
  await import(backendName);
  await tf.setBackend("webgpu");
  await tf.ready();
  const results = [];
  for (const dims of shapes) {
    const features = dims.at(-1) ?? 1;
    const size = dims.reduce((a, b) => a * b, 1);
    const x = Float32Array.from({ length: size }, (_, i) => Math.sin(i * 1.7) + 0.1);
    const weight = Float32Array.from({ length: features }, (_, i) => 1 + 0.1 * Math.sin(i));
    const bias = Float32Array.from({ length: features }, (_, i) => 0.1 * Math.cos(i));
    const expected = reference(x, features, weight, bias);
    const calls = Math.max(1, Math.min(8, Math.round(ELEMENTS_OF_WAIT / size)));
    const contenders = await prepare(dims, x, weight, bias, ort, tf);
    /** @type {Record<string, { ms: number, least: number, error: number, onGpu?: number }>} */
    const row = {};
    /** @type {Record<string, number[]>} */
    const samples = {};
    for (const [name, { run, done, read: get }] of Object.entries(contenders)) {
      samples[name] = [];
      await run();
      await done();
      const y = await get();
      const isCopy = name === "buffer copy";
      // Buffers may be larger than what stands in them.
      if (y.length < size) throw new Error(`${name} gave ${y.length} elements at ${dims}`);
      const error = isCopy ? 0 : sampledError(y, expected);
      if (error > 1e-3 && name === "layernorm")
        throw new Error(`${name} is off by ${error} at ${dims}`);
      row[name] = { ms: 0, least: 0, error };
      for (const end = performance.now() + WARM_UP; performance.now() < end; await done()) {
        await run();
      }
    }
    for (let i = 0; i < rounds; i++) {
      for (const [name, { run, done }] of Object.entries(contenders)) {
        const start = performance.now();
        for (let call = 0; call < calls; call++) await run();
        await done();
        samples[name].push((performance.now() - start) / calls);
      }
    }
    for (const [name, times] of Object.entries(samples)) {
      row[name].ms = median(times);
      row[name].least = Math.min(...times);
    }
    for (const [name, { onGpu }] of Object.entries(contenders)) {
      if (onGpu === undefined) continue;
      const times = [];
      for (let i = 0; i < rounds; i++) times.push(await onGpu());
      row[name].onGpu = median(times);
    }
    for (const { dispose } of Object.values(contenders)) dispose?.();
    results.push({ dims, calls, row });
    await tell({ dims, calls, row });
  }
  return results;
}

/** @param {ArrayLike<number>} y @param {Float32Array} expected @returns {number} the largest of every 97th element */
function sampledError(y, expected) {
  let worst = 0;
  for (let i = 0; i < expected.length; i += 97)
    worst = Math.max(worst, Math.abs(y[i] - expected[i]));
  return worst;
}
