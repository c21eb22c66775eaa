/**
 * Resident plans on the builds that are loaded when asked for, beside the one that all load:
 *
 *   node tests/bench/builds.js --threads 2       by so many threads
 *   node --experimental-wasm-relaxed-simd tests/bench/builds.js --relaxed-simd      Node 20; newer ones need no flag
 *   node tests/bench/builds.js --threads 2 --processes 1
 *
 * In each of five processes, which place their memory differently, both builds take turns. Prints how many times as fast the asked for
 * build is, as the median of the processes, and each process's own figure.
 */
import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs, promisify } from "node:util";
import { Random } from "../js/data.js";
import { describeMachine, ensureBuilt } from "./machine.js";
import { median } from "./stats.js";
import { FULL, timeInterleaved } from "./timing.js";

/** @typedef {{ operation: string, dims: number[], channels: number, options?: Record<string, unknown> }} Shape */

/** @type {Shape[]} */
const SHAPES = [
  { operation: "layerNorm", dims: [512, 768], channels: 768 },
  { operation: "layerNorm", dims: [1024, 1024], channels: 1024 },
  { operation: "layerNorm", dims: [1024, 4096], channels: 4096 },
  { operation: "layerNorm", dims: [16384, 128], channels: 128 },
  { operation: "rmsNorm", dims: [512, 768], channels: 768 },
  { operation: "rmsNorm", dims: [1024, 4096], channels: 4096 },
  {
    operation: "groupNorm",
    dims: [1, 320, 64, 64],
    channels: 320,
    options: { numGroups: 32 },
  },
  { operation: "instanceNorm", dims: [8, 64, 128, 128], channels: 64 },
];

const { values } = parseArgs({
  options: {
    threads: { type: "string" },
    "relaxed-simd": { type: "boolean" },
    processes: { type: "string", default: "5" },
    // One of the processes: the folders of two copies of the package.
    measure: { type: "string", multiple: true },
  },
});
const asked = {
  ...(values.threads !== undefined && { threads: Number(values.threads) }),
  ...(values["relaxed-simd"] && { relaxedSimd: true }),
};
const nameOf = (/** @type {Shape} */ { operation, dims }) => `${operation} ${dims.join("x")}`;

/** @param {any} copy of the package @param {Shape} shape */
function prepare({ plan, tensor }, { operation, dims, channels, options }) {
  const random = new Random(7);
  const some = (/** @type {number} */ n) => Float32Array.from({ length: n }, () => random.normal());
  const x = tensor(some(dims.reduce((a, b) => a * b)), dims);
  const [weight, bias] = [tensor(some(channels)), tensor(some(channels))];
  return plan(operation, x, { ...options, weight, bias });
}

/** @param {Float32Array} results @param {Float32Array} expected @param {string} name */
function check(results, expected, name) {
  const bound = asked.relaxedSimd ? 2 ** -20 : 0;
  for (const [i, value] of results.entries()) {
    if (Math.abs(value - expected[i]) <= bound * Math.max(1, Math.abs(expected[i]))) continue;
    throw new Error(`${name}: ${value} at ${i}, expected ${expected[i]}`);
  }
}

/** @param {string[]} folders @returns {Promise<Record<string, number>>} how many times as fast, by shape */
async function measure(folders) {
  const [plain, other] = await Promise.all(
    folders.map((folder) => import(pathToFileURL(join(folder, "index.js")).href)),
  );
  const { reasons } = await other.init(asked);
  if (reasons.length > 0) throw new Error(reasons.join("; "));
  /** @type {Record<string, number>} */
  const ratios = {};
  for (const shape of SHAPES) {
    const plans = [prepare(plain, shape), prepare(other, shape)];
    const [expected, results] = plans.map((each) => each.run().data);
    check(results, expected, nameOf(shape));
    const times = await timeInterleaved(
      plans.map((each, i) => ({ id: `${i}`, run: () => each.run(), async: false })),
      { ...FULL, budgetMs: 2000 },
    );
    const [ours, theirs] = ["0", "1"].map((id) => median(times.get(id) ?? []));
    ratios[nameOf(shape)] = ours / theirs;
    for (const each of plans) each.dispose();
  }
  other.dispose();
  return ratios;
}

async function main() {
  if (Object.keys(asked).length === 0) throw new Error("--threads N, --relaxed-simd or both");
  ensureBuilt(console.log);
  const machine = describeMachine(`Node.js ${process.versions.node}`);
  console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.system}, ${machine.engine}`);
  const folder = await mkdtemp(join(tmpdir(), "layernorm-builds-"));
  try {
    const own = fileURLToPath(new URL("../../dist", import.meta.url));
    const copy = join(folder, "dist");
    await cp(own, copy, { recursive: true });
    /** @type {Record<string, number>[]} */
    const found = [];
    for (let i = 0; i < Number(values.processes); i++) {
      const { stdout } = await promisify(execFile)(process.execPath, [
        ...process.execArgv,
        ...process.argv.slice(1),
        ...["--measure", own, "--measure", copy],
      ]);
      found.push(JSON.parse(stdout));
    }
    for (const name of SHAPES.map(nameOf)) {
      const each = found.map((ratios) => ratios[name]);
      const all = each.map((ratio) => ratio.toFixed(2)).join(" ");
      console.log(`${name.padEnd(32)}${median(each).toFixed(2)} times as fast (${all})`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (values.measure === undefined) {
  await main();
} else {
  console.log(JSON.stringify(await measure(values.measure)));
}
