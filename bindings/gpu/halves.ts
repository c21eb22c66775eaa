// Numbers of JavaScript to the bits of 16-bit types, each rounded once, to nearest even.
import type { DType } from "../types.js";

const FORMATS = {
  float16: { fraction: 10, least: -14, most: 15 },
  bfloat16: { fraction: 7, least: -126, most: 127 },
} as const;

const float64 = new Float64Array(1);
const words = new Uint32Array(float64.buffer);
// Adding and subtracting it rounds to an integer.
const ROUNDER = 1.5 * 2 ** 52;

function bitsOf(
  value: number,
  { fraction, least, most }: (typeof FORMATS)["float16" | "bfloat16"],
) {
  const infinity = (2 ** (15 - fraction) - 1) << fraction;
  if (Number.isNaN(value)) return infinity | (1 << (fraction - 1));
  float64[0] = value;
  const sign = (words[1]! >>> 16) & 0x8000;
  const exponent = Math.max(((words[1]! >>> 20) & 0x7ff) - 1023, least);
  if (exponent > most) return sign | infinity;
  const units = Math.abs(value) * 2 ** (fraction - exponent) + ROUNDER - ROUNDER;
  return sign | (units + (exponent - least) * 2 ** fraction);
}

/** The bits of numbers in a 16-bit type. */
export function toHalves(values: ArrayLike<number>, dtype: "float16" | "bfloat16"): Uint16Array {
  const format = FORMATS[dtype];
  const bits = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) bits[i] = bitsOf(values[i]!, format);
  return bits;
}

/** Elements as float32: those of a typed array, or the values of the bits of 16-bit types. */
export function toFloat32(elements: ArrayLike<number>, dtype: DType): Float32Array {
  if (dtype === "float32" || dtype === "float64") return Float32Array.from(elements);
  const { fraction, least } = FORMATS[dtype];
  const units = 2 ** fraction;
  const last = 2 ** (15 - fraction) - 1;
  return Float32Array.from(elements, (bits) => {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> fraction) & last;
    const rest = bits & (units - 1);
    if (exponent === last) return rest === 0 ? sign * Infinity : Number.NaN;
    const significand = exponent === 0 ? rest : rest + units;
    return sign * significand * 2 ** (Math.max(exponent, 1) - 1 + least - fraction);
  });
}
