// Dimensions: reading them and counting elements.
import { describe, wrongType, wrongValue } from "./errors.js";

export type Dims = readonly number[];

// More than any tensor library has; a nest deeper than this is a cycle.
export const MAX_RANK = 64;

// The longest array that there is.
const MAX_LENGTH = 2 ** 32 - 1;

/** The length of an array, read once. A proxy may claim anything. */
export function readLength(where: string, name: string, array: readonly unknown[]): number {
  const length: unknown = array.length;
  if (Number.isInteger(length) && (length as number) >= 0 && (length as number) <= MAX_LENGTH) {
    return length as number;
  }
  throw wrongValue(where, name, "arrays", `one of length ${describe(length)}`);
}

/** The numbers of an array, each read once. */
export function readNumbers(where: string, name: string, value: unknown): number[] {
  if (!Array.isArray(value)) {
    throw wrongType(where, name, "an array of integers", describe(value));
  }
  const rank = readLength(where, name, value);
  if (rank > MAX_RANK) throw wrongValue(where, name, `at most ${MAX_RANK} dimensions`, `${rank}`);
  const numbers: number[] = [];
  for (let i = 0; i < rank; i++) {
    const number: unknown = value[i];
    if (typeof number !== "number") {
      throw wrongType(where, name, "an array of integers", `${describe(number)} in it`);
    }
    numbers.push(number);
  }
  return numbers;
}

/** Dimensions from an array, each read once. */
export function readDims(where: string, name: string, value: unknown): number[] {
  return checkDims(where, name, readNumbers(where, name, value));
}

/** The dimensions given, if they are some. */
export function checkDims(where: string, name: string, dims: number[]): number[] {
  dims.forEach((dim, i) => {
    if (!Number.isSafeInteger(dim) || dim < 0) {
      throw wrongValue(where, name, "integers >= 0", show(dims));
    }
    // -0 is a size like 0, and comes back as one.
    if (dim === 0) dims[i] = 0;
  });
  if (!Number.isSafeInteger(count(dims))) {
    throw wrongValue(where, name, "fewer than 2^53 elements", show(dims));
  }
  return dims;
}

/** Throws unless dimensions hold `size` elements. */
export function requireSize(where: string, name: string, dims: Dims, size: number): void {
  if (count(dims) === size) return;
  throw wrongValue(where, name, `${count(dims)} elements for shape ${show(dims)}`, `${size}`);
}

/** The number of elements over the dimensions from `lead` on; not a safe integer if there are too many. */
export function count(dims: Dims, lead = 0): number {
  let product = 1;
  for (let i = lead; i < dims.length; i++) {
    const dim = dims[i]!;
    if (dim === 0) return 0;
    product = product > Number.MAX_SAFE_INTEGER ? product : product * dim;
  }
  return product;
}

export function sameDims(a: Dims, b: Dims): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i]);
}

/** `[2, 3]` */
export function show(dims: Dims): string {
  return `[${dims.join(", ")}]`;
}
