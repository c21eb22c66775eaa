// The experiments of tests/experiments as the page runs them: the same code, in a smaller setting.

import * as convolutional from "../../tests/experiments/core/batch_size.js";
import * as transformers from "../../tests/experiments/core/pre_post_ln.js";
import * as recurrent from "../../tests/experiments/core/text_lstm.js";

/** @typedef {import("../../tests/experiments/core/training.js").Library} Library */
/** @typedef {import("../../tests/experiments/core/training.js").Step} Step */
/** @typedef {Generator<Step, number | void> & { gradients?: number[] }} Training */

/**
 * @typedef {object} Experiment
 * @property {"wasm" | "cpu"} backend of TensorFlow.js
 * @property {readonly string[]} variants
 * @property {readonly number[]} options what the visitor chooses one of
 * @property {number} usual option
 * @property {(option: number) => number} stepsOf how many steps each variant takes
 * @property {number} window a curve's point is the mean of so many steps
 * @property {(option: number) => number} [perStep] what a step counts for on the chart's axis
 * @property {(urlOf: (name: string) => URL) => Promise<any>} load
 * @property {(library: Library, data: any, variant: any, option: number, seed: number) => Training} start
 */

/** @param {URL} url */
async function get(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url.pathname}: ${response.status}`);
  return response;
}

export const EXPERIMENTS = {
  /** @type {Experiment} */
  recurrent: {
    // The Experiment's option is how many characters the network reads back.
    backend: "wasm",
    variants: ["plain", "ba2016"],
    options: [8, 16, 32],
    usual: 16,
    stepsOf: () => recurrent.SMALL.steps,
    window: 10,
    load: async (urlOf) => recurrent.encode(await (await get(urlOf("text.txt"))).text()),
    start: (library, corpus, variant, length, seed) =>
      recurrent.train(library, corpus, { ...recurrent.SMALL, length }, variant, seed),
  },
  /** @type {Experiment} */
  transformers: {
    // How many blocks.
    backend: "wasm",
    variants: transformers.KINDS,
    options: [2, 6, 12],
    usual: 6,
    stepsOf: () => transformers.SMALL.steps,
    window: 5,
    load: async () => undefined,
    start: (library, _, variant, depth, seed) =>
      transformers.train(library, transformers.SMALL, variant, depth, seed),
  },
  /** @type {Experiment} */
  convolutional: {
    // How many digits in a batch. TensorFlow.js's wasm cannot differentiate convolutions.
    backend: "cpu",
    variants: convolutional.KINDS,
    options: [1, 2, 4, 16],
    usual: 2,
    stepsOf: (size) => convolutional.SMALL.seen / size,
    window: 48,
    perStep: (size) => size,
    load: async (urlOf) => decodeDigits(await (await get(urlOf("digits.bin"))).arrayBuffer()),
    start: (library, digits, variant, size, seed) =>
      convolutional.train(library, digits, convolutional.SMALL, variant, size, seed),
  },
};

/** @typedef {keyof typeof EXPERIMENTS} Name */

const PIXELS = 64;

/**
 * Bytes as tools/page_data.js writes them: pixels of digits to train with and to test with, then the labels of both.
 *
 * @param {ArrayBuffer} buffer
 */
export function decodeDigits(buffer) {
  const { seen, unseen } = convolutional.SMALL;
  const bytes = new Uint8Array(buffer);
  const pixels = Float32Array.from(
    bytes.subarray(0, (seen + unseen) * PIXELS),
    (byte) => byte / 127.5 - 1,
  );
  const labels = Int32Array.from(bytes.subarray((seen + unseen) * PIXELS));
  return {
    train: { images: pixels.subarray(0, seen * PIXELS), labels: labels.subarray(0, seen) },
    test: { images: pixels.subarray(seen * PIXELS), labels: labels.subarray(seen) },
  };
}
