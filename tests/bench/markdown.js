/** The README's tables, made from the JSON files. */

import { figure, shapeName, shortened } from "./format.js";
import { COPY, columnOf, errorText, ORT, timedResult, timesAsFast } from "./report.js";
import { isMatrix, labelOf, MATRIX_OPERATIONS, specOf, titleOf } from "./tasks.js";

/** @typedef {import("./report.js").ContenderInfo} ContenderInfo */
/** @typedef {import("./report.js").Report} Report */
/** @typedef {import("./suite.js").Case} Case */
/** @typedef {typeof MATRIX_OPERATIONS[number]} Operation */

/** @param {string[][]} rows the first is the header @returns {string} first column to the left, the others to the right */
export function table([header, ...rows]) {
  const rule = header.map((_, j) => (j === 0 ? "---" : "---:"));
  return [header, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** @param {ContenderInfo} contender */
function label({ name, version }) {
  if (name.startsWith("layernorm")) return `**${name}**`;
  // "TensorFlow.js, layer" has its version in the middle.
  return version === undefined ? name : name.replace(/^[^,]+/, `$& ${version}`);
}

/** @param {number} ratio */
function ratioCell(ratio) {
  return Number.isNaN(ratio) ? "–" : figure(ratio);
}

/**
 * Why a contender has no figures: each reason once, with the cases it is for unless those are all.
 * @param {Case[]} cases
 * @param {readonly ContenderInfo[]} contenders
 * @param {(done: Case) => string} caseName
 */
function faultLines(cases, contenders, caseName) {
  return contenders.flatMap(({ id, name }) => {
    /** @type {Map<string, string[]>} */
    const faulty = new Map();
    for (const done of cases) {
      const fault = done.results.find((result) => result.id === id)?.fault;
      if (fault !== undefined) faulty.set(fault, [...(faulty.get(fault) ?? []), caseName(done)]);
    }
    return [...faulty].map(([fault, names]) => {
      const where = names.length === cases.length ? "" : ` (${names.join(", ")})`;
      return `${name}${where}: ${shortened(fault, 120)}.`;
    });
  });
}

/**
 * @param {Report} report
 * @param {Operation} operation
 * @param {"gbps" | "ms"} measure
 */
function speedTable({ speed, contenders: all }, operation, measure) {
  const cases = speed.filter((done) => isMatrix(done) && done.operation === operation);
  const contenders = takingPart(cases, all);
  const rows = contenders.map((contender) => [
    label(contender),
    ...cases.map((done) => ratioCell(timedResult(done, contender.id)?.[measure] ?? Number.NaN)),
  ]);
  const ratios = [
    ["plan, of memory.copy", "plan", COPY],
    ["plan, times onnxruntime-web", "plan", ORT],
    ["typed arrays with out, times onnxruntime-web", "out", ORT],
    ["typed arrays with out, times plain JavaScript", "out", "plain-js"],
  ].map(([title, fast, slow]) => [
    `_${title}_`,
    ...cases.map((done) => ratioCell(timesAsFast(done, fast, slow))),
  ]);
  const header = [measure === "gbps" ? "GB/s" : "ms", ...cases.map(shapeName)];
  const faults = faultLines(cases, contenders, shapeName);
  return [
    table([header, ...rows, ...(measure === "gbps" ? ratios : [])]),
    ...(faults.length > 0 ? [faults.join(" ")] : []),
  ].join("\n\n");
}

/** @param {Case[]} cases @param {readonly ContenderInfo[]} contenders */
function takingPart(cases, contenders) {
  return contenders.filter(({ id }) =>
    cases.some(({ results }) => results.some((result) => result.id === id)),
  );
}

/** What the table of models' shapes shows of a case, by the column's title. @type {Record<string, (done: Case) => number>} */
const MODEL_COLUMNS = {
  "plan, GB/s": (done) => timedResult(done, "plan")?.gbps ?? Number.NaN,
  "of memory.copy": (done) => timesAsFast(done, "plan", COPY),
  "out, GB/s": (done) => timedResult(done, "out")?.gbps ?? Number.NaN,
  "times plain JavaScript": (done) => timesAsFast(done, "out", "plain-js"),
  "times onnxruntime-web": (done) => timesAsFast(done, "out", ORT),
  "times TensorFlow.js": (done) => timesAsFast(done, "out", "tfjs-ops"),
  "times jax-js": (done) => timesAsFast(done, "out", "jax-js"),
  "times its parts": (done) => timesAsFast(done, "out", "out-parts"),
};

/**
 * The cases are the rows: a compact table of ratios, and one of all speeds.
 * @param {Report} report
 * @param {(ratios: string, speeds: string) => string} arranged
 */
function modelTables({ speed, contenders: all }, arranged) {
  const cases = speed.filter((done) => !isMatrix(done));
  const contenders = takingPart(cases, all);
  const ratios = cases.map((done) => [
    labelOf(done),
    ...Object.values(MODEL_COLUMNS).map((ratioOf) => ratioCell(ratioOf(done))),
  ]);
  const speeds = cases.map((done) => [
    labelOf(done),
    ...contenders.map(({ id }) => ratioCell(timedResult(done, id)?.gbps ?? Number.NaN)),
  ]);
  const faults = faultLines(cases, contenders, labelOf);
  return arranged(
    table([["", ...Object.keys(MODEL_COLUMNS)], ...ratios]),
    [table([["GB/s", ...contenders.map(label)], ...speeds]), faults.join(" ")].join("\n\n"),
  );
}

/** @param {string} summary @param {string} content */
function folded(summary, content) {
  return `<details>\n<summary>${summary}</summary>\n\n${content}\n\n</details>`;
}

/** @param {Report} report */
function origin({ machine, date, command }) {
  const { cpu, cores, system, engine } = machine;
  return `${cpu}, ${cores} cores, ${system}, ${engine}, ${date}, \`${command}\``;
}

/**
 * @param {Report} report
 * @param {Operation} operation
 */
function heading(report, operation) {
  const { parameters } = specOf({ operation, dims: [] });
  return `${titleOf(operation)} with ${parameters.join(" and ")}, float32, ${report.machine.engine}`;
}

/**
 * @param {Report} node
 * @param {Report | null} browser
 * @param {string} picture its path, relative to the README
 * @returns {string}
 */
export function speedMarkdown(node, browser, picture) {
  const parts = [
    `![GB/s of each contender on each shape, in Node.js](${picture})`,
    "Billions of bytes a second, inputs read once and results written once; shapes are rows x features. Medians of " +
      "interleaved samples, one thread, each result checked before it was timed. " +
      `${origin(node)}.`,
    `**${heading(node, "layerNorm")}**`,
    speedTable(node, "layerNorm", "gbps"),
    folded("Milliseconds of one call", speedTable(node, "layerNorm", "ms")),
    folded(heading(node, "rmsNorm"), speedTable(node, "rmsNorm", "gbps")),
    `**Shapes of models, ${node.machine.engine}**`,
    modelTables(node, (ratios, speeds) => `${ratios}\n\n${folded("All of them", speeds)}`),
  ];
  if (browser !== null) {
    const tables = MATRIX_OPERATIONS.map(
      (operation) => `${titleOf(operation)}:\n\n${speedTable(browser, operation, "gbps")}`,
    );
    tables.push(`Shapes of models:\n\n${modelTables(browser, (...both) => both.join("\n\n"))}`);
    const summary = `The same in a browser: ${browser.machine.engine}`;
    parts.push(folded(summary, [`${origin(browser)}.`, ...tables].join("\n\n")));
  }
  const details = node.contenders.map(({ name, detail }) => `- ${name}: ${detail}`);
  parts.push(folded("What is timed", details.join("\n")));
  return parts.join("\n\n");
}

/**
 * @param {Report} report
 * @returns {string}
 */
export function exactnessMarkdown(report) {
  const { exactness = [], contenders } = report;
  const columns = exactness[0].results.map(({ id }) => columnOf(contenders, id));
  const rows = exactness.map(({ operation, name, eps, results }) => [
    `${titleOf(operation)}, ${name}${eps === 0 ? ", eps 0" : ""}`,
    ...results.map(errorText),
  ]);
  return [
    "The largest absolute error against exact arithmetic on 32 float32 rows of 768 features, weight 1, bias 0, eps 1e-5 " +
      "unless it says 0; in brackets in units of eps * M (M = the larger of 1 and the result, eps = 2^-23). " +
      `${origin(report)}.`,
    table([["", ...columns], ...rows]),
  ].join("\n\n");
}

/**
 * Puts content between `<!-- bench:name -->` and `<!-- /bench:name -->`.
 * @param {string} document
 * @param {string} name
 * @param {string} content
 * @returns {string}
 */
export function replaceBlock(document, name, content) {
  const [open, close] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
  const begin = document.indexOf(open);
  const end = document.indexOf(close);
  if (begin < 0 || end < begin) throw new Error(`no ${open} ... ${close} in the document`);
  return `${document.slice(0, begin)}${open}\n\n${content}\n\n${document.slice(end)}`;
}
