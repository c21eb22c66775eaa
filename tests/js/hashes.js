// The cases of hash_cases.js, hash_operations.js and hash_backward.js in Node, and the stored hashes:
// `node tests/js/hashes.js --write` stores them.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as layernorm from "../../dist/index.js";
import { hashBackward } from "./hash_backward.js";
import { hashCases } from "./hash_cases.js";
import { hashOperations } from "./hash_operations.js";

const FILE = new URL("../golden/hashes.json", import.meta.url);
const OPERATIONS_FILE = new URL("../golden/hashes_operations.json", import.meta.url);

const BACKWARD_FILE = new URL("../golden/hashes_backward.json", import.meta.url);

/** @param {URL} file @returns {Record<string, string>} */
const read = (file) => JSON.parse(readFileSync(file, "utf8"));

/** @returns {Record<string, string>} the hash of each case by its name, which begins with its number */
export function hashes() {
  return hashCases(layernorm);
}

/** @returns {Record<string, string>} the same of hash_operations.js */
export function operationHashes() {
  return hashOperations(/** @type {any} */ (layernorm));
}

/** @returns {Record<string, string>} the same of hash_backward.js */
export function backwardHashes() {
  return hashBackward(/** @type {any} */ (layernorm));
}

/** @returns {Record<string, string>} the stored hashes */
export function goldenHashes() {
  return read(FILE);
}

/** @returns {Record<string, string>} the stored hashes of hash_operations.js */
export function goldenOperationHashes() {
  return read(OPERATIONS_FILE);
}

/** @returns {Record<string, string>} the stored hashes of hash_backward.js */
export function goldenBackwardHashes() {
  return read(BACKWARD_FILE);
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv.includes("--write")) {
  for (const [file, values] of /** @type {const} */ ([
    [FILE, hashes()],
    [OPERATIONS_FILE, operationHashes()],
    [BACKWARD_FILE, backwardHashes()],
  ])) {
    writeFileSync(file, `${JSON.stringify(values, null, 2)}\n`);
  }
}
