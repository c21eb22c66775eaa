// The cases of hash_cases.js in Node, and the stored hashes: `node tests/js/hashes.js --write` stores them.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { layerNorm, rmsNorm } from "../../dist/index.js";
import { hashCases } from "./hash_cases.js";

const FILE = new URL("../golden/hashes.json", import.meta.url);

/** @returns {Record<string, string>} the hash of each case by its name, which begins with its number */
export function hashes() {
  return hashCases({ layerNorm, rmsNorm });
}

/** @returns {Record<string, string>} the stored hashes */
export function goldenHashes() {
  return JSON.parse(readFileSync(FILE, "utf8"));
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv.includes("--write")) {
  writeFileSync(FILE, `${JSON.stringify(hashes(), null, 2)}\n`);
}
