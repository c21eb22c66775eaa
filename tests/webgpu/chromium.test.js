/** WebGPU in Chromium, with SwiftShader where there is no GPU; beside onnxruntime-web on one device. */
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { installedVersion } from "../bench/peers.js";
import { serve } from "../bench/server.js";
import { ENGINES, launch } from "../browser/browsers.js";
import { judgeSweep } from "./judge_sweep.js";

const [chromium] = ENGINES;
const { skip } = chromium;
const flags = [
  "--enable-unsafe-webgpu",
  "--enable-features=Vulkan",
  "--use-webgpu-adapter=swiftshader",
];

const server = await serve();
const browser = skip ? undefined : await launch(chromium, { flags, patience: 240_000 });
after(async () => {
  await browser?.close();
  server.close();
});

/** Milliseconds of a sweep: what fits is checked. */
const TIME = Number(process.env.SWEEP_MS ?? 20_000);

/** @param {string} name of a function of page.js @param {unknown} [given] what it is called with @returns {Promise<any>} */
async function inPage(name, given) {
  const page = await /** @type {import("puppeteer-core").Browser} */ (browser).newPage();
  await page.goto(server.address);
  return page.evaluate(
    `import("/tests/webgpu/page.js").then((page) => page.${name}(${JSON.stringify(given) ?? ""}))`,
  );
}

test("operations on a GPU in Chromium agree with wasm", { skip }, async () => {
  for (const [what, worst] of Object.entries(await inPage("operations"))) {
    assert.ok(worst < 5e-6, `${what}: ${worst}`);
  }
});

test("operations and gradients are within their bounds in Chromium", { skip }, async (t) => {
  judgeSweep(await inPage("sweepFor", TIME), t);
});

const missing =
  installedVersion("onnxruntime-web") === undefined && "npm run bench installs onnxruntime-web";
test("layerNorm stands between two sessions of onnxruntime-web without a way back", {
  skip: skip || missing,
}, async () => {
  const worst = await inPage("composition");
  assert.ok(worst < 5e-6, `${worst}`);
});

const missingTensorFlow =
  installedVersion("@tensorflow/tfjs-backend-webgpu") === undefined &&
  "npm run bench installs TensorFlow.js's webgpu backend";
test("layernorm/tfjs computes on TensorFlow.js's webgpu backend, in its buffers and commands, without a way back", {
  skip: skip || missingTensorFlow,
}, async () => {
  for (const [what, worst] of Object.entries(await inPage("tensorflow"))) {
    assert.ok(worst < 5e-6, `${what}: ${worst}`);
  }
});

test("what TensorFlow.js's dataToGPU gives is normalized where it stands", {
  skip: skip || missingTensorFlow,
}, async () => {
  const worst = await inPage("dataToGpu");
  assert.ok(worst < 5e-6, `${worst}`);
});
