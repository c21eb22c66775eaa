// What RMSNorm costs beside LayerNorm. The claim: 10 to 15 % less.
import { plan, tensor, zeros } from "../../dist/index.js";
import { normals, round, write } from "./experiment.js";

const SHAPES = [
  [1, 768],
  [128, 768],
  [512, 768],
  [1024, 4096],
  [16384, 128],
];
const ROUNDS = 200;
/** Of one timing, about. */
const MILLISECONDS = 2;

const started = performance.now();
/** @type {Record<string, object>} */
const results = {};
/** @type {number[]} */
const savings = [];
for (const [rows, features] of SHAPES) {
  const x = tensor(normals(rows * features, 1), [rows, features]);
  const gradOutput = tensor(normals(rows * features, 2), [rows, features]);
  // As trained ones are: near 1.
  const weight = tensor(normals(features, 3, 0.1).map((value) => 1 + value));
  const out = zeros([rows, features]);
  const steps = {
    layerNorm: plan("layerNorm", x, { weight, out }),
    rmsNorm: plan("rmsNorm", x, { weight, out }),
    layerNormBackward: plan("layerNormBackward", gradOutput, x, { weight }),
    rmsNormBackward: plan("rmsNormBackward", gradOutput, x, { weight }),
  };
  const entries = Object.entries(steps);
  const time = (/** @type {{ run(): unknown }} */ step, /** @type {number} */ runs) => {
    const start = performance.now();
    for (let i = 0; i < runs; i++) step.run();
    return (performance.now() - start) / runs;
  };
  const runs = entries.map(([, step]) => {
    time(step, 3);
    return Math.max(1, Math.ceil(MILLISECONDS / time(step, 3)));
  });
  /** @type {number[][]} */
  const times = entries.map(() => []);
  // In turn, so that what else the machine does falls on all.
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, [, step]] of entries.entries()) times[i].push(time(step, runs[i]));
  }
  // The least time of each: what else runs on the machine only adds to it.
  const [layer, rms, layerBackward, rmsBackward] = times.map((each) => Math.min(...each));
  const saved = (/** @type {number} */ a, /** @type {number} */ b) => round(1 - b / a, 2);
  savings.push(saved(layer, rms));
  results[`${rows}x${features}`] = {
    leastMicroseconds: Object.fromEntries(
      entries.map(([name], i) => [name, round(1000 * Math.min(...times[i]))]),
    ),
    savedForward: saved(layer, rms),
    savedBackward: saved(layerBackward, rmsBackward),
    savedBoth: saved(layer + layerBackward, rms + rmsBackward),
  };
  for (const each of [...Object.values(steps), x, gradOutput, weight, out]) each.dispose();
}
const [least, most] = [Math.min(...savings), Math.max(...savings)].map((v) => Math.round(100 * v));
write(
  "rms_cost",
  {
    question: "Is RMSNorm 10 to 15 % cheaper than LayerNorm?",
    setting: {
      plans: "resident float32 with a weight near 1, one thread",
      rounds: ROUNDS,
      seed: 1,
    },
    results,
    answer: `forward, it saves ${least} % to ${most} % of the time, by shape`,
  },
  started,
);
