// Times the ways of one kind at one size after another. A worker of its own, so that nothing holds up the page and
// the page's own instance of the package stays as it is.

import { init } from "layernorm";
import { WebGpuNorm } from "layernorm/webgpu";
import { timeInTurn } from "../../timing.js";
import { largestDifference, makeProblem, plainLayerNorm } from "./problem.js";
import { copyContender, gpuWays, singleWays, threadWays } from "./ways.js";

/** @typedef {import("./problem.js").Problem} Problem */
/** @typedef {import("./problem.js").Size} Size */
/** @typedef {import("./ways.js").Ways} Ways */
/** @typedef {"single" | "threads" | "gpu"} Kind of ways that one worker has */

/**
 * @typedef {object} Timed
 * @property {import("./ways.js").WayName} name
 * @property {number} ms a call, median
 * @property {number} samples
 * @property {number} difference from the plain loop's result
 * @property {boolean} agrees whether that is within the way's bound
 */
/** What of a kind takes part: threads or an adapter; or why not, as a string's key and what was said. */
/** @typedef {{ threads?: number, reasons?: string[], adapter?: { name: string, software: boolean } }} Ready */
/** @typedef {{ key: string, message: string }} Absence */
/** @typedef {{ kind: Kind, threads: number } | { size: Size }} Request */
/** @typedef {{ ready: Ready } | { absence: Absence } | { timed: Timed[], copyMs: number | undefined }} Answer */

const TIMING = { budgetMs: 300 };
/** To hear that a GPU is done takes a while by itself: many calls share it. */
const GPU_TIMING = { budgetMs: 500, leastMs: 50 };

/** Makes the ways of a problem. @type {(problem: Problem) => Ways} */
let waysOf = singleWays;
let copies = false;
let timing = TIMING;

addEventListener("message", async (/** @type {MessageEvent<Request>} */ { data }) => {
  try {
    answer("size" in data ? await measure(data.size) : await prepare(data));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    answer({ absence: { key: "runFailed", message } });
  }
});

/** @param {Answer} content */
function answer(content) {
  postMessage(content);
}

/** @param {{ kind: Kind, threads: number }} request @returns {Promise<Answer>} */
async function prepare({ kind, threads: wanted }) {
  if (kind === "gpu") return prepareGpu();
  if (kind === "single") {
    copies = true;
    await init();
    return { ready: {} };
  }
  const { threads, reasons } = await init({ threads: wanted });
  if (threads === 1) {
    const key = wanted > 1 ? "waysNoThreads" : "waysOneCore";
    return { absence: { key, message: reasons.join("; ") } };
  }
  waysOf = threadWays;
  return { ready: { threads, reasons } };
}

/** @returns {Promise<Answer>} */
async function prepareGpu() {
  const { gpu } = /** @type {any} */ (navigator);
  if (gpu === undefined) return { absence: { key: "waysNoWebGpu", message: "" } };
  const adapter = await gpu.requestAdapter();
  if (adapter === null) return { absence: { key: "waysNoAdapter", message: "" } };
  const { vendor, architecture, device, description, isFallbackAdapter } = adapter.info ?? {};
  const name = description || [vendor, architecture, device].filter(Boolean).join(" ");
  // Browsers call SwiftShader and the like what they are, but do not all set the flag.
  const software = isFallbackAdapter === true || /swiftshader|llvmpipe|basic render/i.test(name);
  const norm = await WebGpuNorm.create({ adapter });
  waysOf = (problem) => gpuWays(norm, problem);
  timing = GPU_TIMING;
  return { ready: { adapter: { name: name || "WebGPU", software } } };
}

/** @param {Size} size @returns {Promise<Answer>} */
async function measure(size) {
  const problem = makeProblem(size);
  const expected = new Float32Array(problem.x.length);
  plainLayerNorm(problem, expected);
  const { ways, dispose } = waysOf(problem);
  try {
    // Whether the results are right comes before how fast they are.
    /** @type {number[]} */
    const differences = [];
    for (const way of ways) {
      await way.run(1);
      differences.push(largestDifference(await way.result(), expected));
    }
    const contenders = copies ? [...ways, copyContender(problem)] : ways;
    const times = await timeInTurn(contenders, timing);
    const timed = ways.map(({ name, bound }, i) => ({
      name,
      ...times[i],
      difference: differences[i],
      agrees: differences[i] <= bound,
    }));
    return { timed, copyMs: times[ways.length]?.ms };
  } finally {
    dispose();
  }
}
