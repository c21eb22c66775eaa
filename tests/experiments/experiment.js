// What experiments share: seeded numbers, the spread over seeds, and the file that each writes.
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Random } from "../js/data.js";

const RESULTS = new URL("results/", import.meta.url);

export const SEEDS = [1, 2, 3];

/** @param {number} n @param {number} seed @param {number} [deviation] */
export function normals(n, seed, deviation = 1) {
  const random = new Random(seed);
  return Float32Array.from({ length: n }, () => deviation * random.normal());
}

/** @param {number} value @param {number} [digits] */
export const round = (value, digits = 4) => Number(value.toPrecision(digits));

/** @param {number[]} values one for each seed */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const [least, median, most] = [0, (sorted.length - 1) / 2, sorted.length - 1].map(
    (at) => sorted[Math.floor(at)],
  );
  return { median: round(median), least: round(least), most: round(most) };
}

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
