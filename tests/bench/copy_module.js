/**
 * A wasm module of two functions, written down byte by byte so that the benchmark needs no compiler.
 *
 *   (import "bench" "memory" (memory 1))
 *   (func (export "copy") (param target source bytes)       memory.copy)
 *   (func (export "simd_copy") (param target source bytes)  four v128 loads and stores an iteration)
 *
 * simd_copy wants a multiple of 64 bytes, and at least that.
 */

const OP = {
  block: 0x03,
  end: 0x0b,
  brIf: 0x0d,
  get: 0x20,
  set: 0x21,
  tee: 0x22,
  constant: 0x41,
  ltU: 0x49,
  add: 0x6a,
  bulk: 0xfc,
  simd: 0xfd,
};
const TYPE = { i32: 0x7f, func: 0x60, empty: 0x40 };
const [TARGET, SOURCE, BYTES] = [0, 1, 2];
const STEP = 64;

/** @param {number[]} content @returns {number[]} with its length in front */
function sized(content) {
  if (content.length > 16_383) throw new RangeError("copyModule: a length needs a third byte");
  const length =
    content.length < 128 ? [content.length] : [(content.length & 127) | 128, content.length >>> 7];
  return [...length, ...content];
}

/** @param {string} text */
function name(text) {
  return sized([...new TextEncoder().encode(text)]);
}

/** @param {number} id @param {number[][]} items */
function section(id, items) {
  return [id, ...sized([items.length, ...items.flat()])];
}

/** @param {number} code of v128.load or v128.store @param {number} offset */
function vector(code, offset) {
  // Alignment is a hint: 2^0.
  return [OP.simd, code, 0, offset];
}

/** @param {number[]} body */
function code(body) {
  return sized([0, ...body, OP.end]);
}

/** @param {number} local @param {number[]} value added to it */
function increased(local, value) {
  return [OP.get, local, ...value, OP.add];
}

function copyBody() {
  return [OP.get, TARGET, OP.get, SOURCE, OP.get, BYTES, OP.bulk, 10, 0, 0];
}

function simdCopyBody() {
  const LOAD = 0;
  const STORE = 11;
  // 64 as signed LEB128.
  const step = [OP.constant, STEP | 128, 0];
  const moves = [0, 16, 32, 48].flatMap((offset) => [
    ...[OP.get, TARGET, OP.get, SOURCE],
    ...vector(LOAD, offset),
    ...vector(STORE, offset),
  ]);
  return [
    // BYTES becomes the end of the source.
    ...increased(SOURCE, [OP.get, BYTES]),
    ...[OP.set, BYTES],
    ...[OP.block, TYPE.empty],
    ...moves,
    ...increased(TARGET, step),
    ...[OP.set, TARGET],
    ...increased(SOURCE, step),
    ...[OP.tee, SOURCE, OP.get, BYTES, OP.ltU, OP.brIf, 0],
    OP.end,
  ];
}

/** @returns {Uint8Array<ArrayBuffer>} */
export function copyModule() {
  const FUNCTION = 0;
  const MEMORY = 2;
  const signature = [TYPE.func, 3, TYPE.i32, TYPE.i32, TYPE.i32, 0];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [signature]),
    ...section(2, [[...name("bench"), ...name("memory"), MEMORY, 0, 1]]),
    ...section(3, [[0], [0]]),
    ...section(7, [
      [...name("copy"), FUNCTION, 0],
      [...name("simd_copy"), FUNCTION, 1],
    ]),
    ...section(10, [code(copyBody()), code(simdCopyBody())]),
  ]);
}
