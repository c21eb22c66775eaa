// The installed tarball in real browsers, without a bundler and under Content-Security-Policies. Budget: 40 s.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { pack, ROOT } from "../package/pack.js";
import { assertChecks } from "./assert_checks.js";
import { ENGINES, launch } from "./browsers.js";
import { serve } from "./serve.js";

const { installed } = pack();

/** @param {string} script @returns {string} a page of that script alone */
const page = (script) =>
  `<!doctype html><html lang="en"><title>Test</title><link rel="icon" href="data:,">
<script type="module" src="/tests/browser/pages/${script}"></script></html>`;

const html = { "content-type": "text/html; charset=utf-8" };
const wasm = readFileSync(`${installed}/dist/layernorm.wasm`);

/** @param {string} policy what script-src allows */
const serverWith = (policy) =>
  serve({
    // As in the repository, so that the imports are the same.
    folders: { "/dist/": `${installed}/dist`, "/tests/": `${ROOT}/tests` },
    headers: { "content-security-policy": `script-src ${policy}; report-uri /report` },
    replies: {
      "/main.html": { headers: html, body: page("main.js") },
      "/blocked.html": { headers: html, body: page("blocked.js") },
      "/hashes.html": { headers: html, body: page("hashes.js") },
      "/slim.html": { headers: html, body: page("slim.js") },
      "/violations.html": { headers: html, body: page("violations.js") },
      // What servers do to a .wasm that they do not know, or do not find.
      "/wrong-type.wasm": { headers: { "content-type": "application/octet-stream" }, body: wasm },
      "/page-not-wasm.wasm": { headers: html, body: page("main.js") },
      "/not-wasm.wasm": { headers: { "content-type": "application/wasm" }, body: page("main.js") },
    },
  });

for (const engine of ENGINES) {
  describe(`layernorm in ${engine.name}`, { skip: engine.skip }, () => {
    /** @type {import("puppeteer-core").Browser} */
    let browser;
    before(async () => {
      browser = await launch(engine);
    });
    after(() => browser?.close());

    /**
     * Opens a page and waits for its results.
     *
     * @param {string} policy
     * @param {string} name
     * @param {{ until?: (seen: { messages: string[], reports: string[] }) => boolean }} [options] what else is waited for
     * @returns {Promise<{ results: any, messages: string[], reports: string[] }>}
     */
    async function open(policy, name, { until = () => true } = {}) {
      const server = await serverWith(policy);
      const tab = await browser.newPage();
      try {
        /** @type {string[]} */
        const messages = [];
        tab.on("console", (message) => messages.push(`${message.type()}: ${message.text()}`));
        tab.on("pageerror", (error) => messages.push(`${error}`));
        await tab.goto(`${server.url}${name}`, { timeout: 20_000 });
        const results = await tab.evaluate(() => {
          const { finished } = /** @type {any} */ (globalThis);
          return finished ?? Promise.reject(new Error("the page's script did not run"));
        });
        const { reports } = server;
        for (let i = 0; i < 100 && !until({ messages, reports }); i++) await setTimeout(50);
        return { results, messages, reports };
      } finally {
        await tab.close();
        await server.close();
      }
    }

    test("these tests see console messages and violations, on the main thread and in a Worker", async () => {
      const { messages, reports } = await open("'self'", "violations.html", {
        until: (seen) => seen.messages.length >= 2 && seen.reports.length >= 2,
      });
      for (const where of ["page", "Worker"]) {
        assert.ok(messages.includes(`log: seen in the ${where}`), where);
      }
      for (const script of ["violations.html", "violate.js"]) {
        const own = reports.find((report) =>
          JSON.parse(report)["csp-report"]["document-uri"].endsWith(script),
        );
        assert.ok(own, `${script}: ${reports}`);
      }
    });

    test("script-src 'self' 'wasm-unsafe-eval' is enough, on the main thread and in a Worker", async () => {
      const { results, messages, reports } = await open("'self' 'wasm-unsafe-eval'", "main.html");
      assertChecks(results.main, "main thread");
      assertChecks(results.worker, "Worker");
      assert.deepEqual(messages, []);
      assert.deepEqual(reports, []);
    });

    test("without 'wasm-unsafe-eval' every way to start names Content-Security-Policy", async () => {
      const { results } = await open("'self'", "blocked.html");
      assert.equal(Object.keys(results).length, 10);
      for (const [way, error] of Object.entries(results)) {
        assert.match(
          error,
          /^Error: layernorm: .*Content-Security-Policy.*'wasm-unsafe-eval'/,
          way,
        );
      }
    });

    test("layerNorm and rmsNorm give the stored bits", async () => {
      const { results } = await open("'self' 'wasm-unsafe-eval'", "hashes.html");
      const stored = JSON.parse(readFileSync(`${ROOT}/tests/golden/hashes.json`, "utf8"));
      const differing = Object.keys(stored).filter((name) => results[name] !== stored[name]);
      assert.deepEqual(differing, []);
      assert.equal(Object.keys(results).length, Object.keys(stored).length);
    });

    test("layernorm/slim takes the wasm in every form, and says what is wrong with others", async () => {
      const { results, messages, reports } = await open("'self' 'wasm-unsafe-eval'", "slim.html");
      assert.match(results.before, /^Error: layernorm\/slim: .*init/);
      assert.equal(results.after, results.before);
      const { rejections } = results;
      const notWasm = /^Error: init: "url" expected a WebAssembly binary, got .*<!doctype html>/;
      assert.match(rejections["/page-not-wasm.wasm"], notWasm);
      assert.match(rejections["/not-wasm.wasm"], notWasm);
      assert.match(
        rejections["/missing.wasm"],
        /^Error: init: "url" .* status 404: .*missing\.wasm/,
      );
      assert.match(
        rejections["http://127.0.0.1:1/"],
        /^Error: init: "url" could not be read: http/,
      );
      assert.equal(Object.keys(results.results).length, 7);
      for (const [way, got] of Object.entries(results.results)) assertChecks(got, way);
      assert.deepEqual(results.streams, {
        url: 1,
        URL: 1,
        "wrong type": 0,
        bytes: 0,
        module: 0,
        "initSync(bytes)": 0,
        "initSync(module)": 0,
      });
      // The browser's own words about the replies that failed on purpose.
      const others = messages.filter(
        (message) => !/404|ERR_CONNECTION_REFUSED|ERR_UNSAFE_PORT/.test(message),
      );
      assert.deepEqual(others, []);
      assert.deepEqual(reports, []);
    });
  });
}
