/**
 * npm run bench:webgpu: LayerNorm of tensors that stay on a GPU, in Chromium on this machine's adapter; and of values in memory, what
 * the way there and back takes beside wasm's whole call, and from which size on it leaves half of that time to a GPU.
 *
 *   --quick   fewer rounds
 *   --gpu     the machine's GPU, not SwiftShader
 *
 * CHROMIUM names another binary.
 */

import { parseArgs } from "node:util";
import { launchChromium } from "./chromium.js";
import { figure } from "./format.js";
import { describeMachine, ensureBuilt } from "./machine.js";
import { ensurePeers, installedVersion } from "./peers.js";
import { serve } from "./server.js";

const SHAPES = [
  [512, 768],
  [1024, 4096],
  [4, 262_144],
];

const { quick = false, gpu = false } = parseArgs({
  options: { quick: { type: "boolean" }, gpu: { type: "boolean" } },
}).values;
const log = console.log;

ensureBuilt(log);
await ensurePeers(log);

const server = await serve();
const browser = await launchChromium([
  "--enable-unsafe-webgpu",
  "--enable-features=Vulkan",
  ...(gpu ? [] : ["--use-webgpu-adapter=swiftshader"]),
]);
try {
  const engine = (await browser.version()).replace(/^(Headless)?Chrome\//, "Chromium ");
  const { cpu, cores } = describeMachine(engine);
  const page = await browser.newPage();
  page.on("pageerror", (error) => log(`page: ${String(error).slice(0, 300)}`));
  await page.goto(server.address);
  const adapter = await page.evaluate(
    "navigator.gpu ? navigator.gpu.requestAdapter().then((a) => a && [a.info.vendor, a.info.architecture, a.info.description].join(' ')) : null",
  );
  if (!adapter) throw new Error("Chromium has no WebGPU adapter here");
  log(`${cpu}, ${cores} cores, ${engine}, ${adapter}`);
  log(
    `onnxruntime-web ${installedVersion("onnxruntime-web")}, TensorFlow.js ${installedVersion("@tensorflow/tfjs-core")}; LayerNorm with weight and bias, float32; median and least ms of a call, GB/s read once and written once, largest error seen`,
  );
  await page.exposeFunction("tell", (/** @type {any} */ { dims, calls, row }) => {
    const bytes = 8 * dims.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
    log(`\n${dims.join("x")}, ${calls} ${calls === 1 ? "call" : "calls"} for each wait`);
    for (const [name, { ms, least, error, onGpu }] of Object.entries(row)) {
      const speed = `${figure(ms).padStart(7)} ms, at least ${figure(least).padStart(5)} ms ${figure(bytes / ms / 1e6).padStart(7)} GB/s`;
      const clock = onGpu === undefined ? "" : `   ${figure(onGpu)} ms by the GPU's clock`;
      const outcome = name === "buffer copy" ? "" : error.toExponential(1) + clock;
      log(
        `  ${name.padEnd(16)} ${error > 1e-3 ? `wrong: off by ${outcome}` : `${speed}   ${outcome}`}`,
      );
    }
  });
  await page.evaluate(
    `import("/tests/bench/webgpu_page.js").then(({ benchWebGpu }) => benchWebGpu(${JSON.stringify(SHAPES)}, ${quick ? 5 : 31}, (row) => tell(row)))`,
  );
  log(
    "\nValues in memory: ms of a call by wasm into memory that is there; of the copies to a GPU and back that none does without, and of what layernorm/auto does beside computing, as shares of wasm's time",
  );
  if (!gpu) log("This adapter is a CPU: nothing is said of how long it computes");
  /** @type {Map<string, number>} from which size on transfers leave half of wasm's time, for each kind */
  const from = new Map();
  await page.exposeFunction(
    "tellStep",
    (/** @type {import("./webgpu_round_trip.js").Step} */ step) => {
      const { bytes, wasm, webgpu, copies, transfers } = step;
      const mib = bytes / 2 ** 20;
      log(
        `\n${mib} MiB: copies ${figure(copies[0])} ms, transfers ${figure(transfers[0])} ms; with gradients ${figure(copies[1])} ms, ${figure(transfers[1])} ms`,
      );
      for (const [kind, ms] of Object.entries(wasm)) {
        const inputs = kind.includes("Backward") ? 1 : 0;
        const shares = [copies, transfers].map((each) =>
          (each[inputs] / ms).toFixed(2).padStart(6),
        );
        const whole = webgpu[kind] === undefined ? "" : `   on the GPU ${figure(webgpu[kind])} ms`;
        log(`  ${kind.padEnd(31)} ${figure(ms).padStart(7)} ms ${shares.join(" ")}${whole}`);
        if (2 * transfers[inputs] > ms) from.delete(kind);
        else if (!from.has(kind)) from.set(kind, mib);
        kinds.add(kind);
      }
    },
  );
  /** @type {Set<string>} */
  const kinds = new Set();
  await page.evaluate(
    `import("/tests/bench/webgpu_round_trip.js").then(({ benchRoundTrips }) => benchRoundTrips(${quick ? 3 : 5}, ${gpu}, (step) => tellStep(step)))`,
  );
  log("\nTransfers take at most half of wasm's time");
  for (const kind of kinds) {
    const mib = from.get(kind);
    log(`  ${kind.padEnd(31)} ${mib === undefined ? "at no size" : `from ${mib} MiB on`}`);
  }
} finally {
  await browser.close();
  server.close();
}
