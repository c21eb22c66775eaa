// Operands: the four kinds of value that x, parameters and results can be.
//
// `readOperand` reads a caller's value, whose getters may run any code, each of them once. `settle` comes after
// everything was read: it runs no code of the caller's, and what it found stays true for the rest of the call.
import { checkDims, count, type Dims, MAX_RANK, readDims, show } from "./dims.js";
import {
  bufferOf,
  byteOffsetOf,
  DTYPE_NAMES,
  DTYPES,
  dtypeOf,
  isGone,
  lengthOf,
} from "./dtypes.js";
import { describe, quotedList, wrongType, wrongValue } from "./errors.js";
import { fault, stateOf, type Tensor } from "./tensor.js";
import type { DType, FloatArray } from "./types.js";

const ARRAYS = "Float32Array or Float64Array";
const KINDS = `a ${ARRAYS}, a tensor-like object, nested arrays of numbers or a Tensor`;
const PARAMETER = `null, a number, ${KINDS}`;

export type Kind = "flat" | "like" | "nested" | "resident";

/** The names under which a tensor-like object has its dimensions and element type. */
export interface Fields {
  readonly dims: "dims" | "shape";
  readonly type: "type" | "dtype" | undefined;
}

export class Operand {
  /** The number of elements, once settled. */
  size = 0;

  constructor(
    readonly kind: Kind,
    readonly dtype: DType,
    /** Undefined for the flat kind. */
    readonly dims: Dims | undefined,
    /** The elements, unless they stand in wasm memory at an address. */
    readonly array: FloatArray | undefined,
    readonly address: number,
    /** Of the resident kind only. */
    readonly tensor: Tensor | undefined,
    /** Of the tensor-like kind only. */
    readonly fields: Fields | undefined,
  ) {}
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

/** Reads a value that is written to: a typed array or a resident tensor. */
export function readDestination(where: string, name: string, value: unknown): Operand {
  const elements = typeof value === "object" && value !== null ? readElements(value) : undefined;
  if (elements !== undefined) return elements;
  throw wrongType(where, name, `a ${ARRAYS} or a Tensor`, describe(value));
}

/** A typed array or a resident tensor, or undefined for any other object. */
function readElements(value: object): Operand | undefined {
  const dtype = dtypeOf(value);
  if (dtype !== undefined) return flatOperand(dtype, value as FloatArray);
  return stateOf(value) === undefined ? undefined : residentOperand(value as Tensor);
}

/** A typed array of the given element type. */
export function flatOperand(dtype: DType, array: FloatArray): Operand {
  return new Operand("flat", dtype, undefined, array, 0, undefined, undefined);
}

export function residentOperand(tensor: Tensor): Operand {
  const { dtype, dims, address } = stateOf(tensor)!;
  return new Operand("resident", dtype, dims, undefined, address, tensor, undefined);
}

function readTensorLike(where: string, name: string, value: Record<string, unknown>): Operand {
  const dimsField = "dims" in value ? "dims" : "shape";
  const typeField = "type" in value ? "type" : "dtype" in value ? "dtype" : undefined;
  const dims = readDims(where, `${name}.${dimsField}`, value[dimsField]);
  const type = typeField && value[typeField];
  const data = value.data;
  const dtype = dtypeOf(data);
  if (dtype === undefined) {
    throw wrongType(where, `${name}.data`, `a ${ARRAYS}`, describe(data));
  }
  if (typeField !== undefined && type !== undefined && type !== dtype) {
    readDType(where, `${name}.${typeField}`, type);
    throw wrongType(where, `${name}.data`, `the typed array of "${type}"`, describe(data));
  }
  const fields: Fields = { dims: dimsField, type: typeField };
  return new Operand("like", dtype, dims, data as FloatArray, 0, undefined, fields);
}

/** Reads the name of an element type. */
export function readDType(where: string, name: string, value: unknown): DType {
  if (typeof value !== "string") throw wrongType(where, name, "a string", describe(value));
  if (!(DTYPE_NAMES as string[]).includes(value)) {
    throw wrongValue(where, name, `one of ${quotedList(DTYPE_NAMES)}`, describe(value));
  }
  return value as DType;
}

function readNested(where: string, name: string, value: readonly unknown[]): Operand {
  const dims: number[] = [];
  const values: number[] = [];
  // The first element of each depth decides whether arrays or numbers stand there.
  let leaf = -1;
  const visit = (element: unknown, depth: number): void => {
    if (Array.isArray(element)) {
      if (depth === leaf)
        throw wrongValue(where, name, "no ragged nesting", "an array beside numbers");
      if (depth >= MAX_RANK)
        throw wrongValue(where, name, `at most ${MAX_RANK} dimensions`, "more");
      const length = element.length;
      if (depth === dims.length) dims.push(length);
      if (length !== dims[depth]) {
        const got = `rows of ${dims[depth]} and ${length}`;
        throw wrongValue(where, name, "no ragged nesting", got);
      }
      for (let i = 0; i < length; i++) visit(element[i], depth + 1);
      return;
    }
    if (typeof element !== "number") {
      throw wrongType(where, name, "numbers", `${describe(element)} in it`);
    }
    if (leaf < 0 && depth === dims.length) leaf = depth;
    if (depth !== leaf)
      throw wrongValue(where, name, "no ragged nesting", "a number beside arrays");
    values.push(element);
  };
  visit(value, 0);
  checkDims(where, name, dims);
  const array = Float64Array.from(values);
  return new Operand("nested", "float64", dims, array, 0, undefined, undefined);
}

/** An operand's kind in a few words. */
export function describeOperand({ kind, dtype, array }: Operand): string {
  switch (kind) {
    case "flat":
      return `a ${describe(array)}`;
    case "like":
      return "a tensor-like object";
    case "nested":
      return "nested arrays";
    case "resident":
      return `a ${dtype} Tensor`;
  }
}

/** Counts an operand's elements and makes sure that they are there. */
export function settle(where: string, name: string, operand: Operand): void {
  const { array, tensor, dims } = operand;
  if (array === undefined) {
    const state = stateOf(tensor!)!;
    const got = fault(state);
    if (got !== undefined) throw wrongType(where, name, "a live tensor", got);
    operand.size = state.size;
    return;
  }
  const size = lengthOf(array);
  if (size === 0 && isGone(array)) {
    throw wrongType(where, name, "memory that is there", `a detached ${describe(array)}`);
  }
  if (dims !== undefined && count(dims) !== size) {
    throw wrongValue(where, name, `${count(dims)} elements for shape ${show(dims)}`, `${size}`);
  }
  operand.size = size;
}

/** Where a settled operand's elements stand: in which buffer, from which byte to which. */
export interface Extent {
  readonly buffer: ArrayBufferLike;
  readonly begin: number;
  readonly end: number;
}

export function extentOf({ array, tensor, address, dtype, size }: Operand): Extent {
  const begin = array === undefined ? address : byteOffsetOf(array);
  return {
    buffer: array === undefined ? stateOf(tensor!)!.owner.block!.backend.buffer : bufferOf(array),
    begin,
    end: begin + size * DTYPES[dtype].bytes,
  };
}
