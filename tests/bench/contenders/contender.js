/** What a contender is, and what contenders share. */

/** @typedef {import("../tasks.js").Task} Task */
/**
 * @typedef {object} Prepared a task with everything done that a user would do once
 * @property {() => any} run one call, to be timed; a promise where the contender is async
 * @property {(result: any) => Float32Array | Promise<Float32Array>} read a copy or a view of what run gave
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
 * @property {boolean} [copies] it only copies x: a ceiling, not a norm
 * @property {string} [column] title of its column in the table of errors; without one it has none
 * @property {boolean} [nodeOnly]
 * @property {(task: Task) => Promise<Prepared>} prepare
 */

export const inBrowser = typeof document !== "undefined";

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
