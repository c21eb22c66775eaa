// The page's numbers, fields and settings, in real browsers. Budget: 40 s.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ENGINES } from "../browser/browsers.js";
import { affine, dyadic, momentsOf, Normalizer, toNumber } from "../js/exact.js";
import {
  assertNumbers,
  changeLanguage,
  fill,
  numbersOf,
  open,
  press,
  servePage,
  shownWorks,
  textOf,
  textsAt,
  usePage,
  waitForHash,
} from "./open_page.js";

const EXAMPLE = {
  vectors: [
    [3, 5, 2, 8],
    [1, 3, 5, 8],
    [3, 2, 7, 9],
  ],
  weight: [1.5],
  bias: [0.5],
  eps: 1e-5,
};

/** @typedef {import("./open_page.js").Tab} Tab */
/** @typedef {typeof EXAMPLE} Settings */

/**
 * Each number on the page is the exact one, rounded to the decimals shown.
 *
 * @param {Tab} tab
 * @param {Settings} settings
 */
async function assertShows(tab, { vectors, weight, bias, eps }) {
  const works = await shownWorks(tab);
  assert.equal(works.length, vectors.length);
  for (const [k, shown] of works.entries()) {
    const vector = vectors[k] ?? [];
    const moments = momentsOf(Float64Array.from(vector));
    const layer = new Normalizer(moments, { eps, centered: true });
    const rms = new Normalizer(moments, { eps, centered: false });
    const feature = (/** @type {number[]} */ values, /** @type {number} */ i) =>
      values[values.length === 1 ? 0 : i];
    const scaled = (/** @type {Normalizer} */ norm) =>
      vector.map((x, i) => {
        const w = dyadic(feature(weight, i) ?? Number.NaN);
        return toNumber(affine(norm.normalized(x), w, feature(bias, i) ?? null).exact);
      });
    const normalized = (/** @type {Normalizer} */ norm) =>
      vector.map((x) => toNumber(norm.normalized(x)));
    assertNumbers(shown.mean, [layer.mean], `mean of x${k + 1}`);
    assertNumbers(shown.variance, [layer.var], `variance of x${k + 1}`);
    assertNumbers(shown.normalized, normalized(layer), `normalized x${k + 1}`);
    assertNumbers(shown.scaled, scaled(layer), `scaled x${k + 1}`);
    assertNumbers(shown.meanSquare, [rms.var], `mean square of x${k + 1}`);
    assertNumbers(shown.rms, [1 / rms.rstd], `rms of x${k + 1}`);
    assertNumbers(shown.rmsNormalized, normalized(rms), `rms-normalized x${k + 1}`);
    assertNumbers(shown.rmsScaled, scaled(rms), `rms-scaled x${k + 1}`);
  }
}

const fieldValue = (/** @type {Element} */ field) => /** @type {HTMLInputElement} */ (field).value;

