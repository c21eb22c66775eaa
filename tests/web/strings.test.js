// The page's two languages say the same things.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { test } from "node:test";
import {
  cellsOf,
  contains,
  countOf,
  digits,
  GROUPS,
  indexOf,
  NORMS,
  regionOf,
  SEEDS,
} from "../../web/block_shape.js";
import { exploringFromHash, exploringToHash, START } from "../../web/exploring.js";
import { fieldText, parseEps, parseList, show, showVector, toText } from "../../web/numbers.js";
import { epsAtStep, fromHash, SLIDER_STEPS, stepOfEps, toHash } from "../../web/settings.js";

const WEB = new URL("../../web/", import.meta.url);
const FILES = readdirSync(WEB, { recursive: true, encoding: "utf8" }).sort();

/** @typedef {Record<string, string>} Strings */

/** The strings of the page and of each section in a language, by folder. @param {"en" | "ru"} language */
async function readStrings(language) {
  const folders = FILES.filter((path) => basename(path) === `${language}.js`).map(dirname);
  const modules = await Promise.all(
    folders.map((folder) => import(new URL(`${folder}/${language}.js`, WEB).href)),
  );
  const found = folders.map((folder, i) => [folder, modules[i].default]);
  return /** @type {[folder: string, strings: Strings][]} */ (
    found.sort(([one], [other]) => (one < other ? -1 : 1))
  );
}

const [english, russian] = await Promise.all([readStrings("en"), readStrings("ru")]);
/** @type {Strings} */
const en = Object.assign({}, ...english.map(([, strings]) => strings));
/** @type {Strings} */
const ru = Object.assign({}, ...russian.map(([, strings]) => strings));

test("both languages have every string, with the same values to fill in", () => {
  assert.deepEqual(Object.keys(ru), Object.keys(en));
  const slots = (/** @type {string} */ text) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();
  for (const [key, text] of Object.entries(en)) {
    assert.deepEqual(slots(ru[key] ?? ""), slots(text), key);
    assert.notEqual(text.trim(), "", key);
    assert.notEqual(ru[key]?.trim(), "", key);
  }
});

test("the page and its sections have keys of their own, the same in both languages", () => {
  const keys = (/** @type {typeof english} */ parts) =>
    parts.map(([folder, strings]) => [folder, Object.keys(strings)]);
  assert.deepEqual(keys(russian), keys(english));
  const all = english.flatMap(([, strings]) => Object.keys(strings));
  assert.deepEqual(
    all.filter((key, i) => all.indexOf(key) !== i),
    [],
  );
});

