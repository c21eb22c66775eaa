/** The exact moments of a run: its sum and that of its squares, without any rounding. */
import { add, ZERO } from "./dyadic.js";

/** @typedef {import("./dyadic.js").Dyadic} Dyadic */
/**
 * @typedef {object} Moments
 * @property {number} n
 * @property {boolean} finite false if a value is NaN or infinite; sum and squares are then 0
 * @property {Dyadic} sum
 * @property {Dyadic} squares
 * @property {number} top every |value| is below 2^top
 */

/** A float32 run longer than this could make a bin inexact: 2^29 mantissas of 24 bits fill 53. */
const MAX_FLOAT32_COUNT = 2 ** 29;
/** Limbs of 17, 18 and 18 bits: a sum of 2^15 of their products (at most 37 bits) is exact. */
const FLOAT64_FLUSH = 2 ** 15;
const FLOAT64_BINS = 8;

/** @param {Float64Array} bins @param {number} begin @param {number} end @param {bigint} limb @returns {bigint} */
function joinLimbs(bins, begin, end, limb) {
  let result = 0n;
  for (let k = begin; k < end; k++) result = (result << limb) + BigInt(bins[k]);
  return result;
}

/**
 * Exact sums of x and x^2 over any number of pieces. The values of one exponent share bins: float64 sums of integer
 * mantissas and of their squares cut into parts so small that no sum rounds. BigInt only combines the bins.
 */
export class MomentSum {
  #n = 0;
  #finite = true;
  /** Bins for [exponent field][sum, high and low halves of squares]; float32 only. */
  #bins32 = new Float64Array(3 * 256);
  #used32 = false;
  /** Bins for [exponent field][sums of 3 limbs, 5 weights of squares]; float64 only, made when first used. */
  #bins64 = /** @type {Float64Array | null} */ (null);
  #pending64 = 0;
  #sum = ZERO;
  #squares = ZERO;
  #top = Number.NEGATIVE_INFINITY;

  /**
   * Adds x[begin], x[begin + stride], ... before end.
   * @param {Float32Array | Float64Array} x
   * @param {number} [begin]
   * @param {number} [end]
   * @param {number} [stride]
   * @returns {this}
   */
  add(x, begin = 0, end = x.length, stride = 1) {
    if (end <= begin) return this;
    this.#n += Math.ceil((end - begin) / stride);
    if (x instanceof Float32Array) this.#add32(x, begin, end, stride);
    else this.#add64(x, begin, end, stride);
    return this;
  }

  /** @param {Float32Array} x @param {number} begin @param {number} end @param {number} stride */
  #add32(x, begin, end, stride) {
    if (this.#n > MAX_FLOAT32_COUNT)
      throw new RangeError(`MomentSum: ${this.#n} values are too many`);
    this.#used32 = true;
    const bins = this.#bins32;
    const bits = new Int32Array(x.buffer, x.byteOffset, x.length);
    for (let i = begin; i < end; i += stride) {
      const word = bits[i];
      const field = (word >>> 23) & 0xff;
      const mantissa = field === 0 ? word & 0x7fffff : (word & 0x7fffff) | 0x800000;
      const square = mantissa * mantissa;
      const high = Math.floor(square * 2 ** -24);
      const k = 3 * field;
      bins[k] += word < 0 ? -mantissa : mantissa;
      bins[k + 1] += high;
      bins[k + 2] += square - high * 2 ** 24;
    }
  }

  /** @param {Float64Array} x @param {number} begin @param {number} end @param {number} stride */
  #add64(x, begin, end, stride) {
    this.#bins64 ??= new Float64Array(FLOAT64_BINS * 2048);
    const bins = this.#bins64;
    const bits = new Int32Array(x.buffer, x.byteOffset, 2 * x.length);
    for (let i = begin; i < end; i += stride) {
      if (this.#pending64 === FLOAT64_FLUSH) this.#flush64();
      this.#pending64 += 1;
      const low = bits[2 * i];
      const word = bits[2 * i + 1];
      const field = (word >>> 20) & 0x7ff;
      const head = field === 0 ? word & 0xfffff : (word & 0xfffff) | 0x100000;
      const a = head >>> 4;
      const b = ((head & 15) << 14) | (low >>> 18);
      const c = low & 0x3ffff;
      const sign = word < 0 ? -1 : 1;
      const k = FLOAT64_BINS * field;
      bins[k] += sign * a;
      bins[k + 1] += sign * b;
      bins[k + 2] += sign * c;
      bins[k + 3] += a * a;
      bins[k + 4] += 2 * a * b;
      bins[k + 5] += 2 * a * c + b * b;
      bins[k + 6] += 2 * b * c;
      bins[k + 7] += c * c;
    }
  }

  #flush32() {
    if (!this.#used32) return;
    this.#used32 = false;
    this.#combine(this.#bins32, 3, 256, 150, 24, 1, 24n);
  }

  #flush64() {
    if (this.#bins64 === null || this.#pending64 === 0) return;
    this.#pending64 = 0;
    this.#combine(this.#bins64, FLOAT64_BINS, 2048, 1075, 53, 3, 18n);
  }

  /**
   * Adds the bins of each exponent field to the totals and clears them.
   * @param {Float64Array} bins
   * @param {number} width bins of a field: those of the sum, then those of the squares, each most significant first
   * @param {number} fields
   * @param {number} offset a mantissa of field f weighs 2^(f - offset)
   * @param {number} bits of a mantissa
   * @param {number} sums the number of bins of the sum
   * @param {bigint} limb a bin weighs 2^limb times the next one
   */
  #combine(bins, width, fields, offset, bits, sums, limb) {
    let lowest = -1;
    let sum = 0n;
    let squares = 0n;
    for (let field = 0; field < fields; field++) {
      const begin = field * width;
      const end = begin + width;
      // The leading bit of normal values is always in the first bin of the squares.
      let used = bins[begin + sums] !== 0;
      for (let k = begin + sums; field === 0 && k < end; k++) used ||= bins[k] !== 0;
      if (!used) continue;
      if (field === fields - 1) {
        this.#finite = false;
      } else {
        const effective = Math.max(field, 1);
        if (lowest < 0) lowest = effective;
        const shift = BigInt(effective - lowest);
        sum += joinLimbs(bins, begin, begin + sums, limb) << shift;
        squares += joinLimbs(bins, begin + sums, end, limb) << (2n * shift);
        this.#top = Math.max(this.#top, effective - offset + bits);
      }
      bins.fill(0, begin, end);
    }
    if (lowest < 0) return;
    this.#sum = add(this.#sum, { m: sum, e: lowest - offset });
    this.#squares = add(this.#squares, { m: squares, e: 2 * (lowest - offset) });
  }

  /** Back to no values. @returns {this} */
  reset() {
    this.moments();
    this.#n = 0;
    this.#finite = true;
    this.#sum = ZERO;
    this.#squares = ZERO;
    this.#top = Number.NEGATIVE_INFINITY;
    return this;
  }

  /** @returns {Moments} */
  moments() {
    this.#flush32();
    this.#flush64();
    const finite = this.#finite;
    return {
      n: this.#n,
      finite,
      sum: finite ? this.#sum : ZERO,
      squares: finite ? this.#squares : ZERO,
      top: this.#top,
    };
  }
}

/** Its bins are worth keeping: new ones cost more than the moments of a short run. */
const shared = new MomentSum();

/**
 * The exact moments of one contiguous run.
 * @param {Float32Array | Float64Array} x
 * @returns {Moments}
 */
export function momentsOf(x) {
  return shared.reset().add(x).moments();
}
