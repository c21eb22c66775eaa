// Numbers as text in the page's two languages, and back.

/** @typedef {"en" | "ru"} Language */
/** @typedef {{ key: string, token?: string }} Complaint a string's key, and what it is about */

/** How many decimals a rounded number has, as in the documents. */
const DECIMALS = 4;
/** How many it may have if these are all. */
const DECIMALS_IF_EXACT = 6;
export const MAX_NUMBERS = 12;
/** The square still fits a float64. */
const MAX_MAGNITUDE = 1e150;

/** In Russian the comma is the decimal mark, so lists want another separator. */
const SEPARATOR = { en: ", ", ru: "; " };

/**
 * @typedef {object} Shown a number as shown: -1.25 times 10 to the -5th
 * @property {boolean} negative
 * @property {string} mantissa
 * @property {number} [exponent]
 * @property {boolean} exact whether nothing was rounded away
 */

/**
 * One number: all its decimals if they are few, else four; a power of ten where that would hide it.
 *
 * @param {number} value
 * @param {Language} language
 * @returns {Shown}
 */
export function show(value, language) {
  const notation = notationOf(Math.abs(value));
  const whole = showAs(value, language, notation, DECIMALS_IF_EXACT);
  if (whole.exact) return trimmed(whole);
  const leadingZeros = value === 0 ? 0 : Math.max(-Math.floor(Math.log10(Math.abs(value))) - 1, 0);
  return showAs(value, language, notation, DECIMALS + (notation === "plain" ? leadingZeros : 0));
}

/**
 * The numbers of a vector, all in one notation and, unless that drops nothing, with the same decimals.
 *
 * @param {readonly number[]} values
 * @param {Language} language
 * @returns {Shown[]}
 */
export function showVector(values, language) {
  const notation = notationOf(Math.max(...values.map(Math.abs)));
  const shown = values.map((value) => showAs(value, language, notation, DECIMALS));
  return areExact(shown) ? shown.map(trimmed) : shown;
}

/**
 * A number that somebody typed, with its own digits: as many as fit a formula.
 *
 * @param {number} value
 * @param {Language} language
 * @returns {Shown}
 */
export function showTyped(value, language) {
  const magnitude = Math.abs(value);
  const digits = typedText(magnitude).includes("e") ? 6 : 12;
  const written = Number(magnitude.toPrecision(digits));
  const [mantissa = "", exponent] = typedText(written).split("e");
  return {
    negative: value < 0,
    mantissa: localize(mantissa, language),
    ...(exponent === undefined ? {} : { exponent: Number(exponent) }),
    exact: written === magnitude,
  };
}

/**
 * JavaScript writes 0.00001 where people write 1e-5.
 *
 * @param {number} value
 */
function typedText(value) {
  return notationOf(Math.abs(value)) === "power"
    ? value.toExponential().replace("+", "")
    : String(value);
}

/** @param {number} magnitude */
function notationOf(magnitude) {
  const isPlain = magnitude === 0 || (magnitude >= 0.001 && magnitude < 1e10);
  return isPlain || !Number.isFinite(magnitude) ? "plain" : "power";
}

/**
 * @param {number} value
 * @param {Language} language
 * @param {"plain" | "power"} notation
 * @param {number} decimals
 * @returns {Shown}
 */
function showAs(value, language, notation, decimals) {
  if (!Number.isFinite(value)) return { negative: value < 0, mantissa: "∞", exact: true };
  const usesPower = notation === "power" && value !== 0;
  const text = usesPower ? value.toExponential(decimals) : value.toFixed(decimals);
  const [mantissa = "", exponent] = text.replace(/^-/, "").split("e");
  const written = Number(text);
  return {
    negative: written < 0,
    mantissa: localize(mantissa, language),
    ...(usesPower ? { exponent: Number(exponent) } : {}),
    // A few units in the last place of a float64 are the arithmetic's, not the display's.
    exact: Math.abs(written - value) <= 1e-14 * Math.abs(value),
  };
}

/**
 * Whether nothing was rounded away in any of them.
 *
 * @param {readonly Shown[]} shown
 */
export function areExact(shown) {
  return shown.every(({ exact }) => exact);
}

/**
 * Without the zeros at the end. Those of a rounded number stay: they say how exact it is.
 *
 * @param {Shown} shown
 * @returns {Shown}
 */
function trimmed(shown) {
  const { mantissa } = shown;
  return { ...shown, mantissa: mantissa.replace(/([.,]\d*?)0+$/, "$1").replace(/[.,]$/, "") };
}

/**
 * @param {string} text
 * @param {Language} language
 */
function localize(text, language) {
  return language === "ru" ? text.replace(".", ",") : text;
}

/** @param {Shown} shown */
export function toText({ negative, mantissa, exponent }) {
  const sign = negative ? "−" : "";
  return exponent === undefined ? sign + mantissa : `${sign}${mantissa}e${toMinus(exponent)}`;
}

/** @param {number} integer */
export function toMinus(integer) {
  return String(integer).replace("-", "−");
}

/**
 * @param {readonly number[]} values
 * @param {Language} language
 */
export function vectorText(values, language) {
  return `[${showVector(values, language).map(toText).join(SEPARATOR[language])}]`;
}

/**
 * A vector as it was typed.
 *
 * @param {readonly number[]} values
 * @param {Language} language
 */
export function typedVectorText(values, language) {
  return `[${values.map((value) => toText(showTyped(value, language))).join(SEPARATOR[language])}]`;
}

/**
 * What a field shows for numbers that are set.
 *
 * @param {readonly number[]} values
 * @param {Language} language
 */
export function fieldText(values, language) {
  return values.map((value) => localize(typedText(value), language)).join(SEPARATOR[language]);
}

/**
 * @param {string} text
 * @param {Language} language
 * @returns {number[] | Complaint}
 */
export function parseList(text, language) {
  const tokens = text
    .trim()
    .replace(/^\[|\]$/g, "")
    .split(language === "ru" ? /[\s;]+|,\s+/ : /[\s;,]+/)
    .map((token) => (language === "ru" ? token.replace(/,$/, "") : token))
    .filter((token) => token !== "");
  if (tokens.length === 0) return { key: "errorEmpty" };
  if (tokens.length > MAX_NUMBERS) return { key: "errorTooMany" };
  const values = [];
  for (const token of tokens) {
    const value = parseNumber(token);
    if (typeof value !== "number") return value;
    values.push(value);
  }
  return values;
}

/**
 * @param {string} text
 * @param {Language} language
 * @returns {number | Complaint}
 */
export function parseEps(text, language) {
  const values = parseList(text, language);
  if (!Array.isArray(values)) return values;
  const [value = 0] = values;
  if (values.length > 1) return { key: "errorOneNumber" };
  return value < 0 ? { key: "errorNegativeEps" } : value;
}

/**
 * @param {string} token
 * @returns {number | Complaint}
 */
function parseNumber(token) {
  const plain = token.replace("−", "-").replace(",", ".");
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain)) {
    return { key: token.split(",").length > 2 ? "errorSeparator" : "errorNotNumber", token };
  }
  const value = Number(plain);
  if (Math.abs(value) > MAX_MAGNITUDE) return { key: "errorTooLarge", token };
  return value === 0 ? 0 : value;
}
