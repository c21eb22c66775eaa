// The settings as they stand in the address, so that a link carries them. The address has its own
// notation (decimal point, comma between numbers) whatever the page's language.

import { EXAMPLE } from "./documents.js";
import { parseEps, parseList } from "./numbers.js";

/** @typedef {import("./documents.js").Settings} Settings */

/**
 * @param {Settings} settings
 * @returns {string} "" for the documents' example
 */
export function toHash(settings) {
  const entries = Object.entries(toEntries(settings));
  const usual = toEntries(EXAMPLE);
  const changed = entries.filter(([name, text]) => text !== usual[name]);
  return changed.map(([name, text]) => `${name}=${text}`).join("&");
}

/**
 * @param {string} hash with or without "#"
 * @returns {{ settings: Settings, unreadable: string[] }} the example's in place of what cannot be read
 */
export function fromHash(hash) {
  const entries = { ...toEntries(EXAMPLE) };
  const names = Object.keys(entries);
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (names.includes(name)) entries[name] = text;
  }
  /** @type {string[]} */
  const unreadable = [];
  /**
   * @template T
   * @param {string} name
   * @param {T | import("./numbers.js").Complaint} value
   * @param {T} usual
   * @returns {T}
   */
  const orUsual = (name, value, usual) => {
    if (typeof value === "number" || Array.isArray(value)) return /** @type {T} */ (value);
    unreadable.push(name);
    return usual;
  };
  const list = (/** @type {string} */ name, /** @type {number[]} */ usual) =>
    orUsual(name, parseList(entries[name] ?? "", "en"), usual);
  /** @type {Settings} */
  const settings = {
    vectors: EXAMPLE.vectors.map((usual, k) => list(`x${k + 1}`, usual)),
    weight: list("weight", EXAMPLE.weight),
    bias: list("bias", EXAMPLE.bias),
    eps: orUsual("eps", parseEps(entries.eps ?? "", "en"), EXAMPLE.eps),
  };
  for (const name of /** @type {const} */ (["weight", "bias"])) {
    if (fits(settings[name], settings.vectors)) continue;
    unreadable.push(name);
    settings[name] = EXAMPLE[name];
  }
  return { settings, unreadable };
}

/**
 * Whether a weight or bias fits every vector: one number for all features, or one for each.
 *
 * @param {readonly number[]} parameter
 * @param {readonly number[][]} vectors
 */
export function fits(parameter, vectors) {
  return parameter.length === 1 || vectors.every(({ length }) => length === parameter.length);
}

/**
 * @param {Settings} settings
 * @returns {Record<string, string>}
 */
function toEntries({ vectors, weight, bias, eps }) {
  return {
    ...Object.fromEntries(vectors.map((vector, k) => [`x${k + 1}`, vector.join(",")])),
    weight: weight.join(","),
    bias: bias.join(","),
    eps: String(eps),
  };
}

/** The slider: 0, then tenths of a power of ten from 1e-12 to 10. */
export const LOWEST_EXPONENT = -12;
const STEPS_PER_DECADE = 10;
export const SLIDER_STEPS = 13 * STEPS_PER_DECADE + 1;

/** @param {number} step 0 to SLIDER_STEPS */
export function epsAtStep(step) {
  if (step === 0) return 0;
  const value = 10 ** (LOWEST_EXPONENT + (step - 1) / STEPS_PER_DECADE);
  return Number(value.toPrecision(2));
}

/** @param {number} eps */
export function stepOfEps(eps) {
  if (eps === 0) return 0;
  const step = Math.round((Math.log10(eps) - LOWEST_EXPONENT) * STEPS_PER_DECADE) + 1;
  return Math.min(Math.max(step, 1), SLIDER_STEPS);
}
