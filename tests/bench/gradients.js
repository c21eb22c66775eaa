/**
 * A forward and a backward step together: node tests/bench/gradients.js [--quick]
 *
 * The package's plans, with the statistics of the forward one handed to the backward one, on one thread, and on two in a copy of the
 * package; memory.copy of as many bytes as the two have to read and write (x and y; x, the gradient of y and that of x); and where they are installed (npm run bench installs them)
 * TensorFlow.js's gradients of the operations that a norm is composed of, on its wasm backend with one thread, and those of
 * jax-js, on its wasm device under jit. Prints a line for each shape and contender, of medians.
 */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import * as layernorm from "../../dist/index.js";
import { Random } from "../js/data.js";
import { copyModule } from "./copy_module.js";
import { ensureBuilt } from "./machine.js";
import { installedVersion } from "./peers.js";
import { median } from "./stats.js";
import { FULL, QUICK, timeInterleaved } from "./timing.js";

/**
 * @typedef {object} Shape
 * @property {string} id
 * @property {string} operation
 * @property {number[]} dims
 * @property {Record<string, unknown>} options
 * @property {number[]} view as TensorFlow.js takes it
 * @property {number[]} axes of the view that are normalized
 * @property {number[]} channels the parameters' dimensions beside the view
 */
/** @typedef {{ x: Float32Array, grad: Float32Array, weight: Float32Array, bias: Float32Array }} Values */
/**
 * @typedef {object} Contender
 * @property {string} id
 * @property {boolean} [async] whether run gives a promise
 * @property {() => any} run
 * @property {(result: any) => Promise<Float32Array[]>} read the gradients of x, weight and bias from what run gave
 */

/** Of what run gives as arrays. @param {Float32Array[]} result */
const asTheyAre = async (result) => result;

/** @type {Shape[]} */
const SHAPES = [
  {
    id: "LayerNorm 512x768",
    operation: "layerNorm",
    dims: [512, 768],
    options: {},
    view: [512, 768],
    axes: [1],
    channels: [768],
  },
  {
    id: "GroupNorm 1x320x64x64, 32 groups",
    operation: "groupNorm",
    dims: [1, 320, 64, 64],
    options: { numGroups: 32 },
    view: [32, 10, 4096],
    axes: [1, 2],
    channels: [32, 10, 1],
  },
];

/**
 * @param {any} from the package, or a copy of it
 * @param {string} id
 * @param {Shape} shape
 * @param {Values} values
 * @returns {Contender}
 */
function preparePlans(
  { plan: make, tensor },
  id,
  { operation, dims, options },
  { x, grad, weight, bias },
) {
  const [input, of] = [tensor(x, dims), tensor(grad, dims)];
  const all = { ...options, weight: tensor(weight), bias: tensor(bias) };
  const forward = make(operation, input, { ...all, returnStats: true });
  const { mean, rstd } = forward;
  const backward = make(`${operation}Backward`, of, input, { ...all, mean, rstd });
  const { gradInput, gradWeight, gradBias } = backward;
  return {
    id,
    run: () => {
      forward.run();
      backward.run();
      return [gradInput.data, gradWeight.data, gradBias.data];
    },
    read: asTheyAre,
  };
}

/** @param {Shape} shape @returns {Promise<Contender>} */
async function prepareCopy({ dims }) {
  const bytes = 2.5 * 4 * dims.reduce((a, b) => a * b, 1);
  const source = 64;
  const target = Math.ceil((source + bytes) / 4096) * 4096 + 128;
  const memory = new WebAssembly.Memory({ initial: Math.ceil((target + bytes) / 65_536) });
  const { instance } = /** @type {any} */ (
    await WebAssembly.instantiate(copyModule(), { bench: { memory } })
  );
  return {
    id: "memory.copy",
    run: () => {
      instance.exports.copy(target, source, bytes);
      return [];
    },
    read: asTheyAre,
  };
}

/** @param {Shape} shape @param {Values} values @returns {Promise<Contender>} */
async function prepareTfjs({ view, axes, channels }, values) {
  // The names in variables: the types of peers need not be installed.
  const [core, wasm] = await Promise.all(
    // The layers register the gradients.
    ["core", "backend-wasm", "layers"].map((name) => import(`@tensorflow/tfjs-${name}`)),
  );
  const tf = core.default?.tensor ? core.default : core;
  wasm.setThreadsCount(1);
  if (!(await tf.setBackend("wasm"))) throw new Error("the wasm backend did not start");
  const [x, grad] = [values.x, values.grad].map((data) => tf.tensor(data, view));
  const [weight, bias] = [values.weight, values.bias].map((data) => tf.tensor(data, channels));
  const norm = (/** @type {any} */ input, /** @type {any} */ w, /** @type {any} */ b) => {
    const { mean, variance } = tf.moments(input, axes, true);
    return tf.add(tf.mul(tf.mul(tf.sub(input, mean), tf.rsqrt(tf.add(variance, 1e-5))), w), b);
  };
  const grads = tf.grads(norm);
  return {
    id: `TensorFlow.js ${installedVersion("@tensorflow/tfjs-core")}, operations`,
    run: () => {
      const results = tf.tidy(() => grads([x, weight, bias], grad));
      const data = results.map((/** @type {any} */ each) => each.dataSync());
      for (const each of results) each.dispose();
      return data;
    },
    read: asTheyAre,
  };
}

