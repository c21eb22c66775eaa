// Transformers with layer normalization before each branch (pre-LN) or behind each sum (post-LN), on a task that wants
// attention.
import { normals } from "./numbers.js";
import { normOf, trainStep } from "./training.js";

export const KINDS = /** @type {const} */ (["pre", "post"]);
/** @typedef {typeof KINDS[number]} Kind */

export const FULL = {
  width: 64,
  hidden: 256,
  length: 16,
  batch: 8,
  classes: 16,
  steps: 30,
  rate: 0.003,
};
/** For the demo page: some seconds. @type {Setting} */
export const SMALL = { ...FULL, width: 32, hidden: 128, steps: 40 };

/** @typedef {typeof FULL} Setting */
/** @typedef {import("./training.js").Tensor} Tensor */
/** @typedef {import("./training.js").Library} Library */

/** Glorot's deviation, as of Xiong et al. @param {any} tf @param {number} rows @param {number} columns @param {number} seed */
const glorot = (tf, rows, columns, seed) =>
  tf.variable(
    tf.tensor(normals(rows * columns, seed, Math.sqrt(2 / (rows + columns))), [rows, columns]),
  );

/**
 * A single head of attention and two matrices with a ReLU between them.
 *
 * @param {any} tf
 * @param {Setting} setting
 * @param {number} block
 * @param {number} seed
 */
function makeBlock(tf, { width, hidden }, block, seed) {
  const sizes = /** @type {const} */ ({
    q: [width, width],
    k: [width, width],
    v: [width, width],
    o: [width, width],
    w1: [width, hidden],
    w2: [hidden, width],
  });
  /** @type {Record<string, Tensor>} */
  const w = {};
  for (const [i, [name, [rows, columns]]] of Object.entries(sizes).entries()) {
    w[name] = glorot(tf, rows, columns, 1000 * seed + 10 * block + i);
  }
  return w;
}

/**
 * @param {Library} library
 * @param {Setting} setting
 * @param {Kind} kind
 * @param {number} depth
 * @param {number} seed
 */
function makeModel({ tf, tfjs }, setting, kind, depth, seed) {
  const { width, length, batch, classes } = setting;
  const times = (/** @type {Tensor} */ x, /** @type {Tensor} */ w) =>
    tf.reshape(tf.matMul(tf.reshape(x, [batch * length, w.shape[0]]), w), [
      batch,
      length,
      w.shape[1],
    ]);
  const attention = (/** @type {Tensor} */ x, /** @type {Record<string, Tensor>} */ w) => {
    const [q, k, v] = [w.q, w.k, w.v].map((each) => times(x, each));
    const scores = tf.softmax(tf.mul(tf.matMul(q, k, false, true), 1 / Math.sqrt(width)));
    return times(tf.matMul(scores, v), w.o);
  };
  const feedForward = (/** @type {Tensor} */ x, /** @type {Record<string, Tensor>} */ w) =>
    times(tf.relu(times(x, w.w1)), w.w2);
  const norm = (/** @type {Tensor} */ x) => tfjs.layerNorm(x, { eps: 1e-5 });

  const blocks = Array.from({ length: depth }, (_, block) => makeBlock(tf, setting, block, seed));
  const head = glorot(tf, width, classes, 1000 * seed + 999);
  const apply = (/** @type {Tensor} */ x) => {
    for (const w of blocks) {
      for (const branch of [attention, feedForward]) {
        x = kind === "pre" ? tf.add(x, branch(norm(x), w)) : norm(tf.add(x, branch(x, w)));
      }
    }
    return times(kind === "pre" ? norm(x) : x, head);
  };
  return { blocks, head, apply };
}

/**
 * A task that wants attention: the class of each position is that of the position before it.
 *
 * @param {any} tf
 * @param {Setting} setting
 * @param {number} seed
 */
function makeData(tf, { width, length, batch, classes }, seed) {
  const embeddings = tf.tensor(normals(classes * width, 7), [classes, width]);
  const positions = tf.tensor(normals(length * width, 8), [1, length, width]);
  const random = normals(batch * length, seed);
  const codes = Array.from(random, (value) => Math.floor(Math.abs(value) * 1e4) % classes);
  const targets = codes.map((_, i) => codes[i % length === 0 ? i : i - 1]);
  const oneHot = (/** @type {number[]} */ of) =>
    tf.oneHot(tf.tensor(of, [of.length], "int32"), classes);
  const x = tf.reshape(tf.matMul(tf.cast(oneHot(codes), "float32"), embeddings), [
    batch,
    length,
    width,
  ]);
  return { x: tf.add(x, positions), target: tf.reshape(oneHot(targets), [batch, length, classes]) };
}

/**
 * @param {Library} library
 * @param {Setting} setting
 * @param {Kind} kind
 * @param {number} depth
 * @param {number} seed
 * @returns {Generator<import("./training.js").Step, void> & { gradients: number[] }} a step of training each; gradients: at
 *   initialization, the norm of that of the second matrix of each block, as in the paper's figure
 */
export function train(library, setting, kind, depth, seed) {
  const { tf } = library;
  const { blocks, head, apply } = makeModel(library, setting, kind, depth, seed);
  const loss = (/** @type {number} */ batch) => {
    const { x, target } = makeData(tf, setting, batch);
    return tf.losses.softmaxCrossEntropy(target, apply(x));
  };
  const variables = [...blocks.flatMap((w) => Object.values(w)), head];
  const gradients = tf.tidy(() => {
    const { grads } = tf.variableGrads(() => loss(seed), variables);
    return blocks.map(({ w2 }) => normOf(tf, [grads[w2.name]]));
  });
  const steps = (function* () {
    const optimizer = tf.train.adam(setting.rate);
    try {
      for (let step = 0; step < setting.steps; step++) {
        yield trainStep(tf, optimizer, () => loss(seed + 100 * step), variables);
      }
    } finally {
      optimizer.dispose();
      tf.dispose(variables);
    }
  })();
  return Object.assign(steps, { gradients });
}
