/** layernorm/tfjs on TensorFlow.js's webgl backend, in Chromium: what it gives on cpu, derivatives too. Budget: 20 s. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { ENGINES, launch } from "../browser/browsers.js";
import { install } from "./installed.js";

const chromium = ENGINES[0];

test("operations, derivatives and cells on webgl are those on cpu", {
  skip: chromium.skip,
}, async (t) => {
  const page = fileURLToPath(new URL("pages/webgl.js", import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [page],
    bundle: true,
    write: false,
    format: "iife",
    nodePaths: [dirname(install())],
    logLevel: "error",
  });
  const flags = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"];
  const browser = await launch(chromium, { flags });
  try {
    const tab = await browser.newPage();
    await tab.addScriptTag({ content: outputFiles[0].text });
    const differences = await tab.evaluate(() => /** @type {any} */ (globalThis).compare());
    if (typeof differences === "string") {
      t.skip(differences);
      return;
    }
    assert.equal(Object.keys(differences).length, 14);
    for (const [name, difference] of Object.entries(differences)) {
      t.diagnostic(`${name}: ${Number(difference).toExponential(1)}`);
      assert.ok(difference <= 1e-5, `${name} differs by ${difference}`);
    }
  } finally {
    await browser.close();
  }
});
