// The demo page in Chromium: the bytes of its first view, when it is interactive, and the longest task, at first, while its
// sections come in, and while it is used.
//
//   npm run bench:page

import { gzipSync } from "node:zlib";
import { ISOLATION } from "../../tools/serve.js";
import { ENGINES, launch } from "../browser/browsers.js";
import { drawn, open, reachAll, servePage } from "../web/open_page.js";
import { longestTask } from "./longest_task.js";
import { ACTIONS } from "./page_actions.js";

const LOADS = 5;
/** Goals: bytes compressed, ms until the numbers are there, ms that the main thread is busy at a stretch. */
const GOALS = { bytes: 120 * 1024, interactive: 1000, task: 50 };

/** So that the page's panel for WebGPU has something to show: Chromium's own on the processor. */
const WITH_WEBGPU = [
  "--enable-unsafe-webgpu",
  "--enable-features=Vulkan",
  "--use-webgpu-adapter=swiftshader",
];

/** Runs in the page before anything else: notes when the page is ready. */
function watch() {
  new MutationObserver((_, observer) => {
    if (document.documentElement?.dataset.ready === undefined) return;
    Reflect.set(globalThis, "readyAt", performance.now());
    observer.disconnect();
  }).observe(document, { subtree: true, attributes: true, childList: true });
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

/** @param {number[]} values */
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** @param {number} value @param {number} goal @param {string} text */
const judged = (value, goal, text) => `${text}${value > goal ? "  (above the goal)" : ""}`;

/** @param {import("./longest_task.js").Longest} longest */
function taskText({ wall, cpu, parts }) {
  const text = `${cpu.toFixed(0).padStart(3)} ms of the processor, ${wall.toFixed(0)} ms in all`;
  return cpu > GOALS.task ? `${text}  (above the goal: ${parts})` : text;
}

/** @param {string} what @param {string} value */
const print = (what, value) => console.log(`  ${what.padEnd(34)}${value}`);

/**
 * A new tab of the page, and the longest task until all that shows first is drawn.
 *
 * @param {string} url
 */
async function openMeasured(url) {
  const tab = await browser.newPage();
  await tab.setViewport({ width: 1280, height: 800 });
  const longest = await longestTask(tab, async () => {
    await tab.goto(url);
    await tab.waitForSelector(":root[data-ready]");
    await drawn(tab);
  });
  return { tab, longest };
}

const [chromium] = ENGINES;
if (chromium.skip) throw new Error(chromium.skip);
const server = await servePage(ISOLATION);
const browser = await launch(chromium, { flags: WITH_WEBGPU });
try {
  console.log(`${await browser.version()}, ${LOADS} loads each, from this machine\n`);
  for (const language of /** @type {const} */ (["en", "ru"])) {
    console.log(language);
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
    print("first view, gzip", judged(bytes, GOALS.bytes, `${(bytes / 1024).toFixed(1)} KB`));
    const interactive = median(ready);
    print(
      "interactive after",
      judged(interactive, GOALS.interactive, `${interactive.toFixed(0)} ms`),
    );
    console.log("  longest task");
    const { tab, longest } = await openMeasured(url);
    print("  first view", taskText(longest));
    print("  sections coming in", taskText(await longestTask(tab, () => reachAll(tab))));
    for (const [name, action] of ACTIONS) {
      print(`  ${name}`, taskText(await longestTask(tab, () => action(tab, language))));
    }
    const ids = await tab.$$eval("section[data-later]", (found) => found.map(({ id }) => id));
    await tab.close();
    for (const id of ids) {
      const linked = await openMeasured(`${url}#${id}`);
      print(`  opened at #${id}`, taskText(linked.longest));
      await linked.tab.close();
    }
  }
} finally {
  await browser.close();
  await server.close();
}
