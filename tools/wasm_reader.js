// Reads wasm binaries: sections, functions, and what instructions are made of.

import { SetupError } from "./process.js";

export const IMPORT = 2;
export const CODE = 10;
export const DATA = 11;
const FUNCTION = 0;

/** Reads a wasm binary. */
export class Reader {
  at = 0;
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
  }
  /** A number in LEB128. */
  number() {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new SetupError("The binary has another form than expected.");
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }
  /** A number in LEB128 as it stands. */
  numberBytes() {
    const begin = this.at;
    this.number();
    return this.bytes.subarray(begin, this.at);
  }
  /** The number that comes next. */
  peekNumber() {
    const begin = this.at;
    const value = this.number();
    this.at = begin;
    return value;
  }
  byte() {
    return this.take(1)[0] ?? 0;
  }
  /** @param {number} count of bytes */
  take(count) {
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }
  /** Passes over as many bytes as a number says. */
  skip() {
    const size = this.number();
    this.at += size;
  }
  /** Passes over a memory's or a table's limits. */
  limits() {
    const flags = this.number();
    this.number();
    if (flags & 1) this.number();
  }
}

/** @param {Uint8Array} binary @returns {Map<number, Uint8Array>} sections by their number */
export function sections(binary) {
  const reader = new Reader(binary);
  reader.at = 8;
  const found = new Map();
  while (reader.at < binary.length) {
    const id = reader.number();
    const size = reader.number();
    found.set(id, binary.subarray(reader.at, reader.at + size));
    reader.at += size;
  }
  return found;
}

/** @param {Uint8Array} section of imports @returns {number} how many of them are functions, which are numbered first */
export function countImported(section) {
  const reader = new Reader(section);
  let functions = 0;
  for (let left = reader.number(); left > 0; left--) {
    reader.skip();
    reader.skip();
    const kind = reader.number();
    if (kind === FUNCTION) {
      functions++;
      reader.number();
    } else {
      // Tables and globals have a type first; of memories there are limits alone.
      if (kind !== 2) reader.number();
      if (kind === 3) reader.number();
      else reader.limits();
    }
  }
  return functions;
}

/**
 * An instruction's bytes in their order: opcodes, and operands of which there are few, as numbers; the others by their kind.
 *
 * @typedef {"table" | "bytes8" | "bytes16" | "local" | "offset" | "i32" | "i64" | "call"} Kind
 * @typedef {(number | { kind: Kind, bytes: Uint8Array })[]} Parts
 */

/** @param {Reader} reader @returns {Parts} of the instruction that stands there */
export function instruction(reader) {
  const opcode = reader.byte();
  const operands = PREFIXED[opcode];
  if (operands === undefined) return [opcode, ...operandsOf(reader, operandsAfter(opcode))];
  const second = reader.peekNumber();
  return [opcode, ...operandsOf(reader, `n${operands(second)}`)];
}

/**
 * What follows an opcode, a letter for each: b a byte, n a number of which there are few, or an operand of some kind.
 *
 * @type {Record<string, (reader: Reader) => Parts>}
 */
const OPERANDS = {
  b: (reader) => [reader.byte()],
  n: (reader) => [...reader.numberBytes()],
  l: (reader) => [{ kind: "local", bytes: reader.numberBytes() }],
  o: (reader) => [{ kind: "offset", bytes: reader.numberBytes() }],
  i: (reader) => [{ kind: "i32", bytes: reader.numberBytes() }],
  j: (reader) => [{ kind: "i64", bytes: reader.numberBytes() }],
  c: (reader) => [{ kind: "call", bytes: reader.numberBytes() }],
  d: (reader) => [{ kind: "bytes8", bytes: reader.take(8) }],
  v: (reader) => [{ kind: "bytes16", bytes: reader.take(16) }],
  t: (reader) => {
    const begin = reader.at;
    for (let left = reader.number(); left >= 0; left--) reader.number();
    return [{ kind: "table", bytes: reader.bytes.subarray(begin, reader.at) }];
  },
};

/** @param {Reader} reader @param {string} letters @returns {Parts} */
const operandsOf = (reader, letters) =>
  [...letters].flatMap((letter) => OPERANDS[letter]?.(reader) ?? []);

/** @param {number} opcode */
function operandsAfter(opcode) {
  if (opcode >= 0x02 && opcode <= 0x04) return "n"; // block, loop, if
  if (opcode === 0x0c || opcode === 0x0d) return "n"; // br, br_if
  if (opcode === 0x0e) return "t"; // br_table
  if (opcode === 0x10) return "c";
  if (opcode === 0x11) return "nn"; // call_indirect
  if (opcode === 0x1c) return "nb"; // select of one type
  if (opcode >= 0x20 && opcode <= 0x22) return "l";
  if (opcode === 0x23 || opcode === 0x24) return "n"; // globals
  if (opcode >= 0x28 && opcode <= 0x3e) return "no"; // loads and stores
  if (opcode === 0x3f || opcode === 0x40) return "n"; // memory.size, memory.grow
  if (opcode === 0x41) return "i";
  if (opcode === 0x42) return "j";
  if (opcode === 0x43) return "bbbb";
  if (opcode === 0x44) return "d";
  return "";
}

/** By the first byte, from what follows it. @type {Record<number, (second: number) => string>} */
const PREFIXED = {
  // Conversions, and memory as a whole.
  252: (second) => ([8, 10, 12, 14].includes(second) ? "nn" : second > 7 ? "n" : ""),
  // SIMD.
  253: (second) => {
    if (second < 12 || second === 92 || second === 93) return "no";
    if (second === 12 || second === 13) return "v"; // v128.const, i8x16.shuffle
    if (second > 20 && second < 35) return "b"; // lanes
    if (second > 83 && second < 92) return "nob"; // lanes in memory
    return "";
  },
  // Atomic.
  254: (second) => (second === 3 ? "b" : "no"),
};
