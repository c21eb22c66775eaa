/** Gradients on a GPU, judged by exact arithmetic as those of wasm are: the same cases, the same bounds. */
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { WebGpuNorm } from "../../dist/webgpu.js";
import { GRADIENTS, makeBackwardCase } from "../js/backward_cases.js";
import { families } from "../js/data.js";
import { judgeGradients } from "../js/exact_backward.js";
import { isHalf } from "../js/half.js";
import { CONDITIONAL_KINDS, KINDS, layoutsOf, SIZES } from "../js/operation_cases.js";
import { adapter, skip } from "./adapter.js";
import { DTYPES, gradientsOnGpu } from "./cases.js";

const NAMES = ["layerNorm", "rmsNorm", "groupNorm"];
const ACTIVATIONS = /** @type {const} */ (["relu", "silu", "gelu", "gelu_tanh", "sigmoid", "tanh"]);
const ALL_KINDS = [...KINDS, ...CONDITIONAL_KINDS];

const norm = /** @type {any} */ (skip ? undefined : await WebGpuNorm.create({ adapter }));
after(() => norm?.dispose());

/** What is smaller may be taken for 0. */
const LEAST = 2 ** -126;
const isNormal = (/** @type {number} */ v) =>
  Number.isFinite(v) && (v === 0 || Math.abs(v) >= LEAST);

/** @type {Map<string, { error: number, where: string }>} */
const maxima = new Map();

/** Judges a case and keeps the largest error. @param {any} draw @param {object} [how] */
async function check(draw, how) {
  const made = makeBackwardCase(draw);
  const { x, grad } = made.problem;
  if (!x.every(isNormal) || !grad.every(isNormal)) return;
  const { name, dtype, family, layout, kind, eps, gradient, given, activation, seed } = draw;
  const where = `${name} ${dtype} ${family} [${layout.dims}] ${layout.name} eps ${eps} ${kind} gradient ${gradient} given ${given} ${activation ?? ""} seed ${seed}`;
  const found = judgeGradients(made.problem, await gradientsOnGpu(norm, made, how), LEAST);
  const key = `${name} ${dtype}${activation ? " with activations" : ""}`;
  if (!(found.error <= (maxima.get(key)?.error ?? -1)))
    maxima.set(key, { error: found.error, where });
  assert.ok(
    found.error <= 1,
    `${where}: ${found.where} got ${found.got}, expected ${found.expected}, ${found.error} of its bound`,
  );
}

for (const name of NAMES) {
  for (const [l, { name: layoutName }] of layoutsOf(name, 4).entries()) {
    for (const [d, dtype] of DTYPES.entries()) {
      test(`the gradients of ${name} on a GPU are exact to their bounds: ${layoutName} (${dtype}, seed = turn)`, {
        skip,
      }, async () => {
        for (const [turn, family] of families(dtype).entries()) {
          // Every family comes with one layout in six of an operation and element type, so with some of all.
          if ((turn + l + 2 * d) % 6 !== 0) continue;
          const seed = 2 * turn + l;
          const [n, columns] = SIZES[(seed + l) % SIZES.length];
          const layout = layoutsOf(name, n, columns)[l];
          const eps = [undefined, 0, 1e-5, 1e-12][(turn + l) % 4];
          const kind = ALL_KINDS[(5 * l + 2 * d + 3 * ((turn >> 1) % 2)) % ALL_KINDS.length];
          const gradient = GRADIENTS[(turn + 3 * l) % GRADIENTS.length];
          const given = turn % 5 === 1;
          await check(
            { name, layout, dtype, family, kind, eps, seed, gradient, given },
            { parametersOnGpu: turn % 4 < 2 },
          );
        }
      });
    }
  }
}

for (const dtype of DTYPES) {
  test(`gradients through activations on a GPU are exact to their bounds (${dtype}, seed = turn)`, {
    skip,
  }, async () => {
    for (const [turn, activation] of ACTIVATIONS.entries()) {
      for (const [k, kind] of ["none", "weightBias", "all", "scaleShift"].entries()) {
        if (isHalf(dtype) && (turn + k) % 3) continue;
        const name = NAMES[(turn + k) % NAMES.length];
        const layouts = layoutsOf(name, 11, 3);
        const layout = layouts[(turn + 2 * k) % layouts.length];
        const seed = 2 * turn + 24 * k;
        await check({
          name,
          layout,
          dtype,
          family: "normal",
          kind,
          eps: 1e-5,
          seed,
          gradient: "normal",
          activation,
        });
      }
    }
  });
}

test("gradients on a GPU: the largest errors of the cases above, as multiples of their bounds", {
  skip,
}, (t) => {
  for (const [key, { error, where }] of maxima)
    t.diagnostic(`${key}: ${error.toFixed(3)} (${where})`);
});
