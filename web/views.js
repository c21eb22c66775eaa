// What stands beside the steps: pictures, tables, the summary, the code.

import { currentLanguage, t } from "./i18n.js";
import { signOf } from "./math.js";
import {
  fieldText,
  show,
  showTyped,
  showVector,
  toMinus,
  toText,
  typedVectorText,
  vectorText,
} from "./numbers.js";
import { around, axes, epsCurves, ranges } from "./plot.js";
import { epsAtStep, SLIDER_STEPS, stepOfEps } from "./settings.js";
import { moments, spreadAfter } from "./worked_example.js";

/** @typedef {import("./steps.js").Work} Work */
/** @typedef {import("./documents.js").Settings} Settings */
/** @typedef {import("./plot.js").Range} Range */

const PICTURE_GAP = 24;
/** Below this a picture's axis has no room for its ticks. */
const PICTURE_WIDTH = 220;

/** @param {Work[]} works */
export function renderSummary(works) {
  const results = works.map(({ scaled }, k) => {
    const sign = signOf(showVector(scaled, currentLanguage()));
    return `<span class="v${k + 1}">${name("y", k)} ${sign} <span class="number">${vectorHtml(scaled)}</span></span>`;
  });
  element("summary").innerHTML = [`<span>${t("resultLabel")}</span>`, ...results].join(" ");
}

/** @param {Work[]} works */
export function renderComparison(works) {
  body("compare").innerHTML = works.map(comparison).join("");
}

/** @param {Settings} settings */
export function renderSnippet(settings) {
  element("snippet").textContent = snippet(settings);
}

/**
 * Each vector before and after.
 *
 * @param {Work[]} works
 */
export function renderPicture(works) {
  const language = currentLanguage();
  const all = (/** @type {(work: Work) => readonly number[]} */ pick) => works.flatMap(pick);
  const withBand = (/** @type {readonly number[]} */ values) => [...values, ...band(values)];
  const { before, after } = ranges(
    all(({ x }) => withBand(x)),
    all(({ normalized, scaled }) => [...withBand(normalized), ...withBand(scaled)]),
  );
  const width = pictureWidth(works.length);
  element("picture-plots").innerHTML = works
    .map((working, k) => {
      const { x, mean, normalized, scaled } = working;
      return figure(
        k,
        axes({
          width,
          className: `v${k + 1}`,
          label: t("plotLabel", {
            k: String(k + 1),
            x: typedVectorText(x, language),
            mean: toText(show(mean, language)),
            deviation: toText(show(moments(x).deviation, language)),
            normalized: vectorText(normalized, language),
            scaled: vectorText(scaled, language),
          }),
          rows: [
            { label: t("rowBefore"), values: x, range: before, band: band(x) },
            { label: t("rowNormalized"), values: normalized, range: after, band: band(normalized) },
            { label: t("rowScaled"), values: scaled, range: after, band: band(scaled) },
          ],
        }),
      );
    })
    .join("");
}

/**
 * LayerNorm's result and RMSNorm's.
 *
 * @param {Work[]} works
 */
export function renderRmsPictures(works) {
  const language = currentLanguage();
  const width = pictureWidth(works.length);
  const range = around(
    works.flatMap(({ normalized, rmsNorm }) => [...normalized, ...rmsNorm.normalized, 0]),
  );
  element("rms-plots").innerHTML = works
    .map(({ normalized, rmsNorm }, k) =>
      figure(
        k,
        axes({
          width,
          className: `v${k + 1}`,
          label: t("plotRmsLabel", {
            k: String(k + 1),
            layer: vectorText(normalized, language),
            rms: vectorText(rmsNorm.normalized, language),
          }),
          rows: [
            { label: "LayerNorm", values: normalized, range },
            { label: "RMSNorm", values: rmsNorm.normalized, range },
          ],
        }),
      ),
    )
    .join("");
}

/** The width for pictures. Asking the page at each change would lay it out once more each time. */
let available = 0;

/**
 * @param {() => void} onChange called when the pictures want to be drawn again
 */
export function watchWidth(onChange) {
  const target = /** @type {HTMLElement} */ (document.querySelector("article"));
  available = target.clientWidth;
  new ResizeObserver(() => {
    const width = target.clientWidth;
    // A window may have no width for a moment, as while its picture is taken.
    if (width === 0 || width === available) return;
    available = width;
    onChange();
  }).observe(target);
}

/**
 * @param {number} count of pictures, side by side where there is room
 * @param {number} [room] the article's, unless they stand elsewhere
 */
export function pictureWidth(count, room = available) {
  const beside = Math.floor((room - PICTURE_GAP * (count - 1)) / count);
  return beside >= PICTURE_WIDTH ? beside : Math.floor(room);
}

/**
 * @param {number} k
 * @param {string} svg
 */
function figure(k, svg) {
  return `<figure><figcaption class="v${k + 1}" aria-hidden="true">${name("x", k)}</figcaption>${svg}</figure>`;
}

/**
 * @param {readonly number[]} values
 * @returns {Range}
 */
function band(values) {
  const { mean, deviation } = moments(values);
  return [mean - deviation, mean + deviation];
}

/** Every other step of the slider is smooth enough; both ends are among them. */
const CURVE_STEPS = Array.from({ length: (SLIDER_STEPS + 1) / 2 + 1 }, (_, i) =>
  Math.max(2 * i - 1, 0),
);
/** A curve depends on its vector alone: typing in one field leaves the others' as they are. */
const curves = new Map();

