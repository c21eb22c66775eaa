/** wgpu, which is not Dawn: in Deno and in Firefox, with lavapipe where there is no GPU, whose shader-f16 no test with SwiftShader has. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { serve } from "../bench/server.js";
import { ENGINES, launch } from "../browser/browsers.js";
import { lavapipe } from "./environment.js";
import { judgeSweep } from "./judge_sweep.js";

/** Milliseconds of a sweep: what fits is checked. */
const TIME = Number(process.env.SWEEP_MS ?? 20_000);
const DENO = fileURLToPath(
  new URL("../runtimes/node_modules/@deno/linux-x64-glibc/deno", import.meta.url),
);
const driver = lavapipe();
const noDriver = driver === undefined && "lavapipe is not installed: mesa-vulkan-drivers";
const noDeno = !existsSync(DENO) && "Deno is not installed: the step runtimes installs it";

test("operations and gradients are within their bounds on wgpu in Deno", {
  skip: noDriver || noDeno,
}, async (t) => {
  const script = fileURLToPath(new URL("deno_script.js", import.meta.url));
  const args = ["run", "--unstable-webgpu", "--no-prompt", "--allow-read", "--allow-env"];
  const child = spawn(DENO, [...args, script, String(TIME)], {
    env: { ...process.env, ...driver, NO_COLOR: "1" },
    timeout: TIME + 60_000,
  });
  let [out, errors] = ["", ""];
  child.stdout.on("data", (text) => {
    out += text;
  });
  child.stderr.on("data", (text) => {
    errors += text;
  });
  const code = await new Promise((settle) => child.on("close", settle));
  assert.equal(code, 0, errors.slice(-1000));
  judgeSweep(JSON.parse(out), t);
});

const firefox = ENGINES.find(({ name }) => name === "firefox");
test("operations and gradients are within their bounds on wgpu in Firefox", {
  skip: noDriver || firefox?.skip,
}, async (t) => {
  Object.assign(process.env, driver);
  const server = await serve();
  const browser = await launch(/** @type {any} */ (firefox), {
    preferences: { "dom.webgpu.enabled": true, "gfx.webgpu.ignore-blocklist": true },
    patience: TIME + 90_000,
  });
  try {
    const page = await browser.newPage();
    await page.goto(server.address);
    const found = await page.evaluate(
      `import("/tests/webgpu/page.js").then((page) => page.sweepFor(${TIME}))`,
    );
    judgeSweep(found, t);
  } finally {
    await browser.close();
    server.close();
  }
});
