/** Some of the cases of operations.test.js and backward.test.js, within a time, for implementations beside Dawn: in any run-time. */
import { GRADIENTS, makeBackwardCase } from "../js/backward_cases.js";
import { families } from "../js/data.js";
import { judgeGradients } from "../js/exact_backward.js";
import { judgeOperation } from "../js/exact_operations.js";
import {
  CONDITIONAL_KINDS,
  hasAffine,
  KINDS,
  layoutsOf,
  makeCase,
  OPERATIONS,
} from "../js/operation_cases.js";
import { allowed, DTYPES, gradientsOnGpu, resultsOnGpu } from "./cases.js";

const SIZES = [
  [64, 2],
  [5, 7],
  [257, 6],
  [17, 5],
  [1030, 3],
  [3, 4],
  [4100, 2],
];
/** What is smaller may be taken for 0. */
const LEAST = 2 ** -126;
const isNormal = (/** @type {number} */ v) =>
  Number.isFinite(v) && (v === 0 || Math.abs(v) >= LEAST);
const LEARNED = ["layerNorm", "rmsNorm", "groupNorm"];

/**
 * Every operation, then again with another layout and element type, and so on.
 * @param {number[][]} sizes
 * @param {RegExp} only
 */
function* draws(sizes, only) {
  const all = Object.entries(OPERATIONS).map(([name, { op }]) => ({ name, op }));
  const names = all.filter(({ op }) => layoutsOf(op, 4).some(({ name }) => only.test(name)));
  for (let turn = 0; ; turn++) {
    for (const [i, { name, op }] of names.entries()) {
      const dtype = DTYPES[(turn + i) % DTYPES.length];
      const kindsOfX = families(dtype);
      const family = kindsOfX[(7 * turn + 5 * i) % kindsOfX.length];
      const [n, columns] = sizes[(3 * turn + i) % sizes.length];
      const layouts = layoutsOf(op, n, columns).filter((layout) => only.test(layout.name));
      const layout = layouts[(turn + i) % layouts.length];
      const kinds = hasAffine(op) ? [...KINDS, ...CONDITIONAL_KINDS] : ["none"];
      const kind = kinds[(2 * turn + i) % kinds.length];
      yield { name, layout, dtype, family, kind, eps: 1e-5, seed: 2 * turn, turn };
    }
  }
}

/**
 * @param {any} norm a WebGpuNorm
 * @param {number} time in milliseconds
 * @param {{ sizes?: number[][], only?: RegExp, isEnough?: () => boolean }} [which] lengths of runs, with how many values stand
 *   beside each; names of layouts; what is to be so before it ends
 * @returns {Promise<{ cases: number, worst: number, where: string }>} errors as multiples of their bounds
 */
export async function sweep(norm, time, { sizes = SIZES, only = /./, isEnough = () => true } = {}) {
  const end = performance.now() + time;
  const found = { cases: 0, worst: 0, where: "" };
  const keep = (/** @type {number} */ error, /** @type {string} */ where) => {
    found.cases++;
    if (error > found.worst || Number.isNaN(error)) Object.assign(found, { worst: error, where });
  };
  for (const draw of draws(sizes, only)) {
    if (performance.now() > end && isEnough()) return found;
    const { name, dtype, family, kind, layout, turn } = draw;
    const where = `${name} ${dtype} ${family} [${layout.dims}] ${layout.name} ${kind} seed ${draw.seed}`;
    const made = makeCase(draw);
    if (made.x.every(isNormal)) {
      const how = { inPlace: turn % 3 === 1, parametersOnGpu: turn % 2 === 0 };
      const { output } = await resultsOnGpu(norm, made, how);
      const { error, index, got, expected } = judgeOperation(made.setting, made.x, { output });
      keep(error / allowed(made), `${where}: index ${index} got ${got}, expected ${expected}`);
    }
    if (!LEARNED.includes(name)) continue;
    const gradient = GRADIENTS[turn % GRADIENTS.length];
    const back = makeBackwardCase({ ...draw, gradient, given: turn % 3 === 2 });
    if (!back.problem.x.every(isNormal) || !back.problem.grad.every(isNormal)) continue;
    const judged = judgeGradients(back.problem, await gradientsOnGpu(norm, back), LEAST);
    keep(
      judged.error,
      `gradients of ${where}: ${judged.where} got ${judged.got}, expected ${judged.expected}`,
    );
  }
  return found;
}
