/** How far the contenders' results are from exact arithmetic, on rows that are hard for some of them. */

import { Random } from "../js/data.js";
import { affine, EPS, momentsOf, Normalizer, toNumber } from "../js/exact.js";
import { rounded } from "./format.js";
import { messageOf } from "./suite.js";
import { specOf } from "./tasks.js";

/** @typedef {import("./contenders/contender.js").Contender} Contender */
/** @typedef {typeof import("./tasks.js").MATRIX_OPERATIONS[number]} Operation */
/** @typedef {import("./tasks.js").Task} Task */
/**
 * @typedef {object} Kind of rows
 * @property {Operation} operation
 * @property {string} name
 * @property {number} eps
 * @property {(random: Random, row: number) => number} value of each element in turn
 */
/**
 * @typedef {object} Errors of a contender: the figures, or a fault
 * @property {string} id of the contender
 * @property {number} [max] the largest absolute error
 * @property {number} [inEps] the largest error in units of eps * M
 * @property {string} [fault] "NaN", "Infinity", or why there is no result
 */
/** @typedef {{ operation: Operation, name: string, eps: number, results: Errors[] }} ExactnessCase */

export const ROWS = 32;
export const FEATURES = 768;

const CONSTANTS = [0.1, -7, 1e-3, 12345.678, 1e30, 0];

/** @param {number} mean @returns {Kind["value"]} */
const about = (mean) => (random) => mean + random.normal();
/** @param {number} magnitude @returns {Kind["value"]} */
const times = (magnitude) => (random) => magnitude * random.normal();
/** @type {Kind["value"]} */
const constant = (_, row) => CONSTANTS[row % CONSTANTS.length];

/** Where eps would hide the row it is 0: values of 1e-30 have a variance of 1e-60. @type {readonly Kind[]} */
export const KINDS = [
  { operation: "layerNorm", name: "normal(0, 1)", eps: 1e-5, value: about(0) },
  { operation: "layerNorm", name: "mean 1e2, deviation 1", eps: 1e-5, value: about(1e2) },
  { operation: "layerNorm", name: "mean 1e4, deviation 1", eps: 1e-5, value: about(1e4) },
  { operation: "layerNorm", name: "mean 1e6, deviation 1", eps: 1e-5, value: about(1e6) },
  { operation: "layerNorm", name: "magnitude 1e18", eps: 1e-5, value: times(1e18) },
  { operation: "layerNorm", name: "magnitude 1e30", eps: 1e-5, value: times(1e30) },
  { operation: "layerNorm", name: "magnitude 1e-30", eps: 0, value: times(1e-30) },
  { operation: "layerNorm", name: "constant rows", eps: 1e-5, value: constant },
  { operation: "layerNorm", name: "constant rows", eps: 0, value: constant },
  { operation: "rmsNorm", name: "normal(0, 1)", eps: 1e-5, value: about(0) },
  { operation: "rmsNorm", name: "magnitude 1e18", eps: 1e-5, value: times(1e18) },
  { operation: "rmsNorm", name: "magnitude 1e30", eps: 1e-5, value: times(1e30) },
  { operation: "rmsNorm", name: "magnitude 1e-30", eps: 0, value: times(1e-30) },
  { operation: "rmsNorm", name: "rows of zeros", eps: 0, value: () => 0 },
];

/** Weight 1 and bias 0: the error is that of the normalization. @param {Kind} kind @returns {Task} */
function taskOf({ operation, eps, value }) {
  const random = new Random(2);
  const x = new Float32Array(ROWS * FEATURES);
  for (let i = 0; i < x.length; i++) x[i] = value(random, Math.floor(i / FEATURES));
  const weight = new Float32Array(FEATURES).fill(1);
  return {
    ...specOf({ operation, dims: [ROWS, FEATURES] }),
    eps,
    x,
    residual: null,
    values: operation === "layerNorm" ? { weight, bias: new Float32Array(FEATURES) } : { weight },
  };
}

/**
 * @param {Task} task
 * @returns {{ exact: Float64Array, M: Float64Array }} the exact results, rounded to float64, and what errors are measured by
 */
function exactOf({ operation, eps, x }) {
  const exact = new Float64Array(x.length);
  const M = new Float64Array(x.length);
  for (let begin = 0; begin < x.length; begin += FEATURES) {
    const row = x.subarray(begin, begin + FEATURES);
    const normalizer = new Normalizer(momentsOf(row), {
      eps,
      centered: operation === "layerNorm",
    });
    row.forEach((value, j) => {
      const judged = affine(normalizer.normalized(value), null, null);
      exact[begin + j] = toNumber(judged.exact);
      M[begin + j] = toNumber(judged.M);
    });
  }
  return { exact, M };
}

/**
 * @param {string} id
 * @param {Float32Array} got
 * @param {{ exact: Float64Array, M: Float64Array }} right
 * @returns {Errors}
 */
function errorsOf(id, got, { exact, M }) {
  let max = 0;
  let inEps = 0;
  for (let i = 0; i < exact.length; i++) {
    if (!Number.isFinite(got[i])) return { id, fault: String(got[i]) };
    const error = Math.abs(got[i] - exact[i]);
    max = Math.max(max, error);
    inEps = Math.max(inEps, error / (EPS.float32 * M[i]));
  }
  return { id, max: rounded(max), inEps: rounded(inEps) };
}

/**
 * @param {Contender} contender
 * @param {Task} task
 * @returns {Promise<Float32Array>}
 */
async function computed(contender, task) {
  const prepared = await contender.prepare(task);
  const [y] = await prepared.read(await prepared.run());
  const result = Float32Array.from(y);
  await prepared.dispose?.();
  return result;
}

/**
 * @param {readonly Contender[]} contenders those without a column of their own are left out
 * @returns {Promise<ExactnessCase[]>}
 */
export async function measureExactness(contenders) {
  const judged = contenders.filter(({ column }) => column);
  const cases = [];
  for (const kind of KINDS) {
    const task = taskOf(kind);
    const right = exactOf(task);
    /** @type {Errors[]} */
    const results = [];
    for (const contender of judged) {
      const { id } = contender;
      try {
        results.push(errorsOf(id, await computed(contender, task), right));
      } catch (error) {
        results.push({ id, fault: messageOf(error) });
      }
    }
    cases.push({ operation: kind.operation, name: kind.name, eps: kind.eps, results });
  }
  return cases;
}
