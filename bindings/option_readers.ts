// Readers: one function for each kind of option. They check a value by itself; what depends on x comes later.
import { readDims } from "./dims.js";
import { describe, wrongType, wrongValue } from "./errors.js";

export { readDestination, readParameter } from "./operands.js";

/** Any number. */
export function readNumber(where: string, name: string, value: unknown): number {
  if (typeof value !== "number") throw wrongType(where, name, "a number", describe(value));
  return value;
}

export function readFinite(where: string, name: string, value: unknown): number {
  const number = readNumber(where, name, value);
  if (!Number.isFinite(number)) {
    throw wrongValue(where, name, "a finite number", describe(number));
  }
  return number;
}

export function readEps(where: string, name: string, value: unknown): number {
  const number = readNumber(where, name, value);
  if (!(number >= 0 && number < Infinity)) {
    throw wrongValue(where, name, "a finite number >= 0", describe(number));
  }
  return number;
}

export function readFlag(where: string, name: string, value: unknown): boolean {
  if (typeof value !== "boolean") throw wrongType(where, name, "a boolean", describe(value));
  return value;
}

/** A string, or null for none. */
export function readString(where: string, name: string, value: unknown): string | undefined {
  if (value === null) return undefined;
  if (typeof value !== "string") throw wrongType(where, name, "a string", describe(value));
  return value;
}

/** Dimensions, or a number for one of them. */
export function readSize(where: string, name: string, value: unknown): number[] {
  return readDims(where, name, typeof value === "number" ? [value] : value);
}
