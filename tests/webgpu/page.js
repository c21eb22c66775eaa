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
