/** TensorFlow.js on its wasm backend, one thread: its layer, and the operations that a norm is composed of. */

import { geometryOf, isRms } from "../geometry.js";
import { isMatrix } from "../tasks.js";
import { assetUrl, inBrowser, namesOf, transposed } from "./contender.js";

/** @typedef {import("./contender.js").Contender} Contender */
/** @typedef {import("./contender.js").Task} Task */

/** @type {Promise<{ tf: any, layers: any }> | undefined} */
let loading;

function load() {
  loading ??= (async () => {
    // The names in variables: the types of peers need not be installed.
    const names = ["core", "layers", "backend-wasm"].map((name) => `@tensorflow/tfjs-${name}`);
    const [core, layers, wasm] = await Promise.all(names.map((name) => import(name)));
    const tf = namesOf(core);
    wasm.setThreadsCount(1);
    if (inBrowser) wasm.setWasmPaths(assetUrl("@tensorflow/tfjs-backend-wasm/dist/"));
    if (!(await tf.setBackend("wasm"))) throw new Error("the wasm backend did not start");
    return { tf, layers: namesOf(layers).layers };
  })();
  return loading;
}

/** The data are copied out, as every user of the result has to. @param {any[]} tensors */
function finished(tensors) {
  return tensors.map((tensor) => {
    const data = tensor.dataSync();
    tensor.dispose();
    return data;
  });
}

/** @type {Contender} */
export const tfjsLayer = {
  id: "tfjs-layer",
  name: "TensorFlow.js, layer",
  detail: "wasm, 1 thread: tf.layers.layerNormalization on a resident tensor, then dataSync",
  kind: "peer",
  packages: ["@tensorflow/tfjs-layers", "@tensorflow/tfjs-core", "@tensorflow/tfjs-backend-wasm"],
  column: "TensorFlow.js, layer",
  applies: isMatrix,
  async prepare({ operation, dims, eps, x, values: { weight, bias } }) {
    if (operation === "rmsNorm") throw new Error("no such layer");
    const { tf, layers } = await load();
    const input = tf.tensor2d(x, dims);
    const layer = layers.layerNormalization({ axis: -1, epsilon: eps });
    layer.build(dims);
    tf.tidy(() => layer.setWeights([tf.tensor1d(weight), tf.tensor1d(bias)]));
    return {
      run: () => finished([layer.apply(input)]),
      read: (outputs) => outputs,
      dispose() {
        // Not layer.dispose(): that wants a layer which is part of a model.
        for (const held of [...layer.weights, input]) held.dispose();
      },
    };
  },
};

/**
 * @param {any} tf
 * @param {Task} task
 * @param {Record<string, any>} held tensors: the inputs, and the parameters by their names
 */
function composed(tf, task, { x, residual, weight, bias, scale, shift }) {
  const { axes } = geometryOf(task);
  const sum = residual ? tf.add(x, residual) : x;
  let y;
  if (isRms(task.operation)) {
    const meanSquare = tf.mean(tf.square(sum), axes, true);
    y = tf.mul(sum, tf.rsqrt(tf.add(meanSquare, task.eps)));
  } else {
    const { mean, variance } = tf.moments(sum, axes, true);
    y = tf.mul(tf.sub(sum, mean), tf.rsqrt(tf.add(variance, task.eps)));
  }
  if (weight) y = tf.mul(y, weight);
  if (bias) y = tf.add(y, bias);
  if (scale) y = tf.mul(y, tf.add(scale, 1));
  if (shift) y = tf.add(y, shift);
  if (task.options.activation === "silu") y = tf.mul(y, tf.sigmoid(y));
  return residual ? [y, sum] : [y];
}

/**
 * tf.batchNorm, on data with the channels last: it knows no other.
 * @param {any} tf
 * @param {Task} task
 */
function prepareBatchNorm(tf, task) {
  const { view, channels } = geometryOf(task);
  const [items, count, positions] = view;
  const input = tf.tensor(transposed(task.x, view), [items, positions, count]);
  const { weight, bias, runningMean, runningVar } = Object.fromEntries(
    Object.entries(task.values).map(([name, data]) => [name, tf.tensor1d(data)]),
  );
  const inference = () => tf.batchNorm(input, runningMean, runningVar, bias, weight, task.eps);
  const training = () => {
    const { mean, variance } = tf.moments(input, [0, 1]);
    return tf.batchNorm(input, mean, variance, bias, weight, task.eps);
  };
  const compute = task.options.training ? training : inference;
  return {
    run: () => finished([tf.tidy(compute)]),
    read: (/** @type {Float32Array[]} */ [y]) => [transposed(y, [items, positions, channels[0]])],
    dispose() {
      for (const tensor of [input, weight, bias, runningMean, runningVar]) tensor.dispose();
    },
  };
}

/** @type {Contender} */
export const tfjsOps = {
  id: "tfjs-ops",
  name: "TensorFlow.js, operations",
  detail:
    "wasm, 1 thread: moments or square and mean, rsqrt, mul, add, sigmoid, or batchNorm with the channels last, " +
    "on a resident tensor, then dataSync",
  kind: "peer",
  packages: ["@tensorflow/tfjs-core", "@tensorflow/tfjs-backend-wasm"],
  column: "TensorFlow.js, operations",
  async prepare(task) {
    const { operation, dtype, x, residual, values } = task;
    const { tf } = await load();
    if (operation === "batchNorm") return prepareBatchNorm(tf, task);
    const { view, channels, items } = geometryOf(task);
    /** @type {Record<string, any>} */
    const held = { x: tf.tensor(x, view, dtype) };
    if (residual) held.residual = tf.tensor(residual, view, dtype);
    for (const [name, data] of Object.entries(values)) {
      const shape = name === "scale" || name === "shift" ? items : channels;
      held[name] = tf.tensor(data, shape, dtype);
    }
    return {
      run: () => finished(tf.tidy(() => composed(tf, task, held))),
      read: (outputs) => outputs,
      dispose() {
        for (const tensor of Object.values(held)) tensor.dispose();
      },
    };
  },
};
