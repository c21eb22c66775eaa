// An LSTM that goes through a text character by character, plain or with layer normalization by each definition.
import { Random } from "../../js/random.js";
import { trainStep } from "./training.js";

export const CELLS = /** @type {const} */ (["plain", "ba2016", "perGate", "fusedGates"]);
/** @typedef {typeof CELLS[number]} Cell */

export const FULL = { units: 64, length: 24, batch: 16, steps: 160, rate: 0.01 };
/** For the demo page: some seconds. @type {Setting} */
export const SMALL = { units: 32, length: 16, batch: 8, steps: 100, rate: 0.01 };

/** @typedef {typeof FULL} Setting */
/** @typedef {{ alphabet: string[], codes: Int32Array }} Corpus */

/** @param {string} text @returns {string} in lower case, of few characters */
export const clean = (text) => text.toLowerCase().replace(/[^a-z .,;!?'-]+/g, " ");

/** @param {string} text clean @returns {Corpus} */
export function encode(text) {
  const alphabet = [...new Set(text)].sort();
  return { alphabet, codes: Int32Array.from(text, (character) => alphabet.indexOf(character)) };
}

/**
 * @param {import("./training.js").Library} library
 * @param {Cell} name
 * @param {number} seed
 * @param {Setting} setting
 * @param {number} characters how many different ones
 */
function makeModel({ tfl, tfjs }, name, seed, { units, length }, characters) {
  const initializer = (/** @type {number} */ at) =>
    tfl.initializers.glorotUniform({ seed: 10 * seed + at });
  const args = {
    units,
    kernelInitializer: initializer(0),
    recurrentInitializer: initializer(1),
    unitForgetBias: true,
  };
  const cell =
    name === "plain"
      ? tfl.layers.lstmCell({ ...args, recurrentActivation: "sigmoid" })
      : new tfjs.LayerNormLSTMCell({ ...args, definition: name });
  const model = tfl.sequential();
  const inputShape = [length, characters];
  model.add(tfl.layers.rnn({ cell: /** @type {any} */ (cell), returnSequences: true, inputShape }));
  const kernelInitializer = initializer(2);
  model.add(tfl.layers.dense({ units: characters, kernelInitializer }));
  return model;
}

/**
 * @param {import("./training.js").Library} library
 * @param {Corpus} corpus
 * @param {Setting} setting
 * @param {Cell} name
 * @param {number} seed
 * @returns {Generator<import("./training.js").Step>} a step of training each, its loss in nats for a character
 */
export function* train(library, { alphabet, codes }, setting, name, seed) {
  const { tf } = library;
  const { length, batch, steps, rate } = setting;
  const model = makeModel(library, name, seed, setting, alphabet.length);
  const variables = model.trainableWeights.map((/** @type {any} */ weight) => weight.val);
  const optimizer = tf.train.adam(rate);
  const random = new Random(seed);
  try {
    for (let step = 0; step < steps; step++) {
      const starts = Array.from({ length: batch }, () => random.below(codes.length - length - 1));
      const pick = (/** @type {number} */ by) =>
        tf.oneHot(
          tf.tensor(
            starts.flatMap((start) => [...codes.subarray(start + by, start + by + length)]),
            [batch, length],
            "int32",
          ),
          alphabet.length,
        );
      const loss = () =>
        tf.losses.softmaxCrossEntropy(
          pick(1),
          model.apply(tf.cast(pick(0), "float32"), { training: true }),
        );
      yield trainStep(tf, optimizer, loss, variables);
    }
  } finally {
    model.dispose();
    optimizer.dispose();
  }
}
