// One LayerNorm on the visitor's machine in several ways: a plain loop, WebAssembly, WebGPU. Loaded when it is asked for.

import { layerNorm, plan, tensor } from "layernorm";
import { WebGpuNorm } from "layernorm/webgpu";

/** @typedef {"wayPlain" | "wayTyped" | "wayPlan" | "wayGpu" | "wayGpuCopied"} WayName a string's key */

/**
 * @typedef {object} Timed
 * @property {WayName} name
 * @property {number} ms a call, median
 * @property {number} difference the largest from the plain loop's result, against the larger of 1 and that result
 * @property {boolean} agrees whether that is within the way's bound
 */

/**
 * @typedef {object} Way
 * @property {WayName} name
 * @property {(calls: number) => void | Promise<unknown>} run that many, until they are done
 * @property {() => Float32Array | Promise<Float32Array>} result
 * @property {number} bound of the difference
 */

/** Why the graphics card takes no part: a string's key, and what was said. @typedef {{ key: string, message: string }} Absence */
/** @typedef {{ name: string, software: boolean }} Adapter */

const EPS = 1e-5;
const UNIT = 2 ** -23;
/** The package's bounds, and half a unit for the loop's own rounding. */
const WASM_BOUND = 3.5 * UNIT;
const GPU_BOUND = 8.5 * UNIT;
/** Samples of one way take so long together, about. */
const SAMPLING_MS = 400;
const MOST_SAMPLES = 31;
/** Browsers round the clock to 0.1 ms or 1 ms: a sample is of as many calls as take longer. */
const SAMPLE_MS = 5;

/**
 * @param {number} rows
 * @param {number} features
 * @param {(name: WayName) => Promise<void>} announce before each way
 * @returns {Promise<{ ways: Timed[], adapter: Adapter | undefined, absence: Absence | undefined }>}
 */
