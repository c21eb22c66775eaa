// Dimensions: reading them, counting elements, and which of them are normalized together.
import { describe, wrongType, wrongValue } from "./errors.js";

export type Dims = readonly number[];

// More than any tensor library has; a nest deeper than this is a cycle.
export const MAX_RANK = 64;

/** The numbers of an array, each read once. */
export function readNumbers(where: string, name: string, value: unknown): number[] {
  if (!Array.isArray(value)) {
    throw wrongType(where, name, "an array of integers", describe(value));
  }
  const rank = value.length;
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

/** Dimensions of which those from `lead` on are normalized together. */
export interface Split {
  readonly dims: Dims;
  readonly lead: number;
  /** The number of runs. */
  readonly outer: number;
  /** The number of elements of a run. */
  readonly channels: number;
}

/** The options that say what x's dimensions are and which of them are normalized. */
export interface SplitOptions {
  readonly shape: Dims | undefined;
  readonly normalizedShape: Dims | undefined;
  readonly axis: number | undefined;
  readonly axes: Dims | undefined;
}

/** Splits x, which has `size` elements and, unless it is flat, dimensions of its own. */
export function splitTrailing(
  where: string,
  own: Dims | undefined,
  size: number,
  options: SplitOptions,
): Split {
  const { normalizedShape, axis, axes } = options;
  if (+(normalizedShape !== undefined) + +(axis !== undefined) + +(axes !== undefined) > 1) {
    throw clash(where, options);
  }
  const dims = own ?? options.shape ?? impliedDims(where, size, normalizedShape);
  if (own !== undefined) {
    if (options.shape !== undefined && !sameDims(own, options.shape)) {
      throw wrongValue(where, "shape", show(own), show(options.shape));
    }
  } else if (options.shape !== undefined && count(dims) !== size) {
    throw wrongValue(where, "x", `${count(dims)} elements for shape ${show(dims)}`, `${size}`);
  }
  if (dims.length === 0) throw wrongValue(where, "x", "at least one dimension", "shape []");

  let lead = dims.length - 1;
  if (normalizedShape !== undefined) {
    lead = leadOfShape(where, dims, normalizedShape);
  } else if (axis !== undefined) {
    lead = readAxis(where, "axis", dims, axis);
  } else if (axes !== undefined) {
    lead = leadOfAxes(where, dims, axes);
  }
  const channels = count(dims, lead);
  if (channels === 0) {
    throw wrongValue(where, "x", "at least one element to normalize", `shape ${show(dims)}`);
  }
  if (!Number.isSafeInteger(channels)) {
    throw wrongValue(where, "shape", "fewer than 2^53 elements", show(dims));
  }
  return { dims, lead, outer: size / channels, channels };
}

function clash(where: string, { normalizedShape, axis, axes }: SplitOptions): TypeError {
  const all = { normalizedShape, axis, axes };
  const given = Object.entries(all).filter(([, value]) => value !== undefined);
  const names = given.map(([name]) => name);
  const expected = `at most one of ${Object.keys(all).join(", ")}`;
  return wrongType(where, names[1]!, expected, names.join(" and "));
}

// A flat x without `shape`: normalizedShape with the leading dimension implied, else one row.
function impliedDims(where: string, size: number, normalizedShape: Dims | undefined): Dims {
  if (normalizedShape === undefined) return [size];
  const channels = count(normalizedShape);
  if (channels !== 0 && size % channels !== 0) {
    throw wrongValue(where, "x", `a multiple of ${channels} elements`, `${size}`);
  }
  return [channels === 0 ? 0 : size / channels, ...normalizedShape];
}

function leadOfShape(where: string, dims: Dims, normalizedShape: Dims): number {
  if (normalizedShape.length === 0) {
    throw wrongValue(where, "normalizedShape", "at least one dimension", "[]");
  }
  const lead = dims.length - normalizedShape.length;
  if (lead < 0 || normalizedShape.some((dim, i) => dim !== dims[lead + i])) {
    const expected = `trailing dimensions of ${show(dims)}`;
    throw wrongValue(where, "normalizedShape", expected, show(normalizedShape));
  }
  return lead;
}

function readAxis(where: string, name: string, dims: Dims, axis: number): number {
  const rank = dims.length;
  if (!Number.isInteger(axis) || axis < -rank || axis >= rank) {
    const expected = `an integer from ${-rank} to ${rank - 1} for shape ${show(dims)}`;
    throw wrongValue(where, name, expected, describe(axis));
  }
  return axis < 0 ? axis + rank : axis + 0;
}

function leadOfAxes(where: string, dims: Dims, axes: Dims): number {
  const found = axes.map((axis) => readAxis(where, "axes", dims, axis));
  const lead = dims.length - found.length;
  if (found.length === 0 || new Set(found).size !== found.length) {
    const expected = found.length === 0 ? "at least one dimension" : "distinct dimensions";
    throw wrongValue(where, "axes", expected, show(axes));
  }
  if (found.some((axis, i) => axis !== lead + i)) {
    throw wrongValue(where, "axes", "the trailing dimensions in order", show(axes));
  }
  return lead;
}
