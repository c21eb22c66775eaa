// The worked example as HTML: in each step one row for each vector, with its numbers in the formulas.

import { EXAMPLE, MISPRINTS } from "./documents.js";
import { currentLanguage, t } from "./i18n.js";
import { base, equals, leading, math, number, operand, piece, sum, vector } from "./math.js";
import { show, showTyped, showVector, toText, typedVectorText } from "./numbers.js";
import { work } from "./worked_example.js";

/** @typedef {ReturnType<typeof work>} Work */
/** @typedef {import("./documents.js").Settings} Settings */
/** @typedef {import("./numbers.js").Shown} Shown */

/** The steps, by the name that index.html gives in `data-working`. */
const STEPS = { mean, variance, normalize, scale, rms };

/**
 * @param {keyof typeof STEPS} name
 * @param {Work[]} works one for each vector
 * @param {Settings} settings
 */
export function renderStep(name, works, settings) {
  const rows = works.map((working, k) => row(k, STEPS[name](working, k, settings)));
  const target = document.querySelector(`[data-working="${name}"]`);
  if (target !== null) target.innerHTML = rows.join("");
}

/**
 * @param {number} k
 * @param {string} content
 */
function row(k, content) {
  return `<div class="row v${k + 1}" role="group" aria-label="${t("vectorLabel")} ${k + 1}">${content}</div>`;
}

/**
 * @param {string} html
 * @param {string} [result] names what stands at the end, for tests and for style sheets
 */
export function line(html, result) {
  return `<p class="line"${result === undefined ? "" : ` data-result="${result}"`}>${html}</p>`;
}

/** @param {number} value */
const typed = (value) => showTyped(value, currentLanguage());

/** @param {number} value */
const shown = (value) => show(value, currentLanguage());

/** @param {number} value */
const index = (value) => `<mn>${value}</mn>`;

/**
 * What a mean was divided from. The package returns means: this is one times the count, rid of the last bits.
 *
 * @param {number} meanValue
 * @param {number} count
 */
function total(meanValue, count) {
  return shown(Number((meanValue * count).toPrecision(14)));
}

/**
 * The sum over its count, and what it comes to: "= 18/4 = 4.5".
 *
 * @param {number} meanValue
 * @param {number} count
 */
export function quotient(meanValue, count) {
  const dividend = total(meanValue, count);
  const fraction = piece("fraction", { sum: number(dividend), n: index(count) });
  return `${equals(dividend, fraction)} ${equals(shown(meanValue))}`;
}

/**
 * @param {Work} work
 * @param {number} k
 */
function mean({ x, mean }, k) {
  const lead = piece("meanLead", { k: index(k + 1), n: index(x.length) });
  const terms = x.map((value, i) => (i === 0 ? number(typed(value)) : operand(typed(value))));
  return line(`${sum(lead, terms, ")")} ${quotient(mean, x.length)}`, "mean");
}

/**
 * @param {Work} work
 * @param {number} k
 */
function variance({ x, mean, variance }, k) {
  const lead = piece("varianceLead", { k: index(k + 1), n: index(x.length) });
  const terms = x.map((value) =>
    piece("squaredDeviation", { x: number(typed(value)), mean: operand(shown(mean)) }),
  );
  return line(`${sum(lead, terms, "]")} ${quotient(variance, x.length)}`, "variance");
}

/**
 * @param {Work} work
 * @param {number} k
 * @param {Settings} settings
 */
function normalize({ x, mean, variance, normalized, rstd }, k, { eps }) {
  const results = showVector(normalized, currentLanguage());
  const entries = x.map((value, i) => {
    const slots = {
      x: number(typed(value)),
      mean: operand(shown(mean)),
      variance: number(shown(variance)),
      eps: number(typed(eps)),
    };
    return entry(piece("normalized", slots), results[i]);
  });
  const note = Number.isFinite(rstd) ? "" : `<p class="note">${t("zeroVariance")}</p>`;
  return (
    list(entries) +
    result("normalizedVector", k, results, "normalized") +
    note +
    misprintedVariance(k)
  );
}

/**
 * @param {Work} work
 * @param {number} k
 * @param {Settings} settings
 */
function scale({ normalized, scaled }, k, settings) {
  return (
    affine(normalized, scaled, settings) +
    result("scaledVector", k, showVector(scaled, currentLanguage()), "scaled") +
    misprintedResult(k)
  );
}

/**
 * @param {readonly number[]} normalized
 * @param {readonly number[]} scaled
 * @param {Settings} settings
 */
