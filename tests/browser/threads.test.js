// init({ threads }) of the installed tarball in real browsers: where a page is isolated and its policy allows the workers, and
// what is said where not. Budget: 20 s.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { pack, ROOT } from "../package/pack.js";
import { ENGINES, launch } from "./browsers.js";
import { serve } from "./serve.js";

const { installed } = pack();
const folders = { "/dist/": `${installed}/dist`, "/tests/": `${ROOT}/tests` };
const body = `<!doctype html><html lang="en"><title>Test</title><link rel="icon" href="data:,">
<script type="module" src="/tests/browser/pages/threads.js"></script></html>`;
const replies = { "/": { headers: { "content-type": "text/html; charset=utf-8" }, body } };
const ISOLATION = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};
const SCRIPTS = "script-src 'self' 'wasm-unsafe-eval'";

for (const engine of ENGINES) {
  describe(`init({ threads }) in ${engine.name}`, { skip: engine.skip }, () => {
    /** @type {import("puppeteer-core").Browser} */
    let browser;
    before(async () => {
      browser = await launch(engine);
    });
    after(() => browser?.close());

    /** @param {Record<string, string>} headers @returns {Promise<any>} what the page and its Worker found */
    async function open(headers) {
      const server = await serve({ folders, headers, replies });
      const tab = await browser.newPage();
      try {
        await tab.goto(server.url, { timeout: 20_000 });
        return await tab.evaluate(() => {
          const { finished } = /** @type {any} */ (globalThis);
          return finished ?? Promise.reject(new Error("the page's script did not run"));
        });
      } finally {
        await tab.close();
        await server.close();
      }
    }

    /** @param {string} reason */
    const one = (reason) => ({
      used: { threads: 1, relaxedSimd: false, reasons: [reason] },
      same: true,
    });
    const two = { used: { threads: 2, relaxedSimd: false, reasons: [] }, same: true };

    test("an isolated page and its Worker have two threads, with the bits of one", async () => {
      const relaxed = { threads: 2, relaxedSimd: true, reasons: [] };
      assert.deepEqual(await open(ISOLATION), { main: two, worker: two, relaxed });
    });

    test("a policy needs worker-src blob:", async () => {
      const policy = `${SCRIPTS}; worker-src 'self' blob:`;
      const headers = { ...ISOLATION, "content-security-policy": policy };
      const { main, worker } = await open(headers);
      assert.deepEqual({ main, worker }, { main: two, worker: two });
    });

    test("a policy that forbids the workers is named as the reason", async () => {
      const headers = { ...ISOLATION, "content-security-policy": SCRIPTS };
      const { main, worker } = await open(headers);
      for (const each of [main, worker]) {
        const [reason] = each.used.reasons;
        assert.match(reason, /^threads: .*Content-Security-Policy.*worker-src blob:/);
        assert.deepEqual(each, one(reason));
      }
    });

    test("a page that is not isolated has one thread, and is told of the headers", async () => {
      const reason =
        "threads: this page is not cross-origin isolated, by the headers COOP and COEP";
      const { main, worker, relaxed } = await open({});
      assert.deepEqual({ main, worker }, { main: one(reason), worker: one(reason) });
      assert.deepEqual(relaxed, { threads: 1, relaxedSimd: true, reasons: [reason] });
    });
  });
}
