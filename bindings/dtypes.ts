// Element types and the typed arrays that hold them. A caller's array may be of a subclass, of another realm, or carry
// properties that shadow the built-in ones: what is read here is read with the built-in accessors.
//
// Inside, 16-bit elements are always seen as the bits in a Uint16Array: copying a Float16Array would convert. What the
// caller gave and gets is a Float16Array where it is one, or the engine has it.
import type { DType, FloatArray } from "./types.js";

/** Elements as kernels and copies see them. */
export type Elements = Float32Array | Float64Array | Uint16Array;

/** Elements as the caller sees them; a Uint16Array holds bits of float16 or bfloat16. */
export type OwnArray = FloatArray | Uint16Array;

type ArrayType = {
  new (length: number): Elements;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): Elements;
};

interface DTypeRow {
  readonly bytes: number;
  /** The distance from 1 to the next number. */
  readonly epsilon: number;
  readonly array: ArrayType;
}

export const DTYPES: Readonly<Record<DType, DTypeRow>> = {
  float32: { bytes: 4, epsilon: 2 ** -23, array: Float32Array },
  float64: { bytes: 8, epsilon: 2 ** -52, array: Float64Array },
  float16: { bytes: 2, epsilon: 2 ** -10, array: Uint16Array },
  bfloat16: { bytes: 2, epsilon: 2 ** -7, array: Uint16Array },
};

export const DTYPE_NAMES = Object.keys(DTYPES) as DType[];

const TypedArray: { prototype: Elements } = Object.getPrototypeOf(Uint8Array);
const getter = (name: PropertyKey) =>
  Object.getOwnPropertyDescriptor(TypedArray.prototype, name)!.get!;
const getTag = getter(Symbol.toStringTag);
const getLength = getter("length");
const getBuffer = getter("buffer");
const getByteOffset = getter("byteOffset");
const { set, keys } = TypedArray.prototype;

/** The engine's Float16Array, which older ones lack. */
const Float16 = (globalThis as { Float16Array?: ArrayType }).Float16Array;

/** The name of a typed array's type; undefined for any other value. */
export function typedArrayTag(value: unknown): string | undefined {
  return getTag.call(value);
}

/** The element type of a value that is a typed array of floats, else undefined. */
export function dtypeOf(value: unknown): DType | undefined {
  switch (typedArrayTag(value)) {
    case "Float32Array":
      return "float32";
    case "Float64Array":
      return "float64";
    case "Float16Array":
      return "float16";
    default:
      return undefined;
  }
}

/** Whether a value is an array that holds bits of float16 or bfloat16. */
export function isBits(value: unknown): value is Uint16Array {
  return typedArrayTag(value) === "Uint16Array";
}

/** The number of elements; 0 also for an array that has lost its memory. */
export function lengthOf(array: OwnArray): number {
  return getLength.call(array);
}

export function bufferOf(array: OwnArray): ArrayBufferLike {
  return getBuffer.call(array);
}

export function byteOffsetOf(array: OwnArray): number {
  return getByteOffset.call(array);
}

/** Whether the buffer of an array of length 0 was detached, or resized so that the array lies outside. */
export function isGone(array: OwnArray): boolean {
  try {
    keys.call(array);
    return false;
  } catch {
    return true;
  }
}

/** An array's elements as they are seen inside, on the same memory. */
export function elementsIn(own: OwnArray, dtype: DType): Elements {
  if (dtype !== "float16" || isBits(own)) return own as Elements;
  return new Uint16Array(bufferOf(own), byteOffsetOf(own), lengthOf(own));
}

/** Elements as the caller gets them, on the same memory: a Float16Array for float16, unless bits are wanted. */
export function ownArray(array: Elements, dtype: DType, asBits = false): OwnArray {
  if (dtype !== "float16" || asBits || Float16 === undefined || !isBits(array)) return array;
  const own = new Float16(bufferOf(array), byteOffsetOf(array), lengthOf(array));
  return own as unknown as OwnArray;
}

/** Elements begin to begin + n of an array, on the same memory, its buffer. */
export function part(
  array: Elements,
  buffer: ArrayBufferLike,
  dtype: DType,
  begin: number,
  n: number,
): Elements {
  const { array: View, bytes } = DTYPES[dtype];
  return new View(buffer, byteOffsetOf(array) + begin * bytes, n);
}

/** Copies all of source, of the same element type, to target from an index on. */
export function copyInto(target: Elements, source: Elements, begin: number): void {
  set.call(target, source, begin);
}
