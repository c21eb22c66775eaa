/**
 * A forward and a backward step together: node tests/bench/gradients.js [--quick]
 *
 * The package's plans, with the statistics of the forward one handed to the backward one; memory.copy of as many bytes as the two
 * have to read and write (x and y; x, the gradient of y and that of x); and TensorFlow.js's gradients of the operations that a norm
 * is composed of, on its wasm backend with one thread, where it is installed (npm run bench installs it). Prints a line for
 * each shape and contender, of medians.
 */
import { parseArgs } from "node:util";
import { plan, tensor } from "../../dist/index.js";
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
/** @typedef {{ id: string, run: () => Float32Array[] }} Contender run gives the gradients of x, weight and bias */

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

/** @param {Shape} shape @param {Values} values @returns {Contender} */
function preparePlans({ operation, dims, options }, { x, grad, weight, bias }) {
  /** @type {any} */
  const make = plan;
  const [input, of] = [tensor(x, dims), tensor(grad, dims)];
  const all = { ...options, weight: tensor(weight), bias: tensor(bias) };
  const forward = make(operation, input, { ...all, returnStats: true });
  const { mean, rstd } = forward;
  const backward = make(`${operation}Backward`, of, input, { ...all, mean, rstd });
  const { gradInput, gradWeight, gradBias } = backward;
  return {
    id: "layernorm, plans",
    run: () => {
      forward.run();
      backward.run();
      return [gradInput.data, gradWeight.data, gradBias.data];
    },
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
  };
}

/** @param {Contender} contender @param {Float32Array[]} expected */
function check({ id, run }, expected) {
  for (const [k, result] of run().entries()) {
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
for (const shape of SHAPES) {
  const random = new Random(1);
  const size = shape.dims.reduce((a, b) => a * b, 1);
  const channels = shape.channels.reduce((a, b) => a * b, 1);
  const draw = (/** @type {number} */ n) => Float32Array.from({ length: n }, () => random.normal());
  const values = { x: draw(size), grad: draw(size), weight: draw(channels), bias: draw(channels) };
  const contenders = [preparePlans(shape, values), await prepareCopy(shape)];
  if (installedVersion("@tensorflow/tfjs-backend-wasm")) {
    contenders.push(await prepareTfjs(shape, values));
  } else {
    console.log("TensorFlow.js is not installed in tests/bench: left out.");
  }
  const expected = contenders[0].run().map((data) => data.slice());
  for (const contender of contenders) check(contender, expected);
  const candidates = contenders.map((each) => ({ ...each, async: false }));
  const times = await timeInterleaved(candidates, args.quick ? QUICK : FULL);
  const first = median(times.get(contenders[0].id) ?? []);
  for (const { id } of contenders) {
    const ms = median(times.get(id) ?? []);
    console.log(`${shape.id}  ${id}: ${ms.toFixed(3)} ms, ${(ms / first).toFixed(2)} times ours`);
  }
}
