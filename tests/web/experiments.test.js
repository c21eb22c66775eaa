// The experiments on the page, in real browsers: what they train is what the same code trains in Node. Budget: 90 s.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { EXPERIMENTS } from "../../web/experiments/experiments.js";
import { ENGINES } from "../browser/browsers.js";
import { tf, tfl, use } from "../tfjs/backends.js";
import { nn, tfjs } from "../tfjs/installed.js";
import { changeLanguage, open, press, reach, textOf, usePage } from "./open_page.js";

/** @typedef {import("./open_page.js").Tab} Tab */
/** @typedef {import("../../web/experiments/experiments.js").Name} Name */

const SEED = 1;
/** Of each variant, in Node: enough to see that it is the same. */
const COMPARED = 8;
/** The smallest choice of each. @type {Record<Name, number>} */
const OPTIONS = { recurrent: 8, transformers: 2, convolutional: 16 };
/** What the page rounds to. */
const TOLERANCE = 2e-4;

/**
 * The first losses and gradients of each variant, as Node finds them.
 *
 * @param {Name} name
 * @param {string} url of the page, whose data it takes
 */
async function courses(name, url) {
  const { backend, variants, load, start } = EXPERIMENTS[name];
  await use(backend);
  const data = await load((file) => new URL(`data/${file}`, url));
  return variants.map((variant) => {
    const training = start({ tf, tfl, tfjs, nn }, data, variant, OPTIONS[name], SEED);
    const steps = Array.from({ length: COMPARED }, () => training.next().value);
    training.return(undefined);
    return /** @type {import("../experiments/core/training.js").Step[]} */ (steps);
  });
}

/** @param {Tab} tab @param {Name} name @param {string[]} states */
const until = (tab, name, ...states) =>
  tab.waitForFunction(
    (id, wanted) =>
      wanted.includes(document.querySelector(`#${id} .live`)?.getAttribute("data-state") ?? ""),
    { timeout: 60_000 },
    name,
    states,
  );

/**
 * The numbers beside a chart, by row: x, then each line's.
 *
 * @param {Tab} tab
 * @param {string} selector
 */
async function tableOf(tab, selector) {
  const isOpen = await tab.$eval(`${selector} details`, (found) => /** @type {any} */ (found).open);
  if (!isOpen) await press(tab, `${selector} summary`);
  await tab.waitForSelector(`${selector} tbody tr`);
  const rows = await tab.$$eval(`${selector} tbody tr`, (found) =>
    found.map((row) => [...row.children].map((cell) => cell.textContent ?? "")),
  );
  return rows.map((cells) => cells.map((text) => Number.parseFloat(text.replace("−", "-"))));
}

