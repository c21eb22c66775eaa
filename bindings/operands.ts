// Operands: the four kinds of value that x, parameters and results can be.
//
// `readOperand` reads a caller's value, whose getters may run any code, each of them once. `settle` comes after
// everything was read: it runs no code of the caller's, and what it found stays true for the rest of the call.
import {
  checkDims,
  count,
  type Dims,
  MAX_RANK,
  readDims,
  readLength,
  requireSize,
} from "./dims.js";
import {
  DTYPES,
  dtypeOf,
  type Elements,
  elementsIn,
  isBits,
  isGone,
  lengthOf,
  type OwnArray,
} from "./dtypes.js";
import { describe, outOfMemory, wrongType, wrongValue } from "./errors.js";
import { readDType } from "./option_readers.js";
import { fault, stateOf, type Tensor } from "./tensor.js";
import type { DType } from "./types.js";

const ARRAYS = "Float32Array, Float64Array or Float16Array";
const KINDS = `a ${ARRAYS}, a tensor-like object, nested arrays of numbers or a Tensor`;
const PARAMETER = `null, a number, ${KINDS}`;
const DESTINATION = `a ${ARRAYS}, a Uint16Array of 16-bit floats or a Tensor`;

export type Kind = "flat" | "like" | "nested" | "resident" | "gpu";

/** The names under which a tensor-like object has its dimensions and element type. */
export interface Fields {
  readonly dims: "dims" | "shape";
  readonly type: "type" | "dtype" | undefined;
}

export class Operand {
  /** The number of elements, once settled. */
  size = 0;
  /** The elements, once settled, unless they stand in wasm memory at an address. Uint16Array for 16-bit types. */
  array: Elements | undefined;

  constructor(
    readonly kind: Kind,
    /** Of a Uint16Array to write to, x decides. */
    public dtype: DType,
    /** Undefined for the flat kind. */
    readonly dims: Dims | undefined,
    /** The caller's own array, on the same memory as `array`. */
    readonly own?: OwnArray | undefined,
    readonly address = 0,
    /** Of the resident kind only. */
    readonly tensor?: Tensor,
    /** Of the tensor-like kind only. */
    readonly fields?: Fields,
  ) {
    this.array = own as Elements | undefined;
  }
}

/** Of the gpu kind only. */
export interface Operand {
  /** What overlaps are judged by. */
  memory?: object;
  settle?(where: string, name: string): void;
}

/** Reads a value of any kind; `expected` says so in messages. */
export function readOperand(
  where: string,
  name: string,
  value: unknown,
  expected = KINDS,
): Operand {
  if (typeof value !== "object" || value === null) {
    throw wrongType(where, name, expected, describe(value));
  }
  const elements = readElements(value);
  if (elements !== undefined) return elements;
  if (Array.isArray(value)) return readNested(where, name, value);
  if ("data" in value && ("dims" in value || "shape" in value)) {
    return readTensorLike(where, name, value as Record<string, unknown>);
  }
  throw wrongType(where, name, expected, describe(value));
}

/** Reads a number, a value of any kind, or null for none. */
export function readParameter(
  where: string,
  name: string,
  value: unknown,
): Operand | number | undefined {
  if (value === null) return undefined;
  if (typeof value === "number") return value;
  return readOperand(where, name, value, PARAMETER);
}

/** Reads a value of any kind, or null for none. */
export function readTensor(where: string, name: string, value: unknown): Operand | undefined {
  return value === null ? undefined : readOperand(where, name, value, `null, ${KINDS}`);
}

/** Reads a value that is written to: a typed array or a resident tensor. */
export function readDestination(where: string, name: string, value: unknown): Operand {
  if (typeof value === "object" && value !== null) {
    const elements = readElements(value);
    if (elements !== undefined) return elements;
    if (isBits(value)) return flatOperand("bfloat16", value);
  }
  throw wrongType(where, name, DESTINATION, describe(value));
}

/** A typed array or a resident tensor, or undefined for any other object. */
function readElements(value: object): Operand | undefined {
  const dtype = dtypeOf(value);
  if (dtype !== undefined) return flatOperand(dtype, value as OwnArray);
  return stateOf(value) === undefined ? undefined : residentOperand(value as Tensor);
}

/** A typed array of the given element type. */
export function flatOperand(dtype: DType, array: OwnArray): Operand {
  return new Operand("flat", dtype, undefined, array);
}

/** Zeros outside of wasm memory. */
export function newElements(where: string, dtype: DType, size: number): Elements {
  try {
    return new DTYPES[dtype].array(size);
  } catch {
    throw outOfMemory(where, size * DTYPES[dtype].bytes);
  }
}

