/** Every operation in plain float64, from its formula: slow, and sharing nothing with the package. */

/** @typedef {"float32" | "float64" | "float16" | "bfloat16"} DType */

const FLOAT = new Float32Array(1);
const BITS = new Uint32Array(FLOAT.buffer);

/** Of 16-bit types: bits of the fraction, and the exponents of the least and the largest normal numbers. */
const FORMATS = {
  float16: { fraction: 10, least: -14, most: 15 },
  bfloat16: { fraction: 7, least: -126, most: 127 },
};

/** The distance from 1 to the next number. @type {Record<DType, number>} */
export const EPSILON = {
  float32: 2 ** -23,
  float64: 2 ** -52,
  float16: 2 ** -10,
  bfloat16: 2 ** -7,
};

/** @param {number} bits @param {"float16" | "bfloat16"} dtype */
export function fromBits(bits, dtype) {
  if (dtype === "bfloat16") {
    BITS[0] = bits << 16;
    return FLOAT[0];
  }
  const sign = bits >> 15 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}

/** The nearest number's bits, ties to even. @param {number} value @param {"float16" | "bfloat16"} dtype */
export function toBits(value, dtype) {
  const { fraction, least, most } = FORMATS[dtype];
  const infinity = ((2 << (14 - fraction)) - 1) << fraction;
  if (Number.isNaN(value)) return infinity | (1 << (fraction - 1));
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude === Infinity) return sign | infinity;
  let exponent = least;
  while (exponent <= most && magnitude >= 2 ** (exponent + 1)) exponent++;
  const units = magnitude / 2 ** (exponent - fraction);
  const below = Math.floor(units);
  const rest = units - below;
  const rounded = rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below;
  // A carry out of the fraction counts the exponent up.
  return sign | Math.min(infinity, rounded + (exponent - least) * 2 ** fraction);
}

/** @param {number} value @param {DType} dtype */
export function round(value, dtype) {
  if (dtype === "float64") return value;
  return dtype === "float32" ? Math.fround(value) : fromBits(toBits(value, dtype), dtype);
}

/** 1 - erf(x): by the series of erf, whose terms cancel for larger x, or by the continued fraction. @param {number} x @returns {number} */
function erfc(x) {
  if (x < 0) return 2 - erfc(-x);
  if (x < 2) {
    let sum = 0;
    for (let n = 0, term = x; n < 60; n++, term *= (-x * x) / n) sum += term / (2 * n + 1);
    return 1 - (2 / Math.sqrt(Math.PI)) * sum;
  }
  let rest = x;
  for (let n = 150; n > 0; n--) rest = x + n / 2 / rest;
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * rest);
}

/** @type {Record<string, (x: number) => number>} */
export const ACTIVATIONS = {
  relu: (x) => Math.max(x, 0),
  silu: (x) => x / (1 + Math.exp(-x)),
  gelu: (x) => (x / 2) * erfc(-x / Math.SQRT2),
  gelu_tanh: (x) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  tanh: Math.tanh,
};

/** @param {readonly number[]} dims */
export const count = (dims) => dims.reduce((a, b) => a * b, 1);

/** All indices of dimensions, row-major. @param {readonly number[]} dims @returns {number[][]} */
export function indices(dims) {
  if (dims.length === 0) return [[]];
  const inner = indices(dims.slice(1));
  return Array.from({ length: dims[0] }, (_, i) => inner.map((rest) => [i, ...rest])).flat();
}

/** @param {ArrayLike<number>} flat @param {readonly number[]} dims @returns {any} */
export function nest(flat, dims) {
  if (dims.length <= 1) return Array.from(flat);
  const size = count(dims.slice(1));
  return Array.from({ length: dims[0] }, (_, i) =>
    nest(Array.prototype.slice.call(flat, i * size, (i + 1) * size), dims.slice(1)),
  );
}

/** A value for each index of x. @typedef {(index: number[]) => number} Field */

/**
 * @typedef {object} Setting
 * @property {string} op the name of the public function
 * @property {number[]} [axes] the normalized dimensions, of x's
 * @property {boolean} [last] whether channels are last
 * @property {number} [numGroups]
 * @property {number} [eps]
 * @property {number} [p]
 * @property {number} [size]
 * @property {number} [alpha]
 * @property {number} [beta]
 * @property {number} [k]
 * @property {Field} [weight]
 * @property {number} [weightOffset]
 * @property {Field} [bias]
 * @property {Field} [scale]
 * @property {Field} [shift]
 * @property {string} [activation]
 * @property {Field} [residual]
 * @property {Field} [gate]
 * @property {Field} [sumBias]
 * @property {number[]} [runningMean] normalizes in place of the batch's
 * @property {number[]} [runningVar]
 */

