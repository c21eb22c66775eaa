// The built page in a real browser, and its numbers as it shows them.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { buildWeb } from "../../tools/build_web.js";
import { serve } from "../../tools/serve.js";
import { launch } from "../browser/browsers.js";

/** @typedef {import("puppeteer-core").Page} Tab */

/**
 * @typedef {object} Opened
 * @property {Tab} tab
 * @property {string[]} messages of the console, and uncaught errors
 * @property {string[]} requests every address asked for
 */

/**
 * The page, built for the calling test file alone, on a server of its own.
 *
 * @param {Record<string, string>} [headers]
 */
export async function servePage(headers) {
  const folder = await mkdtemp(join(tmpdir(), "layernorm-page-"));
  // Not at the server's root: the page has to work from any path.
  await buildWeb({ output: join(folder, "any", "path"), log: () => {} });
  const { url, close } = await serve({ folder, port: 0, headers });
  return {
    url: `${url}any/path/`,
    close: async () => {
      await close();
      await rm(folder, { recursive: true });
    },
  };
}

/**
 * A browser and the page on its server for the tests of one suite, which begins and ends them.
 *
 * @param {Parameters<typeof launch>[0]} engine
 */
export function usePage(engine) {
  /** @type {import("puppeteer-core").Browser | undefined} */
  let browser;
  /** @type {Awaited<ReturnType<typeof servePage>> | undefined} */
  let server;
  before(async () => {
    const launched = launch(engine).then((found) => {
      browser = found;
    });
    server = await servePage();
    await launched;
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });
  return {
    get browser() {
      return /** @type {import("puppeteer-core").Browser} */ (browser);
    },
    /** The page's address. */
    get url() {
      return /** @type {string} */ (server?.url);
    },
  };
}

/**
 * @param {import("puppeteer-core").Browser} browser
 * @param {string} url
 * @param {{ width?: number, until?: string, prepare?: (tab: Tab) => Promise<unknown> }} [options] until: what tells that it is there
 * @returns {Promise<Opened>}
 */
export async function open(
  browser,
  url,
  { width = 1280, until = ":root[data-ready]", prepare = async () => {} } = {},
) {
  const tab = await browser.newPage();
  /** @type {string[]} */
  const messages = [];
  /** @type {string[]} */
  const requests = [];
  tab.on("console", (message) => messages.push(`${message.type()}: ${message.text()}`));
  tab.on("pageerror", (error) => messages.push(String(error)));
  tab.on("request", (request) => requests.push(request.url()));
  await tab.setViewport({ width, height: 800 });
  await prepare(tab);
  await tab.goto(url);
  await tab.waitForSelector(until, { timeout: 20_000 });
  await tab.evaluate(async () => {
    await document.fonts.ready;
    // Pictures are drawn for their width one frame later.
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  });
  return { tab, messages, requests };
}

/** The page draws what has changed within the next frames. @param {Tab} tab */
export async function drawn(tab) {
  await tab.waitForFunction(() => document.documentElement.dataset.drawing === undefined);
}

/**
 * Scrolls to a section that is loaded when it is reached, until it is there.
 *
 * @param {Tab} tab
 * @param {string} id
 */
export async function reach(tab, id) {
  await tab.waitForFunction(
    (name) => {
      const section = document.getElementById(name);
      // What comes in above it moves it away.
      section?.scrollIntoView({ behavior: "instant" });
      return section?.hasAttribute("data-there");
    },
    { timeout: 20_000, polling: 100 },
    id,
  );
  await settled(tab);
}

/** What has just been drawn is laid out in the next frame, its charts in the one after. @param {Tab} tab */
export async function settled(tab) {
  await drawn(tab);
  await tab.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
}

/**
 * Presses what may stand off the screen, where the page lays nothing out and a browser finds no place to click.
 *
 * @param {Tab} tab
 * @param {string} selector
 */
export function press(tab, selector) {
  return tab.$eval(selector, (found) => {
    const control = /** @type {HTMLElement} */ (found);
    control.focus();
    control.click();
  });
}

/**
 * Starts something that can be stopped, and stops it before it can have found anything.
 *
 * @param {Tab} tab
 * @param {string} root of its controls
 */
export async function startAndStop(tab, root) {
  await tab.$eval(root, (controls) => {
    for (const name of ["data-run", "data-stop"]) {
      /** @type {HTMLElement} */ (controls.querySelector(`[${name}]`)).click();
    }
  });
  await tab.waitForSelector(`${root} [data-stop]`, { hidden: true });
}

/**
 * Waits for something that may take longer than one question to a browser is given.
 *
 * @param {() => Promise<boolean>} isSo
 * @param {{ what: string, ms?: number }} options
 */
export async function until(isSo, { what, ms = 80_000 }) {
  const end = performance.now() + ms;
  while (!(await isSo())) {
    assert.ok(performance.now() < end, `in ${ms} ms, not: ${what}`);
    await sleep(100);
  }
}

/**
 * Waits for the status in a part of the page to match.
 *
 * @param {Tab} tab
 * @param {string} root
 * @param {RegExp} pattern
 */
export function says(tab, root, pattern) {
  const status = () => textOf(tab, `${root} [role=status]`);
  return until(async () => pattern.test(await status()), { what: `${root} says ${pattern}` });
}

/**
 * What was asked of other places. Firefox has a font of its own for the marks of lists, in a data: address.
 *
 * @param {readonly string[]} requests
 * @param {string} url the page's
 */