for (const engine of ENGINES) {
  describe(`experiments on the page in ${engine.name}`, { skip: engine.skip }, () => {
    const page = usePage(engine);

    for (const name of /** @type {Name[]} */ (Object.keys(EXPERIMENTS))) {
      test(`${name}: shows the repository's result, then trains as Node does`, async () => {
        const { tab, messages } = await open(page.browser, `${page.url}?lang=en`);
        await reach(tab, name);
        assert.match(await textOf(tab, `#${name} .stored`), /node tests\/experiments\/\w+\.js/);
        const stored = await tableOf(tab, `#${name} .stored-chart`);
        assert.ok(stored.length >= 4 && stored.flat().every(Number.isFinite), `${stored}`);
        await press(tab, `#${name} .options [value="${OPTIONS[name]}"]`);
        await press(tab, `#${name} .run`);
        await until(tab, name, "done", "failed");
        assert.match(await textOf(tab, `#${name} .status`), /^Done in [\d.]+ s/);
        assert.match(await textOf(tab, `#${name} .finding`), /\d.*\d/);
        const expected = await courses(name, page.url);
        const { perStep, window } = EXPERIMENTS[name];
        const size = perStep?.(OPTIONS[name]) ?? 1;
        const per = Math.max(1, Math.round(window / size));
        for (const [chart, key] of /** @type {const} */ ([
          [".loss-chart", "loss"],
          [".gradient-chart", "gradient"],
        ])) {
          const rows = await tableOf(tab, `#${name} ${chart}`);
          const compared = rows.filter(([x]) => x / size <= COMPARED);
          assert.ok(compared.length >= 2, `${rows}`);
          for (const [x, ...values] of compared) {
            for (const [variant, shown] of values.entries()) {
              const last = expected[variant].slice(Math.max(0, x / size - per), x / size);
              const right = last.reduce((sum, step) => sum + step[key], 0) / last.length;
              const difference = Math.abs(shown - right);
              assert.ok(
                difference <= TOLERANCE * Math.max(1, right),
                `${key} at ${x}: ${shown}, ${right}`,
              );
            }
          }
        }
        assert.deepEqual(messages, []);
        // What is chosen for the next run leaves this one's axis as it is.
        const axis = async () => (await tableOf(tab, `#${name} .loss-chart`)).map(([x]) => x);
        const before = await axis();
        const other = EXPERIMENTS[name].options.find((option) => option !== OPTIONS[name]);
        await press(tab, `#${name} .options [value="${other}"]`);
        await changeLanguage(tab, "ru");
        assert.deepEqual(await axis(), before);
        assert.match(await textOf(tab, `#${name} .finding`), /[а-яё]{3}/);
        await tab.close();
      });
    }

    test("pauses, goes on and stops", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      await reach(tab, "transformers");
      await press(tab, "#transformers .options [value='12']");
      await press(tab, "#transformers .run");
      await until(tab, "transformers", "running");
      const share = () =>
        tab.$eval("#transformers progress", (found) => /** @type {any} */ (found).value);
      await press(tab, "#transformers .pause");
      await until(tab, "transformers", "paused");
      // The step that it is in comes to its end.
      await sleep(1500);
      const before = await share();
      await sleep(1500);
      assert.equal(await share(), before);
      await press(tab, "#transformers .pause");
      await tab.waitForFunction(
        (from) =>
          /** @type {any} */ (document.querySelector("#transformers progress")).value > from,
        { timeout: 30_000 },
        before,
      );
      await press(tab, "#transformers .stop");
      await until(tab, "transformers", "stopped");
      assert.equal(await textOf(tab, "#transformers .status"), "Stopped.");
      assert.equal(
        await tab.evaluate(() => document.activeElement?.className),
        "run",
        "focus goes on from the button that is disabled",
      );
      await tab.close();
    });

    test("gives other curves for another seed and the same for the same, paused or not; stopped, it leaves what was drawn", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      await reach(tab, "transformers");
      await press(tab, "#transformers .options [value='2']");
      const start = async (/** @type {string} */ seed) => {
        await tab.$eval(
          "#transformers [name=seed]",
          (field, value) => {
            /** @type {HTMLInputElement} */ (field).value = value;
          },
          seed,
        );
        await press(tab, "#transformers .run");
        // The last run's state goes first.
        await until(tab, "transformers", "loading", "running");
      };
      /** Presses a button as soon as a part of the run is done. */
      const pressAt = (/** @type {number} */ part, /** @type {string} */ button) =>
        tab.waitForFunction(
          (least, selector) => {
            const progress = document.querySelector("#transformers progress");
            if (/** @type {HTMLProgressElement} */ (progress).value < least) return false;
            /** @type {HTMLElement} */ (document.querySelector(selector)).click();
            return true;
          },
          { timeout: 60_000, polling: "raf" },
          part,
          `#transformers .${button}`,
        );
      const curves = async () => [
        await tableOf(tab, "#transformers .loss-chart"),
        await tableOf(tab, "#transformers .gradient-chart"),
      ];
      await start("1");
      await until(tab, "transformers", "done");
      const first = await curves();
      assert.equal(first[0].length, EXPERIMENTS.transformers.stepsOf(2));

      await start("2");
      await until(tab, "transformers", "done");
      const [losses, gradients] = await curves();
      for (const [i, found] of [losses, gradients].entries()) {
        const same = found.filter((row, step) => row[1] === first[i][step][1]);
        assert.ok(same.length < found.length / 4, `${same.length} of ${found.length} steps`);
      }

      await start("1");
      await pressAt(0.2, "pause");
      await until(tab, "transformers", "paused");
      await sleep(300);
      const paused = await tab.$eval("#transformers progress", (bar) => bar.value);
      assert.ok(paused < 1, `${paused}`);
      await press(tab, "#transformers .pause");
      await until(tab, "transformers", "done");
      assert.deepEqual(await curves(), first);

      await start("1");
      await pressAt(0.3, "stop");
      await until(tab, "transformers", "stopped");
      await sleep(300);
      const stopped = await curves();
      for (const [i, rows] of stopped.entries()) {
        assert.ok(rows.length > 8 && rows.length < first[i].length, `${rows.length} steps`);
        // Where it was stopped, the other network may be a step behind.
        const drawn = rows.map((row, at) =>
          row.map((value, line) => (Number.isNaN(value) ? first[i][at][line] : value)),
        );
        assert.deepEqual(drawn, first[i].slice(0, rows.length));
      }
      await tab.close();
    });

    test("says what is wrong with a seed, in the page's language, until there is another", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      await reach(tab, "recurrent");
      const type = async (/** @type {string} */ seed) => {
        await tab.focus("#recurrent [name=seed]");
        await tab.$eval("#recurrent [name=seed]", (field) =>
          /** @type {HTMLInputElement} */ (field).select(),
        );
        await tab.keyboard.type(seed);
      };
      await type("0");
      await press(tab, "#recurrent .run");
      assert.match(await textOf(tab, "#recurrent .status"), /whole number from 1 to 9999/);
      await changeLanguage(tab, "ru");
      assert.match(await textOf(tab, "#recurrent .status"), /целое.число от.1 до.9999/);
      await type("5");
      assert.equal(await textOf(tab, "#recurrent .status"), "");
      await tab.close();
    });

    test("says in words that the training failed", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`, {
        prepare: async (page) => {
          await page.evaluateOnNewDocument(() => {
            const { Worker: Real } = globalThis;
            Reflect.set(
              globalThis,
              "Worker",
              /** @param {URL} url @param {WorkerOptions} options */
              function Broken(url, options) {
                return new Real(new URL("missing.js", url), options);
              },
            );
          });
        },
      });
      await reach(tab, "recurrent");
      await press(tab, "#recurrent .run");
      await until(tab, "recurrent", "failed");
      assert.match(await textOf(tab, "#recurrent .status"), /^It failed: /);
      await tab.close();
    });
  });
}