for (const engine of ENGINES) {
  describe(`the page in ${engine.name}`, { skip: engine.skip }, () => {
    const page = usePage(engine);

    /** @param {string} [rest] of the address @param {Parameters<typeof open>[2]} [options] */
    const openAt = (rest = "?lang=en", options) => open(page.browser, page.url + rest, options);

    test("shows the documents' example, right to every digit, in both languages", async () => {
      const { tab } = await openAt();
      await assertShows(tab, EXAMPLE);
      assert.deepEqual(
        (await shownWorks(tab))[1]?.scaled.map(({ text }) => text),
        ["−1.3851", "−0.2251", "0.9350", "2.6752"],
      );
      await changeLanguage(tab, "ru");
      await assertShows(tab, EXAMPLE);
      assert.deepEqual(
        (await shownWorks(tab))[1]?.scaled.map(({ text }) => text),
        ["−1,3851", "−0,2251", "0,9350", "2,6752"],
      );
      await tab.close();
    });

    test("names the documents' errors where they occur", async () => {
      const { tab } = await openAt();
      const misprint = (/** @type {string} */ step, /** @type {number} */ row) =>
        textOf(tab, `[data-working="${step}"] .row:nth-child(${row}) .misprint`);
      assert.match(await misprint("normalize", 2), /8\.3125.*right is 6\.6875/);
      assert.match(await misprint("normalize", 3), /3\.6875.*right is 8\.1875/);
      assert.match(
        await misprint("scale", 2),
        /−0\.2250 and 2\.6751.*right is −0\.2251 and 2\.6752/,
      );
      const others = await textOf(tab, ".errata");
      for (const right of [/Toronto/, /T5 uses RMSNorm/, /original BERT is post-.?LN/]) {
        assert.match(others, right);
      }
      for (const right of [/GPT-4 is not published/, /no text under it/, /measure it here/]) {
        assert.match(others, right);
      }
      await tab.close();
    });

    test("follows the visitor's numbers", async () => {
      const { tab } = await openAt();
      const settings = {
        vectors: [
          [-3.5, 0.25, 100],
          [1, 1.5, 2],
          [7, -7, 0.125],
        ],
        weight: [1, -2, 0.5],
        bias: [0, 0.25, -1],
        eps: 0.5,
      };
      await fill(tab, "x1", "-3.5 0.25 1e2");
      await fill(tab, "x2", "[1, 1.5, 2]");
      await fill(tab, "x3", "7; −7; .125");
      await fill(tab, "weight", "1, -2, 0.5");
      await fill(tab, "bias", "0, 0.25, -1");
      await fill(tab, "eps", "0.5");
      await assertShows(tab, settings);
      assert.match(await textOf(tab, "#summary"), /y1 ≈ \[/);
      await tab.close();
    });

    test("shows numbers far from zero, and a constant vector with eps 0", async () => {
      const { tab } = await openAt("?lang=en#x1=40000,40001,40002,40003&x2=5,5,5&x3=7&eps=0");
      const vectors = [[40000, 40001, 40002, 40003], [5, 5, 5], [7]];
      await assertShows(tab, { ...EXAMPLE, vectors, eps: 0 });
      const row = '[data-working="normalize"] .row:nth-child';
      assert.match(await textOf(tab, `${row}(2) .note`), /All numbers are equal/);
      assert.equal(await tab.$(`${row}(1) .note`), null);
      await tab.close();
    });

    test("marks what is rounded, and nothing that follows from it as exact, in both languages", async () => {
      for (const language of ["en", "ru"]) {
        for (const [x1, eps] of /** @type {const} */ ([
          ["5,5,5,5.1", "1e-5"],
          ["1,2,2", "0"],
          ["0.1234567,0.1234569", "0"],
        ])) {
          const address = `?lang=${language}#x1=${x1}&eps=${eps}&norm=layer&cell=1,2,2&c=0.3`;
          const { tab } = await openAt(address);
          await tab.waitForSelector("#conditional-working li");
          const [lines, variance, normalized, summary] = await textsAt(
            tab,
            ".line, .entries li, #summary > span",
            '[data-working="variance"] .v1 .line',
            '[data-working="normalize"] .v1 li',
            "#summary .v1",
          );
          assert.ok(lines.length > 40);
          assert.deepEqual(
            lines.filter((line) => /≈.*=/s.test(line)),
            [],
          );
          const signs = (/** @type {string} */ text) => text.match(/[=≈]/g)?.join("");
          // The variance of 5, 5, 5, 5.1 is 0.0075/4 exactly; the mean of 1, 2, 2 has no end, nor what it is taken from.
          assert.equal(signs(variance[0]), x1.startsWith("5") ? "===" : "≈≈≈", variance[0]);
          // Both are 1 exactly, but not of the rounded numbers that stand before.
          assert.equal(signs(normalized[0]), "≈", normalized[0]);
          assert.equal(signs(summary[0]), x1.startsWith("0.1") ? "=" : "≈", summary[0]);
          await tab.close();
        }
      }
    });

    test("says what is wrong with a field, and keeps the last good result", async () => {
      const { tab } = await openAt();
      await fill(tab, "x2", "oops, 1");
      await tab.waitForSelector("#x2-problem:not([hidden])");
      assert.equal(await textOf(tab, "#x2-problem"), "“oops” is not a number.");
      assert.equal(await tab.$eval("#x2", (field) => field.getAttribute("aria-invalid")), "true");
      const described = await tab.$eval("#x2", (field) => field.getAttribute("aria-describedby"));
      assert.match(described ?? "", /\bx2-problem\b/);
      assert.match(await textOf(tab, "#notice"), /last good/);
      await assertShows(tab, EXAMPLE);

      await changeLanguage(tab, "ru");
      assert.equal(await textOf(tab, "#x2-problem"), "«oops»\u00a0— не\u00a0число.");
      await assertShows(tab, EXAMPLE);
      await fill(tab, "x2", "1 3,5 5 8");
      assert.equal(await textOf(tab, "#x2-problem"), "");
      assert.equal(await tab.$eval("#x2", (field) => field.getAttribute("aria-invalid")), "false");
      const [first = [], , third = []] = EXAMPLE.vectors;
      await assertShows(tab, { ...EXAMPLE, vectors: [first, [1, 3.5, 5, 8], third] });
      await tab.close();
    });

    test("has a word for each kind of bad input", async () => {
      const { tab } = await openAt();
      /** @type {[id: string, text: string, problem: RegExp][]} */
      const cases = [
        ["x1", "", /at least one/],
        ["x1", "1 2 3 4 5 6 7 8 9 10 11 12 13", /At most 12/],
        ["x1", "1e200", /too large/],
        ["x1", "NaN", /not a number/],
        ["weight", "1, 2", /as many as each vector has: 4/],
        ["bias", "x", /not a number/],
        ["eps", "-1", /negative/],
        ["eps", "1, 2", /One number/],
      ];
      for (const [id, text, problem] of cases) {
        await fill(tab, id, text === "" ? " " : text);
        await tab.keyboard.press("Tab");
        assert.match(await textOf(tab, `#${id}-problem`), problem, `${id}: ${text}`);
        await tab.click('[data-example="documents"]');
        assert.equal(await textOf(tab, `#${id}-problem`), "");
      }
      await fill(tab, "x1", "1 2");
      await fill(tab, "weight", "1 2 3 4");
      await tab.keyboard.press("Tab");
      assert.match(await textOf(tab, "#weight-problem"), /differ in length, so only one number/);
      await tab.click('[data-example="documents"]');
      await assertShows(tab, EXAMPLE);
      await tab.close();
    });

    test("keeps what was typed when the language or eps changes, and what was refused refused", async () => {
      const { tab } = await openAt();
      const values = () =>
        tab.$$eval("#x1, #x2, #weight, #eps", (fields) =>
          fields.map((field) => /** @type {HTMLInputElement} */ (field).value),
        );
      await fill(tab, "x1", "abc");
      await fill(tab, "x2", "9, 8, 7, 6");
      await fill(tab, "weight", "1,2");
      await press(tab, '[data-eps="1e-3"]');
      assert.deepEqual(await values(), ["abc", "9, 8, 7, 6", "1,2", "0.001"]);
      await changeLanguage(tab, "ru");
      assert.deepEqual(await values(), ["abc", "9; 8; 7; 6", "1; 2", "0,001"]);
      await fill(tab, "x1", "1 2 3 4");
      await tab.keyboard.press("Tab");
      assert.match(await textOf(tab, "#weight-problem"), /4/);
      await assertShows(tab, EXAMPLE);
      await fill(tab, "weight", "2");
      const [, , third = []] = EXAMPLE.vectors;
      const vectors = [[1, 2, 3, 4], [9, 8, 7, 6], third];
      await assertShows(tab, { ...EXAMPLE, vectors, weight: [2], eps: 1e-3 });
      // Read as Russian, this would be one number.
      await changeLanguage(tab, "en");
      await fill(tab, "eps", "1,2");
      await changeLanguage(tab, "ru");
      await fill(tab, "x1", "4 3 2 1");
      await tab.keyboard.press("Tab");
      assert.notEqual(await textOf(tab, "#eps-problem"), "");
      await tab.close();
    });

    test("moves eps with the slider, down to 0", async () => {
      const { tab } = await openAt();
      await tab.focus("#eps-slider");
      await tab.keyboard.press("ArrowRight");
      assert.equal(await tab.$eval("#eps", fieldValue), "1.3e-5");
      await tab.keyboard.press("End");
      assert.equal(await tab.$eval("#eps", fieldValue), "10");
      await assertShows(tab, { ...EXAMPLE, eps: 10 });
      await tab.keyboard.press("Home");
      assert.equal(await tab.$eval("#eps", fieldValue), "0");
      assert.equal(await tab.$eval("#eps-slider", (slider) => slider.ariaValueText), "0");
      await assertShows(tab, { ...EXAMPLE, eps: 0 });
      await tab.close();
    });

    test("keeps the settings in the address", async () => {
      const { tab } = await openAt();
      await fill(tab, "x1", "1 2 3.5 4");
      await fill(tab, "eps", "0.001");
      await waitForHash(tab, "#x1=1,2,3.5,4&eps=0.001");
      await tab.reload();
      await tab.waitForSelector(":root[data-ready]");
      const vectors = [[1, 2, 3.5, 4], ...EXAMPLE.vectors.slice(1)];
      await assertShows(tab, { ...EXAMPLE, vectors, eps: 0.001 });
      await press(tab, '#errata a[href="#scale"]');
      assert.equal(new URL(tab.url()).hash, "#scale&x1=1,2,3.5,4&eps=0.001");
      await press(tab, '[data-example="documents"]');
      await waitForHash(tab, "#scale");
      await tab.close();

      const unreadable = await openAt("?lang=en#x1=a&bias=1,2&weight=2");
      assert.match(await textOf(unreadable.tab, "#notice"), /cannot be read: x1, bias/);
      await assertShows(unreadable.tab, { ...EXAMPLE, weight: [2] });
      await unreadable.tab.close();
    });

    test("names its language in the address, after going back as well", async () => {
      const { tab } = await openAt("?lang=ru");
      await press(tab, '#errata a[href="#scale"]');
      await changeLanguage(tab, "en");
      assert.equal(new URL(tab.url()).search, "?lang=en");
      await tab.evaluate(() => history.back());
      await waitForHash(tab, "");
      assert.equal(await tab.evaluate(() => location.search), "?lang=en");
      assert.equal(await tab.evaluate(() => document.documentElement.lang), "en");
      await tab.close();
    });

    test("remembers the language and the theme", async () => {
      const { tab } = await openAt("");
      await changeLanguage(tab, "ru");
      assert.equal(new URL(tab.url()).search, "?lang=ru");
      await tab.click(".themes label:nth-of-type(3)");
      await tab.goto(page.url);
      await tab.waitForSelector(":root[data-ready]");
      const state = await tab.evaluate(() => ({
        language: document.documentElement.lang,
        title: document.title,
        theme: document.querySelector("[name=theme]:checked")?.getAttribute("value"),
        background: getComputedStyle(document.body).backgroundColor,
      }));
      assert.equal(state.language, "ru");
      assert.match(state.title, /шаг.за.шагом/);
      assert.equal(state.theme, "dark");
      assert.equal(state.background, "rgb(20, 23, 28)");
      await tab.evaluate(() => localStorage.clear());
      await tab.close();
    });

    test("lights up what belongs to the number that is pointed at", async () => {
      const { tab } = await openAt();
      await tab.hover('[data-working="mean"] .row:nth-child(2) [data-feature="3"]');
      const lit = await tab.$$eval(".lit", (elements) =>
        elements.map((element) => [element.tagName.toLowerCase(), element.closest(".v2") !== null]),
      );
      for (const name of ["math", "li", "circle", "line"]) {
        assert.ok(
          lit.some(([tag]) => tag === name),
          `no ${name} is lit`,
        );
      }
      assert.ok(lit.every(([, isOfSecond]) => isOfSecond));
      await tab.close();
    });

    test("says in words why it cannot compute", async () => {
      const withoutWasm = await openAt("?lang=ru", {
        until: ":root[data-failed]",
        prepare: (tab) =>
          tab.evaluateOnNewDocument(() => Reflect.deleteProperty(globalThis, "WebAssembly")),
      });
      assert.match(await textOf(withoutWasm.tab, "#failure"), /нет WebAssembly/);
      assert.deepEqual(withoutWasm.messages, []);
      await withoutWasm.tab.close();

      const strict = await servePage({ "content-security-policy": "script-src 'self'" });
      try {
        const { tab } = await open(page.browser, `${strict.url}?lang=en`, {
          until: ":root[data-failed]",
        });
        assert.match(await textOf(tab, "#failure"), /Content-Security-Policy.*wasm-unsafe-eval/);
        await tab.close();
      } finally {
        await strict.close();
      }
    });

    test("does not complain about a number that is still being typed", async () => {
      const { tab } = await openAt();
      await fill(tab, "bias", "-");
      assert.equal(await textOf(tab, "#bias-problem"), "");
      await tab.keyboard.type("1");
      await sleep(700);
      assert.equal(await textOf(tab, "#bias-problem"), "");
      assert.equal(numbersOf(await textOf(tab, "#summary .v1")).length, 4);
      await assertShows(tab, { ...EXAMPLE, bias: [-1] });
      await tab.close();
    });
  });
}
