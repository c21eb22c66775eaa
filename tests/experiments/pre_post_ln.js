// Transformers with layer normalization before each branch (pre-LN) and behind each sum (post-LN): the gradients of their
// layers at initialization, and whether they train without a warm-up, by depth. Xiong et al. 2020,
// https://arxiv.org/abs/2002.04745, say that post-LN has large gradients near the output, and pre-LN does not.
import { tf, use } from "../tfjs/backends.js";
import { tfjs } from "../tfjs/installed.js";
import { normals, round, SEEDS, spread, write } from "./experiment.js";

const DEPTHS = [2, 6, 12];
const WIDTH = 64;
const HIDDEN = 4 * WIDTH;
const LENGTH = 16;
const BATCH = 8;
const CLASSES = 16;
const STEPS = 30;
const RATE = 0.003;

/** @typedef {any} Tensor of TensorFlow.js */
/** @typedef {{ name: string, block: number, variable: Tensor }} Weight */

const started = performance.now();
await use("wasm");

/** Glorot's deviation, as of Xiong et al. @param {number} rows @param {number} columns @param {number} seed */
const glorot = (rows, columns, seed) =>
  tf.variable(
    tf.tensor(normals(rows * columns, seed, Math.sqrt(2 / (rows + columns))), [rows, columns]),
  );

/** A single head of attention and two matrices with a ReLU between them. @param {number} block @param {number} seed */
function makeBlock(block, seed) {
  const sizes = /** @type {const} */ ({
    q: [WIDTH, WIDTH],
    k: [WIDTH, WIDTH],
    v: [WIDTH, WIDTH],
    o: [WIDTH, WIDTH],
    w1: [WIDTH, HIDDEN],
    w2: [HIDDEN, WIDTH],
  });
  /** @type {Record<string, Tensor>} */
  const w = {};
  for (const [i, [name, [rows, columns]]] of Object.entries(sizes).entries()) {
    w[name] = glorot(rows, columns, 1000 * seed + 10 * block + i);
  }
  return w;
}

/** @param {Tensor} x [BATCH, LENGTH, n] @param {Tensor} w */
const times = (x, w) =>
  tf.reshape(tf.matMul(tf.reshape(x, [BATCH * LENGTH, w.shape[0]]), w), [
    BATCH,
    LENGTH,
    w.shape[1],
  ]);

/** @param {Tensor} x @param {Record<string, Tensor>} w */
function attention(x, w) {
  const [q, k, v] = [w.q, w.k, w.v].map((each) => times(x, each));
  const scores = tf.softmax(tf.mul(tf.matMul(q, k, false, true), 1 / Math.sqrt(WIDTH)));
  return times(tf.matMul(scores, v), w.o);
}

/** @param {Tensor} x @param {Record<string, Tensor>} w */
const feedForward = (x, w) => times(tf.relu(times(x, w.w1)), w.w2);

const norm = (/** @type {Tensor} */ x) => tfjs.layerNorm(x, { eps: 1e-5 });

/** @param {"pre" | "post"} kind @param {number} depth @param {number} seed */
function makeModel(kind, depth, seed) {
  const blocks = Array.from({ length: depth }, (_, block) => makeBlock(block, seed));
  const head = glorot(WIDTH, CLASSES, 1000 * seed + 999);
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

/** A task that wants attention: the class of each position is that of the position before it. @param {number} seed */
function makeData(seed) {
  const embeddings = tf.tensor(normals(CLASSES * WIDTH, 7), [CLASSES, WIDTH]);
  const positions = tf.tensor(normals(LENGTH * WIDTH, 8), [1, LENGTH, WIDTH]);
  const random = normals(BATCH * LENGTH, seed);
  const classes = Array.from(random, (value) => Math.floor(Math.abs(value) * 1e4) % CLASSES);
  const targets = classes.map((_, i) => classes[i % LENGTH === 0 ? i : i - 1]);
  const oneHot = (/** @type {number[]} */ codes) =>
    tf.oneHot(tf.tensor(codes, [codes.length], "int32"), CLASSES);
  const x = tf.reshape(tf.matMul(tf.cast(oneHot(classes), "float32"), embeddings), [
    BATCH,
    LENGTH,
    WIDTH,
  ]);
  return { x: tf.add(x, positions), target: tf.reshape(oneHot(targets), [BATCH, LENGTH, CLASSES]) };
}

/** @param {Tensor} t */
const length = (t) => Math.sqrt(tf.sum(tf.square(t)).dataSync()[0]);

/** @param {"pre" | "post"} kind @param {number} depth @param {number} seed */
function measure(kind, depth, seed) {
  tf.engine().startScope();
  const { blocks, head, apply } = makeModel(kind, depth, seed);
  const loss = (/** @type {number} */ batch) => {
    const { x, target } = makeData(batch);
    return tf.losses.softmaxCrossEntropy(target, apply(x));
  };
  const variables = [...blocks.flatMap((w) => Object.values(w)), head];
  const { grads } = tf.variableGrads(() => loss(seed), variables);
  // Of the second matrix of each block, as in the paper's figure.
  const gradients = blocks.map(({ w2 }) => length(grads[w2.name]));
  const optimizer = tf.train.adam(RATE);
  const losses = [];
  for (let step = 0; step < STEPS; step++) {
    const value = optimizer.minimize(() => loss(seed + 100 * step), true, variables);
    losses.push(value.dataSync()[0]);
    value.dispose();
  }
  optimizer.dispose();
  tf.dispose(variables);
  tf.engine().endScope();
  return { gradients, loss: losses.slice(-5).reduce((a, b) => a + b) / 5 };
}

/** @type {Record<string, any>} */
const results = {};
for (const depth of DEPTHS) {
  results[depth] = {};
  for (const kind of /** @type {const} */ (["pre", "post"])) {
    const found = SEEDS.map((seed) => measure(kind, depth, seed));
    results[depth][kind] = {
      gradientNormByBlock: Array.from({ length: depth }, (_, block) =>
        spread(found.map(({ gradients }) => gradients[block])),
      ),
      lastOverFirst: spread(found.map(({ gradients }) => gradients[depth - 1] / gradients[0])),
      lossAfterTraining: spread(found.map(({ loss }) => loss)),
    };
  }
}
write(
  "pre_post_ln",
  {
    question:
      "Are gradients of post-LN transformers large near the output, and those of pre-LN even?",
    setting: {
      blocks: "one head of attention and a ReLU network, without biases",
      width: WIDTH,
      hidden: HIDDEN,
      length: LENGTH,
      batch: BATCH,
      task: "the class of the position before",
      training: `${STEPS} steps of Adam, rate ${RATE}, no warm-up`,
      chance: round(Math.log(CLASSES)),
      seeds: SEEDS,
      backend: "TensorFlow.js wasm",
    },
    results,
    answer: DEPTHS.map((depth) => {
      const [pre, post] = ["pre", "post"].map((kind) => results[depth][kind]);
      return (
        `depth ${depth}: the last block's gradient over the first's is ${pre.lastOverFirst.median} (pre), ` +
        `${post.lastOverFirst.median} (post); of the last block ${pre.gradientNormByBlock[depth - 1].median} and ` +
        `${post.gradientNormByBlock[depth - 1].median}; loss ${pre.lossAfterTraining.median} and ${post.lossAfterTraining.median}`
      );
    }).join(". "),
  },
  started,
);
