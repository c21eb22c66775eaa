// Element types and the typed arrays that hold them. A caller's array may be of a subclass, of another realm, or carry
// properties that shadow the built-in ones: what is read here is read with the built-in accessors.
import type { DType, FloatArray } from "./types.js";

interface DTypeRow {
  readonly bytes: number;
  /** The distance from 1 to the next number. */
  readonly epsilon: number;
  readonly array: new (buffer: ArrayBufferLike, byteOffset: number, length: number) => FloatArray;
  /** A new array of zeros. */
  readonly create: (length: number) => FloatArray;
}

export const DTYPES: Readonly<Record<DType, DTypeRow>> = {
  float32: {
    bytes: 4,
    epsilon: 2 ** -23,
    array: Float32Array,
    create: (length) => new Float32Array(length),
  },
  float64: {
    bytes: 8,
    epsilon: 2 ** -52,
    array: Float64Array,
    create: (length) => new Float64Array(length),
  },
};

export const DTYPE_NAMES = Object.keys(DTYPES) as DType[];

const TypedArray: { prototype: FloatArray } = Object.getPrototypeOf(Uint8Array);
const getter = (name: PropertyKey) =>
  Object.getOwnPropertyDescriptor(TypedArray.prototype, name)!.get!;
const getTag = getter(Symbol.toStringTag);
const getLength = getter("length");
const getBuffer = getter("buffer");
const getByteOffset = getter("byteOffset");
const { set, keys } = TypedArray.prototype;

/** The element type of a value that is a typed array of floats, else undefined. */
export function dtypeOf(value: unknown): DType | undefined {
  switch (getTag.call(value)) {
    case "Float32Array":
      return "float32";
    case "Float64Array":
      return "float64";
    default:
      return undefined;
  }
}

/** The number of elements; 0 also for an array that has lost its memory. */
export function lengthOf(array: FloatArray): number {
  return getLength.call(array);
}

export function bufferOf(array: FloatArray): ArrayBufferLike {
  return getBuffer.call(array);
}

export function byteOffsetOf(array: FloatArray): number {
  return getByteOffset.call(array);
}

/** Whether the array's buffer was detached, or resized so that the array lies outside. */
export function isGone(array: FloatArray): boolean {
  if (lengthOf(array) !== 0) return false;
  try {
    keys.call(array);
    return false;
  } catch {
    return true;
  }
}

/** Elements begin to begin + n of an array, on the same memory. */
export function part(array: FloatArray, dtype: DType, begin: number, n: number): FloatArray {
  const { array: View, bytes } = DTYPES[dtype];
  return new View(bufferOf(array), byteOffsetOf(array) + begin * bytes, n);
}

/** Copies all of source to target from an index on; element types may differ. */
export function copyInto(target: FloatArray, source: FloatArray, begin: number): void {
  set.call(target, source, begin);
}
