// The documents' network on the page, in real browsers: its numbers against float64 in plain loops. Budget: 30 s.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ENGINES } from "../browser/browsers.js";
import { Random } from "../js/random.js";
import {
  changeLanguage,
  fill,
  numbersOf,
  open,
  press,
  reach,
  textOf,
  textsAt,
  usePage,
} from "./open_page.js";

/** @typedef {import("./open_page.js").Tab} Tab */

const ITEMS = 10;

/**
 * Mean and deviation of one item after each layer, from the seed on.
 *
 * @param {{ seed: number, scale: number, eps: number, item: number, isNormalized: boolean }} of
 */
function expected({ seed, scale, eps, item, isNormalized }) {
  const random = new Random(seed);
  const all = Array.from({ length: ITEMS * 64 }, () => Math.fround(random.normal()));
  const linear = (/** @type {number} */ inputs, /** @type {number} */ outputs) => {
    const draw = () => Math.fround((2 * random.uniform() - 1) / Math.sqrt(inputs));
    const weight = Array.from({ length: inputs * outputs }, draw);
    const bias = Array.from({ length: outputs }, draw);
    return (/** @type {number[]} */ x) =>
      bias.map((b, out) => x.reduce((sum, value, i) => sum + value * weight[out * inputs + i], b));
  };
  const [first, second] = [linear(64, 128), linear(128, 10)];
  const x = all.slice(64 * item, 64 * (item + 1)).map((value) => scale * value);
  const hidden = first(x);
  const { mean, variance } = momentsOf(hidden);
  const normed = hidden.map((value) =>
    isNormalized ? (value - mean) / Math.sqrt(variance + eps) : value,
  );
  const positive = normed.map((value) => Math.max(value, 0));
  const layers = [x, hidden, ...(isNormalized ? [normed] : []), positive, second(positive)];
  return layers.map((values) => {
    const found = momentsOf(values);
    return [found.mean, Math.sqrt(found.variance)];
  });
}

/** @param {number[]} values */
function momentsOf(values) {
  const mean = values.reduce((a, b) => a + b) / values.length;
  return { mean, variance: values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length };
}

/** @param {Tab} tab @param {Parameters<typeof expected>[0]} of */
async function assertShows(tab, of) {
  const [cells] = await textsAt(tab, "#network-table tbody td");
  const right = expected(of);
  assert.equal(cells.length, 3 * right.length);
  for (const [i, [mean, deviation]] of right.entries()) {
    for (const [k, value] of [mean, deviation].entries()) {
      const [{ value: shown, text }] = numbersOf(cells[3 * i + k]);
      // Four digits are shown, of float32.
      const difference = Math.abs(shown - value);
      assert.ok(difference <= 6e-4 * Math.abs(value) + 1e-5 * deviation, `${text}: ${value}`);
    }
  }
}

for (const engine of ENGINES) {
  describe(`the network on the page in ${engine.name}`, { skip: engine.skip }, () => {
    const page = usePage(engine);

    test("shows each layer's right mean and deviation, for any seed, size, item and eps", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      await reach(tab, "network");
      const start = { seed: 1, scale: 1, eps: 1e-5, item: 0, isNormalized: true };
      await assertShows(tab, start);
      await press(tab, "[name=network-scale][value='0.1']");
      await press(tab, "[name=network-item][value='7']");
      await assertShows(tab, { ...start, scale: 0.1, item: 7 });
      // Keras's eps is no longer small beside a variance of 0.003.
      await press(tab, "#network-keras");
      await assertShows(tab, { ...start, scale: 0.1, item: 7, eps: 1e-3 });
      assert.match(await textOf(tab, "#network-theirs"), /LayerNormalization/);
      assert.match(await textOf(tab, "#network-ours"), /eps: 1e-3/);
      await fill(tab, "network-seed", "77");
      await press(tab, "#network-norm");
      await assertShows(tab, { ...start, seed: 77, scale: 0.1, item: 7, isNormalized: false });
      await fill(tab, "network-seed", "0");
      assert.match(await textOf(tab, "#network-finding"), /whole number from 1 to 9999/);
      await changeLanguage(tab, "ru");
      assert.match(await textOf(tab, "#network-finding"), /целое.число от.1 до.9999/);
      await tab.close();
    });

    test("has the chart's numbers in a table: 128 values before and after", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      await reach(tab, "network");
      await press(tab, "#network-chart summary");
      await tab.waitForSelector("#network-chart tbody tr");
      const rows = await tab.$$eval("#network-chart tbody tr", (found) =>
        found.map((row) => [...row.querySelectorAll("td")].map((cell) => Number(cell.textContent))),
      );
      assert.equal(rows.length, 33);
      for (const k of [0, 1])
        assert.equal(
          rows.map((row) => row[k]).reduce((a, b) => a + b),
          128,
        );
      await changeLanguage(tab, "ru");
      assert.equal(numbersOf(await textOf(tab, "#network-finding")).length, 3);
      await tab.close();
    });

    test("copies the code of each framework and the package's, and says so", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      await reach(tab, "network");
      /** @param {boolean} isAllowed */
      const stub = (isAllowed) =>
        tab.evaluate((allowed) => {
          const writeText = async (/** @type {string} */ text) => {
            if (!allowed) throw new DOMException("", "NotAllowedError");
            Reflect.set(globalThis, "copied", text);
          };
          Object.defineProperty(navigator, "clipboard", {
            configurable: true,
            value: { writeText },
          });
        }, isAllowed);
      await stub(true);
      for (const [framework, eps] of [
        ["pytorch", "1e-5"],
        ["keras", "1e-3"],
        ["flax", "1e-6"],
      ]) {
        await press(tab, `#network-${framework}`);
        for (const code of ["theirs", "ours"]) {
          await press(tab, `#network-copy-${code}`);
          const copied = await tab.evaluate(() => Reflect.get(globalThis, "copied"));
          assert.equal(copied, await textOf(tab, `#network-${code}`));
          assert.ok(copied.includes(eps), `${framework}, ${code}`);
          assert.equal(await textOf(tab, `#network-copy-${code}`), "Copied");
        }
      }
      await stub(false);
      await press(tab, "#network-copy-ours");
      assert.match(await textOf(tab, "#network-copy-ours"), /did not allow/);
      await tab.close();
    });

    test("goes from tab to tab by keyboard", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      await reach(tab, "network");
      await tab.focus("#network-pytorch");
      await tab.keyboard.press("ArrowLeft");
      assert.equal(
        await tab.evaluate(() => document.activeElement?.getAttribute("aria-selected")),
        "true",
      );
      assert.match(await textOf(tab, "#network-theirs"), /flax/);
      assert.match(await textOf(tab, "#network-eps"), /1e−6/);
      await tab.close();
    });
  });
}
