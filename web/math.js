// Fills the typeset pieces with numbers. What goes in is made of numbers alone, never of a visitor's text.

import pieces from "layernorm:pieces";
import { areExact, toMinus } from "./numbers.js";

/** @typedef {import("./numbers.js").Shown} Shown */
/** @typedef {keyof typeof import("./formulas.js").PIECES} Piece */

/**
 * @param {Piece} name
 * @param {Record<string, string>} [slots] MathML
 * @returns {string} MathML to go inside `math()`
 */
export function piece(name, slots = {}) {
  return pieces[name].map((part, index) => (index % 2 === 0 ? part : (slots[part] ?? ""))).join("");
}

/**
 * A piece that says what something is equal to, in numbers: "≈" where one of them is rounded.
 *
 * @param {Piece} name has one "="
 * @param {readonly Shown[]} numbers that follow
 * @param {Record<string, string>} [slots] MathML
 */
export function equation(name, numbers, slots) {
  return piece(name, slots).replace(">=<", `>${signOf(numbers)}<`);
}

/** @param {readonly Shown[]} numbers of an equation, on both sides */
export function signOf(numbers) {
  return areExact(numbers) ? "=" : "≈";
}

/**
 * @param {string[]} parts MathML
 * @returns {string} one formula, which a line of text never breaks
 */
export function math(...parts) {
  return `<math displaystyle="true"><mrow>${parts.join("")}</mrow></math>`;
}

/**
 * A formula about one feature, which lights up with what else is about it.
 *
 * @param {number} i
 * @param {string[]} parts MathML
 */
function featureMath(i, ...parts) {
  return math(...parts).replace("<math", `<math data-feature="${i}"`);
}

/** @param {Shown} shown */
export function number({ negative, mantissa, exponent }) {
  const sign = negative ? '<mo form="prefix">−</mo>' : "";
  if (exponent === undefined) return `<mrow>${sign}<mn>${mantissa}</mn></mrow>`;
  const ten = `<msup><mn>10</mn><mn>${toMinus(exponent)}</mn></msup>`;
  if (mantissa === "1") return `<mrow>${sign}${ten}</mrow>`;
  return `<mrow>${sign}<mn>${mantissa}</mn><mo form="infix">⋅</mo>${ten}</mrow>`;
}

/**
 * A number after an operator, where a sign needs parentheses.
 *
 * @param {Shown} shown
 */
export function operand(shown) {
  return shown.negative ? parenthesized(shown) : number(shown);
}

/**
 * A number under a power, where a sign or a second factor needs parentheses.
 *
 * @param {Shown} shown
 */
export function base(shown) {
  return shown.negative || shown.exponent !== undefined ? parenthesized(shown) : number(shown);
}

/** @param {Shown} shown */
function parenthesized(shown) {
  return `<mrow>${bracket("(", "prefix")}${number(shown)}${bracket(")", "postfix")}</mrow>`;
}

/**
 * @param {string} sign
 * @param {"prefix" | "postfix"} form of a bracket
 */
function bracket(sign, form) {
  return `<mo form="${form}" stretchy="false">${sign}</mo>`;
}

/**
 * An operator that starts a formula: the text's own space stands before it.
 *
 * @param {string} sign
 */
export function leading(sign) {
  return `<mo form="infix" lspace="0" rspace="0.25em">${sign}</mo>`;
}

/**
 * "=" or, where decimals were dropped on either side, "≈", and what it is equal to.
 *
 * @param {Shown} shown
 * @param {object} [options]
 * @param {readonly Shown[]} [options.from] the numbers that stand before
 * @param {string} [options.side] MathML of what it is equal to; the number itself if there is none
 * @returns {string} HTML: a formula of its own, so that a line may break before it
 */
export function equals(shown, { from = [], side = number(shown) } = {}) {
  return math(leading(signOf([shown, ...from])), side);
}

/**
 * A vector as formulas that a line may break between: its first number stays with what stands before it.
 *
 * @param {string} lead MathML
 * @param {readonly Shown[]} values
 * @param {import("./numbers.js").Language} language
 * @returns {string} HTML
 */
export function vector(lead, values, language) {
  const separator = `<mo form="postfix" lspace="0" rspace="0">${language === "ru" ? ";" : ","}</mo>`;
  const last = values.length - 1;
  return values
    .map((value, index) =>
      featureMath(
        index,
        index === 0 ? lead + bracket("[", "prefix") : "",
        number(value),
        index === last ? bracket("]", "postfix") : separator,
      ),
    )
    .join(" ");
}

/**
 * Terms that are added up, as formulas that a line may break between.
 *
 * @param {string} lead MathML that ends with the opening bracket
 * @param {readonly string[]} terms MathML
 * @param {string} close the closing bracket
 * @returns {string} HTML
 */
export function sum(lead, terms, close) {
  const last = terms.length - 1;
  const formulas = terms.map((term, index) =>
    featureMath(
      index,
      index === 0 ? "" : leading("+"),
      term,
      index === last ? bracket(close, "postfix") : "",
    ),
  );
  return `${math(lead)}<wbr>${formulas.join(" ")}`;
}
