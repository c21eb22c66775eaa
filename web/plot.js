// Small pictures in SVG, drawn at the width they have, so that their text stays readable.

import { currentLanguage } from "./i18n.js";
import { show, showVector, toText } from "./numbers.js";
import { LOWEST_EXPONENT, SLIDER_STEPS, stepOfEps } from "./settings.js";

/** @typedef {[low: number, high: number]} Range */

/**
 * @typedef {object} AxisRow
 * @property {string} label
 * @property {readonly number[]} values
 * @property {Range} range what the axis shows
 * @property {Range} [band] a bar behind the points: a standard deviation to either side
 */

const ROW_HEIGHT = 68;
const TOP = 30;
const BOTTOM = 24;
const SIDE = 12;
/** Ranges up to this many times one another share one axis, where sizes can be compared. */
const COMPARABLE = 6;

/**
 * Axes below one another, with a line from each number to the same number on the next axis.
 *
 * @param {{ rows: readonly AxisRow[], width: number, label: string, className: string, connected?: boolean }} options
 * @returns {string} SVG
 */
export function axes({ rows, width, label, className, connected = true }) {
  const height = TOP + (rows.length - 1) * ROW_HEIGHT + BOTTOM;
  const scales = rows.map(({ range }) => linear(range, [SIDE, width - SIDE]));
  const y = (/** @type {number} */ index) => TOP + index * ROW_HEIGHT;
  const parts = [];
  if (connected) {
    for (const [index, { values }] of rows.slice(1).entries()) {
      for (const [i, value] of values.entries()) {
        const from = scales[index]?.(rows[index]?.values[i] ?? 0) ?? 0;
        const to = scales[index + 1]?.(value) ?? 0;
        parts.push(
          `<line class="path" data-feature="${i}" x1="${px(from)}" y1="${y(index)}" x2="${px(to)}" y2="${y(index + 1)}"/>`,
        );
      }
    }
  }
  for (const [index, row] of rows.entries()) {
    const scale = scales[index] ?? Number;
    parts.push(
      `<line class="axis" x1="${SIDE}" x2="${px(width - SIDE)}" y1="${y(index)}" y2="${y(index)}"/>`,
    );
    for (const tick of ticks(row.range, width / 60)) {
      const x = px(scale(tick));
      parts.push(
        `<line class="axis" x1="${x}" x2="${x}" y1="${y(index)}" y2="${y(index) + 5}"/>`,
        `<text class="tick" x="${x}" y="${y(index) + 18}">${text(tick)}</text>`,
      );
    }
    if (row.band !== undefined) {
      const [low, high] = row.band.map(scale);
      parts.push(
        `<line class="band" x1="${px(low ?? 0)}" x2="${px(high ?? 0)}" y1="${y(index)}" y2="${y(index)}"/>`,
      );
    }
    for (const [i, value] of row.values.entries()) {
      parts.push(`<circle r="5" data-feature="${i}" cx="${px(scale(value))}" cy="${y(index)}"/>`);
    }
    parts.push(
      `<text class="label" x="${px(width - SIDE)}" y="${y(index) - 13}">${row.label}</text>`,
    );
  }
  return svg({ width, height, label, className, content: parts.join("") });
}

/**
 * Curves over a logarithmic axis of eps, the slider's, and where eps stands now.
 *
 * @param {object} options
 * @param {readonly (readonly number[])[]} options.curves
 * @param {readonly number[]} options.steps the slider's step of each point
 * @param {number} options.current the slider's step now
 * @param {readonly number[]} options.marks each curve's value there
 * @param {number} options.width
 * @param {string} options.label
 * @param {string} options.name of the vertical axis
 * @returns {string} SVG
 */
export function epsCurves({ curves, steps, current, marks, width, label, name }) {
  const height = 210;
  const [left, right, top, bottom] = [34, 14, 30, height - 32];
  const x = linear([0, SLIDER_STEPS], [left, width - right]);
  const y = linear([0, 1], [bottom, top]);
  const parts = [`<text x="4" y="14">${name}</text>`];
  for (const level of [0, 0.5, 1]) {
    parts.push(
      `<line class="axis faint" x1="${left}" x2="${px(width - right)}" y1="${px(y(level))}" y2="${px(y(level))}"/>`,
      `<text class="tick level" x="${left - 7}" y="${px(y(level) + 4)}">${text(level)}</text>`,
    );
  }
  const every = width < 480 ? 3 : 1;
  for (let exponent = LOWEST_EXPONENT; exponent <= 1; exponent += every) {
    // 0 has no place on a logarithmic axis: it takes the left end, and so 1e-12's label.
    const isZero = exponent === LOWEST_EXPONENT;
    const at = px(x(isZero ? 0 : stepOfEps(10 ** exponent)));
    parts.push(
      `<line class="axis" x1="${at}" x2="${at}" y1="${bottom}" y2="${bottom + 5}"/>`,
      `<text class="tick" x="${at}" y="${bottom + 20}">${isZero ? "0" : powerOfTen(exponent)}</text>`,
    );
  }
  const now = px(x(current));
  parts.push(`<line class="current" x1="${now}" x2="${now}" y1="${top - 6}" y2="${bottom}"/>`);
  for (const [k, curve] of curves.entries()) {
    const points = curve.map((value, i) => `${px(x(steps[i] ?? 0))},${px(y(value))}`).join(" ");
    parts.push(
      `<polyline class="curve v${k + 1}" points="${points}"/>`,
      `<circle class="v${k + 1}" r="5" cx="${now}" cy="${px(y(marks[k] ?? 0))}"/>`,
    );
  }
  return svg({ width, height, label, className: "", content: parts.join("") });
}