function affine(normalized, scaled, { weight, bias }) {
  const from = showVector(normalized, currentLanguage());
  const to = showVector(scaled, currentLanguage());
  return list(
    from.map((value, i) => {
      const slots = { weight: number(typed(feature(weight, i))), normalized: base(value) };
      // A formula of its own, so that a line of long numbers may break before it.
      const plus = math(leading("+"), operand(typed(feature(bias, i))));
      return `${math(piece("weighted", slots))} ${plus} ${equals(to[i])}`;
    }),
  );
}

/**
 * @param {Work} work
 * @param {number} k
 * @param {Settings} settings
 */
function rms({ x, rmsNorm: { meanSquare, rms, normalized, scaled } }, k, { eps }) {
  const language = currentLanguage();
  const lead = piece("meanSquareLead", { n: index(x.length) });
  const terms = x.map((value) => piece("square", { x: base(typed(value)) }));
  const root = piece("rms", {
    k: index(k + 1),
    meanSquare: number(shown(meanSquare)),
    eps: number(typed(eps)),
  });
  const results = showVector(normalized, language);
  const entries = x.map((value, i) =>
    entry(piece("rmsNormalized", { x: number(typed(value)), rms: number(shown(rms)) }), results[i]),
  );
  return [
    line(`${sum(lead, terms, ")")} ${quotient(meanSquare, x.length)}`, "mean-square"),
    line(`${math(root)} ${equals(shown(rms))}`, "rms"),
    list(entries, "narrow"),
    result("normalizedVector", k, results, "normalized"),
    result("scaledVector", k, showVector(scaled, language), "scaled"),
  ].join("");
}

/**
 * @param {string} formula MathML
 * @param {Shown | undefined} value
 */
export function entry(formula, value) {
  return value === undefined ? "" : `${math(formula)} ${equals(value)}`;
}

/**
 * @param {string[]} entries
 * @param {string} [className] "narrow" for short ones
 */
export function list(entries, className = "") {
  const items = entries.map((html, i) => `<li data-feature="${i}">${html}</li>`);
  return `<ul class="entries ${className}">${items.join("")}</ul>`;
}

/**
 * @param {"normalizedVector" | "scaledVector"} name
 * @param {number} k
 * @param {Shown[]} values
 * @param {string} kind
 */
function result(name, k, values, kind) {
  const rounded = values.some(({ exact }) => !exact);
  const lead = piece(rounded ? `${name}About` : name, { k: index(k + 1) });
  return line(vector(lead, values, currentLanguage()), kind);
}

/**
 * @param {readonly number[]} parameter
 * @param {number} i
 */
function feature(parameter, i) {
  return parameter[parameter.length === 1 ? 0 : i] ?? Number.NaN;
}

/**
 * The English document's wrong roots. They are named whatever the visitor's numbers are, so the right
 * value is computed from the document's.
 *
 * @param {number} k
 */
function misprintedVariance(k) {
  const wrong = MISPRINTS.variance[k];
  if (wrong === undefined) return "";
  const { variance } = workOfDocument(k);
  return misprint("misprintVariance", k, struck(toText(shown(wrong))), toText(shown(variance)));
}

/** @param {number} k */
function misprintedResult(k) {
  const wrong = MISPRINTS.scaled[k];
  if (wrong === undefined) return "";
  const language = currentLanguage();
  const right = showVector(workOfDocument(k).scaled, language);
  const and = ` ${t("and")} `;
  const said = wrong.map(({ text }) => (language === "ru" ? text.replace(".", ",") : text));
  return misprint(
    "misprintScaled",
    k,
    said.map(struck).join(and),
    wrong.map(({ feature: i }) => toText(/** @type {Shown} */ (right[i]))).join(and),
  );
}

/** @param {number} k */
function workOfDocument(k) {
  return work(EXAMPLE.vectors[k] ?? [], EXAMPLE);
}

/**
 * A number crossed out, but for its sign: the line would hide a minus.
 *
 * @param {string} number
 */
function struck(number) {
  const digits = number.replace(/^[-−]/, "");
  return `<span class="number">${digits === number ? "" : "−"}<s>${digits}</s></span>`;
}

/**
 * @param {string} key
 * @param {number} k
 * @param {string} wrong HTML
 * @param {string} right
 */
function misprint(key, k, wrong, right) {
  const values = {
    vector: `<span class="number">${typedVectorText(EXAMPLE.vectors[k] ?? [], currentLanguage())}</span>`,
    wrong,
    right: `<span class="number">${right}</span>`,
  };
  return `<p class="misprint"><b class="tag">${t("misprintTag")}</b> ${t(key, values)}</p>`;
}
