/**
 * Hashes of the results for fixed inputs: any build, engine and CPU has to give the same bits. `node tests/js/hashes.js
 * --write` stores them in tests/golden/hashes.json. The C++ tests make the same inputs and compare with the same file, so
 * the algorithm is written down here, and uses integers and exact products with powers of two only. This module loads
 * nothing, so that browsers and Workers run it too.
 *
 * Numbers. next() is xorshift32: s ^= s << 13; s ^= s >> 17; s ^= s << 5 on uint32; its value is s. Case c starts with
 * s = 2463534242 + c. With B = 24 for float32 and 53 for float64, draw() is an integer in [0, 2^B):
 *   float32: next() >> 8        float64: (next() >> 5) * 2^26 + (next() >> 6), the left factor drawn first
 * and uniform() = (draw() - 2^(B-1)) * 2^(1-B), in [-1, 1). Every number below is exact in the element type.
 *
 * Case c of 80 (integer division, % is the remainder):
 *   op        c % 2         0 layer_norm, 1 rms_norm
 *   dtype     c / 2 % 2     0 float32, 1 float64
 *   kind      c / 4 % 9     of x, see below
 *   params    c / 4 % 5     0 none; 1 weight; 2 weight, bias; 3 numbers: weight 1.5, bias -0.25; 4 weight, bias,
 *                           weightOffset 1
 *   eps       c / 8 % 3     0 1e-5, 1 0, 2 1e-12
 *   c < 72:   rows 1 + c % 3, channels CHANNELS[5 * c % 16]
 *   c >= 72:  rows 1, channels LONG[(c - 72) / 2]
 *
 * x [rows, channels] is drawn first, element by element; element i is in column j = i % channels. Then, where params has
 * them as tensors, the channels of weight, each 2 * uniform(), then those of bias, each uniform(), all of x's dtype.
 *   kind 0 uniform    uniform()
 *        1 offset     (2^(B-1) + (next() >> 20)) * 2^(10-B)
 *        2 two        next() >> 31 ? a : -a, a = 12345677 * 2^-23
 *        3 wide       (next() >> 31 ? -1 : 1) * (2^(B-1) + draw() % 2^(B-1)) * 2^((next() & 31) - 16 - B), drawn in
 *                     this order
 *        4 constant   13421773 * 2^-27
 *        5 spike      j == channels / 2 ? 3 : 0
 *        6 tiny       uniform() * 2^-120, float64: * 2^-1000
 *        7 huge       uniform() * 2^100, float64: * 2^1000
 *        8 ramp       (2^22 + j) * 2^-2
 *
 * Hash: FNV-1a, 64 bits (h = 0xcbf29ce484222325; for each byte h = (h ^ byte) * 0x100000001b3), over the bytes of y, then
 * for layer_norm those of mean [rows], then those of rstd [rows], little-endian; mean and rstd are float64. No result is
 * NaN.
 */
/** @typedef {Pick<typeof import("../../dist/index.js"), "layerNorm" | "rmsNorm">} Functions */

const CASES = 80;
const CHANNELS = [1, 3, 4, 5, 16, 17, 31, 64, 95, 97, 128, 192, 193, 257, 768, 1023];
const LONG = [10_007, 65_537, 100_003, 200_003];
const KINDS = ["uniform", "offset", "two", "wide", "constant", "spike", "tiny", "huge", "ramp"];
const PARAMS = ["none", "weight", "weight bias", "numbers", "weight bias offset"];
const EPS = [1e-5, 0, 1e-12];

/** The generator of one case. */
export class Xorshift {
  #state;
  /** Bits of a mantissa of the element type. */
  #bits;

  /** @param {number} c @param {"float32" | "float64"} dtype */
  constructor(c, dtype) {
    this.#state = (2463534242 + c) | 0;
    this.#bits = dtype === "float32" ? 24 : 53;
  }

  /** @returns {number} */
  next() {
    let s = this.#state;
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    this.#state = s;
    return s >>> 0;
  }

