// What each entry of the package has to do in every engine. A new entry is one more line of ENTRIES: it loads the entry
// and returns plain data, which has to be the same, bit for bit, wherever it runs.
import { checks } from "../browser/pages/checks.js";
import { fnv1a, hashCases } from "../js/hash_cases.js";
import { hashOperations } from "../js/hash_operations.js";

/**
 * @typedef {object} Context
 * @property {(name: string) => Promise<any>} load imports an entry by its name
 * @property {Record<string, unknown>} wasm options of init() that bring the engine the wasm
 */

/** @type {Record<string, (context: Context) => Promise<unknown>>} */
export const ENTRIES = {
  layernorm: async ({ load }) => checkOperations(await load("layernorm")),
  "layernorm/slim": async ({ load, wasm }) => {
    const slim = await load("layernorm/slim");
    // All entries share one instance.
    slim.dispose();
    await slim.init(wasm);
    return checkOperations(slim);
  },
};

/** @param {any} functions */
function checkOperations(functions) {
  return {
    checks: checks(functions),
    hashes: { ...hashCases(functions), ...hashOperations(functions) },
  };
}

/**
 * @param {Context} context
 * @param {string[]} [names] all entries unless told
 * @returns {Promise<Record<string, any>>} the results of each entry by its name
 */
export async function checkEntries(context, names = Object.keys(ENTRIES)) {
  /** @type {Record<string, unknown>} */
  const results = {};
  for (const name of names) results[name] = await ENTRIES[name](context);
  return results;
}

/** @param {unknown} results plain data @returns {string} one hash of all of it */
export const digest = (results) => fnv1a([new TextEncoder().encode(JSON.stringify(results))]);
