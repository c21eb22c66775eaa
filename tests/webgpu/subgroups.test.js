/**
 * Kernels for the subgroups of GPUs, from 16 lanes on, which sum up in other forms than those of a CPU: on SwiftShader, which has 4
 * and is told to be one of a GPU; and on lavapipe, whose subgroups are as wide as the vectors that it is told to use.
 */
import { execFile } from "node:child_process";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { WebGpuNorm } from "../../dist/webgpu.js";
import { findLavapipe } from "../../tools/lavapipe.js";
import { adapter, skip } from "./adapter.js";
import { judgeSweep } from "./judge_sweep.js";
import { sweepSubgroups } from "./subgroups.js";

/** Milliseconds of a sweep: what fits is checked. */
const TIME = Number(process.env.SWEEP_MS ?? 20_000);

/** @param {any} found @param {import("node:test").TestContext} t */
function judge(found, t) {
  judgeSweep(found, t);
  if (found.reason) return;
  const { kernels, lanes } = found;
  t.diagnostic(`${lanes.join(" to ")} lanes; kernels: ${JSON.stringify(kernels)}`);
}

const none = !skip && !adapter.features.has("subgroups") && "the adapter has no subgroups";
test("runs by subgroups are within their bounds whatever the range that a device tells", {
  skip: skip || none,
}, async (t) => {
  const norm = await WebGpuNorm.create({ adapter });
  const { subgroupMinSize, subgroupMaxSize } = adapter.info;
  const told = { least: subgroupMinSize, most: Math.max(32, subgroupMaxSize) };
  judge({ ...(await sweepSubgroups(norm, TIME / 2, told)), name: adapter.info.description }, t);
  norm.dispose();
});

const driver = findLavapipe();
test("runs by subgroups of 16 lanes are within their bounds", {
  skip: "reason" in driver && driver.reason,
}, async (t) => {
  const script = fileURLToPath(new URL("lanes_script.js", import.meta.url));
  const env = {
    ...process.env,
    ...driver,
    LP_NATIVE_VECTOR_WIDTH: "512",
    // LLVM takes seconds to optimize code for vectors that long.
    GALLIVM_PERF: "nopt",
  };
  const { stdout } = await promisify(execFile)(process.execPath, [script, String(TIME)], {
    env,
    timeout: 2 * TIME + 60_000,
  });
  judge(JSON.parse(stdout.trim().split("\n").at(-1) ?? ""), t);
});
