// The uniform of src/wgsl/dims.wgsl.

const HEADER = 44;
const DIM = 8;
/** Dimensions of a view that kernels see. */
export const MOST_DIMS = 32;

const FIELDS = {
  runs: 0,
  count: 1,
  chunks: 2,
  firstRun: 3,
  firstChunk: 4,
  allChunks: 5,
  total: 6,
  kept: 8,
  reduced: 9,
  x: 10,
  y: 11,
  parameters: 12,
  rstdMost: 23,
  below: 32,
  above: 33,
  channels: 34,
  inner: 35,
  firstStatistic: 36,
  lanes: 37,
  piece: 38,
  grad: 42,
} as const;

const FLOATS = {
  numbers: 16,
  eps: 20,
  floor: 22,
  rstdMost: 23,
  weightOffset: 24,
  size: 25,
  momentum: 26,
  unbias: 27,
  window: 28,
  epsLow: 39,
  part: 40,
} as const;

export interface Dim {
  readonly size: number;
  readonly x: number;
  readonly run: number;
  readonly parameters: readonly number[];
}

/** Fills in a uniform, then hands out its words. */
export class Uniform {
  readonly words: Uint32Array;
  readonly #floats: Float32Array;
  /** Words up to here may differ from 0. */
  readonly #used: number;

  constructor(constants: Uniform | undefined, dims: readonly Dim[]) {
    this.words = new Uint32Array(HEADER + DIM * MOST_DIMS);
    this.#floats = new Float32Array(this.words.buffer);
    this.#used = HEADER + DIM * dims.length;
    if (constants !== undefined) this.words.set(constants.words.subarray(0, HEADER));
    for (const [d, { size, x, run, parameters }] of dims.entries()) {
      const at = HEADER + d * DIM;
      this.words[at] = size;
      this.words[at + 1] = x;
      this.words[at + 2] = run;
      for (const [p, stride] of parameters.entries()) this.words[at + 4 + p] = stride;
    }
  }

  set(name: keyof typeof FIELDS, value: number, index = 0): this {
    this.words[FIELDS[name] + index] = value;
    return this;
  }

  add(name: keyof typeof FIELDS, value: number): this {
    this.words[FIELDS[name]]! += value;
    return this;
  }

  setFloat(name: keyof typeof FLOATS, value: number, index = 0): this {
    this.#floats[FLOATS[name] + index] = value;
    return this;
  }

  /** eps as a number in [1, 4) (beside a root: [1, 2)) and an exponent of 4 (of 2), since float32 may not reach it. */
  setEps(eps: number, insideRoot: boolean): this {
    const base = insideRoot ? 2 : 1;
    const exponent = eps === 0 ? 0 : Math.floor(Math.log2(eps) / base);
    const root = insideRoot ? Math.sqrt(eps) : eps;
    const rest = eps === 0 ? 0 : eps / 2 ** (exponent * base);
    this.setFloat("eps", rest).setFloat("epsLow", rest - Math.fround(rest));
    new Int32Array(this.words.buffer)[21] = Math.max(-1000, Math.min(1000, exponent));
    // What float32 cannot hold as a normal number is left out.
    this.setFloat("floor", root < 2 ** -126 ? 0 : Math.min(root, 2 ** 126));
    return this.setFloat("rstdMost", 1 / root);
  }

  /** Values count down to much smaller ones; scaled values, and the root of eps beside them, stay far from the ends of float32. */
  lowerFloor(): this {
    this.#floats[FLOATS.floor]! *= 2 ** -30;
    return this;
  }

  /** Whether values count that arithmetic may take for 0: scales that bring the floor near 1 stay below 2^64 otherwise. */
  get subnormals(): boolean {
    return this.#floats[FLOATS.floor]! < 2 ** -60;
  }

  get key(): string {
    return this.words.subarray(0, this.#used).join();
  }
}
