// Reading .safetensors files: a JSON header that says where each tensor's bytes stand, and the bytes.
//
// The header comes from anywhere, so nothing in it is believed before it was checked: what is returned lies within the file,
// no two tensors share bytes, and no byte belongs to none.
// https://github.com/huggingface/safetensors#format
import { count, show } from "../dims.js";
import {
  bufferOf,
  byteOffsetOf,
  type Elements,
  isGone,
  lengthOf,
  ownArray,
  typedArrayTag,
} from "../dtypes.js";
import { describe, outOfMemory, quotedList, wrongType, wrongValue } from "../errors.js";
import type { Float16ArrayLike } from "../types.js";

const WHERE = "parseSafetensors";
/** As in the reference implementation. */
const LONGEST_HEADER = 100_000_000;

type NewBytes = new (
  buffer: ArrayBufferLike,
  byteOffset: number,
  length: number,
) => ArrayBufferView;

interface FileType {
  readonly dtype: string;
  /** Of one element. */
  readonly bits: number;
  readonly array: NewBytes;
}

const type = (dtype: string, bits: number, array: NewBytes): FileType => ({ dtype, bits, array });

/** The element types of files by their names there. */
const FILE_TYPES: ReadonlyMap<string, FileType> = new Map([
  ["F64", type("float64", 64, Float64Array)],
  ["F32", type("float32", 32, Float32Array)],
  ["F16", type("float16", 16, Uint16Array)],
  ["BF16", type("bfloat16", 16, Uint16Array)],
  ["I64", type("int64", 64, BigInt64Array)],
  ["U64", type("uint64", 64, BigUint64Array)],
  ["I32", type("int32", 32, Int32Array)],
  ["U32", type("uint32", 32, Uint32Array)],
  ["I16", type("int16", 16, Int16Array)],
  ["U16", type("uint16", 16, Uint16Array)],
  ["I8", type("int8", 8, Int8Array)],
  ["U8", type("uint8", 8, Uint8Array)],
  ["BOOL", type("bool", 8, Uint8Array)],
  // Pairs of float32.
  ["C64", type("complex64", 64, Float32Array)],
  // The bits, as they stand in the file.
  ["F8_E4M3", type("float8_e4m3fn", 8, Uint8Array)],
  ["F8_E5M2", type("float8_e5m2", 8, Uint8Array)],
  ["F8_E4M3FNUZ", type("float8_e4m3fnuz", 8, Uint8Array)],
  ["F8_E5M2FNUZ", type("float8_e5m2fnuz", 8, Uint8Array)],
  ["F8_E8M0", type("float8_e8m0fnu", 8, Uint8Array)],
  ["F6_E2M3", type("float6_e2m3fn", 6, Uint8Array)],
  ["F6_E3M2", type("float6_e3m2fn", 6, Uint8Array)],
  ["F4", type("float4_e2m1fn", 4, Uint8Array)],
]);

/** What holds a tensor's elements. */
export type SafetensorsArray =
  | Float64Array
  | Float32Array
  | Float16ArrayLike
  | BigInt64Array
  | BigUint64Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array
  | Uint8Array;

/**
 * A tensor of a file. Those of float32, float64, float16 and bfloat16 go as they are wherever the package takes a
 * tensor-like object.
 */
export interface SafetensorsTensor {
  data: SafetensorsArray;
  shape: number[];
  /** PyTorch's name: `float32`, `bfloat16`, `int64`, `float8_e4m3fn`, ... */
  dtype: string;
}

/** A tensor's entry in the header, checked by itself. */
interface Entry {
  readonly name: string;
  readonly type: FileType;
  readonly shape: number[];
  readonly begin: number;
  readonly end: number;
}

/**
 * The tensors of a .safetensors file by name.
 *
 * `data` is a typed array of the element type: Float64Array (F64), Float32Array (F32), BigInt64Array (I64) and so on; for
 * F16 a Float16Array where the engine has it, else its bits in a Uint16Array, as for BF16; a byte for each BOOL, pairs for C64,
 * and bytes as they stand for the types of 4, 6 and 8 bits. It is a view of `bytes` where these are aligned for it, else a
 * copy.
 *
 * Every entry is checked before any is returned: offsets that lie outside, overlap or leave holes, shapes that do not fit
 * them, names given twice, headers that are cut, too long, no UTF-8 or no JSON.
 *
 * https://github.com/huggingface/safetensors#format
 *
 * @throws {TypeError} if `bytes` is no Uint8Array or ArrayBuffer, or a detached one
 * @throws {RangeError} if they are not a whole, sound file; it names the entry. Or out of memory
 * @example
 * const file = new Uint8Array([...new Uint8Array(8), ...new TextEncoder().encode("{}")]);
 * file[0] = 2; // the header's length
 * const tensors = parseSafetensors(file);
 * console.log(Object.keys(tensors).length); // -> 0
 */
