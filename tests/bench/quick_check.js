/**
 * Checks the speed goals of LayerNorm with weight and bias: node tests/bench/quick_check.js
 *
 *   --processes N   judge by the median of N processes, 5 unless given
 *
 * A line for each goal, and exit code 1 if one is missed. Goals against onnxruntime-web need it installed, which npm run
 * bench does. Not part of npm test: a busy machine misses goals.
 */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { CONTENDERS } from "./contenders/index.js";
import { figure, shapeName } from "./format.js";
import { ensureBuilt } from "./machine.js";
import { installedVersion } from "./peers.js";
import { COPY, nameOf, ORT, timesAsFast } from "./report.js";
import { median } from "./stats.js";
import { runCase } from "./suite.js";
import { SHAPES } from "./tasks.js";

/** @typedef {{ fast: string, slow: string, times: number, shapes: string[] }} Goal */

/** @type {readonly Goal[]} */
const GOALS = [
  { fast: "plan", slow: COPY, times: 0.7, shapes: ["512x768", "1024x4096"] },
  {
    fast: "out",
    slow: "plain-js",
    times: 4,
    shapes: ["128x768", "512x768", "1024x4096", "16384x128"],
  },
  { fast: "plan", slow: "plain-js", times: 8, shapes: ["1x768"] },
  { fast: "out", slow: ORT, times: 10, shapes: ["128x768", "512x768", "16384x128"] },
  { fast: "out", slow: ORT, times: 7, shapes: ["1024x4096", "4096x4096"] },
  { fast: "plan", slow: ORT, times: 100, shapes: ["1x768"] },
];

/** @type {import("./timing.js").Settings} */
const SETTINGS = {
  sampleMs: 20,
  warmUpMs: 100,
  budgetMs: 3000,
  minRounds: 15,
  maxRounds: 60,
  slowMs: 2000,
  minSamples: 5,
};

/** One for a goal on a shape. @param {readonly Goal[]} goals */
function checksOf(goals) {
  return goals.flatMap(({ shapes, ...goal }) => shapes.map((shape) => ({ ...goal, shape })));
}

/**
 * @param {ReturnType<typeof checksOf>} checks
 * @returns {Promise<number[]>} how many times as fast, for each check
 */
async function measure(checks) {
  /** @type {Map<string, import("./suite.js").Case>} */
  const cases = new Map();
  for (const shape of SHAPES) {
    const name = shapeName(shape);
    const wanted = new Set(
      checks.filter((check) => check.shape === name).flatMap(({ fast, slow }) => [fast, slow]),
    );
    if (wanted.size === 0) continue;
    const contenders = CONTENDERS.filter(({ id }) => wanted.has(id));
    const done = await runCase(contenders, "layerNorm", shape, SETTINGS);
    for (const { id, fault } of done.results) {
      if (fault !== undefined) throw new Error(`${name}, ${nameOf(CONTENDERS, id)}: ${fault}`);
    }
    cases.set(name, done);
  }
  return checks.map(({ shape, fast, slow }) =>
    timesAsFast(/** @type {import("./suite.js").Case} */ (cases.get(shape)), fast, slow),
  );
}

/** @returns {number[]} what another process measures */
function measureElsewhere() {
  const { status, stdout } = spawnSync(
    process.execPath,
    [fileURLToPath(import.meta.url), "--once"],
    { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
  );
  if (status !== 0) throw new Error("a measuring process failed");
  return JSON.parse(stdout);
}

const { once = false, processes = "5" } = parseArgs({
  options: { once: { type: "boolean" }, processes: { type: "string" } },
}).values;

const hasPeer = installedVersion("onnxruntime-web") !== undefined;
const checks = checksOf(GOALS.filter(({ slow }) => hasPeer || slow !== ORT));
if (once) {
  process.stdout.write(JSON.stringify(await measure(checks)), () => process.exit());
} else {
  ensureBuilt(console.log);
  /** @type {number[][]} */
  const runs = [];
  // Where the memory of a process lies is worth several percent either way.
  for (let i = 0; i < Number(processes); i++) {
    runs.push(measureElsewhere());
    console.log(`process ${i + 1} of ${processes}`);
  }
  let missed = 0;
  checks.forEach(({ fast, slow, shape, times }, i) => {
    const values = runs.map((run) => run[i]);
    const ratio = median(values);
    const passed = ratio >= times;
    if (!passed) missed += 1;
    const range = `${figure(Math.min(...values))} to ${figure(Math.max(...values))}`;
    const names = `${nameOf(CONTENDERS, fast)} / ${nameOf(CONTENDERS, slow)}`;
    console.log(
      `${passed ? "pass" : "MISS"}  ${shape}: ${names} ${figure(ratio)} (${range}), goal ${times}`,
    );
  });
  if (!hasPeer) console.log("onnxruntime-web is not installed: its goals were left out.");
  process.exitCode = missed === 0 ? 0 : 1;
}
