// What a visitor does on the demo page, one thing after the other: each is measured by itself.

import { setTimeout as sleep } from "node:timers/promises";
import { changeLanguage, drawn, press } from "../web/open_page.js";

/** @typedef {import("puppeteer-core").Page} Tab */
/** @typedef {[name: string, does: (tab: Tab, language: "en" | "ru") => Promise<unknown>]} Action */

/** How wide the window is made in turn: with the form beside the article, above it, and as on a phone. */
const WIDTHS = [1280, 900, 360, 700, 1280];
const HEIGHT = 800;
/** Until the page has drawn what follows from a change. */
const SETTLED_MS = 400;

/** @param {...string} selectors pressed in turn, each once the page has followed the one before */
const pressing =
  (...selectors) =>
  async (/** @type {Tab} */ tab) => {
    for (const selector of selectors) {
      await press(tab, selector);
      await drawn(tab);
    }
  };

/** @param {string} selector @param {import("puppeteer-core").KeyInput} key @param {number} times */
const keys = (selector, key, times) => async (/** @type {Tab} */ tab) => {
  await tab.focus(selector);
  for (let i = 0; i < times; i++) await tab.keyboard.press(key);
  await drawn(tab);
};

/** @param {string} section whose experiment runs for a while, is paused, goes on and is stopped, unless it is done before */
const experiment = (section) => async (/** @type {Tab} */ tab) => {
  const isNow = (/** @type {string[]} */ ...states) =>
    tab.waitForFunction(
      (selector, wanted) => {
        const state = document.querySelector(selector)?.getAttribute("data-state") ?? "";
        return wanted.includes(state);
      },
      { timeout: 60_000 },
      `#${section} .live`,
      states,
    );
  await press(tab, `#${section} .run`);
  await isNow("running", "done");
  await sleep(1500);
  await press(tab, `#${section} .pause`);
  await isNow("paused", "done");
  await press(tab, `#${section} .pause`);
  await isNow("running", "done");
  await sleep(1500);
  await press(tab, `#${section} .stop`);
  await press(tab, `#${section} .stored-chart summary`);
  await press(tab, `#${section} .loss-chart summary`);
};

/** @param {string} controls @param {number} [ms] */
const running = (controls, ms) => async (/** @type {Tab} */ tab) => {
  await press(tab, `${controls} [data-run]`);
  if (ms === undefined) {
    await tab.waitForSelector(`${controls} [data-stop]`, { hidden: true, timeout: 120_000 });
  } else {
    await sleep(ms);
    await press(tab, `${controls} [data-stop]`);
  }
};

/** @type {readonly Action[]} */
export const ACTIONS = [
  [
    "typing in the number fields",
    async (tab) => {
      for (const id of ["x1", "x3", "weight", "bias", "eps"]) {
        await tab.focus(`#${id}`);
        await tab.$eval(`#${id}`, (field) => /** @type {HTMLInputElement} */ (field).select());
        await tab.keyboard.type(id.startsWith("x") ? "1 2 3.25 4" : "0.5");
      }
    },
  ],
  [
    "numbers that cannot be read",
    async (tab) => {
      for (const id of ["x1", "eps"]) {
        await tab.focus(`#${id}`);
        await tab.keyboard.type("abc");
      }
      await sleep(1000);
    },
  ],
  [
    "examples",
    pressing(
      ...["far", "outlier", "constant", "documents"].map((name) => `[data-example=${name}]`),
    ),
  ],
  ["the slider of eps", keys("#eps-slider", "ArrowRight", 10)],
  ["usual values of eps", pressing("[data-eps='1e-3']", "[data-eps='0']", "[data-eps='1e-5']")],
  [
    "the block's norms",
    pressing(...["batch", "group", "rms", "layer"].map((norm) => `[name=norm][value=${norm}]`)),
  ],
  [
    "the block's other controls",
    pressing("[name=items][value='1']", "[name=perPosition]", "#other-numbers"),
  ],
  ["the block by arrow keys", keys("[data-cell][tabindex='0']", "ArrowDown", 3)],
  ["the condition", keys("#condition", "ArrowRight", 5)],
  [
    "the network's inputs",
    pressing(
      ...["0.1", "10", "100"].map((scale) => `[name=network-scale][value='${scale}']`),
      "#network-norm",
      "[name=network-item][value='3']",
    ),
  ],
  ["the network's seed", keys("#network-seed", "ArrowUp", 4)],
  ["the network's frameworks", pressing("#network-keras", "#network-flax", "#network-pytorch")],
  ["recurrent networks", experiment("recurrent")],
  ["transformers", experiment("transformers")],
  ["convolutional networks", experiment("convolutional")],
  ["RMSNorm's cost", running("#rms-cost-controls", 3000)],
  ["conditions of a batch", keys("#adaptive-c1", "ArrowRight", 5)],
  ["another item's style", pressing("[name=adaptive][value=style]", "[name=style][value='0']")],
  ["exactness", running("#exact-controls")],
  ["exactness of TensorFlow.js", running("#exact-tensorflow")],
  [
    "speed",
    async (tab) => {
      await press(tab, "#speed-largest [value='1']");
      await running("#speed-controls")(tab);
      await press(tab, "#speed-sizes [value='0']");
      await press(tab, "#speed-copy");
    },
  ],
  ["themes", pressing(...["dark", "light"].map((theme) => `[name=theme][value=${theme}]`))],
  [
    "the system's theme",
    async (tab) => {
      await press(tab, "[name=theme][value=auto]");
      for (const value of ["dark", "light"]) {
        await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
        await sleep(SETTLED_MS);
      }
    },
  ],
  [
    "languages",
    async (tab, language) => {
      await changeLanguage(tab, language === "en" ? "ru" : "en");
      await changeLanguage(tab, language);
    },
  ],
  [
    "places",
    async (tab) => {
      for (const place of ["speed", "network", "mean"]) {
        await press(tab, `#contents [href="#${place}"]`);
        await sleep(1000);
      }
    },
  ],
  [
    "the window's width",
    async (tab) => {
      for (const width of WIDTHS) {
        await tab.setViewport({ width, height: HEIGHT });
        await sleep(SETTLED_MS);
        await drawn(tab);
      }
    },
  ],
  [
    "the window's width, far down",
    async (tab) => {
      await tab.$eval("#speed", (section) => section.scrollIntoView({ behavior: "instant" }));
      for (const width of WIDTHS) {
        await tab.setViewport({ width, height: HEIGHT });
        await sleep(SETTLED_MS);
        await drawn(tab);
      }
    },
  ],
];
