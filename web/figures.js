// Measured numbers: few digits, and a power of ten where there would be many zeros.

import { currentLanguage } from "./i18n.js";
import { show, showTyped, toText } from "./numbers.js";

/** From here on, and below its counterpart, a power of ten is easier to read. */
const LARGE = 1e5;
const SMALL = 1e-3;

/**
 * @param {number} value
 * @param {number} [digits] that count
 * @returns {import("./numbers.js").Shown} in the page's language
 */
export function shownFigure(value, digits = 3) {
  const language = currentLanguage();
  if (!Number.isFinite(value)) return show(value, language);
  const magnitude = Math.abs(value);
  const rounded = Number(value.toPrecision(digits));
  const isPlain = magnitude < LARGE && (magnitude >= SMALL || magnitude === 0);
  // With all its digits: they are as many as were asked for.
  if (isPlain) return showTyped(rounded, language);
  const [mantissa, exponent] = rounded.toExponential().split("e");
  return { ...showTyped(Number(mantissa), language), exponent: Number(exponent) };
}

/**
 * @param {number} value
 * @param {number} [digits]
 */
export function figure(value, digits) {
  return toText(shownFigure(value, digits));
}
