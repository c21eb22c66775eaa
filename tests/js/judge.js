/** Runs an operation of the package on one run of values and judges every element and the statistics exactly. */
import { layerNorm, rmsNorm } from "../../dist/index.js";
import { newRow, Random } from "./data.js";
import { momentsOf, Normalizer, toNumber, worstElement } from "./exact.js";

/** @typedef {import("./data.js").DType} DType */
/** @typedef {import("./data.js").Row} Row */
/** @typedef {import("./exact.js").AffineOptions} AffineOptions */
/** @typedef {"layerNorm" | "rmsNorm"} Operation */
/**
 * @typedef {object} Verdict
 * @property {number} error of the worst element in eps
 * @property {number} index of the worst element
 * @property {number} got
 * @property {number} expected
 * @property {number} mean error of the mean as a multiple of its bound; 0 for rmsNorm
 * @property {number} rstd relative error of rstd in eps
 */

/** @type {Record<Operation, { call: (x: any, options: any) => any, centered: boolean }>} */
export const operations = {
  layerNorm: { call: layerNorm, centered: true },
  rmsNorm: { call: rmsNorm, centered: false },
};

/** Allowed: 3 eps * M for results, 3 eps for rstd, once its bound for the mean. */
export const BOUND = { error: 3, mean: 1, rstd: 3 };

/**
 * @callback MakeParameters
 * @param {Row} x
 * @param {Random} random
 * @param {Normalizer} normalizer of x
 * @returns {AffineOptions}
 */

/** @param {Row} x @param {(i: number) => number} value @returns {Row} a row like x */
function rowLike(x, value) {
  const row = newRow(x instanceof Float32Array ? "float32" : "float64", x.length);
  for (let i = 0; i < row.length; i++) row[i] = value(i);
  return row;
}

/** Kinds of parameters. @type {Record<string, MakeParameters>} */
export const parameters = {
  none: () => ({}),
  weight: (x, random) => ({ weight: rowLike(x, () => random.normal()) }),
  weightBias: (x, random) => ({
    weight: rowLike(x, () => 1 + 0.1 * random.normal()),
    bias: rowLike(x, () => random.normal()),
  }),
  bias: (x, random) => ({ bias: rowLike(x, () => 3 * random.normal()) }),
  numbers: (_, random) => ({ weight: 2 * random.normal(), bias: random.normal() }),
  offset: (x, random) => ({ weight: rowLike(x, () => 0.1 * random.normal()), weightOffset: 1 }),
  offsetBias: (x, random) => ({
    weight: rowLike(x, () => -1 + 1e-3 * random.normal()),
    bias: rowLike(x, () => 0.1 * random.normal()),
    weightOffset: 1,
  }),
  // The result cancels: M is one of the terms.
  canceling: (x, random, normalizer) => {
    const weight = rowLike(x, () => 5 * random.normal());
    const bias = rowLike(
      x,
      (i) => -weight[i] * toNumber(normalizer.normalized(x[i])) + 1e-3 * random.normal(),
    );
    return { weight, bias };
  },
  // Products just above 1 and a bias of half a unit beside them, where every rounding counts most.
  edge: (x, random, normalizer) => {
    const limit = 16 * random.uniform();
    const weight = rowLike(x, (i) => {
      const wanted = (1 + 0.02 * random.uniform()) / toNumber(normalizer.normalized(x[i]));
      return random.sign() * (Math.abs(wanted) < limit ? wanted : 1);
    });
    const unit = x instanceof Float32Array ? 2 ** -24 : 2 ** -53;
    return { weight, bias: rowLike(x, () => random.sign() * unit * random.uniform()) };
  },
  // Rounded once to float32 for float32 x.
  otherType: (x, random) => ({
    weight: Float64Array.from(x, () => random.normal()),
    bias: Float64Array.from(x, () => random.normal()),
  }),
  // An element near the mean has M = 1 while weight magnifies the error of its normalized value.
  scaled: (x, random) => {
    const scale = 10 ** (1 + 3 * random.uniform());
    return {
      weight: rowLike(x, () => scale * random.normal()),
      bias: rowLike(x, () => random.normal()),
    };
  },
  large: (x, random) => ({
    weight: rowLike(x, () => 1e15 * random.normal()),
    bias: rowLike(x, () => 1e12 * random.normal()),
  }),
};

/**
 * @param {Row} x
 * @returns {DType}
 */
function dtypeOf(x) {
  return x instanceof Float32Array ? "float32" : "float64";
}

/**
 * @param {Operation} operation
 * @param {Row} x one run
 * @param {number} eps
 * @param {AffineOptions} options
 * @param {Normalizer} [normalizer] of x, where it is at hand
 * @returns {Verdict}
 */
export function judge(operation, x, eps, options, normalizer) {
  const { call, centered } = operations[operation];
  const reference = normalizer ?? new Normalizer(momentsOf(x), { eps, centered });
  const { output, mean, rstd } = call(x, { ...options, eps, returnStats: true });
  const dtype = dtypeOf(x);
  const { index, error, expected } = worstElement(reference, x, output, options);
  return {
    index,
    error,
    expected,
    got: output[index],
    mean: centered ? reference.meanError(mean[0], dtype) : 0,
    rstd: reference.rstdError(rstd[0], dtype),
  };
}

/** The largest errors seen, each with where it was seen, for every operation and type. */
export class Maxima {
  /** @type {Map<string, Record<"error" | "mean" | "rstd", { value: number, where: string }>>} */
  #rows = new Map();

  /** @param {string} key @param {Verdict} verdict @param {string} where */
  add(key, verdict, where) {
    let row = this.#rows.get(key);
    if (row === undefined) {
      const nothing = () => ({ value: 0, where: "" });
      row = { error: nothing(), mean: nothing(), rstd: nothing() };
      this.#rows.set(key, row);
    }
    for (const kind of /** @type {const} */ (["error", "mean", "rstd"])) {
      if (verdict[kind] > row[kind].value) row[kind] = { value: verdict[kind], where };
    }
  }

  /** @returns {string[]} a line for each operation and type */
  lines() {
    return Array.from(this.#rows, ([key, { error, mean, rstd }]) =>
      [
        `${key}: y ${error.value.toFixed(3)} eps (${error.where})`,
        `mean ${mean.value.toFixed(3)} of its bound (${mean.where})`,
        `rstd ${rstd.value.toFixed(3)} eps (${rstd.where})`,
      ].join("; "),
    );
  }
}
