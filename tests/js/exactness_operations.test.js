/**
 * Guarantee 1 for every forward operation, layout and element type: each result within its bound of exact arithmetic, the
 * statistics within theirs, for every kind of run.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { families } from "./data.js";
import { judgeOperation } from "./exact_operations.js";
import { isHalf } from "./half.js";
import {
  CONDITIONAL_KINDS,
  DTYPES,
  hasAffine,
  KINDS,
  layoutsOf,
  makeCase,
  OPERATIONS,
  resultsOf,
  SIZES,
} from "./operation_cases.js";

/** Lengths that only every tenth case has. */
const LONGER = [
  [1030, 3],
  [3, 515],
  [2051, 2],
];

/** @type {Map<string, { error: number, mean: number, rstd: number, where: string }>} */
const maxima = new Map();

for (const [name, { op }] of Object.entries(OPERATIONS)) {
  for (const [l, { name: layoutName }] of layoutsOf(op, 4).entries()) {
    for (const dtype of DTYPES) {
      test(`${name} is exact to its bound: ${layoutName} (${dtype}, seed = turn)`, () => {
        const kinds = hasAffine(op) ? [...KINDS, ...CONDITIONAL_KINDS] : ["none"];
        const worst = { error: 0, mean: 0, rstd: 0, where: "" };
        for (const [turn, family] of families(dtype).entries()) {
          for (const half of isHalf(dtype) ? [turn % 2] : [0, 1]) {
            const seed = 2 * turn + half;
            const sizes = seed % 10 === 9 ? LONGER : SIZES;
            const [n, columns] = sizes[(seed + l) % sizes.length];
            const layout = layoutsOf(op, n, columns)[l];
            const eps = [undefined, 0, 1e-5, 1e-12][(turn + half + l) % 4];
            const kind = kinds[(3 * turn + 5 * half + l) % kinds.length];
            const made = makeCase({ name, layout, dtype, family, kind, eps, seed });
            if (!made.x.every(Number.isFinite)) continue;
            const where = `${name} ${dtype} ${family} [${layout.dims}] ${layout.name} eps ${eps} ${kind} seed ${seed}`;
            const results = resultsOf(made);
            if (results.sum) assert.deepEqual(results.sum, made.x, `${where}: sum`);
            const verdict = judgeOperation(made.setting, made.x, results);
            const { error, index, got, expected, mean, rstd } = verdict;
            if (error > worst.error) Object.assign(worst, { error, where });
            worst.mean = Math.max(worst.mean, mean);
            worst.rstd = Math.max(worst.rstd, rstd);
            assert.ok(
              error <= 1,
              `${where}: index ${index} got ${got}, expected ${expected}, ${error} of its bound`,
            );
            assert.ok(mean <= 1, `${where}: mean is off by ${mean} times its bound`);
            assert.ok(rstd <= 1, `${where}: rstd is off by ${rstd} times its bound`);
          }
        }
        const key = `${name} ${dtype}`;
        const old = maxima.get(key) ?? worst;
        maxima.set(key, {
          ...(worst.error > old.error ? worst : old),
          mean: Math.max(old.mean, worst.mean),
          rstd: Math.max(old.rstd, worst.rstd),
        });
      });
    }
  }
}

test("all operations: the largest errors of the cases above, as multiples of their bounds", (t) => {
  for (const [key, { error, mean, rstd, where }] of maxima) {
    const numbers = [error, mean, rstd].map((value) => value.toFixed(3));
    t.diagnostic(`${key}: y ${numbers[0]}, mean ${numbers[1]}, rstd ${numbers[2]} (${where})`);
  }
});