export function parseSafetensors(
  bytes: Uint8Array | ArrayBufferLike,
): Record<string, SafetensorsTensor> {
  const file = readFile(bytes);
  if (file.length < 8) throw broken("at least 8 bytes", `${file.length}`);
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const length = view.getBigUint64(0, true);
  if (length > LONGEST_HEADER) {
    throw broken(`a header of at most ${LONGEST_HEADER} bytes`, `one of ${length}`);
  }
  const begin = 8 + Number(length);
  if (begin > file.length) {
    throw broken(`${begin} bytes or more, since the header has ${length}`, `${file.length}`);
  }
  const header = readHeader(file.subarray(8, begin));
  const entries: Entry[] = [];
  for (let i = 0; i < header.names.length; i++) {
    const name = header.names[i]!;
    if (name === "__metadata__") checkMetadata(header.values[i]);
    else entries.push(readEntry(name, header.values[i]));
  }
  checkOffsets(entries, file.length - begin);

  const tensors: Record<string, SafetensorsTensor> = {};
  for (const entry of entries) {
    const { name, type, shape } = entry;
    tensors[name] = { data: elements(file, begin, entry), shape, dtype: type.dtype };
  }
  return tensors;
}

/** The bytes as a plain Uint8Array, whatever subclass they came in: a Buffer's slice, for one, copies nothing. */
function readFile(bytes: unknown): Uint8Array {
  if (typedArrayTag(bytes) === "Uint8Array") {
    const array = bytes as unknown as Elements;
    const length = lengthOf(array);
    if (length === 0 && isGone(array)) throw detached("Uint8Array");
    return new Uint8Array(bufferOf(array), byteOffsetOf(array), length);
  }
  const kind = Object.prototype.toString.call(bytes);
  if (kind === "[object ArrayBuffer]" || kind === "[object SharedArrayBuffer]") {
    try {
      return new Uint8Array(bytes as ArrayBuffer);
    } catch {
      throw detached("ArrayBuffer");
    }
  }
  throw wrongType(WHERE, "bytes", "a Uint8Array or an ArrayBuffer", describe(bytes));
}

function detached(kind: string): TypeError {
  return wrongType(WHERE, "bytes", "memory that is there", `a detached ${kind}`);
}

function broken(expected: string, got: string): RangeError {
  return wrongValue(WHERE, "bytes", expected, got);
}

/** What the header's object has: looking for names in an object of many thousands is slow, so it is done once. */
interface Header {
  readonly names: readonly string[];
  readonly values: readonly unknown[];
}

function readHeader(bytes: Uint8Array): Header {
  if (bytes[0] !== 0x7b) {
    const got = bytes.length === 0 ? "an empty one" : `one that begins with byte ${bytes[0]}`;
    throw broken('a header that begins with "{"', got);
  }
  let text: string;
  try {
    // A copy, since decoders refuse shared memory.
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.slice());
  } catch {
    throw broken("a header in UTF-8", "bytes that are none");
  }
  let header: Record<string, unknown>;
  try {
    header = JSON.parse(text);
  } catch (error) {
    const { message } = error as Error;
    throw broken("a header in JSON", `what is none: ${message.slice(0, 80)}`);
  }
  // Of names that are given twice, JSON.parse silently takes the last: there are then fewer than the text has.
  const names = Object.keys(header);
  const values = names.map((name) => header[name]);
  if (names.length + namesIn(values) !== namesOf(text)) rejectRepeatedNames(text);
  return { names, values };
}

/** How many names all objects within an array have. Without recursion, which a header of "[[[..." would exhaust. */
function namesIn(values: readonly unknown[]): number {
  const open: object[] = [values];
  const enter = (each: unknown) => {
    if (typeof each === "object" && each !== null) open.push(each);
  };
  let names = 0;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (Array.isArray(at)) {
      for (const each of at) enter(each);
    } else {
      for (const name of Object.keys(at)) {
        names++;
        enter(at[name as keyof typeof at]);
      }
    }
  }
  return names;
}

/** How many names a text in JSON has: a colon outside of strings follows each. */
function namesOf(text: string): number {
  const QUOTE = 0x22;
  const BACKSLASH = 0x5c;
  const COLON = 0x3a;
  let names = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) inString = !inString;
    else if (char === BACKSLASH) i++;
    else if (char === COLON && !inString) names++;
  }
  return names;
}