/**
 * @param {ArrayLike<number>} x
 * @param {number[]} dims
 * @param {DType} dtype
 * @param {Setting} setting
 */
export function reference(x, dims, dtype, setting) {
  const { op, axes = [dims.length - 1], last = false, numGroups = 1, p = 2 } = setting;
  const channel = last ? dims.length - 1 : 1;
  const all = indices(dims);
  let values = Array.from(x);
  const isSum = op.startsWith("add");
  if (isSum) {
    const arithmetic = dtype === "float64" ? Number : Math.fround;
    const { residual, gate, sumBias } = setting;
    values = values.map((value, i) => {
      const gated = arithmetic(arithmetic(gate?.(all[i]) ?? 1) * value);
      const added = arithmetic(arithmetic(/** @type {Field} */ (residual)(all[i])) + gated);
      return round(arithmetic(added + arithmetic(sumBias?.(all[i]) ?? 0)), dtype);
    });
  }
  const eps = setting.eps ?? (/^(l2|lp)/.test(op) ? 1e-12 : op.startsWith("mean") ? 1e-9 : 1e-5);

  if (op === "localResponseNorm") {
    const { size = 1, alpha = 1e-4, beta = 0.75, k = 1 } = setting;
    const at = new Map(all.map((index, i) => [index.join(), values[i]]));
    const output = all.map((index, i) => {
      let sum = 0;
      const first = index[channel] - Math.floor((size - 1) / 2);
      for (let c = first; c < first + size; c++) {
        sum += (at.get(index.with(channel, c).join()) ?? 0) ** 2;
      }
      return values[i] / (k + (alpha / size) * sum) ** beta;
    });
    return { output, sum: values, mean: [], rstd: [], variance: [], terms: output };
  }

  /** @param {number[]} index */
  const runOf = (index) => {
    if (/group/i.test(op)) {
      return [index[0], Math.floor(index[channel] / (dims[channel] / numGroups))].join();
    }
    if (op === "instanceNorm") return [index[0], index[channel]].join();
    if (op === "batchNorm") return `${index[channel]}`;
    return index.filter((_, d) => !axes.includes(d)).join();
  };
  /** @type {Map<string, number[]>} */
  const runs = new Map();
  for (const [i, index] of all.entries()) {
    const key = runOf(index);
    if (!runs.has(key)) runs.set(key, []);
    runs.get(key)?.push(i);
  }

  const normalized = new Array(values.length).fill(0);
  const [means, rstds, variances] = [[], [], []].map((list) => /** @type {number[]} */ (list));
  for (const [key, run] of runs) {
    const n = run.length;
    /** @param {(value: number) => number} f */
    const sumOf = (f) => run.reduce((sum, i) => sum + f(values[i]), 0);
    let mean = sumOf((v) => v) / n;
    let variance = sumOf((v) => (v - mean) ** 2) / n;
    variances.push(variance);
    if (setting.runningMean) mean = setting.runningMean[Number(key)];
    if (setting.runningVar) variance = setting.runningVar[Number(key)];
    const squares = sumOf((v) => v * v);
    const isRms = /rms/i.test(op);
    const rstd = 1 / Math.sqrt((isRms ? squares / n : variance) + eps);
    means.push(mean);
    rstds.push(rstd);
    const norms = new Map([
      [1, sumOf(Math.abs)],
      [2, Math.sqrt(squares)],
      [Infinity, run.reduce((most, i) => Math.max(most, Math.abs(values[i])), 0)],
    ]);
    for (const i of run) {
      if (op === "l2Normalize" || op === "lpNormalize") {
        normalized[i] = values[i] / Math.max(norms.get(p) ?? Number.NaN, eps);
      } else if (op === "meanVarianceNormalize") {
        normalized[i] = (values[i] - mean) / (Math.sqrt(variance) + eps);
      } else normalized[i] = (isRms ? values[i] : values[i] - mean) * rstd;
    }
  }
  const { weight, weightOffset = 0, bias, scale, shift, activation } = setting;
  /** The largest magnitude on the way. @type {number[]} */
  const terms = [];
  const output = normalized.map((value, i) => {
    const weighted = weight ? value * (weightOffset + weight(all[i])) : value;
    const affine = weighted + (bias?.(all[i]) ?? 0);
    const scaled = affine * (1 + (scale?.(all[i]) ?? 0));
    const shifted = scaled + (shift?.(all[i]) ?? 0);
    terms.push(Math.max(...[weighted, affine, scaled, shifted].map(Math.abs)));
    return activation ? ACTIVATIONS[activation](shifted) : shifted;
  });
  return { output, sum: values, mean: means, rstd: rstds, variance: variances, terms };
}
