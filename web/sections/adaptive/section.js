// Adaptive LayerNorm: a condition for each item of the batch, or another item's style.

import { currentLanguage, t } from "../../i18n.js";
import { showTyped, showVector, toText, vectorText } from "../../numbers.js";
import { around, bars } from "../../plot.js";
import { name, numberHtml, pictureWidth } from "../../views.js";
import { byCondition, byStyle } from "./compute.js";
import html from "./section.html";

export { html };

/** @typedef {import("./compute.js").Item} Item */

const STEP = 0.1;
const START = [0.5, -0.5, 0];

/** @type {import("../../sections.js").SectionModule["mount"]} */
export function mount(body, page) {
  const find = (/** @type {string} */ selector) =>
    /** @type {HTMLElement} */ (body.querySelector(selector));
  const conditions = [...START];
  /** @type {"condition" | "style"} */
  let kind = "condition";
  let style = 2;

  find("#adaptive-items").innerHTML = START.map(
    (c, k) => `<div class="adaptive-item v${k + 1}" role="group">
      <div class="slider" data-kind="condition">
        <label for="adaptive-c${k + 1}"></label>
        <input id="adaptive-c${k + 1}" data-item="${k}" type="range" min="-1" max="1" step="${STEP}" value="${c}" autocomplete="off">
        <output for="adaptive-c${k + 1}"></output>
      </div>
      <figure></figure>
    </div>`,
  ).join("");
  body.addEventListener("input", ({ target }) => {
    if (!(target instanceof HTMLInputElement)) return;
    if (target.dataset.item !== undefined) {
      conditions[Number(target.dataset.item)] = target.valueAsNumber;
    } else if (target.name === "adaptive") {
      kind = target.value === "style" ? "style" : "condition";
    } else if (target.name === "style") style = Number(target.value);
    render();
  });
  const row = find("#adaptive-items");
  const widthNow = () => pictureWidth(START.length, row.clientWidth);
  let width = 0;
  new ResizeObserver(() => {
    if (widthNow() !== width) render();
  }).observe(row);

  function render() {
    const { vectors, eps } = page.settings;
    width = widthNow();
    const items =
      kind === "condition" ? byCondition(vectors, conditions, eps) : byStyle(vectors, style, eps);
    for (const part of /** @type {NodeListOf<HTMLElement>} */ (
      body.querySelectorAll("[data-kind]")
    )) {
      part.hidden = part.dataset.kind !== kind;
    }
    find("#adaptive-style").hidden = kind !== "style";
    for (const [k, item] of items.entries()) showItem(k, item);
    find("#adaptive-note").innerHTML = [
      t(kind === "condition" ? "adaptiveConditionNote" : "adaptiveStyleNote"),
      ...(isBatch(vectors) ? [] : [t("adaptiveNoBatch")]),
    ].join(" ");
    const table = /** @type {HTMLTableElement} */ (find("#adaptive-table"));
    table.tBodies[0].innerHTML = items.map(tableRow).join("");
    find("#adaptive-code").textContent = codeOf(vectors);
  }

  /** @param {number} k @param {Item} item */
  function showItem(k, { x, normalized, output }) {
    const root = /** @type {HTMLElement} */ (find("#adaptive-items").children[k]);
    const part = (/** @type {string} */ selector) =>
      /** @type {HTMLElement} */ (root.querySelector(selector));
    const language = currentLanguage();
    const c = toText(showTyped(Number(conditions[k].toFixed(1)), language));
    root.setAttribute("aria-label", t("adaptiveItemLabel", { k: String(k + 1) }));
    part("label").innerHTML = `${t("adaptiveCondition")} <i>c</i><sub>${k + 1}</sub>`;
    part("output").textContent = c;
    part("input").setAttribute("aria-valuetext", c);
    part("figure").innerHTML = bars({
      values: output,
      outlines: normalized,
      range: around([...normalized, ...output, 0]),
      width,
      name: `y${k + 1}`,
      label: t("adaptiveLabel", {
        k: String(k + 1),
        x: vectorText([...x], language),
        normalized: vectorText(normalized, language),
        output: vectorText(output, language),
      }),
    }).replace('class="v1"', `class="v${k + 1}"`);
  }

  return { render, update: render };
}

/** @param {readonly (readonly number[])[]} vectors */
function isBatch(vectors) {
  return vectors.every(({ length }) => length === vectors[0].length);
}

/** @param {Item} item @param {number} k */
function tableRow({ normalized, scale, shift, output }, k) {
  const cells = [
    ["adaptiveNormalized", normalized],
    ["adaptiveScale", scale],
    ["adaptiveShift", shift],
    ["adaptiveOutput", output],
  ].map(
    ([label, values]) =>
      `<td data-label="${t(String(label))}" data-result="${label}"><span class="number">${listHtml(/** @type {number[]} */ (values))}</span></td>`,
  );
  return `<tr class="v${k + 1}"><th scope="row">${name("x", k)}</th>${cells.join("")}</tr>`;
}

/** @param {readonly number[]} values */
function listHtml(values) {
  const language = currentLanguage();
  const separator = language === "ru" ? "; " : ", ";
  return `[${showVector(values, language).map(numberHtml).join(separator)}]`;
}

/** @param {readonly (readonly number[])[]} vectors */
function codeOf(vectors) {
  const features = vectors[0].length;
  const dims = isBatch(vectors) ? `[${vectors.length}, ${features}]` : `[1, ${features}]`;
  return [
    `const dims = ${dims};`,
    "const y = layerNorm({ data: x, dims }, {",
    "  scale: { data: scale, dims },",
    "  shift: { data: shift, dims },",
    "});",
  ].join("\n");
}
