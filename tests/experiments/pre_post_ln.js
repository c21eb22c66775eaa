// Transformers with layer normalization before each branch (pre-LN) and behind each sum (post-LN): the gradients of their
// layers at initialization, and whether they train without a warm-up, by depth. Xiong et al. 2020,
// https://arxiv.org/abs/2002.04745, say that post-LN has large gradients near the output, and pre-LN does not.
import { tf, tfl, use } from "../tfjs/backends.js";
import { nn, tfjs } from "../tfjs/installed.js";
import { FULL, KINDS, train } from "./core/pre_post_ln.js";
import { round, SEEDS, spread, write } from "./experiment.js";

const DEPTHS = [2, 6, 12];

const started = performance.now();
await use("wasm");

/** @param {typeof KINDS[number]} kind @param {number} depth @param {number} seed */
function measure(kind, depth, seed) {
  const training = train({ tf, tfl, tfjs, nn }, FULL, kind, depth, seed);
  const last = [...training].slice(-5).map(({ loss }) => loss);
  return { gradients: training.gradients, loss: last.reduce((a, b) => a + b) / 5 };
}

/** @type {Record<string, any>} */
const results = {};
for (const depth of DEPTHS) {
  results[depth] = {};
  for (const kind of KINDS) {
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
      width: FULL.width,
      hidden: FULL.hidden,
      length: FULL.length,
      batch: FULL.batch,
      task: "the class of the position before",
      training: `${FULL.steps} steps of Adam, rate ${FULL.rate}, no warm-up`,
      chance: round(Math.log(FULL.classes)),
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
