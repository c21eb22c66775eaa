// float16 in plain JavaScript: what code that computes in it would get. Float16Array is not everywhere.

/** The exponents of the smallest normal number and of the one that is too large. */
const LOWEST = -14;
const BEYOND = 16;
const DIGITS = 10;

/**
 * The nearest float16, half to even; infinite from 65520 on.
 *
 * @param {number} value
 */
export function roundToFloat16(value) {
  const magnitude = Math.abs(value);
  if (!(magnitude > 0 && magnitude < Number.POSITIVE_INFINITY)) return value;
  let exponent = Math.floor(Math.log2(magnitude));
  // A logarithm just below a power of two may be rounded up to it.
  if (2 ** exponent > magnitude) exponent--;
  const unit = 2 ** (Math.max(exponent, LOWEST) - DIGITS);
  const count = magnitude / unit;
  const below = Math.floor(count);
  const rest = count - below;
  const isUp = rest > 0.5 || (rest === 0.5 && below % 2 === 1);
  const rounded = (isUp ? below + 1 : below) * unit;
  return Math.sign(value) * (rounded < 2 ** BEYOND ? rounded : Number.POSITIVE_INFINITY);
}

/**
 * What the bits stand for.
 *
 * @param {number} bits
 */
export function fromFloat16(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> DIGITS) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  const mantissa = exponent === 0 ? fraction : fraction + 2 ** DIGITS;
  return sign * mantissa * 2 ** (Math.max(exponent, 1) - 25);
}
