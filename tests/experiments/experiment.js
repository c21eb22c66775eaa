// What experiments share in Node: the file that each writes, and the library whose parts train. What they do stands in core/.
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const RESULTS = new URL("results/", import.meta.url);

export { normals, round, SEEDS, spread } from "./core/numbers.js";

/**
 * Writes an experiment's result, and prints it.
 *
 * @param {string} name of the file
 * @param {{ question: string, setting: object, results: unknown, answer: string }} result
 * @param {number} started by performance.now()
 */
export function write(name, result, started) {
  mkdirSync(RESULTS, { recursive: true });
  const seconds = Math.round((performance.now() - started) / 1000);
  const text = JSON.stringify({ ...result, node: process.version, seconds }, null, 2);
  writeFileSync(fileURLToPath(new URL(`${name}.json`, RESULTS)), `${text}\n`);
  console.log(text);
}
