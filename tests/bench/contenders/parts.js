/** What the package has fused, called in turn: a loop over the sum first, or over the result behind. */

import { prepareArrays, preparePlan } from "./layernorm.js";

/** @typedef {import("./contender.js").Contender} Contender */
/** @typedef {import("./contender.js").Prepared} Prepared */
/** @typedef {import("./contender.js").Spec} Spec */
/** @typedef {import("./contender.js").Task} Task */

/** @param {Float32Array} x @param {Float32Array} residual @param {Float32Array} sum */
function add(x, residual, sum) {
  for (let i = 0; i < sum.length; i++) sum[i] = residual[i] + x[i];
}

/** @param {Float32Array} y [items, rows, features] @param {number[]} dims @param {Float32Array} scale @param {Float32Array} shift */
function condition(y, [items, rows, features], scale, shift) {
  let i = 0;
  for (let item = 0; item < items; item++) {
    const begin = item * features;
    for (let row = 0; row < rows; row++) {
      for (let j = begin; j < begin + features; j++, i++) y[i] = y[i] * (1 + scale[j]) + shift[j];
    }
  }
}

/** @param {Float32Array} y */
function silu(y) {
  for (let i = 0; i < y.length; i++) y[i] /= 1 + Math.exp(-y[i]);
}

/** @param {Spec} spec */
function isFused({ operation, options, parameters }) {
  return (
    operation === "addRmsNorm" || options.activation !== undefined || parameters.includes("scale")
  );
}

/**
 * @param {Task} task
 * @returns {{ rest: Task, before?: (x: Float32Array) => void, after?: (y: Float32Array) => void }} rest is one call
 */
function partsOf(task) {
  const { x, residual, dims, options, values } = task;
  const { scale, shift, ...others } = values;
  if (residual) {
    const rest = /** @type {Task} */ ({ ...task, operation: "rmsNorm", residual: null });
    // The call's x is the sum; its own inputs are the task's.
    return { rest: { ...rest, x: x.slice() }, before: (sum) => add(x, residual, sum) };
  }
  if (scale && shift) {
    const rest = { ...task, values: others };
    return { rest, after: (y) => condition(y, dims, scale, shift) };
  }
  return { rest: { ...task, options: { ...options, activation: undefined } }, after: silu };
}

/**
 * @param {Task} task
 * @param {(task: Task) => Promise<Prepared & { x: any, out: any }>} prepare
 * @param {(held: any) => Float32Array} dataOf
 * @returns {Promise<Prepared>}
 */
async function prepareParts(task, prepare, dataOf) {
  const { rest, before, after } = partsOf(task);
  const prepared = await prepare(rest);
  const { x, out } = prepared;
  return {
    run() {
      before?.(dataOf(x));
      prepared.run();
      after?.(dataOf(out));
    },
    read: () => (before ? [dataOf(out), dataOf(x)] : [dataOf(out)]),
    dispose: prepared.dispose,
  };
}

/** @type {Contender} */
export const planParts = {
  id: "plan-parts",
  name: "layernorm, plan and a loop",
  detail: "what is fused called in turn: a plan, and the sum, conditioning or activation as a loop",
  kind: "package",
  applies: isFused,
  prepare: (task) => prepareParts(task, preparePlan, ({ data }) => data),
};

/** @type {Contender} */
export const outParts = {
  id: "out-parts",
  name: "layernorm, typed arrays and a loop",
  detail: "the same with typed arrays and out",
  kind: "package",
  applies: isFused,
  prepare: (task) =>
    prepareParts(
      task,
      (rest) => prepareArrays(rest, true),
      (data) => data,
    ),
};
