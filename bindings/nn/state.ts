// What a layer owns: parameters, which have gradients, and buffers, which have none; and how both are saved and loaded.
import { count, type Dims, requireSize, sameDims, show } from "../dims.js";
import {
  copyInto,
  DTYPE_NAMES,
  DTYPES,
  type Elements,
  elementsIn,
  isGone,
  lengthOf,
  type OwnArray,
  ownArray,
  typedArrayTag,
} from "../dtypes.js";
import { describe, outOfMemory, wrongType, wrongValue } from "../errors.js";
import { inlined } from "../inlined.js";
import { backendFor } from "../instance.js";
import { nameClass } from "../names.js";
import { flatOperand, newElements, type Operand, readOperand, settle } from "../operands.js";
import { readFlag, readString } from "../option_readers.js";
import { shared } from "../shared.js";
import { isPlain, requirePlain, stateOf } from "../tensor.js";
import type { DataOf, DType, Input } from "../types.js";
import { readOptions } from "./arguments.js";

/** An entry of a state dict. The elements are those of `parseSafetensors` too. */
export interface StateTensor {
  data: DataOf<DType> | BigInt64Array;
  shape: number[];
  /** An element type of the package; `int64` for `num_batches_tracked`. */
  dtype: DType | "int64";
}

/** State by PyTorch's names. */
export type StateDict = Record<string, StateTensor>;

/** What can be loaded: tensors of any kind, by name; `parseSafetensors` returns such. */
export type LoadableStateDict = Readonly<Record<string, LoadableTensor>>;

/** A tensor of any kind, with elements of floats; for `num_batches_tracked` also integers. */
export type LoadableTensor =
  | Input
  | number
  | {
      readonly data: ArrayLike<unknown>;
      readonly shape: readonly number[];
      readonly dtype?: string;
    };

/** Options of `loadStateDict`. */
export interface LoadOptions {
  /** Whether every entry has to be there, and no other. Default: true. */
  strict?: boolean | undefined;
  /** Only entries whose names begin with this count, without it: `model.layers.0.input_layernorm.`. Default: all. */
  prefix?: string | undefined;
}

/** What `loadStateDict` did without `strict`. */
export interface LoadResult {
  /** Names of the layer's that the dict lacks. */
  missingKeys: string[];
  /** Names of the dict's that the layer lacks. */
  unexpectedKeys: string[];
}

/** 1 in each element type; 16 bits as they are seen inside. */
const ONE: Readonly<Record<DType, number>> = {
  float32: 1,
  float64: 1,
  float16: 0x3c00,
  bfloat16: 0x3f80,
};

/** A parameter of a layer: a tensor-like object, with its gradient. */
export class Parameter<D extends DType = DType> {
  /** PyTorch's name within the layer, such as `weight`. */
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: D;
  /** The elements: what is written here, the next `forward` reads. Always the same array. */
  readonly data: DataOf<D>;
  #grad: Float32Array | Float64Array | undefined;
  /** The layer, for messages. */
  readonly #where: string;

  static {
    nameClass(Parameter, "Parameter");
  }

  /** @internal */
  constructor(where: string, name: string, shape: Dims, dtype: D, value: 0 | 1) {
    this.#where = where;
    this.name = name;
    this.shape = Object.freeze([...shape]);
    this.dtype = dtype;
    this.data = filled(where, shape, dtype, value) as DataOf<D>;
  }

  /**
   * The gradients that `backward` has added up since `zeroGrad`: 0 at first, always the same array. float64 for float64
   * parameters, else float32, so that sums of small gradients of 16-bit parameters are not lost.
   */
  get grad(): D extends "float64" ? Float64Array : Float32Array {
    const dtype = this.dtype === "float64" ? "float64" : "float32";
    this.#grad ??= newElements(this.#where, dtype, count(this.shape)) as Float32Array;
    return this.#grad as D extends "float64" ? Float64Array : Float32Array;
  }

