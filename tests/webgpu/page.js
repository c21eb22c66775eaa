/** What the tests in Chromium run in their page. */

/** @param {ArrayLike<number>} got @param {ArrayLike<number>} expected @returns {number} */
function difference(got, expected) {
  let worst = got.length === expected.length ? 0 : Number.POSITIVE_INFINITY;
  for (let i = 0; i < got.length; i++) worst = Math.max(worst, Math.abs(got[i] - expected[i]));
  return worst;
}

const own = { entry: "/dist/webgpu.js", wasm: "/dist/index.js" };
const load = async () => {
  const [{ WebGpuNorm }, wasm] = await Promise.all([import(own.entry), import(own.wasm)]);
  return { WebGpuNorm, wasm };
};
/** @param {number} n */
const values = (n) => Float32Array.from({ length: n }, (_, i) => Math.sin(1.7 * i) + 0.2);

/** @returns {Promise<Record<string, number>>} the difference from wasm of some operations */
export async function operations() {
  const { WebGpuNorm, wasm } = await load();
  const gpu = await WebGpuNorm.create();
  /** @type {Record<string, number>} */
  const worst = {};
  /** @type {[string, number[], object][]} */
  const cases = [
    ["layerNorm", [5, 768], { weight: values(768), bias: 1 }],
    ["layerNorm", [3, 33_000], { activation: "gelu" }],
    ["rmsNorm", [65, 7], { axes: [0] }],
    ["groupNorm", [2, 6, 35], { numGroups: 3, scale: 0.5 }],
    ["lpNormalize", [4, 100], { p: 1 }],
    ["localResponseNorm", [2, 9, 5], { size: 3 }],
  ];
  for (const [op, shape, options] of cases) {
    const x = values(shape.reduce((a, b) => a * b, 1));
    const got = await gpu.read(gpu[op](gpu.tensor(x, shape), options));
    worst[`${op} [${shape}]`] = difference(got, wasm[op](x, { shape, ...options }));
  }
  gpu.dispose();
  return worst;
}

/**
 * A session's output stays on the GPU, is normalized there, and goes into a second session.
 * @returns {Promise<number>} the difference from the same in wasm
 */
export async function composition() {
  const { WebGpuNorm, wasm } = await load();
  const names = { ort: "onnxruntime-web/webgpu", models: "/tests/bench/onnx_norms.js" };
  const [ort, { normModel }] = await Promise.all([import(names.ort), import(names.models)]);
  const dims = [6, 40];
  const weight = values(40);
  const bias = values(40);
  const task = {
    dims,
    dtype: "float32",
    options: {},
    values: { weight, bias },
    weight,
    bias,
    eps: 1e-5,
  };
  const first = await ort.InferenceSession.create(
    normModel({ ...task, operation: "layerNorm", parameters: ["weight", "bias"] }),
    { executionProviders: ["webgpu"], preferredOutputLocation: "gpu-buffer" },
  );
  const second = await ort.InferenceSession.create(
    normModel({ ...task, operation: "rmsNorm", parameters: ["weight"] }),
    { executionProviders: ["webgpu"] },
  );
  const gpu = new WebGpuNorm(await ort.env.webgpu.device);
  const x = values(240);
  const { y } = await first.run({ x: new ort.Tensor("float32", x, dims) });
  if (y.location !== "gpu-buffer") throw new Error(`the output is at ${y.location}`);
  const between = gpu.layerNorm(y, { activation: "silu" });
  const input = ort.Tensor.fromGpuBuffer(between.buffer, { dataType: "float32", dims });
  const result = await second.run({ x: input });
  const shape = dims;
  const a = wasm.layerNorm(x, { shape, weight, bias });
  const b = wasm.layerNorm(a, { shape, activation: "silu" });
  return difference(await result.y.getData(), wasm.rmsNorm(b, { shape, weight, eps: 1e-5 }));
}

/**
 * layernorm/tfjs on TensorFlow.js's webgpu backend: forward and gradients against wasm, among operations of TensorFlow.js, and
 * the tensors and bytes that are left over.
 * @returns {Promise<Record<string, number>>} differences, relative to the largest value
 */
