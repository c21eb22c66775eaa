// The sections that measure and judge, in real browsers: their numbers are those of the formulas and of Node. Budget: 90 s.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { layerNorm } from "layernorm";
import {
  aroundMean,
  boundOf,
  hardInput,
  INPUTS,
  MEANS,
} from "../../web/sections/exactness/inputs.js";
import { judgeAll, WAYS } from "../../web/sections/exactness/judge.js";
import { SHAPES } from "../../web/sections/rms-cost/shapes.js";
import { EPSES, TABLE_DEVIATIONS } from "../../web/sections/small-variance/curves.js";
import { ENGINES } from "../browser/browsers.js";
import { assertLooksFine } from "./looking.js";
import {
  changeLanguage,
  drawn,
  elsewhere,
  fill,
  open,
  press,
  reach,
  says,
  servePage,
  startAndStop,
  textOf,
  until,
  usePage,
} from "./open_page.js";

/** @typedef {import("./open_page.js").Tab} Tab */

const PHONE = { width: 360 };

const VECTORS = [
  [3, 5, 2, 8],
  [1, 3, 5, 8],
  [3, 2, 7, 9],
];
const EPS = 1e-5;

/** The numbers in a text, in either language's notation. @param {string} text */
const numbersIn = (text) =>
  (text.match(/[−-]?\d+(?:[.,]\d+)?/g) ?? []).map((shown) =>
    Number(shown.replace("−", "-").replace(",", ".")),
  );

/**
 * What stands in a table: a row's cells by their data attributes and texts.
 *
 * @param {Tab} tab
 * @param {string} selector of rows
 */
const rowsOf = (tab, selector) =>
  tab.$$eval(selector, (rows) =>
    rows.map((row) => ({
      data: { .../** @type {HTMLElement} */ (row).dataset },
      cells: [...row.children].map((cell) => ({
        data: { .../** @type {HTMLElement} */ (cell).dataset },
        text: cell.textContent ?? "",
      })),
    })),
  );

