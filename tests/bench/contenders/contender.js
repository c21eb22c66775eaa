/** What a contender is, and what contenders share. */

import { encoded } from "../dtypes.js";

/** @typedef {import("../tasks.js").Spec} Spec */
/** @typedef {import("../tasks.js").Task} Task */
/** @typedef {ArrayLike<number>[]} Outputs the result, and the sum of an operation that adds; 16-bit types as numbers or as bits */
/**
 * @typedef {object} Prepared a task with everything done that a user would do once
 * @property {() => any} run one call, to be timed; a promise where the contender is async
 * @property {(result: any) => Outputs | Promise<Outputs>} read copies or views of what run gave
 * @property {() => unknown} [dispose]
 */
/**
 * @typedef {object} Contender
 * @property {string} id
 * @property {string} name as the tables show it
 * @property {string} detail what is timed, in a few words
 * @property {"package" | "baseline" | "peer"} kind
 * @property {string[]} [packages] npm packages that have to be installed; the first one's version is shown
 * @property {boolean} [async]
 * @property {boolean} [copies] it only copies the inputs: a ceiling, not a norm
 * @property {string} [column] title of its column in the table of errors; without one it has none
 * @property {boolean} [nodeOnly]
 * @property {(spec: Spec) => boolean} [applies] where it makes sense; without it everywhere
 * @property {(task: Task) => Promise<Prepared>} prepare
 */

export const inBrowser = typeof document !== "undefined";

/** @param {Task} task @returns {(Float32Array | Uint16Array)[]} x, and the residual, as their type stores them */
export function inputsOf({ x, residual, dtype }) {
  return (residual ? [x, residual] : [x]).map((values) => encoded(values, dtype));
}

/**
 * Runs of rows of x become columns and the other way round: channels first become channels last.
 * @param {ArrayLike<number>} x
 * @param {number[]} view [items, rows, columns]
 */
export function transposed(x, [items, rows, columns]) {
  const y = new Float32Array(x.length);
  let i = 0;
  for (let item = 0; item < items; item++) {
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        y[(item * columns + column) * rows + row] = x[i++];
      }
    }
  }
  return y;
}

/**
 * @param {any} module a namespace object
 * @returns {any} the module itself: in Node those in CommonJS may have all their names in `default` only
 */
export function namesOf(module) {
  return module.default?.version === undefined && module.default?.layers === undefined
    ? module
    : module.default;
}

/** @param {string} path in an installed package @returns {string} its address */
export function assetUrl(path) {
  return new URL(`../node_modules/${path}`, import.meta.url).href;
}
