// A binary as text that gzip makes smaller than it makes the binary, by a seventh. Instructions are sorted by what they are made
// of: opcodes stand in one list, locals in another, offsets, constants and so on in theirs, since what stands beside each other
// there is alike. Text is printable ASCII that a string between double quotes leaves alone. bindings/unpack.cc reads it.
//
// The text is lists, each behind its length:
//   templates, each of bytes and, in place of an operand, its list, up to END; the last one stops,
//   the templates of the binary one after the other, by number,
//   operands of each kind.

import { gzipSync } from "node:zlib";
import { SetupError } from "./process.js";
import { CODE, instruction, Reader } from "./wasm_reader.js";

/** @typedef {import("./wasm_reader.js").Kind} Kind */

// What unpack.cc calls kEnd and so on.
const END = 256;
const BODY = 257;
const STOP = 258;
/**
 * All lists, in the order of its constants: of operands, of templates and of their numbers. gzip makes new codes every 16,000
 * symbols or so, and in this order the least of all text.
 *
 * @type {(Kind | "numbers" | "steps")[]}
 */
const LISTS = [
  "local",
  "numbers",
  "bytes8",
  "bytes16",
  "i64",
  "i32",
  "offset",
  "call",
  "table",
  "steps",
];
const FIRST_LIST = 259;

/** The digits of the text: from # to ~, without the backslash. */
const ALPHABET = Array.from({ length: 92 }, (_, i) => String.fromCharCode(35 + i)).filter(
  (character) => character !== "\\",
);
/** Smaller values are one character, others two. */
const SINGLE = ALPHABET.length - 3;
const VALUES = SINGLE + 3 * ALPHABET.length;
/** How many pairs of templates get one of their own at most; how many do, gzip decides. */
const PAIRS = 40;
/** From how many times on an integer counts as part of the opcode before it. */
const FREQUENT = 200;
// The room that unpack.cc has: of templates in all, for the text, for the binary.
const STEPS = 1 << 12;
const MOST_TEXT = 3 << 16;
const MOST_BYTES = 1 << 18;

/**
 * @param {Uint8Array} binary
 * @returns {string}
 */
export function pack(binary) {
  const { sequence, operands } = dissect(binary);
  let best = { text: "", size: Number.POSITIVE_INFINITY };
  for (const templates of joined(sequence)) {
    const text = write(templates, operands);
    const size = gzipSync(text, { level: 9 }).length;
    if (size < best.size) best = { text, size };
  }
  if (best.text.length > MOST_TEXT || binary.length > MOST_BYTES) {
    throw new SetupError("The binary is larger than bindings/unpack.cc has room for.");
  }
  return best.text;
}

/**
 * @param {string[]} templates in their order
 * @param {Record<Kind, number[]>} operands
 * @returns {string} all lists
 */
function write(templates, operands) {
  const counts = new Map();
  for (const template of templates) counts.set(template, (counts.get(template) ?? 0) + 1);
  const rank = (/** @type {string} */ template) =>
    template.endsWith(`${STOP}`) ? 0 : counts.get(template);
  const ordered = [...counts.keys()].sort((a, b) => rank(b) - rank(a));
  const places = new Map(ordered.map((template, i) => [template, i]));
  const steps = ordered.flatMap((template) => [...template.split(" ").map(Number), END]);
  if (steps.length > STEPS) {
    throw new SetupError("There are more templates than bindings/unpack.cc has room for.");
  }
  const numbers = templates.map((template) => places.get(template) ?? 0);
  const values = { ...operands, steps, numbers };
  const lists = LISTS.map((name) => textOf(values[name]));
  return lists.map((list) => textOf(leb(list.length)) + list).join("");
}

/**
 * The binary's templates in their order, and the operands of each kind. What is no code is an operand as a whole.
 *
 * @param {Uint8Array} binary
 */
function dissect(binary) {
  const { before, functions, after } = parse(binary);
  const integers = new Map();
  for (const part of functions.flatMap(({ code }) => code.flat())) {
    if (typeof part === "number" || part.kind !== "i32") continue;
    integers.set(`${part.bytes}`, 1 + (integers.get(`${part.bytes}`) ?? 0));
  }
  /** @type {string[]} */
  const sequence = [];
  const operands = /** @type {Record<Kind, number[]>} */ (
    Object.fromEntries(LISTS.map((kind) => [kind, /** @type {number[]} */ ([])]))
  );
  const put = (/** @type {Kind} */ kind, /** @type {Uint8Array} */ bytes) => {
    if (kind === "table") operands.table.push(...leb(bytes.length));
    operands[kind].push(...bytes);
    return FIRST_LIST + LISTS.indexOf(kind);
  };
  sequence.push(`${put("table", before)}`);
  for (const { locals, code } of functions) {
    sequence.push(`${BODY} ${put("table", locals)}`);
    for (const parts of code) {
      const steps = parts.flatMap((part) => {
        if (typeof part === "number") return [part];
        const isFrequent = part.kind === "i32" && integers.get(`${part.bytes}`) >= FREQUENT;
        return isFrequent ? [...part.bytes] : [put(part.kind, part.bytes)];
      });
      sequence.push(steps.join(" "));
    }
  }
  // As a body, so that the last function's ends.
  sequence.push(`${BODY} ${put("table", after)} ${STOP}`);
  return { sequence, operands };
}

/** The binary's functions, and what stands before and after them. @param {Uint8Array} binary */
function parse(binary) {
  const reader = new Reader(binary);
  reader.at = 8;
  while (reader.byte() !== CODE) reader.skip();
  reader.number();
  const count = reader.number();
  const before = binary.subarray(0, reader.at);
  const functions = Array.from({ length: count }, () => {
    const size = reader.number();
    const begin = reader.at;
    for (let groups = reader.number(); groups > 0; groups--) {
      reader.number();
      reader.byte();
    }
    const locals = binary.subarray(begin, reader.at);
    const code = [];
    while (reader.at < begin + size) code.push(instruction(reader));
    return { locals, code };
  });
  return { before, functions, after: binary.subarray(reader.at) };
}

/** @param {[pair: string, count: number]} entry */
const isShort = ([pair]) => pair.length < 100;

/**
 * The sequence as it is, then with a template of its own for the most frequent pair, and so on.
 *
 * @param {string[]} sequence
 */
function* joined(sequence) {
  let templates = sequence;
  for (let i = 0; i <= PAIRS; i++) {
    yield templates;
    const counts = new Map();
    for (let at = 1; at < templates.length; at++) {
      const pair = `${templates[at - 1]} ${templates[at]}`;
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
    const [best] = [...counts].filter(isShort).sort(([, a], [, b]) => b - a)[0] ?? [];
    const next = [];
    for (let at = 0; at < templates.length; at++) {
      const pair = `${templates[at]} ${templates[at + 1]}`;
      next.push(pair === best ? pair : templates[at]);
      if (pair === best) at++;
    }
    templates = next;
  }
}

/** Values in digits. @param {ArrayLike<number>} values */
export function textOf(values) {
  const digits = Array.from(values, (value) => {
    if (value < SINGLE) return ALPHABET[value];
    if (value >= VALUES) throw new SetupError(`tools/pack.js has no digits for ${value}.`);
    const rest = value - SINGLE;
    return ALPHABET[SINGLE + Math.floor(rest / ALPHABET.length)] + ALPHABET[rest % ALPHABET.length];
  });
  return digits.join("");
}

/** @param {number} value @returns {number[]} in LEB128 */
const leb = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...leb(value >> 7)]);
