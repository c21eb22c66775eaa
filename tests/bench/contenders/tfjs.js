/** TensorFlow.js on its wasm backend, one thread: its layer, and the operations that a norm is composed of. */

import { assetUrl, inBrowser, namesOf } from "./contender.js";

/** @typedef {import("./contender.js").Contender} Contender */

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

/** The data are copied out, as every user of the result has to. @param {any} y */
function finished(y) {
  const data = y.dataSync();
  y.dispose();
  return data;
}

/** @type {Contender} */
export const tfjsLayer = {
  id: "tfjs-layer",
  name: "TensorFlow.js, layer",
  detail: "wasm, 1 thread: tf.layers.layerNormalization on a resident tensor, then dataSync",
  kind: "peer",
  packages: ["@tensorflow/tfjs-layers", "@tensorflow/tfjs-core", "@tensorflow/tfjs-backend-wasm"],
  column: "TensorFlow.js, layer",
  async prepare({ operation, rows, features, eps, x, weight, bias }) {
    if (operation === "rmsNorm") throw new Error("no such layer");
    const { tf, layers } = await load();
    const input = tf.tensor2d(x, [rows, features]);
    const layer = layers.layerNormalization({ axis: -1, epsilon: eps });
    layer.build([rows, features]);
    tf.tidy(() => layer.setWeights([tf.tensor1d(weight), tf.tensor1d(bias)]));
    return {
      run: () => finished(layer.apply(input)),
      read: (y) => y,
      dispose() {
        // Not layer.dispose(): that wants a layer which is part of a model.
        for (const held of [...layer.weights, input]) held.dispose();
      },
    };
  },
};

/** @type {Contender} */
export const tfjsOps = {
  id: "tfjs-ops",
  name: "TensorFlow.js, operations",
  detail:
    "wasm, 1 thread: moments or square and mean, rsqrt, mul, add on a resident tensor, then dataSync",
  kind: "peer",
  packages: ["@tensorflow/tfjs-core", "@tensorflow/tfjs-backend-wasm"],
  column: "TensorFlow.js, operations",
  async prepare({ operation, rows, features, eps, x, weight, bias }) {
    const { tf } = await load();
    const input = tf.tensor2d(x, [rows, features]);
    const w = tf.tensor1d(weight);
    const b = bias === null ? null : tf.tensor1d(bias);
    const layerNorm = () => {
      const { mean, variance } = tf.moments(input, -1, true);
      const normalized = tf.mul(tf.sub(input, mean), tf.rsqrt(tf.add(variance, eps)));
      return tf.add(tf.mul(normalized, w), b);
    };
    const rmsNorm = () => {
      const meanSquare = tf.mean(tf.square(input), -1, true);
      return tf.mul(tf.mul(input, tf.rsqrt(tf.add(meanSquare, eps))), w);
    };
    const compute = operation === "layerNorm" ? layerNorm : rmsNorm;
    return {
      run: () => finished(tf.tidy(compute)),
      read: (y) => y,
      dispose() {
        for (const tensor of [input, w, b]) tensor?.dispose();
      },
    };
  },
};
