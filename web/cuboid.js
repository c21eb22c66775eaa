// A small picture of the whole block, with one of the sets in it: positions to the right, channels
// downwards, items backwards.

import { CHANNELS, POSITIONS } from "./block_shape.js";

/** @typedef {import("./block_shape.js").Region} Region */
/** @typedef {import("./block_shape.js").Span} Span */

const [WIDE, HIGH] = [10, 8];
/** How far an item stands behind the one before it. */
const [RIGHT, UP] = [6, 4.5];
const MARGIN = 1;

/**
 * @param {number} items
 * @param {Region} region
 * @returns {string} SVG; the words beside it say the same
 */
export function cuboid(items, region) {
  const width = POSITIONS * WIDE + items * RIGHT + 2 * MARGIN;
  const height = CHANNELS * HIGH + items * UP + 2 * MARGIN;
  const at = (
    /** @type {number} */ item,
    /** @type {number} */ channel,
    /** @type {number} */ position,
  ) =>
    `${MARGIN + position * WIDE + item * RIGHT} ${MARGIN + channel * HIGH + (items - item) * UP}`;
  /** @param {Span} i @param {Span} c @param {Span} p */
  const faces = ([near, far], [top, bottom], [left, right]) =>
    [
      [at(near, top, left), at(near, top, right), at(near, bottom, right), at(near, bottom, left)],
      [at(near, top, left), at(far, top, left), at(far, top, right), at(near, top, right)],
      [at(near, top, right), at(far, top, right), at(far, bottom, right), at(near, bottom, right)],
    ].map((corners, i) => `<path class="face${i}" d="M${corners.join("L")}Z"/>`);
  const grid = [];
  for (let p = 0; p <= POSITIONS; p++) {
    grid.push(`M${at(0, CHANNELS, p)}L${at(0, 0, p)}L${at(items, 0, p)}`);
  }
  for (let c = 0; c <= CHANNELS; c++) {
    grid.push(`M${at(0, c, 0)}L${at(0, c, POSITIONS)}L${at(items, c, POSITIONS)}`);
  }
  for (let i = 1; i <= items; i++) {
    grid.push(`M${at(i, 0, 0)}L${at(i, 0, POSITIONS)}L${at(i, CHANNELS, POSITIONS)}`);
  }
  const { items: i, channels: c, positions: p } = region;
  return `<svg class="cuboid" aria-hidden="true" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
    <path class="grid" d="${grid.join("")}"/>${faces(i, c, p).join("")}</svg>`;
}
