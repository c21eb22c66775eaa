// A page of a manifest 3 extension, whose policy forbids inline scripts, eval and anything from elsewhere. Budget: 20 s.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pack } from "../package/pack.js";
import { assertEntries, FILES } from "../runtimes/assert_entries.js";
import { copyScripts } from "../runtimes/copy_scripts.js";
import { ENGINES, launch } from "./browsers.js";

const { installed } = pack();
const [chromium] = ENGINES;

const PAGE = `<!doctype html><html lang="en"><title>Test</title>
<script type="module" src="/tests/runtimes/page.js"></script></html>`;

/** @param {string} folder the extension */
function makeExtension(folder) {
  /** @param {string} path @param {string} text */
  const write = (path, text) => writeFileSync(join(folder, path), text);
  cpSync(join(installed, "dist"), join(folder, "dist"), { recursive: true });
  copyScripts(folder);
  write("index.html", PAGE);
  const urls = Object.entries(FILES).map(([name, file]) => [name, file.slice(1)]);
  write("entries.json", JSON.stringify(Object.fromEntries(urls)));
  write(
    "manifest.json",
    JSON.stringify({
      manifest_version: 3,
      name: "An extension with layernorm",
      version: "1.0",
      content_security_policy: {
        extension_pages: "script-src 'self' 'wasm-unsafe-eval'; object-src 'self'",
      },
    }),
  );
}

test("every entry gives the same bits in a page of a manifest 3 extension and its Worker (chromium)", {
  skip: chromium.skip,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "layernorm-extension-"));
  makeExtension(folder);
  const browser = await launch(chromium, { extensions: true });
  try {
    const page = await browser.newPage();
    /** @type {string[]} */
    const messages = [];
    page.on("console", (message) => messages.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => messages.push(`${error}`));
    const id = await browser.installExtension(folder);
    await page.goto(`chrome-extension://${id}/index.html`);
    const results = await page.evaluate(() => /** @type {any} */ (globalThis).finished);
    assertEntries(results.worker, "a Worker of an extension");
    t.diagnostic(assertEntries(results.main, "an extension"));
    assert.deepEqual(messages, []);
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true });
  }
});
