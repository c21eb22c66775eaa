/**
 * Guarantee 1 for what comes after normalization: activations on results from far below 0 to far above, presets that round
 * in the middle, statistics that are kept running.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { families, LIMITS, Random } from "./data.js";
import { dyadic, EPS, momentsOf, Normalizer, ratio } from "./exact.js";
import { judgeOperation } from "./exact_operations.js";
import { load, roundTo, store } from "./half.js";
import {
  DTYPES,
  hasAffine,
  layoutsOf,
  makeCase,
  OPERATIONS,
  ops,
  resultsOf,
} from "./operation_cases.js";
import { gather, runsOf } from "./runs.js";

/** @typedef {import("./transcendental.js").ActivationName} ActivationName */

/** @type {ActivationName[]} */
const ACTIVATIONS = ["relu", "silu", "gelu", "gelu_tanh", "sigmoid", "tanh"];
const KINDS = ["none", "far", "weightBias", "far", "scaleShift", "items", "all", "offset"];
const LENGTHS = [1, 3, 8, 33, 130, 65];
/** Kinds of runs whose normalized values differ; of the others activations see the same few. */
const FAMILIES = ["normal", "mean1e4", "outlierFirst", "rampSigned", "heavySigned", "constant0_1"];

/** @type {Map<string, { error: number, where: string }>} */
const maxima = new Map();

/** @param {import("./operation_cases.js").Draw} draw @param {string} key */
function check(draw, key) {
  const made = makeCase(draw);
  // A sum of large values may overflow.
  if (!made.x.every(Number.isFinite)) return;
  const { name, layout, dtype, family, kind, activation, preset, seed } = draw;
  const where = [name, dtype, family, `[${layout.dims}]`, kind, activation, preset, seed].join(" ");
  const { error, index, got, expected, mean, rstd } = judgeOperation(
    made.setting,
    made.x,
    resultsOf(made),
  );
  if (error > (maxima.get(key)?.error ?? -1)) maxima.set(key, { error, where });
  assert.ok(
    error <= 1,
    `${where}: index ${index} got ${got}, expected ${expected}, ${error} of its bound`,
  );
  assert.ok(mean <= 1 && rstd <= 1, `${where}: mean ${mean}, rstd ${rstd}`);
}

for (const activation of ACTIVATIONS) {
  for (const dtype of DTYPES) {
    test(`${activation} is exact to its bound after every norm (${dtype}, seed = turn)`, () => {
      let seed = 0;
      for (const [name, { op }] of Object.entries(OPERATIONS)) {
        if (!hasAffine(op)) continue;
        for (const l of layoutsOf(op, 4).keys()) {
          for (let k = 0; k < 4; k++) {
            const layout = layoutsOf(op, LENGTHS[seed % LENGTHS.length])[l];
            const family = FAMILIES[(seed >> 1) % FAMILIES.length];
            const kind = KINDS[seed % KINDS.length];
            check(
              { name, layout, dtype, family, kind, activation, seed },
              `${activation} ${dtype}`,
            );
            seed++;
          }
        }
      }
    });
  }
}

for (const preset of ["llama", "t5", "gemma"]) {
  for (const dtype of DTYPES) {
    test(`rmsNorm and addRmsNorm with the preset ${preset} are exact to their bound (${dtype}, seed = turn)`, () => {
      let seed = 0;
      for (const name of ["rmsNorm", "addRmsNorm"]) {
        for (const family of families(dtype)) {
          const layouts = layoutsOf(name, LENGTHS[seed % LENGTHS.length]);
          const layout = layouts[seed % layouts.length];
          // gemma's offset is in its kinds.
          const kind = preset === "gemma" ? "offset" : KINDS[2 + (seed % 3)];
          const draw = { name, layout, dtype, family, kind, preset, eps: 1e-6, seed };
          check(draw, `${preset} ${dtype}`);
          seed++;
        }
      }
    });
  }
}

test("activations and presets: the largest errors of the cases above, as multiples of their bounds", (t) => {
  for (const [key, { error, where }] of maxima) {
    t.diagnostic(`${key}: y ${error.toFixed(3)} (${where})`);
  }
});

for (const dtype of DTYPES) {
  test(`batchNorm's running statistics take the exact ones of the batch (${dtype}, seed = turn)`, (t) => {
    let worst = 0;
    for (const [seed, family] of families("float32").entries()) {
      const layouts = layoutsOf("batchNorm", LENGTHS[1 + (seed % 5)]);
      const layout = layouts[seed % layouts.length];
      const made = makeCase({ name: "batchNorm training", layout, dtype, family, seed });
      const { runs } = runsOf("batchNorm", layout);
      if (runs[0].length < 2) continue;
      const random = new Random(seed);
      const old = runs.map(() => roundTo(Math.abs(random.normal()), dtype));
      const momentum = random.pick([0.1, 0.5, 1]);
      const like = () => ({ data: store(old, dtype), dims: [old.length], type: dtype });
      const running = { runningMean: like(), runningVar: like() };
      ops.batchNorm(...made.inputs, { ...made.options, ...running, momentum });
      const [mean, variance] = [running.runningMean, running.runningVar].map(({ data }) =>
        load(data, dtype),
      );
      for (const [c, run] of runs.entries()) {
        const n = run.length;
        const exact = new Normalizer(momentsOf(gather(made.x, run)), { eps: 0, centered: true });
        const batch = [exact.mean, ratio(exact.power, dyadic(n)) / (n - 1)];
        for (const [k, got] of [mean[c], variance[c]].entries()) {
          const terms = Math.abs((1 - momentum) * old[c]) + Math.abs(momentum * batch[k]);
          const want = roundTo((1 - momentum) * old[c] + momentum * batch[k], dtype);
          if (!Number.isFinite(want)) continue;
          const { tiny } = LIMITS[dtype];
          const allowed = 3 * EPS[dtype] * (terms + (k === 0 ? exact.std : 0)) + tiny;
          worst = Math.max(worst, Math.abs(got - want) / allowed);
          assert.ok(
            Math.abs(got - want) <= allowed,
            `${family} seed ${seed} channel ${c}: ${["mean", "var"][k]} got ${got}, expected ${want}`,
          );
        }
      }
    }
    t.diagnostic(`at most ${worst.toFixed(3)} of 3 eps of the terms`);
  });
}