/**
 * @param {readonly number[]} x
 * @returns {number[]}
 */
function curve(x) {
  const key = x.join();
  if (!curves.has(key)) {
    if (curves.size > 100) curves.clear();
    curves.set(
      key,
      CURVE_STEPS.map((step) => spreadAfter(x, epsAtStep(step))),
    );
  }
  return curves.get(key);
}

/**
 * What eps leaves of each vector's spread, as curves and as numbers.
 *
 * @param {Work[]} works
 * @param {Settings} settings
 */
export function renderEps(works, { vectors, eps }) {
  const marks = vectors.map((x) => spreadAfter(x, eps));
  const language = currentLanguage();
  element("eps-plot").innerHTML = epsCurves({
    curves: vectors.map(curve),
    steps: CURVE_STEPS,
    current: stepOfEps(eps),
    marks,
    width: available,
    name: t("epsPlotAxis"),
    label: t("epsPlotLabel", {
      eps: toText(showTyped(eps, language)),
      spreads: marks
        .map((mark, k) => `x${k + 1}: ${toText(show(mark, language))}`)
        .join(language === "ru" ? "; " : ", "),
    }),
  });
  body("spread").innerHTML = works
    .map(
      ({ x, rstd }, k) => `<tr class="v${k + 1}"><th scope="row">${name("x", k)}</th>
        <td>${numberHtml(show(rstd, language))}</td><td data-result="spread">${spreadHtml(x, eps)}</td></tr>`,
    )
    .join("");
}

/**
 * What eps leaves of a spread of 1 is often 0.999999: as many decimals as it takes to see it.
 *
 * @param {readonly number[]} x
 * @param {number} eps
 */
function spreadHtml(x, eps) {
  const spread = spreadAfter(x, eps);
  const missing = 1 - spread;
  const decimals = missing > 1e-14 ? Math.min(Math.ceil(-Math.log10(missing)) + 1, 14) : 4;
  const digits = spread.toFixed(Math.max(decimals, 4)).replace(/\.?0+$/, "");
  return currentLanguage() === "ru" ? digits.replace(".", ",") : digits;
}

/**
 * @param {Work} work
 * @param {number} k
 */
function comparison({ mean, rstd, normalized, scaled, rmsNorm }, k) {
  const language = currentLanguage();
  const cell = (/** @type {string} */ label, /** @type {string} */ html, result = "") =>
    `<td data-label="${t(label)}" data-result="${result}">${html}</td>`;
  const cells = (/** @type {Pick<Work, "normalized" | "scaled">} */ both) =>
    cell(
      "compareNormalized",
      `<span class="number">${vectorHtml(both.normalized)}</span>`,
      "normalized",
    ) + cell("compareScaled", `<span class="number">${vectorHtml(both.scaled)}</span>`, "scaled");
  const number = (/** @type {number} */ value) => numberHtml(show(value, language));
  return `<tr class="v${k + 1}"><th scope="rowgroup" rowspan="2">${name("x", k)}</th><th scope="row">LayerNorm</th>
      ${cell("compareCentre", number(mean), "mean")}${cell("compareDivisor", number(1 / rstd), "divisor")}${cells({ normalized, scaled })}</tr>
    <tr class="v${k + 1} second"><th scope="row">RMSNorm</th>
      ${cell("compareCentre", "—")}${cell("compareDivisor", number(rmsNorm.rms), "divisor")}${cells(rmsNorm)}</tr>`;
}

/**
 * @param {string} letter
 * @param {number} k
 */
export function name(letter, k) {
  return `<span class="name"><b>${letter}</b><sub>${k + 1}</sub></span>`;
}

/** @param {readonly number[]} values */
function vectorHtml(values) {
  const separator = currentLanguage() === "ru" ? "; " : ", ";
  return `[${showVector(values, currentLanguage()).map(numberHtml).join(separator)}]`;
}

/** @param {import("./numbers.js").Shown} shown */
export function numberHtml(shown) {
  const { negative, mantissa, exponent } = shown;
  if (exponent === undefined) return `<span class="number">${toText(shown)}</span>`;
  const factor = mantissa === "1" ? "" : `${mantissa}·`;
  return `<span class="number">${negative ? "−" : ""}${factor}10<sup>${toMinus(exponent)}</sup></span>`;
}

/** @param {Settings} settings */
function snippet({ vectors, weight, bias, eps }) {
  const list = (/** @type {readonly number[]} */ values) =>
    values.length === 1 ? fieldText(values, "en") : `[${fieldText(values, "en")}]`;
  const parameter = (/** @type {readonly number[]} */ values) =>
    values.length === 1 ? list(values) : `Float64Array.of(${fieldText(values, "en")})`;
  return `import { layerNorm, rmsNorm } from "layernorm";

const x = Float64Array.of(${fieldText(vectors[0] ?? [], "en")});
const weight = ${parameter(weight)};
const bias = ${parameter(bias)};
const eps = ${fieldText([eps], "en")};

const { output, mean, rstd } = layerNorm(x, { weight, bias, eps, returnStats: true });
const rms = rmsNorm(x, { weight, bias, eps });`;
}

/** @param {string} id */
function element(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** @param {string} id of a table */
function body(id) {
  return /** @type {HTMLTableSectionElement} */ (element(id).querySelector("tbody"));
}
