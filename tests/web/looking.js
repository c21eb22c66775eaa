// What is wrong with the page's looks as it stands: boxes that do not fit, and what axe finds.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { settled } from "./open_page.js";

/** @typedef {import("./open_page.js").Tab} Tab */

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Lays out every section, those off the screen as well, or leaves these to the browser again.
 *
 * @param {Tab} tab
 * @param {boolean} all
 */
export function layOut(tab, all) {
  return tab.$$eval(
    "article > section",
    (sections, isForced) => {
      for (const section of sections) section.toggleAttribute("data-fresh", isForced);
    },
    all,
  );
}

/**
 * What is wider than the screen, or cut off by its own box.
 *
 * @param {Tab} tab
 * @returns {Promise<string[]>}
 */
export async function findOverflow(tab) {
  await settled(tab);
  await layOut(tab, true);
  return tab.evaluate(overflowing);
}

/** Run in the page. */
function overflowing() {
  /** @type {string[]} */
  const found = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) found.push(`page: ${root.scrollWidth} px`);
  for (const element of document.querySelectorAll("body *")) {
    if (!element.checkVisibility() || element.closest(".unseen, .skip, option")) continue;
    // What stands within a formula or a picture is judged by the whole.
    if (element.parentElement?.closest("math, svg")) continue;
    // A chart's numbers are there to be scrolled.
    if (element.closest(".chart-scroll")) continue;
    const { left, right, width } = element.getBoundingClientRect();
    const name = `${element.tagName}.${element.className}: ${element.textContent?.slice(0, 40)}`;
    if (width > 0 && (left < -0.5 || right > innerWidth + 0.5)) found.push(`off screen: ${name}`);
    const parent = element.parentElement?.getBoundingClientRect();
    if (element.matches("math") && parent && right > parent.right + 0.5) {
      found.push(`beyond its box: ${name}`);
    }
    const clips = getComputedStyle(element).overflowX !== "visible";
    if (clips && element.scrollWidth > element.clientWidth + 1 && !element.matches("input")) {
      found.push(`clipped: ${name}`);
    }
  }
  return found;
}

/**
 * Ranges of numbers and names with a hyphen that a line ends in the middle of.
 *
 * @param {Tab} tab
 * @returns {Promise<string[]>}
 */
export async function findBroken(tab) {
  await settled(tab);
  await layOut(tab, true);
  return tab.evaluate(() => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = /** @type {Text} */ (walker.currentNode);
      if (!text.parentElement?.checkVisibility() || text.parentElement.closest("pre, code"))
        continue;
      for (const { 0: match, index } of text.data.matchAll(
        /\d[–/]\u2060?\d+|1\/\u2060?√|(?:pre|post)-\u2060?LN/gi,
      )) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + match.length);
        const tops = [...range.getClientRects()].map(({ top }) => Math.round(top));
        if (Math.max(...tops) - Math.min(...tops) > 4)
          found.push(text.data.slice(Math.max(index - 20, 0), index + 20));
      }
    }
    return found;
  });
}

/**
 * @param {Tab} tab
 * @returns {Promise<string[]>} violations, one a line
 */
export async function violations(tab) {
  await settled(tab);
  await layOut(tab, true);
  await tab.evaluate(AXE);
  return tab.evaluate(async () => {
    const { violations: found } = await /** @type {any} */ (globalThis).axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    });
    return found.map(
      (/** @type {any} */ { id, help, nodes }) =>
        `${id}: ${help}\n${nodes.map((/** @type {any} */ node) => `  ${node.html}\n  ${node.failureSummary}`).join("\n")}`,
    );
  });
}

/**
 * With results in it, the page fits its width and is accessible, in a theme.
 *
 * @param {Tab} tab
 * @param {"light" | "dark"} theme
 */
export async function assertLooksFine(tab, theme) {
  await tab.click(`.themes label:has([value="${theme}"])`);
  assert.deepEqual(await findOverflow(tab), []);
  assert.deepEqual(await findBroken(tab), []);
  assert.deepEqual(await violations(tab), []);
}
