// The block of batch x channels x positions and conditional LayerNorm, in real browsers. Budget: 60 s.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ENGINES } from "../browser/browsers.js";
import { momentsOf, Normalizer, toNumber } from "../js/exact.js";
import {
  assertNumbers,
  changeLanguage,
  drawn,
  fill,
  numbersOf,
  open,
  press,
  textOf,
  textsAt,
  usePage,
  waitForHash,
} from "./open_page.js";

/** @typedef {import("./open_page.js").Tab} Tab */
/** @typedef {[item: number, channel: number, position: number]} Cell from 1, as the page counts */

/**
 * @typedef {object} Case
 * @property {string} norm
 * @property {number} items
 * @property {number} groups
 * @property {boolean} perPosition
 * @property {Cell} cell
 */

const NORMS = ["batch", "layer", "instance", "group", "rms"];
const CHANNELS = 4;
const EPS = 1e-5;

/**
 * Whether another cell is averaged together with a case's: each normalization in its own words.
 *
 * @param {Case} of
 * @param {Cell} other
 */
function isTogether({ norm, groups, perPosition, cell: [item, channel, position] }, [n, c, p]) {
  const groupOf = (/** @type {number} */ each) => Math.ceil(each / (CHANNELS / groups));
  switch (norm) {
    case "batch":
      return c === channel;
    case "instance":
      return n === item && c === channel;
    case "group":
      return n === item && groupOf(c) === groupOf(channel);
    default:
      return n === item && (!perPosition || p === position);
  }
}

/** @param {Tab} tab */
async function look(tab) {
  await drawn(tab);
  const shown = await tab.$$eval("[data-cell]", (cells) =>
    cells.map((cell) => ({
      at: cell.getAttribute("data-cell") ?? "",
      value: Number(cell.textContent),
      isLit: cell.getAttribute("aria-selected") === "true",
      isCurrent: cell.getAttribute("aria-current") === "true",
    })),
  );
  const cells = shown.map((cell) => ({
    ...cell,
    cell: /** @type {Cell} */ (cell.at.split(",").map((index) => Number(index) + 1)),
  }));
  const [rows, lines, terms, [status]] = await textsAt(
    tab,
    "#block-norms td",
    "#block-working .line",
    "#block-working .line:first-child [data-feature] mn:first-child",
    "#block-status",
  );
  return { cells, rows, lines, terms: terms.map(Number), status };
}

/**
 * The cells that light up are the right ones, and all numbers follow from the values in them.
 *
 * @param {Tab} tab
 * @param {Case} of
 */
async function assertShows(tab, of) {
  const name = JSON.stringify(of);
  const { cells, rows, lines, terms, status } = await look(tab);
  assert.equal(cells.length, of.items * 12, name);
  const lit = cells.filter(({ isLit }) => isLit).map(({ cell }) => cell);
  assert.deepEqual(
    lit,
    cells.map(({ cell }) => cell).filter((cell) => isTogether(of, cell)),
    name,
  );
  const current = cells.filter(({ isCurrent }) => isCurrent);
  assert.deepEqual(
    current.map(({ cell }) => cell),
    [of.cell],
    name,
  );
  const x = current[0].value;
  for (const [i, norm] of NORMS.entries()) {
    const values = cells
      .filter(({ cell }) => isTogether({ ...of, norm }, cell))
      .map(({ value }) => value);
    const isRms = norm === "rms";
    const exact = new Normalizer(momentsOf(Float64Array.from(values)), {
      eps: EPS,
      centered: !isRms,
    });
    const statistics = [
      ...(isRms ? [] : [[exact.mean]]),
      [exact.var],
      [exact.rstd],
      [toNumber(exact.normalized(x))],
    ];
    // With its item alone in the batch, only batch norm's value is another.
    const own = cells
      .filter(({ cell }) => cell[0] === of.cell[0] && cell[1] === of.cell[1])
      .map(({ value }) => value);
    const alone = new Normalizer(momentsOf(Float64Array.from(norm === "batch" ? own : values)), {
      eps: EPS,
      centered: !isRms,
    });
    const row = [
      [values.length],
      ...(isRms ? [[]] : []),
      ...statistics,
      [toNumber(alone.normalized(x))],
    ];
    for (const [k, right] of row.entries()) {
      assertNumbers(numbersOf(rows[i * row.length + k]), right, `cell ${k} of ${norm} in ${name}`);
    }
    if (norm !== of.norm) continue;
    assert.equal(lines.length, statistics.length, name);
    for (const [k, right] of statistics.entries()) {
      assertNumbers(numbersOf(lines[k]), right, `line ${k} in ${name}`);
    }
    assert.deepEqual(terms, values, name);
    assert.match(status, new RegExp(`${values.length}.*${x}`));
  }
}

