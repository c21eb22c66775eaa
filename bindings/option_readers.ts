// Readers: one function for each kind of option. They check a value by itself; what depends on x comes later.
import { readDims } from "./dims.js";
import { DTYPE_NAMES } from "./dtypes.js";
import { describe, quotedList, wrongType, wrongValue } from "./errors.js";

/** Any number. */
export function readNumber(where: string, name: string, value: unknown): number {
  if (typeof value !== "number") throw wrongType(where, name, "a number", describe(value));
  return value;
}

// A number of which a test holds; `expected` says so.
function checked(expected: string, test: (value: number) => boolean) {
  return (where: string, name: string, value: unknown): number => {
    const number = readNumber(where, name, value);
    if (!test(number)) throw wrongValue(where, name, expected, describe(number));
    return number;
  };
}

export const readFinite = checked("a finite number", Number.isFinite);
export const readEps = checked("a finite number >= 0", (v) => v >= 0 && v < Infinity);
export const readCount = checked("an integer >= 1", (v) => Number.isSafeInteger(v) && v >= 1);
export const readFraction = checked("a number from 0 to 1", (v) => v >= 0 && v <= 1);
export const readOrder = checked("1, 2 or Infinity", (v) => v === 1 || v === 2 || v === Infinity);

/** Any string. */
export function readString(where: string, name: string, value: unknown): string {
  if (typeof value !== "string") throw wrongType(where, name, "a string", describe(value));
  return value;
}

/** One of some strings. */
export function choice<Known extends string>(known: readonly Known[]) {
  return (where: string, name: string, value: unknown): Known => {
    const string = readString(where, name, value) as Known;
    if (known.includes(string)) return string;
    throw wrongValue(where, name, `one of ${quotedList(known)}`, describe(string));
  };
}

/** The name of an element type. */
export const readDType = choice(DTYPE_NAMES);

/** What a reader reads, or null for none. */
export function orNone<T>(read: (where: string, name: string, value: unknown) => T) {
  return (where: string, name: string, value: unknown): T | undefined =>
    value === null ? undefined : read(where, name, value);
}

export function readFlag(where: string, name: string, value: unknown): boolean {
  if (typeof value !== "boolean") throw wrongType(where, name, "a boolean", describe(value));
  return value;
}

/** Dimensions, or a number for one of them. */
export function readSize(where: string, name: string, value: unknown): number[] {
  if (typeof value === "number") return readDims(where, name, [value]);
  if (Array.isArray(value)) return readDims(where, name, value);
  throw wrongType(where, name, "an integer or an array of integers", describe(value));
}
