/** How figures are written, in the terminal, the tables and the picture alike. */

/** @param {number} value @returns {string} three significant digits, without an exponent in the usual range */
export function figure(value) {
  if (value === 0) return "0";
  const magnitude = Math.abs(value);
  if (magnitude < 1e-3 || magnitude >= 1e5) return value.toExponential(1).replace("e+", "e");
  const digits = Math.max(0, 2 - Math.floor(Math.log10(magnitude)));
  return value.toFixed(digits);
}

/** @param {number} value @returns {number} value with five significant digits, for the JSON files */
export function rounded(value) {
  return Number(value.toPrecision(5));
}

/** @param {{ dims: readonly number[] }} spec @returns {string} such as "512x768" */
export function shapeName({ dims }) {
  return dims.join("x");
}

/** @param {string} text @param {number} length @returns {string} text, cut where it is longer */
export function shortened(text, length) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= length ? line : `${line.slice(0, length - 3)}...`;
}