/** @param {Case} of */
const hashOf = ({ norm, items, groups, perPosition, cell }) =>
  `#norm=${norm}&items=${items}&groups=${groups}&perPosition=${Number(perPosition)}&cell=${cell}`;

/** @type {Case} */
const START = { norm: "layer", items: 3, groups: 2, perPosition: false, cell: [2, 2, 2] };

for (const engine of ENGINES) {
  describe(`the block in ${engine.name}`, { skip: engine.skip }, () => {
    const page = usePage(engine);

    /** @param {string} [rest] of the address */
    const openAt = (rest = "?lang=en") => open(page.browser, page.url + rest);

    test("lights up what each normalization averages, with the right numbers", async () => {
      const { tab, messages } = await openAt();
      await assertShows(tab, START);
      for (const norm of NORMS) {
        for (const items of [1, 2, 3]) {
          await press(tab, `[name=norm][value=${norm}]`);
          await press(tab, `[name=items][value="${items}"]`);
          await press(tab, `[data-cell="${items - 1},2,0"]`);
          await assertShows(tab, { ...START, norm, items, cell: [items, 3, 1] });
        }
      }
      for (const groups of [1, 4]) {
        await press(tab, "[name=norm][value=group]");
        await press(tab, `[name=groups][value="${groups}"]`);
        await assertShows(tab, { ...START, norm: "group", groups, cell: [3, 3, 1] });
      }
      for (const norm of ["layer", "rms"]) {
        await press(tab, `[name=norm][value=${norm}]`);
        if (norm === "layer") await press(tab, "[name=perPosition]");
        await assertShows(tab, { ...START, norm, groups: 4, perPosition: true, cell: [3, 3, 1] });
      }
      assert.deepEqual(messages, []);
      await tab.close();
    });

    test("says what changes with one item, one group, and as many groups as channels", async () => {
      const { tab } = await openAt("?lang=en#norm=batch");
      const note = () => textOf(tab, "#block-note");
      /** @param {string} norm */
      const row = (norm) =>
        tab.$$eval(`[data-norm="${norm}"] td`, (cells) => cells.map((cell) => cell.textContent));
      assert.match(await note(), /through the whole batch/);
      assert.notDeepEqual(await row("batch"), await row("instance"));
      const others = await Promise.all(NORMS.slice(1).map(row));
      await press(tab, "[name=items][value='2']");
      assert.match(await note(), /through the whole batch/);
      assert.deepEqual(await Promise.all(NORMS.slice(1).map(row)), others);
      await press(tab, "[name=items][value='1']");
      assert.match(await note(), /only the positions of one channel left: the set of InstanceNorm/);
      assert.deepEqual(await row("batch"), await row("instance"));

      await press(tab, "[name=norm][value=group]");
      assert.match(await note(), /between LayerNorm/);
      await press(tab, "[name=groups][value='1']");
      assert.match(await note(), /same set as LayerNorm/);
      assert.deepEqual(await row("group"), await row("layer"));
      await press(tab, "[name=groups][value='4']");
      assert.match(await note(), /same set as InstanceNorm/);
      assert.deepEqual(await row("group"), await row("instance"));

      await press(tab, "[name=norm][value=layer]");
      assert.match(await note(), /as in the documents.*In transformers.*channels alone/);
      await press(tab, "[name=perPosition]");
      assert.match(await note(), /As in transformers/);
      await tab.close();
    });

    test("goes from value to value by keyboard, with one stop for Tab", async () => {
      const { tab } = await openAt("?lang=en#norm=instance");
      await tab.focus('[data-cell="1,1,1"]');
      /** @type {[key: import("puppeteer-core").KeyInput, cell: Cell][]} */
      const moves = [
        ["ArrowLeft", [2, 2, 1]],
        ["ArrowLeft", [1, 2, 3]],
        ["ArrowUp", [1, 1, 3]],
        ["ArrowUp", [1, 1, 3]],
        ["End", [3, 1, 3]],
        ["ArrowRight", [3, 1, 3]],
        ["PageUp", [2, 1, 3]],
        ["ArrowDown", [2, 2, 3]],
        ["Home", [1, 2, 1]],
        ["PageDown", [2, 2, 1]],
      ];
      for (const [key, cell] of moves) {
        await tab.keyboard.press(key);
        const focused = await tab.evaluate(() => document.activeElement?.getAttribute("data-cell"));
        assert.equal(focused, cell.map((index) => index - 1).join(), key);
      }
      await assertShows(tab, { ...START, norm: "instance", cell: [2, 2, 1] });
      assert.equal((await tab.$$('[data-cell][tabindex="0"]')).length, 1);
      await tab.keyboard.press("Tab");
      assert.equal(await tab.evaluate(() => document.activeElement?.closest("#block")), null);
      await tab.close();
    });

    test("shows the value under the mouse, and then the chosen one again", async () => {
      const { tab } = await openAt("?lang=en#norm=batch");
      await tab.hover('[data-cell="2,3,2"]');
      await assertShows(tab, { ...START, norm: "batch", cell: [3, 4, 3] });
      await tab.hover("#block-title");
      await assertShows(tab, { ...START, norm: "batch" });
      await tab.close();
    });

    test("keeps what is chosen in the address, beside the settings", async () => {
      const { tab } = await openAt();
      await press(tab, "[name=norm][value=group]");
      await press(tab, "[name=items][value='2']");
      await press(tab, "[name=groups][value='4']");
      await press(tab, '[data-cell="0,3,2"]');
      await fill(tab, "bias", "2");
      await press(tab, "#other-numbers");
      await waitForHash(tab, "#bias=2&norm=group&items=2&groups=4&seed=5&cell=1,4,3");
      const before = await look(tab);
      await tab.reload();
      await tab.waitForSelector(":root[data-ready]");
      /** @type {Case} */
      const chosen = { ...START, norm: "group", items: 2, groups: 4, cell: [1, 4, 3] };
      await assertShows(tab, chosen);
      assert.deepEqual(await look(tab), before);
      await press(tab, '[data-example="documents"]');
      await waitForHash(tab, "#norm=group&items=2&groups=4&seed=5&cell=1,4,3");
      await changeLanguage(tab, "ru");
      await assertShows(tab, chosen);
      await tab.close();

      const other = { ...START, norm: "rms", items: 2, groups: 1, perPosition: true };
      const linked = await openAt(`?lang=ru${hashOf(other)}`);
      await assertShows(linked.tab, other);
      await linked.tab.close();

      const unreadable = await openAt("?lang=en#norm=none&items=4&seed=x&cell=9,9,9&c=2&groups=1");
      assert.match(
        await textOf(unreadable.tab, "#notice"),
        /cannot be read: norm, items, seed, cell, c\./,
      );
      await assertShows(unreadable.tab, { ...START, groups: 1 });
      await unreadable.tab.close();
    });

    test("computes conditional LayerNorm as the condition moves", async () => {
      const { tab, messages } = await openAt();
      const assertConditional = async (/** @type {number} */ c, x = [3, 5, 2, 8]) => {
        const scale = x.map((_, i) => [1, -1, 0, 1][i % 4] * c);
        const shift = x.map((_, i) => [0, 0, 2, -1][i % 4] * c);
        const norm = new Normalizer(momentsOf(Float64Array.from(x)), { eps: EPS, centered: true });
        const y = x.map((each, i) => toNumber(norm.normalized(each)) * (1 + scale[i]) + shift[i]);
        const [shown] = await textsAt(tab, "#conditional-working :is(li, [data-result])");
        const expected = [scale, shift, ...y.map((each) => [each]), y];
        assert.equal(shown.length, expected.length);
        for (const [i, right] of expected.entries()) {
          assertNumbers(numbersOf(shown[i]), right, `line ${i} at ${c}`);
        }
      };
      await assertConditional(0.5);
      await tab.focus("#condition");
      await tab.keyboard.press("ArrowRight");
      await assertConditional(0.6);
      await waitForHash(tab, "#c=0.6");
      await tab.keyboard.press("Home");
      await assertConditional(-1);
      assert.equal(await tab.$eval("#condition", (slider) => slider.ariaValueText), "−1");
      await fill(tab, "x1", "1 -2 3.5 4 10");
      await assertConditional(-1, [1, -2, 3.5, 4, 10]);
      await tab.close();

      const plain = await openAt("?lang=ru#c=0");
      assert.match(await textOf(plain.tab, "#condition-note"), /с.этого начинают/);
      const [[conditional], [normalized]] = await textsAt(
        plain.tab,
        '#conditional-working [data-result="output"]',
        '[data-working="normalize"] .v1 [data-result="normalized"]',
      );
      assert.deepEqual(numbersOf(conditional), numbersOf(normalized));
      await plain.tab.close();
      assert.deepEqual(messages, []);
    });
  });
}
