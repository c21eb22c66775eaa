// The demo page in Chromium: the bytes of its first view, when it is interactive, and the longest task, at first, while its
// sections come in, and while it is used.
//
//   npm run bench:page

import { gzipSync } from "node:zlib";
import { ENGINES, launch } from "../browser/browsers.js";
import { changeLanguage, drawn, open, reachAll, servePage } from "../web/open_page.js";

/** @typedef {import("puppeteer-core").Page} Tab */

const LOADS = 5;
/** Goals: bytes compressed, ms until the numbers are there, ms that the main thread is busy at a stretch. */
const GOALS = { bytes: 150 * 1024, interactive: 1000, task: 50 };

/** Runs in the page before anything else: notes when the page is ready. */
function watch() {
  new MutationObserver((_, observer) => {
    if (document.documentElement?.dataset.ready === undefined) return;
    Reflect.set(globalThis, "readyAt", performance.now());
    observer.disconnect();
  }).observe(document, { subtree: true, attributes: true, childList: true });
}

/**
 * The longest task of the page's main thread while something is done: as the clock saw it, and how long it had the processor,
 * which is what the page itself takes where other programs run beside it.
 *
 * @param {Tab} tab
 * @param {() => Promise<unknown>} action
 * @returns {Promise<{ wall: number, cpu: number }>} ms
 */
async function longestTask(tab, action) {
  await tab.tracing.start({ categories: ["toplevel", "devtools.timeline"] });
  await action();
  await new Promise((done) => setTimeout(done, 300));
  const trace = await tab.tracing.stop();
  /** @type {any[]} */
  const events = JSON.parse(new TextDecoder().decode(trace)).traceEvents;
  // The page's renderer has parsed it or painted it; other renderers have not.
  const painting = new Set(events.filter(({ name }) => name === "Paint").map(({ pid }) => pid));
  const threads = new Set(
    events
      .filter(
        ({ name, args, pid }) =>
          name === "thread_name" && args.name === "CrRendererMain" && painting.has(pid),
      )
      .map(({ pid, tid }) => `${pid}/${tid}`),
  );
  const tasks = events.filter(
    ({ ph, name, pid, tid }) =>
      ph === "X" && name.endsWith("RunTask") && threads.has(`${pid}/${tid}`),
  );
  const longest = (/** @type {"dur" | "tdur"} */ which) =>
    Math.max(0, ...tasks.map((task) => (task[which] ?? 0) / 1000));
  return { wall: longest("dur"), cpu: longest("tdur") };
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

/**
 * A visitor who changes a number, moves sliders, tries what there is and goes from place to place.
 *
 * @param {Tab} tab
 * @param {"en" | "ru"} language of the page
 */
async function use(tab, language) {
  for (const digit of "1234") {
    await tab.focus("#x1");
    await tab.keyboard.type(` ${digit}`);
  }
  await tab.focus("#eps-slider");
  for (let i = 0; i < 10; i++) await tab.keyboard.press("ArrowRight");
  const press = (/** @type {string} */ selector) =>
    tab.$eval(selector, (found) => /** @type {HTMLElement} */ (found).click());
  await press("[data-example=outlier]");
  for (const norm of ["batch", "group", "rms"]) await press(`[name=norm][value=${norm}]`);
  for (const scale of ["0.1", "10", "100"]) await press(`[name=network-scale][value='${scale}']`);
  await tab.focus("#adaptive-c1");
  for (let i = 0; i < 5; i++) await tab.keyboard.press("ArrowRight");
  await press("#exact-controls [data-run]");
  const pause = (/** @type {number} */ ms) => new Promise((done) => setTimeout(done, ms));
  for (const section of ["rms-cost", "speed"]) {
    await press(`#${section}-controls [data-run]`);
    await pause(3000);
    await press(`#${section}-controls [data-stop]`);
  }
  await press("#recurrent .run");
  await tab.waitForSelector("#recurrent [data-state=running]", { timeout: 60_000 });
  await pause(4000);
  await press("#recurrent .stop");
  for (const theme of ["dark", "light"]) await press(`[name=theme][value=${theme}]`);
  for (const place of ["speed", "mean"]) {
    await press(`#contents [href="#${place}"]`);
    await pause(1000);
  }
  await changeLanguage(tab, language === "en" ? "ru" : "en");
  await changeLanguage(tab, language);
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
  for (const language of /** @type {const} */ (["en", "ru"])) {
    const url = `${server.url}?lang=${language}`;
    /** @type {number[]} */
    const ready = [];
    /** @type {string[]} */
    let asked = [];
    for (let load = 0; load < LOADS; load++) {
      const { tab, requests } = await open(browser, url, {
        prepare: (page) => page.evaluateOnNewDocument(watch),
      });
      ready.push(await tab.evaluate(() => Reflect.get(globalThis, "readyAt")));
      asked = requests;
      await tab.close();
    }
    const bytes = await compressed(asked);
    const tab = await browser.newPage();
    await tab.setViewport({ width: 1280, height: 800 });
    const first = await longestTask(tab, async () => {
      await tab.goto(url);
      await tab.waitForSelector(":root[data-ready]");
      await drawn(tab);
    });
    const reached = await longestTask(tab, () => reachAll(tab));
    const used = await longestTask(tab, () => use(tab, language));
    await tab.close();
    const task = (/** @type {{ wall: number, cpu: number }} */ { wall, cpu }) =>
      judged(
        cpu,
        GOALS.task,
        `${cpu.toFixed(0)} ms of the processor, ${wall.toFixed(0)} ms in all`,
      );
    const lines = [
      ["first view, gzip", judged(bytes, GOALS.bytes, `${(bytes / 1024).toFixed(1)} KB`)],
      [
        "interactive after",
        judged(median(ready), GOALS.interactive, `${median(ready).toFixed(0)} ms`),
      ],
      ["longest task, first view", task(first)],
      ["longest task, sections coming in", task(reached)],
      ["longest task, in use", task(used)],
    ];
    console.log(language);
    for (const [what, value] of lines) console.log(`  ${what.padEnd(34)}${value}`);
  }
} finally {
  await browser.close();
  await server.close();
}
