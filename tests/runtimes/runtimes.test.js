// The installed tarball in every run-time, on the main thread and in a Worker: one check, the same bits. Budget: 90 s.
// workerd has tests of its own, with the same check.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ENGINES, launch } from "../browser/browsers.js";
import { serve } from "../browser/serve.js";
import { pack, ROOT } from "../package/pack.js";
import { assertEntries, FILES } from "./assert_entries.js";
import { copyScripts } from "./copy_scripts.js";
import { SCRIPTED } from "./scripted.js";
import * as webkit from "./webkit.js";

const { installed, project } = pack();
const TIMEOUT_MS = 60_000;

describe("without a page", () => {
  // Its own copy of the tests' scripts, so that their imports find the package as a user's do.
  const folder = join(project, `runtimes-${process.pid}`);
  before(() => {
    copyScripts(folder);
    cpSync(join(project, "node_modules"), join(folder, "node_modules"), { recursive: true });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const { name, path, args } of SCRIPTED) {
    const skip = path === undefined && `there is none for ${process.platform} ${process.arch}`;
    test(`every entry gives the same bits in ${name} and its Worker, and two threads do`, {
      skip,
    }, async (t) => {
      const child = spawn(String(path), [...args, "tests/runtimes/script.js"], {
        cwd: folder,
        timeout: TIMEOUT_MS,
        env: { ...process.env, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" },
      });
      let stdout = "";
      let stderr = "";
      child.stdout.setEncoding("utf8").on("data", (text) => {
        stdout += text;
      });
      child.stderr.setEncoding("utf8").on("data", (text) => {
        stderr += text;
      });
      const status = await new Promise((resolve) => child.once("close", resolve));
      assert.equal(stderr, "");
      assert.equal(status, 0);
      const { main, worker, threads } = JSON.parse(stdout);
      const used = { threads: 2, relaxedSimd: false, reasons: [] };
      assert.deepEqual(threads, { used, same: true });
      assertEntries(worker, `a Worker of ${name}`);
      t.diagnostic(assertEntries(main, name));
    });
  }
});

describe("in a page", () => {
  // No eval, nothing from elsewhere; connect-src is for this page's own list of files and slim's wasm.
  const policy = `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self';
    connect-src 'self'; img-src data:; report-uri /report`;
  const body = `<!doctype html><html lang="en"><title>Test</title><link rel="icon" href="data:,">
<script type="module" src="/tests/runtimes/page.js"></script></html>`;
  const urls = Object.entries(FILES).map(([name, file]) => [name, `/package/${file.slice(2)}`]);
  const replies = {
    "/index.html": { headers: { "content-type": "text/html; charset=utf-8" }, body },
    "/entries.json": { body: JSON.stringify(Object.fromEntries(urls)) },
  };
  const folders = { "/package/": installed, "/tests/": `${ROOT}/tests` };
  const headers = { "content-security-policy": policy.replace(/\s+/g, " ") };

  /** @type {{ name: string, skip: string | false, open: (url: string) => Promise<unknown> }[]} */
  const browsers = [
    ...ENGINES.map((engine) => ({
      ...engine,
      open: async (/** @type {string} */ url) => {
        const browser = await launch(engine);
        try {
          const page = await browser.newPage();
          await page.goto(url, { timeout: TIMEOUT_MS });
          return await page.evaluate(
            () =>
              /** @type {any} */ (globalThis).finished ??
              Promise.reject(new Error("the page's script did not run")),
          );
        } finally {
          await browser.close();
        }
      },
    })),
    { name: "WebKitGTK", skip: webkit.skip, open: webkit.openPage },
  ];

  for (const { name, skip, open } of browsers) {
    test(`every entry gives the same bits in ${name} and its Worker, under a strict policy`, {
      skip,
    }, async (t) => {
      const server = await serve({ folders, headers, replies });
      try {
        const results = /** @type {any} */ (await open(`${server.url}index.html`));
        assertEntries(results.worker, `a Worker of ${name}`);
        t.diagnostic(assertEntries(results.main, name));
        assert.deepEqual(server.reports, []);
      } finally {
        await server.close();
      }
    });
  }
});
