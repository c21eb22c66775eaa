// The worked example as HTML: in each step one row for each vector, with its numbers in the formulas.

import { EXAMPLE, MISPRINTS } from "./documents.js";
import { currentLanguage, t } from "./i18n.js";
import {
  base,
  equals,
  equation,
  leading,
  math,
  number,
  operand,
  piece,
  sum,
  vector,
} from "./math.js";
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
 * @param {readonly Shown[]} from the numbers that were added up
 */
export function quotient(meanValue, count, from) {
  const dividend = total(meanValue, count);
  const side = piece("fraction", { sum: number(dividend), n: index(count) });
  return `${equals(dividend, { from, side })} ${equals(shown(meanValue), { from: [dividend, ...from] })}`;
}

/**
 * @param {Work} work
 * @param {number} k
 */
function mean({ x, mean }, k) {
  const values = x.map(typed);
  const lead = equation("meanLead", values, { k: index(k + 1), n: index(x.length) });
  const terms = values.map((value, i) => (i === 0 ? number(value) : operand(value)));
  return line(`${sum(lead, terms, ")")} ${quotient(mean, x.length, values)}`, "mean");
}

/**
 * @param {Work} work
 * @param {number} k
 */
function variance({ x, mean, variance }, k) {
  const values = x.map(typed);
  const from = [...values, shown(mean)];
  const lead = equation("varianceLead", from, { k: index(k + 1), n: index(x.length) });
  const terms = values.map((value) =>
    piece("squaredDeviation", { x: number(value), mean: operand(shown(mean)) }),
  );
  return line(`${sum(lead, terms, "]")} ${quotient(variance, x.length, from)}`, "variance");
}

/**
 * @param {Work} work
 * @param {number} k
 * @param {Settings} settings
 */
function normalize({ x, mean, variance, normalized, rstd }, k, { eps }) {
  const results = showVector(normalized, currentLanguage());
  const entries = x.map((value, i) => {
    const from = [typed(value), shown(mean), shown(variance), typed(eps)];
    const slots = {
      x: number(from[0]),
      mean: operand(from[1]),
      variance: number(from[2]),
      eps: number(from[3]),
    };
    return entry(piece("normalized", slots), results[i], from);
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
      const [factor, summand] = [weight, bias].map((each) => typed(feature(each, i)));
      const slots = { weight: number(factor), normalized: base(value) };
      // A formula of its own, so that a line of long numbers may break before it.
      const plus = math(leading("+"), operand(summand));
      const from = [factor, value, summand];
      return `${math(piece("weighted", slots))} ${plus} ${equals(to[i], { from })}`;
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
  const values = x.map(typed);
  const terms = values.map((value) => piece("square", { x: base(value) }));
  const under = [shown(meanSquare), typed(eps)];
  const root = equation("rms", under, {
    k: index(k + 1),
    meanSquare: number(under[0]),
    eps: number(under[1]),
  });
  const results = showVector(normalized, language);
  const entries = x.map((value, i) => {
    const from = [typed(value), shown(rms)];
    const slots = { x: number(from[0]), rms: number(from[1]) };
    return entry(piece("rmsNormalized", slots), results[i], from);
  });
  return [
    line(`${sum(lead, terms, ")")} ${quotient(meanSquare, x.length, values)}`, "mean-square"),
    line(`${math(root)} ${equals(shown(rms), { from: under })}`, "rms"),
    list(entries, "narrow"),
    result("normalizedVector", k, results, "normalized"),
    result("scaledVector", k, showVector(scaled, language), "scaled"),
  ].join("");
}

/**
 * @param {string} formula MathML
 * @param {Shown | undefined} value
 * @param {readonly Shown[]} from the numbers in the formula
 */
export function entry(formula, value, from) {
  return value === undefined ? "" : `${math(formula)} ${equals(value, { from })}`;
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
  const lead = equation(name, values, { k: index(k + 1) });
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