/** @param {Shape} shape @param {Values} values @returns {Promise<Contender>} */
async function prepareJaxJs({ view, axes, channels }, values) {
  const name = "@jax-js/jax";
  const { defaultDevice, grad, init, jit, nn, numpy: np } = await import(name);
  await init("wasm");
  defaultDevice("wasm");
  const held = [
    [values.x, view],
    [values.weight, channels],
    [values.bias, channels],
    [values.grad, view],
  ].map(([data, dims]) => np.array(data).reshape(dims));
  // The gradient of a sum of products with the gradient that is handed on.
  const product = (
    /** @type {any} */ x,
    /** @type {any} */ weight,
    /** @type {any} */ bias,
    /** @type {any} */ of,
  ) => np.sum(nn.standardize(x, axes, { epsilon: 1e-5 }).mul(weight).add(bias).mul(of));
  const call = jit(grad(product, { argnums: [0, 1, 2] }));
  /** @type {any[]} */
  let last = [];
  return {
    id: `jax-js ${installedVersion("@jax-js/jax")}, nn.standardize`,
    async: true,
    async run() {
      for (const array of last) array.dispose();
      last = call(...held.map(({ ref }) => ref));
      for (const array of last) await array.blockUntilReady();
      return last;
    },
    read: (results) => Promise.all(results.map((/** @type {any} */ each) => each.ref.data())),
  };
}

/** @param {Contender} contender @param {Float32Array[]} expected */
async function check({ id, run, read }, expected) {
  for (const [k, result] of (await read(await run())).entries()) {
    const largest = expected[k].reduce((most, v) => Math.max(most, Math.abs(v)), 0);
    for (const [i, value] of result.entries()) {
      if (!(Math.abs(value - expected[k][i]) <= 1e-3 * largest)) {
        throw new Error(
          `${id}: gradient ${k} is off at ${i}: ${value}, expected ${expected[k][i]}`,
        );
      }
    }
  }
}

const { values: args } = parseArgs({ options: { quick: { type: "boolean" } } });
ensureBuilt(console.log);
// One instance has one number of threads.
const folder = await mkdtemp(join(tmpdir(), "layernorm-gradients-"));
const copy = join(folder, "dist");
await cp(fileURLToPath(new URL("../../dist", import.meta.url)), copy, { recursive: true });
const threaded = await import(pathToFileURL(join(copy, "index.js")).href);
const { threads, reasons } = await threaded.init({ threads: 2 });
if (threads !== 2) console.log(`Two threads are left out: ${reasons.join("; ")}`);
for (const shape of SHAPES) {
  const random = new Random(1);
  const size = shape.dims.reduce((a, b) => a * b, 1);
  const channels = shape.channels.reduce((a, b) => a * b, 1);
  const draw = (/** @type {number} */ n) => Float32Array.from({ length: n }, () => random.normal());
  const values = { x: draw(size), grad: draw(size), weight: draw(channels), bias: draw(channels) };
  const contenders = [preparePlans(layernorm, "layernorm, plans", shape, values)];
  if (threads === 2) {
    contenders.push(preparePlans(threaded, "layernorm, plans, 2 threads", shape, values));
  }
  contenders.push(await prepareCopy(shape));
  if (installedVersion("@tensorflow/tfjs-backend-wasm")) {
    contenders.push(await prepareTfjs(shape, values));
  } else {
    console.log("TensorFlow.js is not installed in tests/bench: left out.");
  }
  if (installedVersion("@jax-js/jax")) contenders.push(await prepareJaxJs(shape, values));
  else console.log("jax-js is not installed in tests/bench: left out.");
  const expected = contenders[0].run().map((/** @type {Float32Array} */ data) => data.slice());
  for (const contender of contenders) await check(contender, expected);
  const candidates = contenders.map((each) => ({ ...each, async: each.async ?? false }));
  const times = await timeInterleaved(candidates, args.quick ? QUICK : FULL);
  const first = median(times.get(contenders[0].id) ?? []);
  for (const { id } of contenders) {
    const ms = median(times.get(id) ?? []);
    console.log(`${shape.id}  ${id}: ${ms.toFixed(3)} ms, ${(ms / first).toFixed(2)} times ours`);
  }
}
threaded.dispose();
await rm(folder, { recursive: true });
