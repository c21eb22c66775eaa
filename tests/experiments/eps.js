// What eps does where the variance is small: how far the result's deviation falls below 1, by framework's eps.
import { layerNorm } from "../../dist/index.js";
import { normals, round, SEEDS, spread, write } from "./experiment.js";

const FEATURES = 768;
const DEVIATIONS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1];
const EPS = [0, 1e-12, 1e-6, 1e-5, 1e-3];

const started = performance.now();

/** @param {ArrayLike<number>} y */
function deviationOf(y) {
  const values = Array.from(y);
  const mean = values.reduce((a, b) => a + b) / values.length;
  return Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length);
}

/** @type {Record<string, Record<string, object>>} */
const results = {};
/** The largest deviation of x that comes out below 0.9. @type {Record<string, number>} */
const shrunk = {};
for (const eps of EPS) {
  results[eps] = {};
  for (const deviation of DEVIATIONS) {
    const found = SEEDS.map((seed) =>
      deviationOf(layerNorm(normals(FEATURES, seed, deviation), { eps })),
    );
    const { median } = spread(found);
    if (median < 0.9) shrunk[eps] = deviation;
    results[eps][deviation] = spread(found);
  }
}
write(
  "eps",
  {
    question:
      "From which deviation of x on does eps show in the result, whose deviation should be 1?",
    setting: { features: FEATURES, x: "normal, float32", seeds: SEEDS },
    results,
    answer: EPS.map((eps) =>
      shrunk[eps] === undefined
        ? `eps ${eps}: none of those tried`
        : `eps ${eps}: at a deviation of ${round(shrunk[eps])} and below it is under 0.9`,
    ).join("; "),
  },
  started,
);
