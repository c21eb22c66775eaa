// The network of the documents: Linear(64, 128), LayerNorm(128), ReLU, Linear(128, 10).
import * as tfl from "@tensorflow/tfjs-layers";
import { tf } from "./backends.js";
import { FEATURES } from "./digits.js";

const HIDDEN = 128;
const CLASSES = 10;

/**
 * @param {any} norm a layer, or null for none
 * @param {number} seed of the weights
 * @returns {any} a model of TensorFlow.js
 */
export function makeNetwork(norm, seed) {
  const dense = (
    /** @type {number} */ units,
    /** @type {number} */ at,
    /** @type {object} */ args = {},
  ) =>
    tfl.layers.dense({
      units,
      kernelInitializer: tfl.initializers.glorotUniform({ seed: 2 * seed + at }),
      ...args,
    });
  const model = tfl.sequential();
  model.add(dense(HIDDEN, 0, { inputShape: [FEATURES] }));
  if (norm) model.add(norm);
  model.add(tfl.layers.reLU());
  model.add(dense(CLASSES, 1));
  return model;
}

/**
 * Trains with Adam.
 *
 * @param {any} model
 * @param {import("./digits.js").Digits} digits
 * @param {{ epochs: number, rate: number, batch: number, onEpoch?: (epoch: number) => void }} options
 */
export async function train(model, { images, labels }, { epochs, rate, batch, onEpoch }) {
  const x = tf.tensor(images, [labels.length, FEATURES]);
  const y = tf.oneHot(tf.tensor(labels, [labels.length], "int32"), CLASSES);
  const loss = (/** @type {any} */ expected, /** @type {any} */ logits) =>
    tf.losses.softmaxCrossEntropy(expected, logits);
  model.compile({ optimizer: tf.train.adam(rate), loss });
  for (let epoch = 1; epoch <= epochs; epoch++) {
    // The digits come in an order of their own.
    await model.fit(x, y, { epochs: 1, batchSize: batch, shuffle: false, verbose: 0 });
    onEpoch?.(epoch);
  }
  tf.dispose([x, y]);
}

/** @param {any} model @param {import("./digits.js").Digits} digits @returns {number} the share that it gets right */
export function accuracy(model, { images, labels }) {
  return tf.tidy(() => {
    const logits = model.predict(tf.tensor(images, [labels.length, FEATURES]));
    const best = tf.argMax(logits, 1).dataSync();
    return labels.filter((label, i) => label === best[i]).length / labels.length;
  });
}
