/**
 * Checks the speed goals: node tests/bench/quick_check.js
 *
 *   --processes N   judge by the median of N processes, 5 unless given
 *   --only WORD     only the tasks whose id begins with it
 *
 * A line for each goal, and exit code 1 if one is missed. Goals against peers need them installed, which npm run bench does;
 * where a peer has no such operation there is nothing to beat. Not part of npm test: a busy machine misses goals.
 */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { CONTENDERS } from "./contenders/index.js";
import { figure } from "./format.js";
import { ensureBuilt } from "./machine.js";
import { missingPeers } from "./peers.js";
import { COPY, nameOf, ORT, timesAsFast } from "./report.js";
import { median } from "./stats.js";
import { runCase } from "./suite.js";
import { MODELS, SPECS } from "./tasks.js";

/** @typedef {{ fast: string, slow: string, times: number, tasks: string[] }} Goal */

const TFJS = "tfjs-ops";
const IDS = MODELS.map(({ id }) => id);
const FUSED = ["group-silu", "group-last-silu", "add-rms", "adaptive", "layer-silu"];
const WITHOUT_INFERENCE = IDS.filter((id) => id !== "batch");

/** @param {...string} shapes @returns {string[]} */
const layerNorm = (...shapes) => shapes.map((shape) => `layerNorm ${shape}`);

/** @type {readonly Goal[]} */
const GOALS = [
  { fast: "plan", slow: COPY, times: 0.7, tasks: layerNorm("512x768", "1024x4096") },
  {
    fast: "out",
    slow: "plain-js",
    times: 4,
    tasks: layerNorm("128x768", "512x768", "1024x4096", "16384x128"),
  },
  { fast: "plan", slow: "plain-js", times: 8, tasks: layerNorm("1x768") },
  { fast: "out", slow: ORT, times: 10, tasks: layerNorm("128x768", "512x768", "16384x128") },
  { fast: "out", slow: ORT, times: 7, tasks: layerNorm("1024x4096", "4096x4096") },
  { fast: "plan", slow: ORT, times: 100, tasks: layerNorm("1x768") },
  { fast: "out", slow: "plain-js", times: 3, tasks: WITHOUT_INFERENCE },
  { fast: "out", slow: ORT, times: 5, tasks: WITHOUT_INFERENCE },
  { fast: "out", slow: TFJS, times: 5, tasks: WITHOUT_INFERENCE },
  { fast: "out", slow: "plain-js", times: 2, tasks: ["batch"] },
  { fast: "out", slow: ORT, times: 1, tasks: ["batch"] },
  { fast: "out", slow: TFJS, times: 1, tasks: ["batch"] },
  {
    fast: "plan",
    slow: COPY,
    times: 0.5,
    tasks: ["group", "instance", "batch", "add-rms", "adaptive"],
  },
  // The same number of elements.
  { fast: "plan", slow: "plan-float32", times: 0.5, tasks: ["bfloat16"] },
  { fast: "plan", slow: "plan-float32", times: 0.2, tasks: ["float16"] },
  { fast: "plan", slow: "plan-parts", times: 1, tasks: FUSED },
  { fast: "out", slow: "out-parts", times: 1, tasks: FUSED },
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

/** One for a goal on a task. @param {readonly Goal[]} goals */
function checksOf(goals) {
  return goals.flatMap(({ tasks, ...goal }) => tasks.map((id) => ({ ...goal, id })));
}

/** @param {string} contender */
function isPeer(contender) {
  return CONTENDERS.find(({ id }) => id === contender)?.kind === "peer";
}

/**
 * @param {ReturnType<typeof checksOf>} checks
 * @returns {Promise<(number | null)[]>} how many times as fast, for each check; null where a peer has no such operation
 */
async function measure(checks) {
  /** @type {Map<string, import("./suite.js").Case>} */
  const cases = new Map();
  for (const spec of SPECS) {
    const wanted = new Set(
      checks.filter(({ id }) => id === spec.id).flatMap(({ fast, slow }) => [fast, slow]),
    );
    if (wanted.size === 0) continue;
    const contenders = CONTENDERS.filter(({ id }) => wanted.has(id));
    const done = await runCase(contenders, spec, SETTINGS);
    for (const { id, fault } of done.results) {
      if (fault === undefined || isPeer(id)) continue;
      throw new Error(`${spec.id}, ${nameOf(CONTENDERS, id)}: ${fault}`);
    }
    cases.set(spec.id, done);
  }
  return checks.map(({ id, fast, slow }) => {
    const ratio = timesAsFast(/** @type {import("./suite.js").Case} */ (cases.get(id)), fast, slow);
    return Number.isNaN(ratio) ? null : ratio;
  });
}

/** @returns {(number | null)[]} what another process measures */
function measureElsewhere() {
  const { status, stdout } = spawnSync(
    process.execPath,
    [fileURLToPath(import.meta.url), "--once", "--only", only],
    { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
  );
  if (status !== 0) throw new Error("a measuring process failed");
  return JSON.parse(stdout);
}

const {
  once = false,
  processes = "5",
  only = "",
} = parseArgs({
  options: {
    once: { type: "boolean" },
    processes: { type: "string" },
    only: { type: "string" },
  },
}).values;

const isComplete = missingPeers().length === 0;
const checks = checksOf(GOALS).filter(
  ({ id, slow }) => id.startsWith(only) && (isComplete || !isPeer(slow)),
);
if (once) {
  process.stdout.write(JSON.stringify(await measure(checks)), () => process.exit());
} else {
  ensureBuilt(console.log);
  /** @type {(number | null)[][]} */
  const runs = [];
  // Where the memory of a process lies is worth several percent either way.
  for (let i = 0; i < Number(processes); i++) {
    runs.push(measureElsewhere());
    console.log(`process ${i + 1} of ${processes}`);
  }
  let missed = 0;
  checks.forEach(({ fast, slow, id, times }, i) => {
    const values = runs.flatMap((run) => run[i] ?? []);
    const names = `${id}: ${nameOf(CONTENDERS, fast)} / ${nameOf(CONTENDERS, slow)}`;
    if (values.length === 0) {
      console.log(`none  ${names}`);
      return;
    }
    const ratio = median(values);
    const passed = ratio >= times;
    if (!passed) missed += 1;
    const range = `${figure(Math.min(...values))} to ${figure(Math.max(...values))}`;
    console.log(`${passed ? "pass" : "MISS"}  ${names} ${figure(ratio)} (${range}), goal ${times}`);
  });
  if (!isComplete) console.log("Peers are not installed: their goals were left out.");
  process.exitCode = missed === 0 ? 0 : 1;
}