for (const engine of ENGINES) {
  describe(`the measuring sections in ${engine.name}`, { skip: engine.skip }, () => {
    const page = usePage(engine);

    test("exactness: every error is the one that Node finds, and the package keeps its bounds", async () => {
      const { tab, messages } = await open(page.browser, `${page.url}?lang=en#exactness`, PHONE);
      await reach(tab, "exactness");
      await says(tab, "#exact-controls", /^Judged 9 rows/);
      const rows = await rowsOf(tab, "#exact-table tbody tr");
      assert.deepEqual(
        rows.map(({ data }) => data.input),
        INPUTS,
      );
      for (const [i, input] of INPUTS.entries()) {
        const judged = judgeAll(hardInput(input), WAYS);
        for (const { data, text } of rows[i].cells.slice(1)) {
          const way = /** @type {keyof typeof WAYS} */ (data.way);
          // The same bits in every engine, so the same errors.
          assert.equal(Number(data.error), judged[way].error, `${input}, ${way}`);
          if (way === "package") {
            assert.ok(judged[way].error <= boundOf(input));
            assert.equal(numbersIn(text)[0], Number(judged[way].error.toPrecision(3)), text);
          } else if (!Number.isFinite(judged[way].error)) {
            assert.match(text, /not a number|infinite/);
          }
        }
      }
      // The chart's numbers, as its table has them.
      await press(tab, "#exact-means summary");
      await tab.waitForSelector("#exact-means tbody tr");
      const [first, , ...others] = await rowsOf(tab, "#exact-means tbody tr");
      assert.equal(numbersIn(first.cells[0].text)[0], MEANS[0]);
      const errors = judgeAll(aroundMean(1e7), WAYS);
      const last = others.at(-1)?.cells.map(({ text }) => Number(text.replace("−", "-")));
      assert.equal(last?.[0], 1e7);
      assert.equal(last?.[2], Number(errors.twoPass.error.toPrecision(3)));
      assert.equal(last?.[3], Number(errors.package.error.toPrecision(3)));
      assert.deepEqual(messages, []);
      await tab.close();
    });

    test("exactness: TensorFlow.js comes on request, from the same host, with errors of its own", async () => {
      const { tab, requests } = await open(page.browser, `${page.url}?lang=ru#exactness`, PHONE);
      await reach(tab, "exactness");
      await says(tab, "#exact-controls", /^Проверено строк: 9/);
      assert.ok(!requests.some((address) => /tensorflow/.test(address)));
      await press(tab, "#exact-tensorflow [data-run]");
      await says(tab, "#exact-tensorflow", /TensorFlow\.js 4\.\d+\.\d+,/);
      const rows = await rowsOf(tab, "#exact-table tbody tr");
      for (const way of ["tensorflowWasm", "tensorflowCpu"]) {
        const cells = new Map(
          rows.map((row) => [row.data.input, row.cells.find(({ data }) => data.way === way)]),
        );
        const of = (/** @type {string} */ input) => Number(cells.get(input)?.data.error);
        assert.ok(of("inputUsual") < 10 && of("inputMean6") > 1000 && of("inputHuge") > 1e6, way);
        assert.equal(cells.get("inputHalf")?.text, "—");
      }
      // Some are wrong in the last digits alone.
      const apart = rows
        .flatMap(({ cells }) => cells)
        .flatMap(({ text }) => [...text.matchAll(/ (\S+) вместо (\S+)$/g)]);
      assert.ok(apart.length > 0);
      for (const [whole, got, expected] of apart) assert.notEqual(got, expected, whole);
      await assertLooksFine(tab, "dark");
      assert.deepEqual(elsewhere(requests, page.url), []);
      await tab.close();
    });

    test("says in words that workers are not allowed", async () => {
      const strict = await servePage({ "content-security-policy": "worker-src 'none'" });
      try {
        const { tab } = await open(page.browser, `${strict.url}?lang=en#exactness`, PHONE);
        await reach(tab, "exactness");
        await says(tab, "#exact-controls", /^It failed: /);
        await reach(tab, "speed");
        await press(tab, "#speed-controls [data-run]");
        await says(tab, "#speed-controls", /^It failed: /);
        await tab.close();
      } finally {
        await strict.close();
      }
    });

    test("RMSNorm's cost: shares follow from the times, a run can be stopped and says so", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en#rms-cost`, PHONE);
      await reach(tab, "rms-cost");
      await press(tab, "#rms-cost-controls [data-run]");
      const isWhole = engine.name === "chromium";
      const count = isWhole ? SHAPES.length : 1;
      const rowsShown = () => rowsOf(tab, "#rms-cost-table tbody tr");
      await until(async () => (await rowsShown()).length >= count, { what: `${count} rows` });
      if (!isWhole) await press(tab, "#rms-cost-controls [data-stop]");
      await says(tab, "#rms-cost-controls", isWhole ? /^With the same weight.*of 5 / : /^Stopped/);
      const rows = await rowsShown();
      for (const [i, { data, cells }] of rows.entries()) {
        assert.equal(cells[0].text, SHAPES[i].join("×"));
        const unit = (/** @type {string} */ text) => (text.endsWith("µs") ? 1e-3 : 1);
        const [withBias, layer, rms] = cells
          .slice(1, 4)
          .map(({ text }) => numbersIn(text)[0] * unit(text));
        const shares = String(data.saved).split(" ").map(Number);
        for (const [k, of] of [withBias, layer].entries()) {
          assert.ok(
            Math.abs(shares[k] - (1 - rms / of)) < 0.01 * Math.max(1, rms / of),
            cells[k].text,
          );
          assert.equal(numbersIn(cells[4 + k].text)[0], Math.round(100 * shares[k]) + 0);
        }
      }
      assert.equal(await textOf(tab, "#rms-cost-controls [data-stop]"), "");
      // A run that found nothing leaves what there is alive.
      await startAndStop(tab, "#rms-cost-controls");
      await changeLanguage(tab, "ru");
      await says(tab, "#rms-cost-controls", /^Остановлено/);
      const russian = await rowsShown();
      assert.equal(russian.length, rows.length);
      assert.match(russian[0].cells[1].text, /[0-9] мк?с$/);
      await assertLooksFine(tab, "light");
      await tab.close();
    });

    test("adaptive: each item has its own scale and shift, and moves alone", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en#adaptive`, PHONE);
      await reach(tab, "adaptive");
      const results = async () =>
        (await rowsOf(tab, "#adaptive-table tbody tr")).map(
          ({ cells }) =>
            /** @type {Record<string, number[]>} */ (
              Object.fromEntries(
                cells.slice(1).map(({ data, text }) => [data.result, numbersIn(text)]),
              )
            ),
        );
      const start = await results();
      for (const [k, vector] of VECTORS.entries()) {
        const normalized = layerNorm(Float64Array.from(vector), { eps: EPS });
        const { adaptiveScale: scale, adaptiveShift: shift, adaptiveOutput: output } = start[k];
        for (const [i, value] of normalized.entries()) {
          assert.ok(Math.abs(output[i] - (value * (1 + scale[i]) + shift[i])) < 1e-4);
        }
      }
      await tab.focus("#adaptive-c2");
      await tab.keyboard.press("End");
      const moved = await results();
      assert.deepEqual([moved[0], moved[2]], [start[0], start[2]]);
      assert.deepEqual(moved[1].adaptiveScale, [1, -1, 0, 1]);
      await press(tab, '#adaptive-controls label:has([value="style"])');
      const styled = await results();
      for (const { adaptiveOutput: output } of styled) {
        const mean = output.reduce((sum, value) => sum + value, 0) / output.length;
        const squares = output.reduce((sum, value) => sum + (value - mean) ** 2, 0);
        assert.ok(Math.abs(mean - 5.25) < 1e-3 && Math.abs(squares / 4 - 8.1875) < 1e-3);
      }
      assert.equal(await textOf(tab, '#adaptive .formula[data-kind="condition"]'), "");
      assert.match(await textOf(tab, '#adaptive .formula[data-kind="style"]'), /σ/);
      // It follows the visitor's numbers.
      await press(tab, '#adaptive-controls label:has([value="condition"])');
      await fill(tab, "x1", "1 2 3");
      await drawn(tab);
      const normalized = [...layerNorm(Float64Array.of(1, 2, 3), { eps: EPS })];
      const [{ adaptiveNormalized: shown }] = await results();
      assert.equal(shown.length, 3);
      for (const [i, value] of normalized.entries()) assert.ok(Math.abs(shown[i] - value) < 1e-4);
      await assertLooksFine(tab, "dark");
      await tab.close();
    });

    test("small variance: the table and the curves are the formula's, with the visitor's ε", async () => {
      const { tab } = await open(
        page.browser,
        `${page.url}?lang=en#small-variance&eps=0.04`,
        PHONE,
      );
      await reach(tab, "small-variance");
      const rows = await rowsOf(tab, "#small-table tbody tr");
      assert.equal(rows.length, TABLE_DEVIATIONS.length);
      for (const { data, cells } of rows) {
        assert.deepEqual(
          cells.slice(1).map((cell) => Number(cell.data.eps)),
          [...EPSES, 0.04],
        );
        const deviation = Number(data.deviation);
        for (const { data: of } of cells.slice(1)) {
          const expected = deviation / Math.sqrt(deviation ** 2 + Number(of.eps));
          assert.ok(Math.abs(Number(of.value) / expected - 1) < 1e-14, `${deviation}, ${of.eps}`);
        }
      }
      await fill(tab, "eps", "0.5");
      await drawn(tab);
      const [, { cells: changed }] = await rowsOf(tab, "#small-table :is(thead, tbody) tr");
      assert.equal(Number(changed.at(-1)?.data.eps), 0.5);
      await fill(tab, "eps", "0.04");
      await drawn(tab);
      await press(tab, "#small-chart summary");
      await tab.waitForSelector("#small-chart tbody tr");
      const points = await rowsOf(tab, "#small-chart tbody tr");
      for (const { cells } of points) {
        const [deviation, ...values] = cells.map(({ text }) => Number(text.replace("−", "-")));
        for (const [i, eps] of [...EPSES, 0.04].entries()) {
          const expected = deviation / Math.sqrt(deviation ** 2 + eps);
          assert.ok(
            Math.abs(values[i] / expected - 1) < 0.011,
            `${deviation}, ${eps}: ${values[i]}`,
          );
        }
      }
      await assertLooksFine(tab, "light");
      await tab.close();
    });
  });
}