  /** Sets the gradient to 0. */
  zeroGrad(): void {
    if (this.#grad === undefined) return;
    this.requireGrad();
    this.#grad.fill(0);
  }

  /**
   * Makes sure that the gradient can be added to.
   * @internal
   */
  requireGrad(): void {
    requireMemory(this.#where, { name: `${this.name}.grad`, data: this.grad });
  }

  /** @internal */
  accumulate(gradient: ArrayLike<number>): void {
    const grad: Float32Array | Float64Array = this.grad;
    for (let i = 0; i < grad.length; i++) grad[i] = grad[i]! + gradient[i]!;
  }

  /** @internal */
  get float64(): Float64Array {
    return readFloat64(this.#where, this);
  }

  /**
   * The parameter for a backward call, whose gradients have its element type: the float32 of one with 16 bits.
   * @internal
   */
  get exact(): { data: Elements | DataOf<D>; shape: readonly number[]; dtype: DType } {
    const { data, shape, dtype } = this;
    if (DTYPES[dtype].bytes !== 2) return this;
    const source = flatOperand(dtype, data);
    settle(this.#where, this.name, source);
    return { data: converted(this.#where, source, shape, "float32"), shape, dtype: "float32" };
  }
}

/** Running statistics of a layer: state without a gradient. */
export interface FloatBuffer<D extends DType = DType> {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: D;
  readonly data: DataOf<D>;
}

/** How many batches there were. */
export interface CountBuffer {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: "int64";
  readonly data: BigInt64Array;
}

/** @internal */
export type State = Parameter | FloatBuffer | CountBuffer;

/** @internal */
export function floatBuffer<D extends DType>(
  where: string,
  name: string,
  shape: Dims,
  dtype: D,
  value: 0 | 1,
): FloatBuffer<D> {
  const data = filled(where, shape, dtype, value) as DataOf<D>;
  return { name, shape: Object.freeze([...shape]), dtype, data };
}

/** @internal */
export function countBuffer(name: string): CountBuffer {
  return { name, shape: Object.freeze([]), dtype: "int64", data: new BigInt64Array(1) };
}

function filled(where: string, shape: Dims, dtype: DType, value: 0 | 1): DataOf<DType> {
  const elements = newElements(where, dtype, count(shape));
  if (value === 1) elements.fill(ONE[dtype]);
  return ownArray(elements, dtype) as DataOf<DType>;
}

/**
 * Makes sure that what a layer owns was not detached.
 * @internal
 */
export function requireMemory(
  where: string,
  { name, data }: { readonly name: string; readonly data: object },
): void {
  const array = data as OwnArray;
  if (lengthOf(array) === 0 && isGone(array)) {
    throw wrongType(where, name, "memory that is there", `a detached ${describe(data)}`);
  }
}

/**
 * A settled operand's elements as float64, in an array of their own.
 * @internal
 */
export function float64Of(where: string, operand: Operand, dims: Dims): Float64Array {
  return converted(where, operand, dims, "float64") as Float64Array;
}

/**
 * The elements of a parameter or buffer, as float64.
 * @internal
 */
export function readFloat64(
  where: string,
  { name, shape, dtype, data }: Parameter | FloatBuffer,
): Float64Array {
  const source = flatOperand(dtype, data);
  settle(where, name, source);
  return float64Of(where, source, shape);
}

/**
 * Rounds each float64 once for a buffer; what is returned writes them there.
 * @internal
 */
export function writerOf(where: string, buffer: FloatBuffer, values: Float64Array): () => void {
  const { name, shape, dtype, data } = buffer;
  const source = flatOperand("float64", values);
  settle(where, name, source);
  const elements = converted(where, source, shape, dtype);
  return () => copyInto(elementsIn(data, dtype), elements, 0);
}

/** Elements of a settled operand in another element type, each rounded once. */
function converted(where: string, source: Operand, dims: Dims, dtype: DType): Elements {
  const backend = backendFor(inlined);
  const copy = shared.copyToTensor(where, backend, source, dims, dtype);
  try {
    return copyOf<Elements>(where, backend.viewOf(stateOf(copy)!));
  } finally {
    copy.dispose();
  }
}

function copyOf<T>(where: string, array: { readonly byteLength: number; slice(): T }): T {
  try {
    return array.slice();
  } catch {
    throw outOfMemory(where, array.byteLength);
  }
}

/**
 * A copy of a layer's state.
 * @internal
 */
export function saveState(where: string, states: readonly State[]): StateDict {
  const dict: StateDict = {};
  for (const state of states) {
    requireMemory(where, state);
    const { name, data, shape, dtype } = state;
    dict[name] = { data: copyOf<StateTensor["data"]>(where, data), shape: [...shape], dtype };
  }
  return dict;
}

/**
 * Loads all of a layer's state, or, if anything is wrong, nothing: one error then names it all.
 * @internal
 */
export function loadState(
  where: string,
  states: readonly State[],
  dict: unknown,
  options: unknown,
): LoadResult {
  requirePlain(where, "stateDict", dict, "an object of tensors");
  const { strict = true, prefix = "" } = readOptions<LoadOptions>(
    where,
    { strict: readFlag, prefix: readString },
    options,
  );
  const given = new Map<string, unknown>();
  for (const key of Object.keys(dict)) {
    const value = key.startsWith(prefix) ? dict[key] : undefined;
    // Absent, as options are.
    if (value !== undefined) given.set(key.slice(prefix.length), value);
  }

  const problems: string[] = [];
  const missingKeys: string[] = [];
  const loads: (() => void)[] = [];
  for (const state of states) {
    const { name } = state;
    if (!given.has(name)) {
      // PyTorch before 0.4.1 did not save it, and so PyTorch still loads.
      if (state.dtype !== "int64") missingKeys.push(name);
      continue;
    }
    try {
      loads.push(
        state.dtype === "int64"
          ? readCount(where, state, given.get(name))
          : readFloats(where, state, given.get(name)),
      );
    } catch (error) {
      const { message } = error as Error;
      problems.push(message.startsWith(`${where}: `) ? message.slice(where.length + 2) : message);
    }
  }
  const names = states.map(({ name }) => name);
  const unexpectedKeys = [...given.keys()].filter((name) => !names.includes(name));
  if (strict) {
    for (const name of missingKeys) problems.push(`"${name}" is missing`);
    for (const name of unexpectedKeys) problems.push(`"${name}" is unknown`);
  }
  if (problems.length > 0) {
    const known = states.map(({ name, shape }) => `${name} ${show(shape)}`).join(", ");
    const under = prefix === "" ? "" : ` under "${prefix}"`;
    const expected = `${known === "" ? "nothing" : known}${under}`;
    throw wrongValue(where, "stateDict", expected, problems.join("; "));
  }
  // What is read may be anything, and its reading run any code: only now is it certain that nothing stays half loaded.
  for (const state of states) requireMemory(where, state);
  for (const load of loads) load();
  return { missingKeys, unexpectedKeys };
}

/** Reads a tensor for a state of floats; what is returned writes it there. */
function readFloats(where: string, state: Parameter | FloatBuffer, value: unknown): () => void {
  const { name, shape, dtype } = state;
  const operand = readOperand(where, name, value);
  settle(where, name, operand);
  if (operand.dims === undefined) requireSize(where, name, shape, operand.size);
  else if (!sameDims(operand.dims, shape)) {
    throw wrongValue(where, name, `shape ${show(shape)}`, show(operand.dims));
  }
  // Also of the same element type: what it was read from must not change before it is written.
  const elements = converted(where, operand, shape, dtype);
  if (name === "running_var" && operand.size > 0) rejectNegative(where, name, operand);
  return () => copyInto(elementsIn(state.data, dtype), elements, 0);
}

function rejectNegative(where: string, name: string, operand: Operand): void {
  const values = converted(where, operand, [operand.size], "float64") as Float64Array;
  const at = values.findIndex((value) => value < 0);
  if (at >= 0) throw wrongValue(where, name, "variances >= 0", `a negative one at ${at}`);
}

/** Reads the number of batches: a number, or a tensor of one element that is an integer. */
function readCount(where: string, { name, data }: CountBuffer, value: unknown): () => void {
  const found = readSingle(where, name, value);
  const integer = Number.isSafeInteger(found) ? BigInt(found as number) : found;
  if (typeof integer !== "bigint" || integer < 0n || integer >= 2n ** 63n) {
    throw wrongValue(where, name, "an integer >= 0", describe(found));
  }
  return () => {
    data[0] = integer;
  };
}

/** The one element of a tensor of integers, or of any that the package knows; what is no tensor as it is. */
function readSingle(where: string, name: string, value: unknown): unknown {
  const {
    data = value,
    shape,
    dims = shape,
    dtype,
    type = dtype,
  } = isPlain(value) ? (value as Record<string, unknown>) : {};
  if (Array.isArray(dims) && dims.some((dim) => dim !== 1)) {
    throw wrongValue(where, name, "shape []", show(dims));
  }
  let only: unknown = data;
  while (Array.isArray(only) && only.length === 1) only = only[0];
  const tag = typedArrayTag(only);
  const isOfIntegers = tag !== undefined && /int/i.test(tag);
  if (isOfIntegers && !DTYPE_NAMES.includes(type as DType)) {
    // Bits of other floats stand in arrays of integers as well.
    if (type !== undefined && !(typeof type === "string" && /^(u?int\d+|bool)$/.test(type))) {
      throw wrongValue(where, name, "an integer type", describe(type));
    }
    const integers = only as Uint16Array;
    if (lengthOf(integers) !== 1) {
      throw wrongValue(where, name, "1 element", `${lengthOf(integers)}`);
    }
    return integers[0];
  }
  if (typeof only !== "object" || only === null) return only;
  const tensor = isPlain(value) ? { data, dims: dims ?? [1], type } : value;
  const operand = readOperand(where, name, tensor);
  settle(where, name, operand);
  if (operand.size !== 1) throw wrongValue(where, name, "1 element", `${operand.size}`);
  return float64Of(where, operand, [1])[0];
}
