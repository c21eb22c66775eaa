// The entry `layernorm/lite`: layerNorm and rmsNorm of float32 rows with a weight and a bias, and nothing else. Its module has the
// kernels of the other entries, and a quarter of their size.
import { type Dims, readDims, readNumbers, show } from "./dims.js";
import { bufferOf, byteOffsetOf, copyInto, dtypeOf, isGone, lengthOf, part } from "./dtypes.js";
import { describe, outOfMemory, wrongType, wrongValue } from "./errors.js";
import text from "./generated/lite_text.js";
import { byAxes } from "./geometry.js";
import { readEps, readFinite, readFlag, readNumber, readSize } from "./option_readers.js";
import type { DataOf, WithStatistics } from "./types.js";
import { compile, compileSync } from "./wasm_module.js";
import { bytesOf } from "./wasm_text.js";

/** The options of `layerNorm` and `rmsNorm`. At most one of normalizedShape, axis and axes. */
export interface LiteOptions {
  /** The dimensions of x. Default: one row, or what `normalizedShape` implies. */
  shape?: readonly number[] | undefined;
  /** The trailing dimensions that are normalized together, as PyTorch has it. Default: the last dimension. */
  normalizedShape?: number | readonly number[] | undefined;
  /** All dimensions from this one on, as ONNX has it; negative from the end. */
  axis?: number | undefined;
  /** These dimensions, which have to be the trailing ones; negative from the end. */
  axes?: readonly number[] | undefined;
  /** A number, or as many elements as are normalized together. Default: none. */
  weight?: Float32Array | number | null | undefined;
  /** As `weight`. Default: none. */
  bias?: Float32Array | number | null | undefined;
  /** Added to weight, finite; ignored without weight. Default: 0. */
  weightOffset?: number | undefined;
  /** Added inside the root: finite, >= 0. Default: 1e-5. */
  eps?: number | undefined;
  /** Written and returned in place of a new array. It may be x itself, else it must not overlap what is read. */
  out?: Float32Array | undefined;
  /** Return the statistics of each row too, as float64. Default: false. */
  returnStats?: boolean | undefined;
}

type Plain = { out?: undefined; returnStats?: false | undefined };
type F32 = DataOf<"float32">;
type F64 = DataOf<"float64">;

/** What is returned with `out` or statistics. */
interface Forms<Statistics extends string> {
  (
    x: Float32Array,
    options: LiteOptions & { out?: undefined; returnStats: true },
  ): WithStatistics<F32, F64, Statistics>;
  <Out extends Float32Array>(
    x: Float32Array,
    options: LiteOptions & { out: Out; returnStats?: false | undefined },
  ): Out;
  <Out extends Float32Array>(
    x: Float32Array,
    options: LiteOptions & { out: Out; returnStats: true },
  ): WithStatistics<Out, F64, Statistics>;
  (
    x: Float32Array,
    options: LiteOptions,
  ): Float32Array | WithStatistics<Float32Array, F64, Statistics>;
}

interface LayerNorm extends Forms<"mean" | "rstd"> {
  /**
   * Layer normalization of rows of float32: the bits of `layerNorm` of "layernorm".
   *
   * `y = (x - mean) * rstd * (weightOffset + weight) + bias` with `rstd = 1 / sqrt(var + eps)`, where the variance is the
   * biased one. A row is what `normalizedShape`, `axis` or `axes` select, the last dimension by default.
   *
   * Ba, Kiros, Hinton 2016, https://arxiv.org/abs/1607.06450; matches `torch.nn.LayerNorm`.
   *
   * @throws {TypeError} for a wrong kind, an unknown or clashing option, a detached array
   * @throws {RangeError} for a wrong value or shape, overlapping memory, or no memory
   * @example
   * const x = new Float32Array([1, 2, 3, 4, 5, 6]);
   * const y = layerNorm(x, { shape: [2, 3], weight: new Float32Array([1, 1, 2]), bias: 0.5 });
   */
  (x: Float32Array, options?: LiteOptions & Plain): F32;
}

interface RmsNorm extends Forms<"rstd"> {
  /**
   * Root mean square normalization of rows of float32: the bits of `rmsNorm` of "layernorm".
   *
   * `y = x * rstd * (weightOffset + weight) + bias` with `rstd = 1 / sqrt(mean(x^2) + eps)`; rows and options as of
   * `layerNorm`.
   *
   * Zhang, Sennrich 2019, https://arxiv.org/abs/1910.07467; matches `torch.nn.RMSNorm`.
   *
   * @throws {TypeError} for a wrong kind, an unknown or clashing option, a detached array
   * @throws {RangeError} for a wrong value or shape, overlapping memory, or no memory
   */
  (x: Float32Array, options?: LiteOptions & Plain): F32;
}

export const layerNorm: LayerNorm = (x: unknown, options?: unknown) =>
  normalize("layerNorm", LAYER_NORM, x, options);
export const rmsNorm: RmsNorm = (x: unknown, options?: unknown) =>
  normalize("rmsNorm", RMS_NORM, x, options);