/**
 * A bar for each number, up or down from zero; an outline behind it where it has changed from another.
 *
 * @param {object} options
 * @param {readonly number[]} options.values
 * @param {readonly number[]} [options.outlines]
 * @param {Range} options.range with 0 in it
 * @param {number} options.width
 * @param {string} options.name of the picture, in it
 * @param {string} options.label
 * @returns {string} SVG
 */
export function bars({ values, outlines = [], range, width, name, label }) {
  const height = 170;
  const [top, bottom] = [42, height - 18];
  const y = linear(range, [bottom, top]);
  // While a window opens it may have no width yet.
  const step = Math.max(width - 2 * SIDE, 0) / values.length;
  const thick = Math.min(step * 0.62, 44);
  const labels = showVector(values, currentLanguage()).map(toText);
  const hasRoom = Math.max(...labels.map(({ length }) => length)) * 7 < step;
  const zero = px(y(0));
  const parts = [
    `<text x="${SIDE}" y="13">${name}</text>`,
    `<line class="axis" x1="${SIDE}" x2="${px(width - SIDE)}" y1="${zero}" y2="${zero}"/>`,
  ];
  const bar = (
    /** @type {number} */ i,
    /** @type {number} */ value,
    /** @type {string} */ className,
  ) => {
    const to = y(value);
    const left = SIDE + (i + 0.5) * step - thick / 2;
    return `<rect class="${className}" data-feature="${i}" x="${px(left)}" width="${px(thick)}" y="${px(Math.min(to, zero))}" height="${px(Math.abs(to - zero))}"/>`;
  };
  for (const [i, value] of values.entries()) {
    const outline = outlines[i];
    const ends = [value, outline ?? 0, 0].map(y);
    const [above, below] = [Math.min(...ends) - 5, Math.max(...ends) + 14];
    parts.push(bar(i, value, "column"));
    if (outline !== undefined) parts.push(bar(i, outline, "outline"));
    if (hasRoom) {
      const at = value < 0 ? below : above;
      parts.push(
        `<text class="tick" x="${px(SIDE + (i + 0.5) * step)}" y="${px(at)}">${labels[i]}</text>`,
      );
    }
  }
  return svg({ width, height, label, className: "v1", content: parts.join("") });
}

/**
 * The ranges of two groups of numbers: one for both where they are of comparable size.
 *
 * @param {readonly number[]} before
 * @param {readonly number[]} after
 * @returns {{ before: Range, after: Range }}
 */
export function ranges(before, after) {
  const [one, other, both] = [around(before), around(after), around([...before, ...after])];
  const widest = Math.max(span(one), span(other));
  const isComparable =
    span(both) <= COMPARABLE * Math.min(span(one), span(other)) && span(both) < 2 * widest;
  return isComparable ? { before: both, after: both } : { before: one, after: other };
}

/**
 * @param {readonly number[]} values
 * @returns {Range}
 */
export function around(values) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const margin = (high - low) * 0.06 || Math.max(Math.abs(low), 1) * 1e-3;
  return [low - margin, high + margin];
}

/** @param {Range} range */
const span = ([low, high]) => high - low;

/**
 * @param {Range} from
 * @param {Range} to
 */
function linear([a, b], [c, d]) {
  return (/** @type {number} */ value) => c + ((value - a) / (b - a)) * (d - c);
}

/**
 * Round numbers in a range, about as many as asked for.
 *
 * @param {Range} range
 * @param {number} count
 */
function ticks([low, high], count) {
  const rough = (high - low) / Math.max(count, 2);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const first = Math.ceil(low / step);
  const last = Math.floor(high / step);
  // Where floats run out of digits, ticks would coincide: then there are only these two.
  if (!(last - first < 20)) return [low, high];
  return Array.from({ length: last - first + 1 }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)),
  );
}

/** @param {number} value */
function text(value) {
  return toText(show(value, currentLanguage()));
}

/** @param {number} exponent */
function powerOfTen(exponent) {
  if (exponent === 0) return "1";
  if (exponent === 1) return "10";
  const raised = String(exponent).replace("-", "−");
  return `10<tspan class="exponent" dy="-5">${raised}</tspan>`;
}

/** @param {number} value */
function px(value) {
  return Math.round(value * 10) / 10;
}

/** @param {{ width: number, height: number, label: string, className: string, content: string }} options */
function svg({ width, height, label, className, content }) {
  return `<svg class="${className}" role="img" aria-label="${label}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${content}</svg>`;
}
