// Errors have one grammar: `layerNorm: "weight" expected shape [768], got [512]`.
import { typedArrayTag } from "./dtypes.js";

/** A value of the wrong kind. */
export function wrongType(where: string, name: string, expected: string, got: string): TypeError {
  return new TypeError(sentence(where, name, expected, got));
}

/** A value of the right kind that does not fit. */
export function wrongValue(where: string, name: string, expected: string, got: string): RangeError {
  return new RangeError(sentence(where, name, expected, got));
}

export function outOfMemory(where: string, bytes?: number): RangeError {
  const what = bytes === undefined ? "" : `, ${bytes} bytes are not available`;
  return new RangeError(`${where}: out of memory${what}`);
}

function sentence(where: string, name: string, expected: string, got: string): string {
  return `${where}: "${name}" expected ${expected}, got ${got}`;
}

/** A value in a few words. Runs no code of the value's. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}...` : value);
    case "bigint":
      return `${value}n`;
    case "symbol":
    case "function":
      return `a ${typeof value}`;
    case "object":
      if (value === null) return "null";
      if (Array.isArray(value)) return "an array";
      return typedArrayTag(value) ?? "an object";
    default:
      return Object.is(value, -0) ? "-0" : `${value}`;
  }
}

/** `"a", "b", "c"` */
export function quotedList(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}
