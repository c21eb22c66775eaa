// A small convolutional network on digits with batch, group or layer normalization, by batch size.
import { normals } from "./numbers.js";
import { trainStep } from "./training.js";

export const KINDS = /** @type {const} */ (["batch", "group", "layer"]);
/** @typedef {typeof KINDS[number]} Kind */

export const FULL = {
  seen: 1536,
  unseen: 500,
  /** For a batch of 16, and in proportion to the batch (Goyal et al. 2017). */
  rate: 0.03,
  momentum: 0.9,
  groups: 4,
};
/** For the demo page: some seconds. @type {Setting} */
export const SMALL = { ...FULL, seen: 384, unseen: 200 };

const CHANNELS = [8, 16];
const CLASSES = 10;

/** @typedef {typeof FULL} Setting */
/** @typedef {import("./training.js").Tensor} Tensor */
/** @typedef {import("./training.js").Library} Library */
/** @typedef {{ images: Float32Array, labels: Int32Array }} Digits images of 8x8 */

/**
 * Batch normalization by a layer that keeps running statistics, as an operation of TensorFlow.js.
 *
 * @param {any} tf
 * @param {InstanceType<Library["nn"]["BatchNorm"]>} layer without parameters
 */
const batchNorm = (tf, layer) =>
  tf.customGrad((/** @type {Tensor} */ x) => {
    const like = (/** @type {Tensor} */ t) => ({ data: t.dataSync(), shape: t.shape });
    const value = tf.tensor(layer.forward(like(x)).data, x.shape);
    const gradFunc = (/** @type {Tensor} */ dy) =>
      tf.tensor(layer.backward(like(dy)).data, x.shape);
    return { value, gradFunc };
  });

/** @param {Library} library @param {Kind} kind @param {number} seed @param {number} side @param {number} groups */
function makeNetwork({ tf, tfjs, nn }, kind, seed, side, groups) {
  const variable = (/** @type {number[]} */ shape, /** @type {number} */ at) => {
    const fanIn = shape.slice(0, -1).reduce((a, b) => a * b);
    const size = fanIn * /** @type {number} */ (shape.at(-1));
    return tf.variable(tf.tensor(normals(size, 100 * seed + at, Math.sqrt(2 / fanIn)), shape));
  };
  const [first, second] = CHANNELS;
  const kernels = [variable([3, 3, 1, first], 1), variable([3, 3, first, second], 2)];
  const head = variable([(side / 2) ** 2 * second, CLASSES], 3);
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
    if (kind === "batch") return tf.add(tf.mul(batchNorm(tf, layers[at])(x), weight), bias);
    // Of images, layer normalization is that of one group.
    const numGroups = kind === "group" ? groups : 1;
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

/**
 * @param {Library} library
 * @param {{ train: Digits, test: Digits }} digits
 * @param {Setting} setting
 * @param {Kind} kind
 * @param {number} size of a batch
 * @param {number} seed
 * @returns {Generator<import("./training.js").Step, number>} a step of training each; at last the share of unseen digits that
 *   it gets wrong
 */
export function* train(library, { train: seen, test: unseen }, setting, kind, size, seed) {
  const { tf } = library;
  const features = seen.images.length / seen.labels.length;
  const side = Math.sqrt(features);
  const { apply, variables, layers } = makeNetwork(library, kind, seed, side, setting.groups);
  const optimizer = tf.train.momentum((setting.rate * size) / 16, setting.momentum);
  const pick = (
    /** @type {Digits} */ { images, labels },
    /** @type {number} */ begin,
    /** @type {number} */ count,
  ) => ({
    x: tf.tensor(images.slice(begin * features, (begin + count) * features), [
      count,
      side,
      side,
      1,
    ]),
    labels: labels.slice(begin, begin + count),
  });
  try {
    for (let begin = 0; begin < setting.seen; begin += size) {
      const loss = () => {
        const { x, labels } = pick(seen, begin, size);
        const target = tf.oneHot(tf.tensor(labels, [size], "int32"), CLASSES);
        return tf.losses.softmaxCrossEntropy(target, apply(x));
      };
      yield trainStep(tf, optimizer, loss, variables);
    }
    for (const layer of layers) layer.eval();
    const wrong = tf.tidy(() => {
      const { x, labels } = pick(unseen, 0, setting.unseen);
      const best = tf.argMax(apply(x), 1).dataSync();
      return labels.filter((label, i) => label !== best[i]).length;
    });
    return wrong / setting.unseen;
  } finally {
    tf.dispose(variables);
    optimizer.dispose();
  }
}