export async function tensorflow() {
  const names = {
    core: "@tensorflow/tfjs-core",
    backend: "@tensorflow/tfjs-backend-webgpu",
    own: "/dist/tfjs.js",
  };
  const tf = await import(names.core);
  await import(names.backend);
  const tfjs = await import(names.own);
  const { wasm } = await load();
  await tf.setBackend("webgpu");
  await tf.ready();
  const backend = tf.backend();
  const reads = { read: backend.read, readSync: backend.readSync };
  /** @type {Record<string, number>} */
  const worst = {};
  /** @type {[string, number[], number[], any][]} */
  const cases = [
    ["layerNorm", [2, 3, 4], [4, 2], { axes: [-1, 0] }],
    ["rmsNorm", [5, 33], [33], { eps: 1e-6, weightOffset: 1 }],
    ["groupNorm", [2, 3, 2, 6], [6], { numGroups: 2, layout: "channels_last" }],
    ["instanceNorm", [2, 3, 10], [3], {}],
  ];
  const count = (/** @type {number[]} */ shape) => shape.reduce((a, b) => a * b, 1);
  for (const [op, shape, own, options] of cases) {
    const data = values(count(shape));
    const dy = data.map((v) => v * v - 0.5);
    const weight = values(count(own)).map((v) => v + 1);
    const bias = values(count(own));
    const wide = (/** @type {Float32Array} */ v) => ({ data: v, shape: own });
    const given = { shape, ...options, weight: wide(weight), bias: wide(bias) };
    // Twice x minus x: what comes before and after is TensorFlow.js's, in the same commands.
    const f = (/** @type {any} */ x, /** @type {any} */ w, /** @type {any} */ b) =>
      tf.mul(tfjs[op](tf.sub(tf.mul(x, 2), x), { ...options, weight: w, bias: b }), 3);
    const inputs = [tf.tensor(data, shape), tf.tensor(weight, own), tf.tensor(bias, own)];
    const before = tf.memory().numTensors;
    backend.read = backend.readSync = () => {
      throw new Error("it was read back");
    };
    const y = tf.tidy(() => f(inputs[0], inputs[1], inputs[2]));
    const gradients = tf.grads(f)(inputs, tf.tensor(dy, shape));
    const numbers = tfjs[op](inputs[0], { ...options, weight: 2, bias: 1 });
    const numbersGradient = tf.grad((/** @type {any} */ x) =>
      tfjs[op](x, { ...options, weight: 2, bias: 1 }),
    )(inputs[0]);
    Object.assign(backend, reads);
    const third = dy.map((v) => v * 3);
    const expected = wasm[`${op}Backward`](third, data, given);
    const plain = { shape, ...options, weight: 2, bias: 1 };
    /** @type {[string, any, any][]} */
    const pairs = [
      ["y", y, wasm[op](data, given).map((/** @type {number} */ v) => 3 * v)],
      ["gradInput", gradients[0], expected.gradInput],
      ["gradWeight", gradients[1], expected.gradWeight.data],
      ["gradBias", gradients[2], expected.gradBias.data],
      ["with numbers", numbers, wasm[op](data, plain)],
    ];
    for (const [what, got, right] of pairs) {
      const largest = right.reduce(
        (/** @type {number} */ a, /** @type {number} */ b) => Math.max(a, Math.abs(b)),
        1e-6,
      );
      worst[`${op} [${shape}] ${what}`] = difference(await got.data(), right) / largest;
    }
    worst[`${op} [${shape}] gradient with numbers`] = (await numbersGradient.data()).every(
      Number.isFinite,
    )
      ? 0
      : 1;
    tf.dispose([y, gradients, numbers, numbersGradient]);
    worst[`${op} [${shape}] tensors left`] = tf.memory().numTensors - before - 1;
    tf.dispose(inputs);
  }
  return worst;
}

/**
 * What TensorFlow.js computed, normalized where its dataToGPU has it.
 * @returns {Promise<number>} the difference from the same in wasm
 */
export async function dataToGpu() {
  const names = { core: "@tensorflow/tfjs-core", backend: "@tensorflow/tfjs-backend-webgpu" };
  const tf = await import(names.core);
  await import(names.backend);
  const { WebGpuNorm, wasm } = await load();
  await tf.setBackend("webgpu");
  await tf.ready();
  // It computes small tensors in JavaScript otherwise.
  tf.env().set("WEBGPU_CPU_FORWARD", false);
  const gpu = new WebGpuNorm(tf.backend().device);
  const shape = [5, 33];
  const x = values(165);
  const sum = tf.add(tf.tensor(x, shape), 1);
  const there = sum.dataToGPU();
  const weight = tf.mul(tf.tensor(values(33), [33]), 2).dataToGPU();
  const y = await gpu.read(gpu.layerNorm(there, { weight }));
  there.tensorRef.dispose();
  weight.tensorRef.dispose();
  const options = { shape, weight: values(33).map((v) => 2 * v) };
  return difference(
    y,
    wasm.layerNorm(
      x.map((v) => v + 1),
      options,
    ),
  );
}

/** The sweep in a page. @param {number} time in milliseconds */
export async function sweepFor(time) {
  const adapter = await /** @type {any} */ (navigator).gpu?.requestAdapter();
  if (!adapter) return { reason: "the browser finds no adapter" };
  const [{ WebGpuNorm }, { sweep }] = await Promise.all([load(), import("./sweep.js")]);
  const norm = await WebGpuNorm.create({ adapter });
  const { vendor, architecture, device, description } = adapter.info;
  const found = await sweep(norm, time);
  norm.dispose();
  const names = [navigator.userAgent.split(" ").at(-1), vendor, architecture, device, description];
  return { ...found, name: names.filter(Boolean).join(" ") };
}
