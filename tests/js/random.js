// Seeded random numbers: for tests, for experiments, and for the demo page, whose numbers are then everybody's.

const STEP = 0x6d2b79f5;

/**
 * @param {number} seed
 * @param {number} i
 * @returns {number} the 32 bits that draw i of a Random with that seed gives, not negative (mulberry32, public domain)
 */
export function bitsAt(seed, i) {
  const state = (seed + Math.imul(i + 1, STEP)) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return (t ^ (t >>> 14)) >>> 0;
}

/** Uniform and normal deviates from a 32-bit seed. */
export class Random {
  #seed;
  #draws = 0;

  /** @param {number} seed */
  constructor(seed) {
    this.#seed = seed | 0;
  }

  /** @returns {number} 32 random bits, not negative */
  bits() {
    return bitsAt(this.#seed, this.#draws++);
  }

  /** @returns {number} uniform in [0, 1), 53 bits */
  uniform() {
    return ((this.bits() >>> 5) * 2 ** 26 + (this.bits() >>> 6)) * 2 ** -53;
  }

  /** @param {number} n @returns {number} an integer in [0, n) */
  below(n) {
    return Math.floor(this.uniform() * n);
  }

  /** @returns {number} normal with mean 0 and deviation 1 (Box and Muller) */
  normal() {
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    return radius * Math.cos(2 * Math.PI * this.uniform());
  }

  /** @returns {number} -1 or 1 */
  sign() {
    return this.bits() & 1 ? 1 : -1;
  }

  /**
   * @template T
   * @param {readonly T[]} list
   * @returns {T}
   */
  pick(list) {
    return list[this.below(list.length)];
  }
}