export function elsewhere(requests, url) {
  return requests.filter((address) => /^\w+:\/\//.test(address) && !address.startsWith(url));
}

/** Reaches every section. @param {Tab} tab */
export async function reachAll(tab) {
  const ids = await tab.$$eval("section[data-later]", (found) => found.map(({ id }) => id));
  for (const id of ids) await reach(tab, id);
}

/**
 * @param {Tab} tab
 * @param {"en" | "ru"} language
 */
export async function changeLanguage(tab, language) {
  await tab.click(`.languages [lang="${language}"]`);
  await tab.waitForSelector(`:root[lang="${language}"]`);
  await drawn(tab);
}

/**
 * Types into a field in place of what is there.
 *
 * @param {Tab} tab
 * @param {string} id
 * @param {string} text
 */
export async function fill(tab, id, text) {
  await tab.focus(`#${id}`);
  await tab.$eval(`#${id}`, (field) => /** @type {HTMLInputElement} */ (field).select());
  await tab.keyboard.type(text);
}

/**
 * @param {Tab} tab
 * @param {string} selector
 * @returns {Promise<string>} its text, or "" where there is nothing to see
 */
export async function textOf(tab, selector) {
  await drawn(tab);
  return tab.$eval(selector, (element) => (element.checkVisibility() ? element.textContent : ""));
}

/**
 * @typedef {object} ShownWork what the page shows of one vector, as numbers and the decimals they have
 * @property {ShownNumber[]} mean
 * @property {ShownNumber[]} variance
 * @property {ShownNumber[]} normalized
 * @property {ShownNumber[]} scaled
 * @property {ShownNumber[]} meanSquare
 * @property {ShownNumber[]} rms
 * @property {ShownNumber[]} rmsNormalized
 * @property {ShownNumber[]} rmsScaled
 */
/** @typedef {{ value: number, decimals: number, hasPower: boolean, text: string }} ShownNumber */

/** Where each part stands: the step, and the line's name in it. */
const PARTS = {
  mean: ["mean", "mean"],
  variance: ["variance", "variance"],
  normalized: ["normalize", "normalized"],
  scaled: ["scale", "scaled"],
  meanSquare: ["rms", "mean-square"],
  rms: ["rms", "rms"],
  rmsNormalized: ["rms", "normalized"],
  rmsScaled: ["rms", "scaled"],
};

/**
 * @param {Tab} tab
 * @returns {Promise<ShownWork[]>} for each vector
 */
export async function shownWorks(tab) {
  await drawn(tab);
  const texts = await tab.evaluate((parts) => {
    const rows = [...document.querySelectorAll('[data-working="mean"] .row')];
    return rows.map((_, k) =>
      parts.map(([step, result]) => {
        const row = document.querySelectorAll(`[data-working="${step}"] .row`)[k];
        const line = row?.querySelector(`[data-result="${result}"]`);
        if (!line?.checkVisibility()) return "";
        const copy = /** @type {Element} */ (line.cloneNode(true));
        for (const power of copy.querySelectorAll("msup")) power.lastElementChild?.prepend("^");
        return copy.textContent;
      }),
    );
  }, Object.values(PARTS));
  return texts.map((row) => {
    const parts = Object.keys(PARTS).map((name, i) => [name, numbersOf(row[i] ?? "")]);
    return Object.fromEntries(parts);
  });
}

/**
 * The numbers after the last "=" or "≈".
 *
 * @param {string} text
 * @returns {ShownNumber[]}
 */
export function numbersOf(text) {
  const result = text.replaceAll("·", "⋅").split(/[=≈]/).at(-1) ?? "";
  return (result.match(/−?\d+(?:[.,]\d+)?(?:⋅10\^−?\d+)?/g) ?? []).map((shown) => {
    const [mantissa = "", exponent] = shown.replace(",", ".").replaceAll("−", "-").split("⋅10^");
    return {
      value: Number(exponent === undefined ? mantissa : `${mantissa}e${exponent}`),
      decimals: mantissa.split(".")[1]?.length ?? 0,
      hasPower: exponent !== undefined,
      text: shown,
    };
  });
}

/**
 * @param {ShownNumber[]} shown
 * @param {number[]} exact
 * @param {string} what
 */
export function assertNumbers(shown, exact, what) {
  const texts = shown.map(({ text }) => text).join(" ");
  assert.equal(shown.length, exact.length, `${what}: ${texts}`);
  for (const [i, { value, decimals, hasPower, text }] of shown.entries()) {
    const right = exact[i] ?? Number.NaN;
    // With fewer than four decimals, the number shown has to be the exact one.
    const digits = decimals < 4 ? 12 : decimals;
    const rounded = hasPower ? right.toExponential(digits) : right.toFixed(digits);
    assert.equal(value, Number(rounded) + 0, `${what}: ${text}, exact ${right}`);
  }
}

/** @param {Tab} tab @param {string} hash */
export const waitForHash = (tab, hash) =>
  tab.waitForFunction((expected) => location.hash === expected, {}, hash);

/**
 * What stands in each part of the page that a selector finds, with "^" before exponents.
 *
 * @param {Tab} tab
 * @param {string[]} selectors
 * @returns {Promise<string[][]>} asked for at once: each question takes a browser a while
 */
export async function textsAt(tab, ...selectors) {
  await drawn(tab);
  return tab.evaluate(
    (all) =>
      all.map((selector) =>
        [...document.querySelectorAll(selector)].map((element) => {
          const copy = /** @type {Element} */ (element.cloneNode(true));
          for (const power of copy.querySelectorAll("msup")) power.lastElementChild?.prepend("^");
          for (const power of copy.querySelectorAll("sup")) power.prepend("^");
          return copy.textContent ?? "";
        }),
      ),
    selectors,
  );
}
