/** The 16-bit element types from their definitions: tables of all values, and rounding to the nearest, ties to even. */

/** @typedef {import("./exact.js").DType} DType */
/** @typedef {"float16" | "bfloat16"} Half */
/** @typedef {Float32Array | Float64Array | Uint16Array} Stored elements as they are stored: of 16-bit types the bits */

/** Bits of the fraction, and the exponents of the least and the largest normal numbers. */
export const FORMATS = {
  float16: { fraction: 10, least: -14, most: 15 },
  bfloat16: { fraction: 7, least: -126, most: 127 },
};

/** @param {Half} dtype @returns {number} */
export function largestHalf(dtype) {
  const { fraction, most } = FORMATS[dtype];
  return (2 - 2 ** -fraction) * 2 ** most;
}

/** @param {Half} dtype @returns {Float32Array} the value of each bit pattern */
function makeTable(dtype) {
  const { fraction, least } = FORMATS[dtype];
  const exponents = 2 ** (15 - fraction);
  return Float32Array.from({ length: 65536 }, (_, bits) => {
    const sign = bits >>> 15 ? -1 : 1;
    const exponent = (bits >>> fraction) & (exponents - 1);
    const rest = bits & (2 ** fraction - 1);
    if (exponent === exponents - 1) return rest === 0 ? sign * Infinity : Number.NaN;
    const units = exponent === 0 ? rest : rest + 2 ** fraction;
    return sign * units * 2 ** (Math.max(exponent, 1) - 1 + least - fraction);
  });
}

/** @type {Record<Half, Float32Array>} */
const TABLES = { float16: makeTable("float16"), bfloat16: makeTable("bfloat16") };

const FLOAT64 = new Float64Array(1);
const WORDS = new Uint32Array(FLOAT64.buffer);
/** Adding and subtracting it rounds to an integer, ties to even. */
const ROUNDER = 1.5 * 2 ** 52;

/** @param {number} value any float64 @param {Half} dtype @returns {number} the bits of the nearest value */
export function halfBits(value, dtype) {
  const { fraction, least, most } = FORMATS[dtype];
  const infinity = (2 ** (15 - fraction) - 1) << fraction;
  if (Number.isNaN(value)) return infinity | (1 << (fraction - 1));
  FLOAT64[0] = value;
  const sign = (WORDS[1] >>> 16) & 0x8000;
  const exponent = Math.max(((WORDS[1] >>> 20) & 0x7ff) - 1023, least);
  if (exponent > most) return sign | infinity;
  const units = Math.abs(value) * 2 ** (fraction - exponent) + ROUNDER - ROUNDER;
  // A carry out of the fraction counts the exponent up.
  return sign | (units + (exponent - least) * 2 ** fraction);
}

/** @param {number} value @param {DType} dtype @returns {number} the nearest value of the type */
export function roundTo(value, dtype) {
  if (dtype === "float64") return value;
  if (dtype === "float32") return Math.fround(value);
  return TABLES[dtype][halfBits(value, dtype)];
}

/** @param {DType} dtype @returns {dtype is Half} */
export function isHalf(dtype) {
  return dtype === "float16" || dtype === "bfloat16";
}

/** @param {ArrayLike<number>} values @param {DType} dtype @returns {Stored} */
export function store(values, dtype) {
  if (dtype === "float32") return Float32Array.from(values);
  if (dtype === "float64") return Float64Array.from(values);
  return Uint16Array.from(values, (value) => halfBits(value, dtype));
}

/**
 * Stored elements as numbers of the arithmetic type.
 * @param {Stored} elements
 * @param {DType} dtype
 * @returns {Float32Array | Float64Array}
 */
export function load(elements, dtype) {
  if (!isHalf(dtype)) return /** @type {Float32Array | Float64Array} */ (elements);
  const table = TABLES[dtype];
  const values = new Float32Array(elements.length);
  for (let i = 0; i < values.length; i++) values[i] = table[elements[i]];
  return values;
}

/** @param {DType} dtype @returns {"float32" | "float64"} the type that elements are computed in */
export function arithmetic(dtype) {
  return dtype === "float64" ? "float64" : "float32";
}