/**
 * Compiles the module without holding up the page. Needed before the first call only where an engine compiles nothing of its
 * size at once, as Chrome before 114.
 *
 * @throws {Error} if WebAssembly, or its SIMD, is missing or not allowed
 */
export async function init(): Promise<void> {
  const module = await compile(bytesOf(text));
  const instance = await WebAssembly.instantiate(module);
  used ??= new Arena(instance);
}

// As the core's Op.
const LAYER_NORM = 0;
const RMS_NORM = 1;

// As bindings/lite.cc has them: elements at a time, and rows.
const PIECE = 32768;
const MOST_ROWS = 2048;

type Vector = Float32Array | number | undefined;

const readers = {
  shape: readDims,
  normalizedShape: readSize,
  axis: readNumber,
  axes: readNumbers,
  weight: readVector,
  bias: readVector,
  weightOffset: readFinite,
  eps: readEps,
  out: readArray,
  returnStats: readFlag,
};

// Within for-in, engines answer this without a look-up.
const hasOwn = Object.prototype.hasOwnProperty;

type Options = { [Name in keyof typeof readers]?: ReturnType<(typeof readers)[Name]> };

function readArray(where: string, name: string, value: unknown): Float32Array {
  if (dtypeOf(value) === "float32") return value as Float32Array;
  throw wrongType(where, name, "a Float32Array", describe(value));
}

function readVector(where: string, name: string, value: unknown): Vector {
  if (value === null) return undefined;
  if (typeof value === "number" || dtypeOf(value) === "float32") return value as Vector;
  throw wrongType(where, name, "null, a number or a Float32Array", describe(value));
}

function readOptions(where: string, given: unknown = {}): Options {
  // Arrays, typed ones and maps are iterable.
  if (typeof given !== "object" || given === null || Symbol.iterator in given) {
    throw wrongType(where, "options", "an object", describe(given));
  }
  const options: Record<string, unknown> = {};
  for (const name in given) {
    if (!hasOwn.call(given, name)) continue;
    const value: unknown = given[name as keyof typeof given];
    if (value === undefined) continue;
    if (!hasOwn.call(readers, name)) {
      const known = Object.keys(readers).join(", ");
      throw wrongType(where, "options", `only ${known}`, describe(name));
    }
    options[name] = readers[name as keyof Options](where, name, value);
  }
  return options;
}

// The functions' types stand above.
// biome-ignore lint/suspicious/noExplicitAny: it is both of them
function normalize(where: string, op: number, given: unknown, givenOptions: unknown): any {
  const x = readArray(where, "x", given);
  const options = readOptions(where, givenOptions);
  // From here on no code of the caller's runs.
  const { weight, bias, weightOffset = 0, eps = 1e-5, out, returnStats } = options;
  const size = settle(where, "x", x);
  const { dims, lead, count } = byAxes(where, undefined, size, options);
  if (lead < 0) throw wrongValue(where, "axes", "trailing dimensions", show(options.axes!));
  checkVector(where, "weight", weight, dims.slice(lead), count);
  checkVector(where, "bias", bias, dims.slice(lead), count);
  if (out !== undefined) {
    const length = settle(where, "out", out);
    if (length !== size) throw wrongValue(where, "out", `${size} elements`, `${length}`);
    rejectOverlap(where, out, "x", x, true);
    rejectOverlap(where, out, "weight", weight, false);
    rejectOverlap(where, out, "bias", bias, false);
  }
  const rows = size / count;
  const output = out ?? make(where, Float32Array, size);
  const rstd = returnStats ? make(where, Float64Array, rows) : undefined;
  const mean = returnStats && op === LAYER_NORM ? make(where, Float64Array, rows) : undefined;
  if (rows !== 0) {
    used ??= new Arena(new WebAssembly.Instance(compileSync(bytesOf(text))));
    used.run({ op, x, y: output, count, rows, eps, weight, bias, weightOffset, mean, rstd });
  }
  if (!returnStats) return output;
  return mean === undefined ? { output, rstd } : { output, mean, rstd };
}

/** The number of elements of an array, if they are there. */
function settle(where: string, name: string, array: Float32Array): number {
  const size = lengthOf(array);
  if (size !== 0 || !isGone(array)) return size;
  throw wrongType(where, name, "memory that is there", "a detached Float32Array");
}

function checkVector(where: string, name: string, value: Vector, dims: Dims, count: number): void {
  const size = typeof value === "object" ? settle(where, name, value) : count;
  if (size !== count) throw wrongValue(where, name, `shape ${show(dims)}`, show([size]));
}

function rejectOverlap(
  where: string,
  out: Float32Array,
  name: string,
  other: Vector,
  inPlace: boolean,
): void {
  if (typeof other !== "object" || bufferOf(other) !== bufferOf(out)) return;
  const distance = byteOffsetOf(other) - byteOffsetOf(out);
  if (distance >= 4 * lengthOf(out) || -distance >= 4 * lengthOf(other)) return;
  if (inPlace && distance === 0) return;
  throw wrongValue(where, "out", "x itself or memory apart", `an overlap with "${name}"`);
}

function make<A>(where: string, type: new (size: number) => A, size: number): A {
  try {
    return new type(size);
  } catch {
    throw outOfMemory(where);
  }
}