test("every string is used, and every one used is there", () => {
  const sources = FILES.filter((path) => /\.(js|html)$/.test(path) && !/\b(en|ru)\.js$/.test(path))
    .map((name) => readFileSync(new URL(name, WEB), "utf8"))
    .join("\n");
  const errata = [...sources.matchAll(/data-erratum="(\w+)"/g)].map((match) => match[1]);
  const made = errata.flatMap((name) => ["Where", "Says", "Right"].map((part) => name + part));
  const isUsed = (/** @type {string} */ key) => made.includes(key) || sources.includes(`"${key}"`);
  const always = ["says", "right"];
  assert.deepEqual(
    Object.keys(en).filter((key) => !isUsed(key) && !always.includes(key)),
    [],
  );
  const used = [...sources.matchAll(/(?:\bt\(|data-t(?:-[a-z-]+)?=)"(\w+)"/g)];
  assert.deepEqual(
    used.map((match) => match[1] ?? "").filter((key) => en[key] === undefined),
    [],
  );
});

test("Russian strings are in Russian", () => {
  // The document itself heads that part so.
  const { rmsCostWhere, ...others } = ru;
  assert.equal(rmsCostWhere, "RMS Layer Normalization");
  for (const [key, text] of Object.entries(others)) assert.match(text, /[а-яё]/i, key);
});

test("numbers are written and read back in both languages", () => {
  const values = [3, -0.5, 1e-5, 40000.25, 1e21, -2.5e-12, 0];
  for (const language of /** @type {const} */ (["en", "ru"])) {
    assert.deepEqual(parseList(fieldText(values, language), language), values);
  }
  assert.equal(fieldText([1.5, 1e-5], "ru"), "1,5; 1e-5");
  assert.deepEqual(parseList("3, 5, 2, 8", "ru"), [3, 5, 2, 8]);
  assert.deepEqual(parseList("3,5 2", "ru"), [3.5, 2]);
  assert.deepEqual(parseList("[3,5,2]", "en"), [3, 5, 2]);
  assert.deepEqual(parseList("3,5,2", "ru"), { key: "errorSeparator", token: "3,5,2" });
  assert.deepEqual(parseList("0x10", "en"), { key: "errorNotNumber", token: "0x10" });
  assert.deepEqual(parseEps("-1", "en"), { key: "errorNegativeEps" });
});

test("shown numbers say whether they are rounded", () => {
  assert.deepEqual(show(4.5, "en"), { negative: false, mantissa: "4.5", exact: true });
  assert.deepEqual(show(-13 / 3, "ru"), { negative: true, mantissa: "4,3333", exact: false });
  assert.deepEqual(show(1.25e-5, "en"), {
    negative: false,
    mantissa: "1.25",
    exponent: -5,
    exact: true,
  });
  assert.deepEqual(show(Math.sqrt(6.6875), "en").mantissa, "2.5860");
  assert.equal(show(5.00025, "en").mantissa, "5.00025");
  assert.equal(show(0.0018751234, "en").mantissa, "0.001875");
  assert.deepEqual(showVector([0.5, -1], "ru").map(toText), ["0,5", "−1"]);
  assert.equal(show(1600120003.5, "en").mantissa, "1600120003.5");
  assert.deepEqual(showVector([-0.00001, 1], "en").map(toText), ["0.0000", "1.0000"]);
});

test("the address holds what differs from the example, whatever the page's language", () => {
  const { settings } = fromHash("#x2=1,2&bias=-1&unknown=1");
  assert.deepEqual(settings.vectors[1], [1, 2]);
  assert.equal(toHash(settings), "x2=1,2&bias=-1");
  assert.deepEqual(fromHash("#x2=1,2&weight=1,2").unreadable, ["weight"]);
});

test("the slider has 0 and every power of ten from 1e-12 to 10", () => {
  assert.equal(epsAtStep(0), 0);
  assert.equal(epsAtStep(SLIDER_STEPS), 10);
  for (let exponent = -12; exponent <= 1; exponent++) {
    const value = Number(`1e${exponent}`);
    assert.equal(epsAtStep(stepOfEps(value)), value);
  }
});

test("the address holds what is chosen in the block", () => {
  assert.equal(exploringToHash(START), "");
  const hash = "norm=batch&items=1&groups=4&perPosition=1&seed=99&cell=1,4,3&c=-0.3";
  const { exploring, unreadable } = exploringFromHash(`#x1=1&${hash}`);
  assert.deepEqual(unreadable, []);
  assert.deepEqual(exploring.cell, [0, 3, 2]);
  assert.equal(exploringToHash(exploring), hash);
  // An item that the batch has not.
  assert.deepEqual(exploringFromHash("items=1&cell=3,1,1").exploring.cell, [0, 0, 0]);
  const unfit = "norm=toString&items=0&groups=3&perPosition=2&seed=1.5&cell=1,2&c=";
  assert.equal(exploringFromHash(unfit).unreadable.length, 7);
  assert.deepEqual(exploringFromHash(unfit).exploring, START);
});

test("the block's numbers are digits, and no set of them that is averaged is constant", () => {
  const norms = /** @type {import("../../web/block_shape.js").Norm[]} */ (Object.keys(NORMS));
  const sets = norms.flatMap((norm) =>
    [1, 2, 3].flatMap((items) =>
      GROUPS.flatMap((groups) =>
        [false, true].flatMap((perPosition) =>
          cellsOf({ items: [0, items], channels: [0, 4], positions: [0, 3] }).map((cell) => {
            const region = regionOf(norm, { items, groups, perPosition }, cell);
            assert.ok(contains(region, cell));
            assert.equal(cellsOf(region).length, countOf(region));
            return cellsOf(region).map(indexOf);
          }),
        ),
      ),
    ),
  );
  for (let seed = 1; seed <= SEEDS; seed++) {
    const values = digits(seed);
    assert.ok(values.every((value) => Number.isInteger(value) && value >= 0 && value <= 9));
    const isConstant = sets.some((set) => set.every((at) => values[at] === values[set[0]]));
    assert.ok(!isConstant, `seed ${seed}`);
  }
});
