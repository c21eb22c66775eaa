/** The run as a whole: the JSON file's content, and the same figures in the terminal. */

import { figure, shortened } from "./format.js";
import { bytesOf, labelOf, titleOf } from "./tasks.js";

/** @typedef {import("./contenders/contender.js").Contender} Contender */
/** @typedef {import("./exactness.js").ExactnessCase} ExactnessCase */
/** @typedef {import("./suite.js").Case} Case */
/** @typedef {import("./suite.js").Result} Result */
/**
 * @typedef {object} ContenderInfo
 * @property {string} id
 * @property {string} name
 * @property {string} [column] title of its column in the table of errors
 * @property {string} detail
 * @property {string} [version] of its npm package
 */
/**
 * @typedef {object} Report
 * @property {string} date YYYY-MM-DD
 * @property {string} command
 * @property {boolean} quick the figures are rough
 * @property {{ cpu: string, cores: number, memoryGiB: number, system: string, engine: string }} machine
 * @property {ContenderInfo[]} contenders
 * @property {Case[]} speed
 * @property {ExactnessCase[]} [exactness]
 */

/** The contenders that others are set in proportion to. */
export const COPY = "memory.copy";
export const ORT = "onnxruntime-web";

/**
 * @param {Case} done
 * @param {string} id
 * @returns {Result | undefined} its figures; undefined where it has none
 */
export function timedResult({ results }, id) {
  return results.find((result) => result.id === id && result.ms !== undefined);
}

/**
 * @param {Case} done
 * @param {string} fast
 * @param {string} slow
 * @returns {number} how many times as fast the one is as the other; NaN where one has no figures
 */
export function timesAsFast(done, fast, slow) {
  return (timedResult(done, slow)?.ms ?? Number.NaN) / (timedResult(done, fast)?.ms ?? Number.NaN);
}

/** @param {readonly ContenderInfo[]} contenders @param {string} id @returns {string} */
export function nameOf(contenders, id) {
  return contenders.find((contender) => contender.id === id)?.name ?? id;
}

/** @param {readonly ContenderInfo[]} contenders @param {string} id @returns {string} */
export function columnOf(contenders, id) {
  return contenders.find((contender) => contender.id === id)?.column ?? id;
}

/** @param {number} value @returns {string} blank for NaN */
function cell(value) {
  return Number.isNaN(value) ? "" : figure(value);
}

/**
 * @param {string[][]} rows the first is the header; first column to the left, the others to the right
 * @returns {string}
 */
function aligned(rows) {
  const widths = rows[0].map((_, j) => Math.max(...rows.map((row) => row[j].length)));
  const lines = rows.map((row) =>
    row.map((text, j) => (j === 0 ? text.padEnd(widths[j]) : text.padStart(widths[j]))).join("  "),
  );
  return lines.map((line) => `  ${line.trimEnd()}`).join("\n");
}

/**
 * @param {Case} done
 * @param {readonly ContenderInfo[]} contenders
 * @returns {string} a table for the terminal
 */
export function speedText(done, contenders) {
  const header = ["", "ms", "quartiles", "GB/s", "of memory.copy", "x onnxruntime-web", "samples"];
  const rows = [header];
  const faults = [];
  for (const result of done.results) {
    const name = nameOf(contenders, result.id);
    const { ms, lowMs = 0, highMs = 0, gbps = 0, samples, fault = "" } = result;
    if (ms === undefined) {
      faults.push(`  ${name}: ${shortened(fault, 110)}`);
      continue;
    }
    rows.push([
      name,
      figure(ms),
      `${figure(lowMs)} - ${figure(highMs)}`,
      figure(gbps),
      cell(timesAsFast(done, result.id, COPY)),
      cell(timesAsFast(done, result.id, ORT)),
      String(samples),
    ]);
  }
  const megabytes = figure(bytesOf(done) / 1e6);
  const title = `${labelOf(done)} (${megabytes} MB read and written)`;
  return [title, aligned(rows), ...faults, ""].join("\n");
}

/** @param {import("./exactness.js").Errors} errors @returns {string} */
export function errorText({ max, inEps, fault = "" }) {
  if (max === undefined || inEps === undefined) return shortened(fault, 16);
  return max === 0 ? "0" : `${figure(max)} (${figure(inEps)})`;
}

/**
 * @param {ExactnessCase[]} cases
 * @param {readonly ContenderInfo[]} contenders
 * @returns {string} a table for the terminal
 */
export function exactnessText(cases, contenders) {
  const names = cases[0].results.map(({ id }) => columnOf(contenders, id));
  const rows = cases.map(({ operation, name, eps, results }) => [
    `${titleOf(operation)}, ${name}, eps ${eps}`,
    ...results.map(errorText),
  ]);
  return [
    "Largest absolute error against exact arithmetic, 768 features (in units of eps * M)",
    aligned([["", ...names], ...rows]),
    "",
  ].join("\n");
}