/** What bindings/lite.cc exports. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  get_arena(): number;
  set_call(
    op: number,
    size: number,
    eps: number,
    hasWeight: boolean,
    weight: number,
    hasBias: boolean,
    bias: number,
  ): void;
  weigh(n: number): void;
  run_rows(rows: number): void;
  begin_row(): void;
  add_piece(n: number): void;
  wants_next_pass(): number;
  write_piece(n: number): void;
}

/** A call that was checked. */
interface Call {
  readonly op: number;
  readonly x: Float32Array;
  readonly y: Float32Array;
  /** The values of a row. */
  readonly count: number;
  readonly rows: number;
  readonly eps: number;
  readonly weight: Vector;
  readonly bias: Vector;
  readonly weightOffset: number;
  /** Those of each row, where they are wanted. */
  readonly mean: Float64Array | undefined;
  readonly rstd: Float64Array | undefined;
}

let used: Arena | undefined;

/** An instance, and views of where it works. */
class Arena {
  readonly #raw: Exports;
  readonly #x: Float32Array;
  readonly #weight: Float32Array;
  readonly #bias: Float32Array;
  readonly #mean: Float64Array;
  readonly #rstd: Float64Array;
  // The part of x that the last call wrote: to make a view takes as long as a short row.
  #written: Float32Array;

  constructor(instance: WebAssembly.Instance) {
    const raw = instance.exports as unknown as Exports;
    const { buffer } = raw.memory;
    const begin = raw.get_arena();
    const floats = (k: number) => new Float32Array(buffer, begin + 4 * PIECE * k, PIECE);
    const doubles = (k: number) =>
      new Float64Array(buffer, begin + 12 * PIECE + 8 * MOST_ROWS * k, MOST_ROWS);
    this.#raw = raw;
    this.#x = this.#written = floats(0);
    this.#weight = floats(1);
    this.#bias = floats(2);
    this.#mean = doubles(0);
    this.#rstd = doubles(1);
  }

  run(call: Call): void {
    const { op, count, eps, weight, bias, weightOffset } = call;
    const offset = Math.fround(weightOffset);
    const number = typeof weight === "number" ? Math.fround(weight) + offset : 1;
    const shift = typeof bias === "number" ? bias : -0;
    const isVector = typeof weight === "object";
    this.#raw.set_call(op, count, eps, isVector, number, typeof bias === "object", shift);
    for (let i = 0; i < count; i += PIECE) {
      const n = Math.min(PIECE, count - i);
      this.#placeParameters(call, i, n);
      this.#raw.weigh(n);
    }
    if (count <= PIECE) this.#runRows(call);
    else for (let row = 0; row < call.rows; row++) this.#runLong(call, row);
  }

  #placeParameters({ weight, bias, weightOffset }: Call, begin: number, n: number): void {
    if (typeof bias === "object") enter(this.#bias, bias, begin, n);
    if (typeof weight !== "object") return;
    enter(this.#weight, weight, begin, n);
    if (weightOffset === 0) return;
    const offset = Math.fround(weightOffset);
    for (let i = 0; i < n; i++) this.#weight[i]! += offset;
  }

  /** As many at a time as there is room for. */
  #runRows({ x, y, count, rows, mean, rstd }: Call): void {
    const most = Math.min(MOST_ROWS, Math.floor(PIECE / count));
    for (let row = 0; row < rows; row += most) {
      const some = Math.min(most, rows - row);
      enter(this.#x, x, row * count, some * count);
      this.#raw.run_rows(some);
      this.#leave(y, row * count, some * count);
      mean?.set(this.#mean.subarray(0, some), row);
      rstd?.set(this.#rstd.subarray(0, some), row);
    }
  }

  /** Piece by piece: once for its sums, seldom more often, and once to write. */
  #runLong(call: Call, row: number): void {
    const { x, y, count, mean, rstd } = call;
    const raw = this.#raw;
    const begin = row * count;
    const eachPiece = (visit: (at: number, n: number) => void) => {
      for (let i = 0; i < count; i += PIECE) {
        const n = Math.min(PIECE, count - i);
        enter(this.#x, x, begin + i, n);
        visit(i, n);
      }
    };
    raw.begin_row();
    do eachPiece((_, n) => raw.add_piece(n));
    while (raw.wants_next_pass());
    if (mean !== undefined) mean[row] = this.#mean[0]!;
    if (rstd !== undefined) rstd[row] = this.#rstd[0]!;
    eachPiece((i, n) => {
      this.#placeParameters(call, i, n);
      raw.write_piece(n);
      this.#leave(y, begin + i, n);
    });
  }

  /** Copies the first n elements that were written to an array. */
  #leave(to: Float32Array, begin: number, n: number): void {
    if (this.#written.length !== n) this.#written = this.#x.subarray(0, n);
    copyInto(to, this.#written, begin);
  }
}

/** Copies n elements of an array to the beginning of a room. */
function enter(room: Float32Array, from: Float32Array, begin: number, n: number): void {
  const source = n === lengthOf(from) ? from : part(from, bufferOf(from), "float32", begin, n);
  copyInto(room, source, 0);
}
