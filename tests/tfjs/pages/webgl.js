// In a page: the operations and their derivatives on TensorFlow.js's webgl backend beside its cpu backend.
import "@tensorflow/tfjs-backend-cpu";
import "@tensorflow/tfjs-backend-webgl";
import * as tf from "@tensorflow/tfjs-core";
import * as tfl from "@tensorflow/tfjs-layers";
import * as tfjs from "layernorm/tfjs";

const SHAPE = [2, 6, 8];
const SIZE = 96;

const wave = (/** @type {number} */ n, /** @type {number} */ step, /** @type {number} */ mean) =>
  Float32Array.from({ length: n }, (_, i) => mean + 2 * Math.sin(step * i));

/** @type {Record<string, (x: any, weight: any) => any>} */
const NORMS = {
  layerNorm: (x, weight) => tfjs.layerNorm(x, { weight, bias: 0.5 }),
  rmsNorm: (x, weight) => tfjs.rmsNorm(x, { weight }),
  groupNorm: (x) => tfjs.groupNorm(x, { numGroups: 3 }),
  instanceNorm: (x, weight) => tfjs.instanceNorm(x, { layout: "channels_last", weight }),
};

/** @returns {Record<string, Float32Array>} */
function results() {
  const x = tf.tensor(wave(SIZE, 1.7, 3), SHAPE);
  const weight = tf.tensor(wave(8, 0.3, 1));
  const target = tf.tensor(wave(SIZE, 0.9, 0), SHAPE);
  /** @type {Record<string, Float32Array>} */
  const found = {};
  for (const [name, norm] of Object.entries(NORMS)) {
    const loss = (/** @type {any} */ x) => tf.sum(tf.mul(target, tf.square(norm(x, weight))));
    const gradient = tf.grad(loss);
    found[name] = norm(x, weight).dataSync();
    found[`${name}, gradient`] = gradient(x).dataSync();
    const squares = (/** @type {any} */ x) => tf.sum(tf.square(gradient(x)));
    found[`${name}, second derivative`] = tf.grad(squares)(x).dataSync();
  }
  for (const Cell of [tfjs.LayerNormLSTMCell, tfjs.LayerNormGRUCell]) {
    const initializer = tfl.initializers.glorotUniform({ seed: 1 });
    const cell = new Cell({
      units: 4,
      kernelInitializer: initializer,
      recurrentInitializer: initializer,
    });
    const rnn = /** @type {any} */ (tfl.layers.rnn({ cell: /** @type {any} */ (cell) }));
    found[Cell.className] = rnn.apply(x).dataSync();
  }
  return found;
}

/** @returns {Promise<Record<string, number> | string>} by what differs: the largest difference over the largest value; or why not */
Object.assign(globalThis, {
  async compare() {
    await tf.setBackend("cpu");
    const expected = results();
    if (!(await tf.setBackend("webgl"))) return "there is no WebGL";
    const got = results();
    return Object.fromEntries(
      Object.entries(expected).map(([name, values]) => {
        const largest = Math.max(...values.map(Math.abs));
        return [name, Math.max(...values.map((v, i) => Math.abs(v - got[name][i]))) / largest];
      }),
    );
  },
});
