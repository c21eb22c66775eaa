/** Every forward operation, layout and element type on a GPU, judged by exact arithmetic. */
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { WebGpuNorm } from "../../dist/webgpu.js";
import { families } from "../js/data.js";
import { judgeOperation } from "../js/exact_operations.js";
import {
  CONDITIONAL_KINDS,
  hasAffine,
  KINDS,
  layoutsOf,
  makeCase,
  OPERATIONS,
  SIZES as SHARED_SIZES,
} from "../js/operation_cases.js";
import { adapter, skip } from "./adapter.js";
import { allowed, DTYPES, resultsOnGpu } from "./cases.js";

/** Also what a workgroup holds. */
const SIZES = [...SHARED_SIZES, [256, 8]];
/** Lengths that only every eighth case has. */
const LONGER = [
  [1030, 3],
  [3, 515],
  [4100, 2],
  [4096, 4],
  [8200, 1],
];

const norm = /** @type {any} */ (skip ? undefined : await WebGpuNorm.create({ adapter }));
after(() => norm?.dispose());

/** @type {Map<string, { error: number, where: string }>} */
const maxima = new Map();

/** A case on the GPU, within its bound. @param {string} name @param {string} dtype @param {any} made @param {string} where @param {any} how */
async function judge(name, dtype, made, where, how) {
  const results = await resultsOnGpu(norm, made, how);
  if (results.sum) assert.deepEqual(results.sum, made.x, `${where}: sum`);
  const verdict = judgeOperation(made.setting, made.x, { output: results.output });
  const { index, got, expected } = verdict;
  const error = verdict.error / allowed(made);
  const key = `${name} ${dtype}`;
  if (error > (maxima.get(key)?.error ?? -1)) maxima.set(key, { error, where });
  assert.ok(
    error <= 1,
    `${where}: index ${index} got ${got}, expected ${expected}, ${error} of its bound`,
  );
}

for (const [name, { op }] of Object.entries(OPERATIONS)) {
  for (const [l, { name: layoutName }] of layoutsOf(op, 4).entries()) {
    for (const [d, dtype] of DTYPES.entries()) {
      test(`${name} is within its bound on a GPU: ${layoutName} (${dtype}, seed = turn)`, {
        skip,
      }, async () => {
        // Two kinds of parameters each time: every one is a pipeline to compile.
        let number = 0;
        const kinds = hasAffine(op) ? [...KINDS, ...CONDITIONAL_KINDS] : ["none"];
        for (const [turn, family] of families(dtype).entries()) {
          // Every family comes with every third layout.
          if ((turn + l + d) % 3 !== 0) continue;
          const seed = turn;
          const sizes = turn % 8 < 2 ? LONGER : SIZES;
          const [n, columns] = sizes[(seed + 5 * l) % sizes.length];
          const layout = layoutsOf(op, n, columns)[l];
          const eps = [undefined, 0, 1e-5, 1e-12][(turn + 3 * l) % 4];
          const kind = kinds[(number++ % 2 ? 5 * l + 2 * d : 3 * l + 4 * d + 1) % kinds.length];
          const made = makeCase({ name, layout, dtype, family, kind, eps, seed });
          if (!made.x.every(Number.isFinite)) continue;
          const where = `${name} ${dtype} ${family} [${layout.dims}] ${layout.name} eps ${eps} ${kind} seed ${seed}`;
          await judge(name, dtype, made, where, {
            inPlace: turn % 3 === 1,
            parametersOnGpu: turn % 5 < 3,
          });
        }
      });
    }
  }
}

for (const dtype of DTYPES) {
  test(`long runs are within their bound on a GPU, whatever their number (${dtype})`, {
    skip,
  }, async () => {
    const name = "layerNorm";
    for (const [turn, runs] of [1, 2, 3, 4, 5, 8].entries()) {
      // Parameters that all runs share, and such as each item has of its own.
      for (const kind of ["weightBias", "items"]) {
        const layout = { name: "long runs", dims: [runs, 4100], axes: [1], options: {} };
        const family = ["mean7", "magnitude1e_38", "normal"].filter((each) =>
          families(dtype).includes(each),
        )[turn % 2];
        const made = makeCase({ name, layout, dtype, family, kind, eps: 0, seed: turn });
        const where = `${runs} long runs ${dtype} ${family} ${kind} seed ${turn}`;
        await judge(name, dtype, made, where, {});
      }
    }
  });
}

test("runs whose lanes take blocks are within their bound on a GPU, in pieces or not", {
  skip,
}, async () => {
  const scales = [
    "normal",
    "mean7",
    "magnitude1e_38",
    "magnitude1e30",
    "constant0",
    "constant1e30",
  ];
  const names = ["layerNorm", "rmsNorm", "lpNormalize 1", "lpNormalize 2", "lpNormalize Infinity"];
  for (const [n, name] of names.entries()) {
    for (const [turn, family] of scales.entries()) {
      if (n > 0 && (turn + n) % 3 !== 0) continue;
      assert.ok(families("float32").includes(family), family);
      // A whole run of many sums, and pieces of which the last is short.
      const dims = turn % 2 === 0 ? [16, 4096 + 16] : [3, 3 * 2048 + 16];
      const layout = { name: "blocks", dims, axes: [1], options: {} };
      const kind = hasAffine(OPERATIONS[name].op) ? "weightBias" : "none";
      for (const eps of turn < 2 ? [0, 1e-5] : [0]) {
        const made = makeCase({ name, layout, dtype: "float32", family, kind, eps, seed: turn });
        await judge(name, "float32", made, `${name} ${family} [${dims}] eps ${eps}`, {});
      }
    }
  }
});

test("operations on a GPU: the largest errors of the cases above, as multiples of their bounds", {
  skip,
}, (t) => {
  for (const [key, { error, where }] of maxima)
    t.diagnostic(`${key}: y ${error.toFixed(3)} (${where})`);
});