  /** @returns {number} */
  draw() {
    if (this.#bits === 24) return this.next() >>> 8;
    const high = this.next() >>> 5;
    return high * 2 ** 26 + (this.next() >>> 6);
  }

  /** @returns {number} */
  uniform() {
    return (this.draw() - 2 ** (this.#bits - 1)) * 2 ** (1 - this.#bits);
  }

  /**
   * @param {string} kind
   * @param {number} column
   * @param {number} channels
   * @returns {number} the next element of x
   */
  element(kind, column, channels) {
    const bits = this.#bits;
    switch (kind) {
      case "uniform":
        return this.uniform();
      case "offset":
        return (2 ** (bits - 1) + (this.next() >>> 20)) * 2 ** (10 - bits);
      case "two":
        return (this.next() >>> 31 ? 1 : -1) * 12345677 * 2 ** -23;
      case "wide": {
        const sign = this.next() >>> 31 ? -1 : 1;
        const mantissa = 2 ** (bits - 1) + (this.draw() % 2 ** (bits - 1));
        return sign * mantissa * 2 ** ((this.next() & 31) - 16 - bits);
      }
      case "constant":
        return 13421773 * 2 ** -27;
      case "spike":
        return column === Math.floor(channels / 2) ? 3 : 0;
      case "tiny":
        return this.uniform() * 2 ** (bits === 24 ? -120 : -1000);
      case "huge":
        return this.uniform() * 2 ** (bits === 24 ? 100 : 1000);
      default:
        return (2 ** 22 + column) * 2 ** -2;
    }
  }
}

const PRIME = 0x100000001b3n;

/** @param {ArrayBufferView[]} views @returns {string} FNV-1a of their bytes, 16 hexadecimal digits */
export function fnv1a(views) {
  let hash = 0xcbf29ce484222325n;
  for (const { buffer, byteOffset, byteLength } of views) {
    for (const byte of new Uint8Array(buffer, byteOffset, byteLength)) {
      hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
    }
  }
  return hash.toString(16).padStart(16, "0");
}

/**
 * @param {number} c
 * @param {Functions} functions
 * @returns {{ name: string, hash: string }}
 */
function hashCase(c, { layerNorm, rmsNorm }) {
  const op = c & 1 ? "rms_norm" : "layer_norm";
  const dtype = (c >> 1) & 1 ? "float64" : "float32";
  const kind = String(KINDS[(c >> 2) % KINDS.length]);
  const params = (c >> 2) % PARAMS.length;
  const eps = EPS[(c >> 3) % EPS.length];
  const rows = c < 72 ? 1 + (c % 3) : 1;
  const channels = Number(c < 72 ? CHANNELS[(5 * c) % CHANNELS.length] : LONG[(c - 72) >> 1]);

  const random = new Xorshift(c, dtype);
  /** @param {number} n @param {(i: number) => number} value */
  const make = (n, value) => {
    const data = dtype === "float32" ? new Float32Array(n) : new Float64Array(n);
    for (let i = 0; i < n; i++) data[i] = value(i);
    return data;
  };
  const x = make(rows * channels, (i) => random.element(kind, i % channels, channels));
  /** @type {Record<string, unknown>} */
  const options = { normalizedShape: channels, eps, returnStats: true };
  if (params === 3) {
    options.weight = 1.5;
    options.bias = -0.25;
  } else {
    if (params >= 1) options.weight = make(channels, () => 2 * random.uniform());
    if (params >= 2) options.bias = make(channels, () => random.uniform());
    if (params === 4) options.weightOffset = 1;
  }

  /** @type {any} */
  const call = op === "layer_norm" ? layerNorm : rmsNorm;
  const { output, mean, rstd } = call(x, options);
  const name = `${c} ${op} ${dtype} ${kind} ${rows}x${channels}, ${PARAMS[params]}, eps ${eps}`;
  return { name, hash: fnv1a(op === "layer_norm" ? [output, mean, rstd] : [output, rstd]) };
}

/**
 * @param {Functions} functions the package's, however they were loaded
 * @returns {Record<string, string>} the hash of each case by its name, which begins with its number
 */
export function hashCases(functions) {
  /** @type {Record<string, string>} */
  const result = {};
  for (let c = 0; c < CASES; c++) {
    const { name, hash } = hashCase(c, functions);
    result[name] = hash;
  }
  return result;
}