export async function compareWays(rows, features, announce) {
  const problem = makeProblem(rows, features);
  const expected = new Float32Array(problem.x.length);
  /** @type {Timed[]} */
  const ways = [];
  const time = async (/** @type {Way} */ way) => {
    await announce(way.name);
    await way.run(1);
    const difference = largestDifference(await way.result(), expected);
    ways.push({
      name: way.name,
      ms: await medianTime(way),
      difference,
      agrees: difference <= way.bound,
    });
  };
  await time(plainWay(problem, expected));
  await time(typedWay(problem));
  await using(planWay(problem), time);
  const found = await findAdapter();
  if ("key" in found) return { ways, adapter: undefined, absence: found };
  try {
    await using(await gpuWays(problem, found.adapter), async (two) => {
      for (const way of two) await time(way);
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { ways, adapter: found, absence: { key: "waysFailed", message } };
  }
  return { ways, adapter: found, absence: undefined };
}

/** @typedef {{ rows: number, features: number, x: Float32Array, weight: Float32Array, bias: Float32Array }} Problem */

/** @param {number} rows @param {number} features @returns {Problem} */
function makeProblem(rows, features) {
  // Sums of uniform numbers from a fixed seed: nearly normal, and the same for everybody.
  let state = 1;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return (state >>> 8) / 2 ** 24 - 0.5;
  };
  const normal = () => 2 * (uniform() + uniform() + uniform());
  const array = (/** @type {number} */ n, /** @type {() => number} */ make) =>
    Float32Array.from({ length: n }, make);
  return {
    rows,
    features,
    x: array(rows * features, normal),
    weight: array(features, () => 1 + normal() / 10),
    bias: array(features, () => normal() / 10),
  };
}

/** @param {Problem} problem @param {Float32Array} out @returns {Way} */
function plainWay({ rows, features, x, weight, bias }, out) {
  const call = () => {
    for (let row = 0; row < rows; row++) {
      const begin = row * features;
      const end = begin + features;
      let sum = 0;
      for (let i = begin; i < end; i++) sum += x[i];
      const mean = sum / features;
      let squares = 0;
      for (let i = begin; i < end; i++) squares += (x[i] - mean) ** 2;
      const rstd = 1 / Math.sqrt(squares / features + EPS);
      for (let i = begin; i < end; i++) {
        out[i] = (x[i] - mean) * rstd * weight[i - begin] + bias[i - begin];
      }
    }
  };
  return { name: "wayPlain", run: (calls) => repeat(calls, call), result: () => out, bound: 0 };
}

/** @param {Problem} problem @returns {Way} */
function typedWay({ rows, features, x, weight, bias }) {
  const out = new Float32Array(x.length);
  const options = { shape: [rows, features], weight, bias, eps: EPS, out };
  return {
    name: "wayTyped",
    run: (calls) => repeat(calls, () => layerNorm(x, options)),
    result: () => out,
    bound: WASM_BOUND,
  };
}

/** @param {Problem} problem @returns {Way & Held} */
function planWay({ rows, features, x, weight, bias }) {
  const input = tensor(x, [rows, features]);
  const step = plan("layerNorm", input, { weight, bias, eps: EPS });
  return {
    name: "wayPlan",
    run: (calls) => repeat(calls, () => step.run()),
    result: () => step.output.data,
    bound: WASM_BOUND,
    dispose() {
      step.dispose();
      input.dispose();
    },
  };
}

/**
 * @param {Problem} problem
 * @param {any} adapter a GPUAdapter
 * @returns {Promise<Way[] & Held>}
 */
async function gpuWays({ rows, features, x, weight, bias }, adapter) {
  const gpu = await WebGpuNorm.create({ adapter });
  const shape = [rows, features];
  const parameters = { weight: gpu.tensor(weight), bias: gpu.tensor(bias), eps: EPS };
  const input = gpu.tensor(x, shape);
  const out = gpu.tensor(new Float32Array(x.length), shape);
  /** @type {Float32Array} */
  let copied = new Float32Array();
  /** @type {Way[]} */
  const ways = [
    {
      name: "wayGpu",
      async run(calls) {
        repeat(calls, () => gpu.layerNorm(input, { ...parameters, out }));
        await gpu.done();
      },
      result: async () => /** @type {Float32Array} */ (await gpu.read(out)),
      bound: GPU_BOUND,
    },
    {
      name: "wayGpuCopied",
      async run(calls) {
        for (let i = 0; i < calls; i++) {
          const sent = gpu.tensor(x, shape);
          gpu.layerNorm(sent, { ...parameters, out });
          copied = /** @type {Float32Array} */ (await gpu.read(out));
          sent.dispose();
        }
      },
      result: () => copied,
      bound: GPU_BOUND,
    },
  ];
  return Object.assign(ways, { dispose: () => gpu.dispose() });
}

/** @returns {Promise<(Adapter & { adapter: any }) | Absence>} */
async function findAdapter() {
  const { gpu } = /** @type {any} */ (navigator);
  if (gpu === undefined) return { key: "waysNoWebGpu", message: "" };
  try {
    const adapter = await gpu.requestAdapter();
    if (adapter === null) return { key: "waysNoAdapter", message: "" };
    const { vendor, architecture, device, description, isFallbackAdapter } = adapter.info ?? {};
    const name = description || [vendor, architecture, device].filter(Boolean).join(" ");
    // Browsers call SwiftShader and the like what they are, but do not all set the flag.
    const software = isFallbackAdapter === true || /swiftshader|llvmpipe|basic render/i.test(name);
    return { adapter, name: name || "WebGPU", software };
  } catch (error) {
    return { key: "waysFailed", message: error instanceof Error ? error.message : String(error) };
  }
}

/** @typedef {{ dispose(): void }} Held */

/**
 * @template {Held} T
 * @param {T} held
 * @param {(held: T) => Promise<void>} use
 */
async function using(held, use) {
  try {
    await use(held);
  } finally {
    held.dispose();
  }
}

/** @param {number} times @param {() => void} call */
function repeat(times, call) {
  for (let i = 0; i < times; i++) call();
}

/** @param {Way} way */
async function medianTime({ run }) {
  const clock = async (/** @type {number} */ calls) => {
    const start = performance.now();
    await run(calls);
    return performance.now() - start;
  };
  let calls = 1;
  let last = await clock(calls);
  while (last < SAMPLE_MS) {
    calls *= 2;
    last = await clock(calls);
  }
  const samples = Math.max(3, Math.min(MOST_SAMPLES, Math.round(SAMPLING_MS / last)));
  /** @type {number[]} */
  const times = [];
  for (let i = 0; i < samples; i++) times.push((await clock(calls)) / calls);
  return times.sort((a, b) => a - b)[times.length >> 1] ?? Number.NaN;
}

/** @param {Float32Array} got @param {Float32Array} expected */
function largestDifference(got, expected) {
  let largest = 0;
  for (let i = 0; i < expected.length; i++) {
    const difference = Math.abs(got[i] - expected[i]) / Math.max(1, Math.abs(expected[i]));
    // What is no number must not pass.
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}
