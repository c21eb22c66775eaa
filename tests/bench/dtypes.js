/** The 16-bit element types, whose values are bits in a Uint16Array where the engine has no array for them. */

/** @typedef {"float32" | "float16" | "bfloat16"} DType */

const floats = new Float32Array(1);
const bits = new Uint32Array(floats.buffer);

/** @param {number} half @returns {number} the float16 with these bits */
function fromHalf(half) {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** All float16 values, by their bits. */
export const HALVES = Float32Array.from({ length: 65_536 }, (_, half) => fromHalf(half));

/** @param {number} single bits of a finite float32 @returns {number} bits of the nearest float16 */
export function toHalf(single) {
  const sign = (single >>> 16) & 0x8000;
  const magnitude = single & 0x7fffffff;
  // From 65520 on.
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    bits[0] = magnitude;
    // The sum's last bit is worth as much as the last one of a subnormal float16.
    floats[0] += 0.5;
    return sign | (bits[0] - 0x3f000000);
  }
  // Another bias of the exponent; then to nearest, ties to even.
  return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
}

/** @param {number} single bits of a finite float32 @returns {number} bits of the nearest bfloat16 */
export function toBfloat(single) {
  return (single + 0x7fff + ((single >>> 16) & 1)) >>> 16;
}

/** @param {Float32Array} values finite @param {DType} dtype @returns {Float32Array | Uint16Array} */
export function encoded(values, dtype) {
  if (dtype === "float32") return values;
  const singles = new Uint32Array(values.buffer, values.byteOffset, values.length);
  return Uint16Array.from(singles, dtype === "float16" ? toHalf : toBfloat);
}

/** @param {ArrayLike<number>} stored numbers, or the bits of dtype in a Uint16Array @param {DType} dtype @returns {Float32Array} */
export function decoded(stored, dtype) {
  if (stored instanceof Float32Array) return stored;
  if (!(stored instanceof Uint16Array)) return Float32Array.from(stored);
  if (dtype === "float16") return Float32Array.from(stored, (half) => HALVES[half]);
  return new Float32Array(Uint32Array.from(stored, (half) => half << 16).buffer);
}
