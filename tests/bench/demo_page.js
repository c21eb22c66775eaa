// The demo page in Chromium: the bytes of its first view, when it is interactive, and the longest task, at first, while its
// sections come in, and while it is used.
//
//   npm run bench:page

import { gzipSync } from "node:zlib";
import { ENGINES, launch } from "../browser/browsers.js";
import { open, reachAll, servePage } from "../web/open_page.js";

/** @typedef {import("puppeteer-core").Page} Tab */

const LOADS = 5;
/** Goals: bytes compressed, ms until the numbers are there, ms that the main thread is busy at a stretch. */
const GOALS = { bytes: 150 * 1024, interactive: 1000, task: 50 };

/** Runs in the page before anything else: notes tasks above 50 ms, which is what browsers report, and when the page is ready. */
function watch() {
  const seen = { ready: 0, tasks: /** @type {{ start: number, ms: number }[]} */ ([]) };
  Reflect.set(globalThis, "seen", seen);
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      seen.tasks.push({ start: startTime, ms: duration });
    }
  }).observe({ type: "longtask", buffered: true });
  new MutationObserver((_, observer) => {
    if (document.documentElement?.dataset.ready === undefined) return;
    seen.ready = performance.now();
    observer.disconnect();
  }).observe(document, { subtree: true, attributes: true, childList: true });
}

/** @param {Tab} tab @returns {Promise<{ ready: number, longest: number }>} since the last question */
async function ask(tab) {
  // Long tasks are reported some time after they end.
  await new Promise((done) => setTimeout(done, 500));
  return tab.evaluate(() => {
    const { seen } = /** @type {any} */ (globalThis);
    const longest = Math.max(0, ...seen.tasks.map((/** @type {any} */ task) => task.ms));
    seen.tasks = [];
    return { ready: seen.ready, longest };
  });
}

/** @param {string[]} addresses */
async function compressed(addresses) {
  let total = 0;
  for (const address of new Set(addresses)) {
    const bytes = Buffer.from(await (await fetch(address)).arrayBuffer());
    // Fonts are compressed already: a server sends them as they are.
    total += address.endsWith(".woff2") ? bytes.length : gzipSync(bytes, { level: 9 }).length;
  }
  return total;
}

/** A visitor who changes a number, moves sliders and tries what there is. @param {Tab} tab */
async function use(tab) {
  for (const digit of "1234") {
    await tab.focus("#x1");
    await tab.keyboard.type(` ${digit}`);
  }
  await tab.focus("#eps-slider");
  for (let i = 0; i < 10; i++) await tab.keyboard.press("ArrowRight");
  const press = (/** @type {string} */ selector) =>
    tab.$eval(selector, (found) => /** @type {HTMLElement} */ (found).click());
  for (const norm of ["batch", "group", "rms"]) await press(`[name=norm][value=${norm}]`);
  for (const scale of ["0.1", "10", "100"]) await press(`[name=network-scale][value='${scale}']`);
  await press("#recurrent .run");
  await tab.waitForSelector("#recurrent [data-state=running]", { timeout: 60_000 });
  await new Promise((done) => setTimeout(done, 4000));
  await press("#recurrent .stop");
}

/** @param {number[]} values */
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** @param {number} value @param {number} goal @param {string} text */
const judged = (value, goal, text) => `${text}${value > goal ? "  (above the goal)" : ""}`;

const [chromium] = ENGINES;
if (chromium.skip) throw new Error(chromium.skip);
const server = await servePage();
const browser = await launch(chromium);
try {
  console.log(`${await browser.version()}, ${LOADS} loads each, from this machine\n`);
  for (const language of ["en", "ru"]) {
    const url = `${server.url}?lang=${language}`;
    const ready = [];
    const first = [];
    let bytes = 0;
    for (let load = 0; load < LOADS; load++) {
      const { tab, requests } = await open(browser, url, {
        prepare: (page) => page.evaluateOnNewDocument(watch),
      });
      const found = await ask(tab);
      ready.push(found.ready);
      first.push(found.longest);
      bytes = await compressed(requests);
      if (load === LOADS - 1) {
        await reachAll(tab);
        const reached = await ask(tab);
        await use(tab);
        const used = await ask(tab);
        const task = (/** @type {number} */ ms) =>
          judged(ms, GOALS.task, ms === 0 ? "under 50 ms" : `${ms.toFixed(0)} ms`);
        const lines = [
          ["first view, gzip", judged(bytes, GOALS.bytes, `${(bytes / 1024).toFixed(1)} KB`)],
          [
            "interactive after",
            judged(median(ready), GOALS.interactive, `${median(ready).toFixed(0)} ms`),
          ],
          ["longest task, first view", task(median(first))],
          ["longest task, sections coming in", task(reached.longest)],
          ["longest task, in use", task(used.longest)],
        ];
        console.log(language);
        for (const [what, value] of lines) console.log(`  ${what.padEnd(34)}${value}`);
      }
      await tab.close();
    }
  }
} finally {
  await browser.close();
  await server.close();
}
