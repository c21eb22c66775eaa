// What follows the visitor's numbers, in parts that are drawn one at a time.

import { renderStep } from "./steps.js";
import {
  renderComparison,
  renderEps,
  renderPicture,
  renderRmsPictures,
  renderSnippet,
  renderSummary,
} from "./views.js";

/**
 * @typedef {object} Part
 * @property {string} id of where it stands
 * @property {(works: import("./steps.js").Work[], settings: import("./documents.js").Settings) => void} draw
 * @property {boolean} [isPicture] made for the width that there is
 */

/** @param {Parameters<typeof renderStep>[0]} name @returns {Part} */
const step = (name) => ({
  id: name,
  draw: (works, settings) => renderStep(name, works, settings),
});

/** In the page's order. @type {readonly Part[]} */
export const PARTS = [
  { id: "settings", draw: renderSummary },
  { id: "picture", draw: renderPicture, isPicture: true },
  step("mean"),
  step("variance"),
  step("normalize"),
  step("scale"),
  step("rms"),
  { id: "rms", draw: renderRmsPictures, isPicture: true },
  { id: "rms", draw: renderComparison },
  { id: "epsilon", draw: renderEps, isPicture: true },
  { id: "code", draw: (_, settings) => renderSnippet(settings) },
];