export function residentOperand(tensor: Tensor): Operand {
  const { dtype, dims, address } = stateOf(tensor)!;
  return new Operand("resident", dtype, dims, undefined, address, tensor);
}

function readTensorLike(where: string, name: string, value: Record<string, unknown>): Operand {
  const [dimsField, ownDims] = eitherOf(value, "dims", "shape");
  const dims = readDims(where, `${name}.${dimsField}`, ownDims);
  const [typeField, type] = eitherOf(value, "type", "dtype");
  const data = value.data;
  let dtype = dtypeOf(data);
  if (dtype === undefined && !isBits(data)) {
    throw wrongType(where, `${name}.data`, `a ${ARRAYS}, or a Uint16Array`, describe(data));
  }
  if (typeField !== undefined && type !== undefined && type !== dtype) {
    const named = readDType(where, `${name}.${typeField}`, type);
    if (dtype !== undefined || DTYPES[named].bytes !== 2) {
      throw wrongType(where, `${name}.data`, `the typed array of "${named}"`, describe(data));
    }
    dtype = named;
  }
  if (dtype === undefined) {
    const expected = '"float16" or "bfloat16" for a Uint16Array';
    throw wrongType(where, `${name}.${typeField ?? "type"}`, expected, "undefined");
  }
  const fields: Fields = { dims: dimsField!, type: typeField };
  return new Operand("like", dtype, dims, data as OwnArray, 0, undefined, fields);
}

/** The name and value of a field that goes by two names: the first wins unless it is undefined. */
function eitherOf<First extends string, Second extends string>(
  value: Record<string, unknown>,
  first: First,
  second: Second,
): [name: First | Second | undefined, value: unknown] {
  if (first in value) {
    const found = value[first];
    if (found !== undefined || !(second in value)) return [first, found];
  }
  return second in value ? [second, value[second]] : [undefined, undefined];
}

function readNested(where: string, name: string, value: readonly unknown[]): Operand {
  const dims: number[] = [];
  // Made at the first number: the arrays around it tell how many there will be.
  let values: Elements | undefined;
  let at = 0;
  const ragged = (got: string) => wrongValue(where, name, "no ragged nesting", got);
  // The first element of each depth decides whether arrays or numbers stand there.
  let leaf = -1;
  const visit = (element: unknown, depth: number): void => {
    if (Array.isArray(element)) {
      if (depth === leaf) throw ragged("an array beside numbers");
      if (depth >= MAX_RANK)
        throw wrongValue(where, name, `at most ${MAX_RANK} dimensions`, "more");
      const length = readLength(where, name, element);
      if (depth === dims.length) dims.push(length);
      if (length !== dims[depth]) throw ragged(`rows of ${dims[depth]} and ${length}`);
      for (let i = 0; i < length; i++) visit(element[i], depth + 1);
      return;
    }
    if (typeof element !== "number") {
      throw wrongType(where, name, "numbers", `${describe(element)} in it`);
    }
    if (leaf < 0 && depth === dims.length) leaf = depth;
    if (depth !== leaf) throw ragged("a number beside arrays");
    values ??= newElements(where, "float64", count(checkDims(where, name, dims)));
    values[at++] = element;
  };
  visit(value, 0);
  checkDims(where, name, dims);
  const array = (values ?? new Float64Array(0)) as OwnArray;
  return new Operand("nested", "float64", dims, array);
}

/** An operand's kind in a few words. */
export function describeOperand({ kind, dtype, own }: Operand): string {
  switch (kind) {
    case "flat":
      return `a ${describe(own)}`;
    case "like":
      return "a tensor-like object";
    case "nested":
      return "nested arrays";
    case "resident":
      return `a ${dtype} Tensor`;
    case "gpu":
      return `a ${dtype} tensor on the GPU`;
  }
}

/** Counts an operand's elements and makes sure that they are there. */
export function settle(where: string, name: string, operand: Operand): void {
  const { own, tensor, dims, dtype } = operand;
  if (operand.settle !== undefined) {
    operand.settle(where, name);
    return;
  }
  if (own === undefined) {
    const state = stateOf(tensor!)!;
    const got = fault(state);
    if (got !== undefined) throw wrongType(where, name, "a live tensor", got);
    operand.size = state.size;
    return;
  }
  const size = lengthOf(own);
  if (size === 0 && isGone(own)) {
    throw wrongType(where, name, "memory that is there", `a detached ${describe(own)}`);
  }
  if (dims !== undefined) requireSize(where, name, dims, size);
  operand.size = size;
  if (dtype === "float16") operand.array = elementsIn(own, dtype);
}
