/**
 * Guarantee 1 for every backward operation, layout and element type: each gradient within its bound of exact arithmetic, for
 * every kind of run.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { DIFFERENTIABLE, GRADIENTS, gradientsOf, makeBackwardCase } from "./backward_cases.js";
import { families } from "./data.js";
import { judgeGradients } from "./exact_backward.js";
import { isHalf } from "./half.js";
import {
  CONDITIONAL_KINDS,
  DTYPES,
  hasAffine,
  KINDS,
  layoutsOf,
  OPERATIONS,
} from "./operation_cases.js";

/** Lengths of runs and numbers of columns, in turn: around the vector width, the panels and the blocks of a sum. */
const SIZES = [
  [1, 1],
  [2, 3],
  [3, 4],
  [5, 7],
  [17, 5],
  [64, 2],
  [33, 9],
  [97, 4],
  [12, 65],
  [130, 3],
  [257, 6],
];
const ACTIVATIONS = /** @type {const} */ (["relu", "silu", "gelu", "gelu_tanh", "sigmoid", "tanh"]);

/** @type {Map<string, { error: number, where: string }>} */
const maxima = new Map();

for (const name of DIFFERENTIABLE) {
  const { op } = OPERATIONS[name];
  for (const [l, { name: layoutName }] of layoutsOf(op, 4).entries()) {
    for (const dtype of DTYPES) {
      test(`the gradients of ${name} are exact to their bounds: ${layoutName} (${dtype}, seed = turn)`, () => {
        const kinds = hasAffine(op) ? [...KINDS, ...CONDITIONAL_KINDS] : ["none"];
        for (const [turn, family] of families(dtype).entries()) {
          const seed = 2 * turn + l;
          if (isHalf(dtype) && turn % 2 === l % 2) continue;
          const [n, columns] = SIZES[(seed + l) % SIZES.length];
          const layout = layoutsOf(op, n, columns)[l];
          const eps = [undefined, 0, 1e-5, 1e-12][(turn + l) % 4];
          const kind = kinds[(3 * turn + l) % kinds.length];
          const gradient = GRADIENTS[(turn + 3 * l) % GRADIENTS.length];
          const given = hasAffine(op) && name !== "batchNorm" && turn % 5 === 1;
          const made = makeBackwardCase({
            name,
            layout,
            dtype,
            family,
            kind,
            eps,
            seed,
            gradient,
            given,
            broadcast: turn % 2 === 1,
          });
          if (!made.problem.x.every(Number.isFinite)) continue;
          const where = `${name} ${dtype} ${family} [${layout.dims}] ${layout.name} eps ${eps} ${kind} gradient ${gradient} given ${given} seed ${seed}`;
          const found = judgeGradients(made.problem, gradientsOf(made));
          const key = `${name} ${dtype}`;
          if (!(found.error <= (maxima.get(key)?.error ?? -1)))
            maxima.set(key, { error: found.error, where });
          assert.ok(
            found.error <= 1,
            `${where}: ${found.where} got ${found.got}, expected ${found.expected}, ${found.error} of its bound`,
          );
        }
      });
    }
  }
}

test("the largest errors of the gradients above, as multiples of their bounds", (t) => {
  for (const [key, { error, where }] of maxima)
    t.diagnostic(`${key}: ${error.toFixed(3)} (${where})`);
});