/** Throws for the first name that is given twice in a text in JSON. */
function rejectRepeatedNames(text: string): void {
  const token = /"(?:[^"\\]|\\.)*"|[{}[\],]/gs;
  // The names of each object that is open, undefined for an array.
  const open: (Set<string> | undefined)[] = [];
  let isName = false;
  for (const [found] of text.matchAll(token)) {
    const names = open.at(-1);
    switch (found[0]) {
      case "{":
        open.push(new Set());
        isName = true;
        break;
      case "[":
        open.push(undefined);
        break;
      case "}":
      case "]":
        open.pop();
        break;
      case ",":
        isName = names !== undefined;
        break;
      default: {
        if (names === undefined || !isName) break;
        isName = false;
        const name: string = JSON.parse(found);
        if (names.has(name)) throw broken("each name once", `${describe(name)} twice`);
        names.add(name);
      }
    }
  }
}

function checkMetadata(value: unknown): void {
  const isText = isObject(value) && Object.values(value).every((each) => typeof each === "string");
  if (!isText) throw wrongValue(WHERE, "__metadata__", "strings by name", describe(value));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;

function readEntry(name: string, value: unknown): Entry {
  const wrong = (expected: string, got: string) => wrongValue(WHERE, name, expected, got);
  // It would be the prototype of whatever it is copied to.
  if (name === "__proto__") throw wrong("another name for a tensor", "this one");
  if (!isObject(value)) throw wrong("dtype, shape and data_offsets", describe(value));
  const { dtype, shape, data_offsets: offsets } = value;
  const type = typeof dtype === "string" ? FILE_TYPES.get(dtype) : undefined;
  if (type === undefined) {
    throw wrong(`a dtype of ${quotedList([...FILE_TYPES.keys()])}`, describe(dtype));
  }
  if (!Array.isArray(shape) || !shape.every(isCount)) {
    const got = Array.isArray(shape) ? JSON.stringify(shape).slice(0, 80) : describe(shape);
    throw wrong("a shape of integers >= 0", got);
  }
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount)) {
    const got = Array.isArray(offsets) ? JSON.stringify(offsets).slice(0, 80) : describe(offsets);
    throw wrong("two data_offsets, integers >= 0", got);
  }
  const [begin, end] = offsets as [number, number];
  if (end < begin) throw wrong("data_offsets in order", show(offsets));
  // Beyond 2^53 it equals no difference of offsets.
  const bytes = (count(shape) * type.bits) / 8;
  if (!Number.isInteger(bytes)) throw wrong("a whole number of bytes", `shape ${show(shape)}`);
  if (bytes !== end - begin) {
    const expected = `${bytes} bytes for shape ${show(shape)} of ${dtype}`;
    throw wrong(expected, `${end - begin}, from data_offsets ${show(offsets)}`);
  }
  return { name, type, shape, begin, end };
}

// The tensors follow one another without holes, and end where the file ends.
function checkOffsets(entries: readonly Entry[], size: number): void {
  const inOrder = [...entries].sort((a, b) => a.begin - b.begin || a.end - b.end);
  let at = 0;
  for (const { name, begin, end } of inOrder) {
    const wrong = (expected: string) =>
      wrongValue(WHERE, name, `data_offsets ${expected}`, show([begin, end]));
    if (end > size) throw wrong(`within ${size} bytes`);
    if (begin < at) throw wrong(`that share nothing with other tensors, from ${at} on`);
    if (begin > at) throw wrong(`from ${at} on, without a hole`);
    at = end;
  }
  if (at !== size) throw broken(`${at} bytes of data, as the header says`, `${size}`);
}

/** A tensor's elements: where they stand if they are aligned there, else a copy. `data` is where the header's offsets begin. */
function elements(file: Uint8Array, data: number, { type, begin, end }: Entry): SafetensorsArray {
  const { array: View, bits, dtype } = type;
  // Complex numbers count by their parts.
  const width = dtype === "complex64" ? 4 : Math.ceil(bits / 8);
  const length = Math.floor((end - begin) / width);
  const at = file.byteOffset + data + begin;
  const view =
    at % width === 0
      ? new View(file.buffer, at, length)
      : new View(copy(file, data + begin, data + end), 0, length);
  if (dtype !== "float16") return view as SafetensorsArray;
  return ownArray(view as Uint16Array, dtype);
}

function copy(file: Uint8Array, begin: number, end: number): ArrayBufferLike {
  try {
    return file.slice(begin, end).buffer;
  } catch {
    throw outOfMemory(WHERE, end - begin);
  }
}
