/** The JSON files that the README's tables and picture are made from. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

/** @typedef {import("./report.js").Report} Report */

const FOLDER = new URL("results/", import.meta.url);

/**
 * @param {Report} report
 * @param {"node" | "chromium"} name
 * @param {string | undefined} file instead of the usual place
 * @param {(line: string) => void} log
 */
export function storeReport(report, name, file, log) {
  if (report.quick && file === undefined) {
    log("Quick figures are rough, and not stored.");
    return;
  }
  if (file === undefined) mkdirSync(FOLDER, { recursive: true });
  writeFileSync(file ?? new URL(`${name}.json`, FOLDER), `${JSON.stringify(report, null, 1)}\n`);
  log(`Stored in ${file ?? `tests/bench/results/${name}.json`}.`);
  if (file === undefined) log("node tests/bench/readme.js puts it into the README.");
}

/** @param {"node" | "chromium"} name @returns {Report | null} null if there is none */
export function storedReport(name) {
  const url = new URL(`${name}.json`, FOLDER);
  return existsSync(url) ? JSON.parse(readFileSync(url, "utf8")) : null;
}
