/** Calls of every backward operation in every layout, with the problem that exact arithmetic judges them by. */
import { familyValues, Random } from "./data.js";
import { arithmetic, load, roundTo, store } from "./half.js";
import { makeCase, OPERATIONS, ops } from "./operation_cases.js";
import { count } from "./runs.js";

/** @typedef {import("./operation_cases.js").Draw} Draw */
/** @typedef {import("./exact_backward.js").Problem} Problem */
/** @typedef {Float32Array | Float64Array} Row */

/** The names of OPERATIONS that have a backward operation. */
export const DIFFERENTIABLE = Object.keys(OPERATIONS).filter((name) =>
  /^(add|layer|rms|group|instance|batch|l2)/.test(name),
);

/** Kinds of gradients of the output. */
export const GRADIENTS = ["normal", "ones", "one", "large", "small", "values", "uniform"];

/**
 * @param {string} kind
 * @param {Row} x
 * @param {Random} random
 * @returns {Row}
 */
function drawGradient(kind, x, random) {
  const only = random.below(x.length);
  return x.map((value, i) => {
    switch (kind) {
      case "ones":
        return 1;
      case "one":
        return i === only ? random.normal() : 0;
      case "large":
        return 1e4 * random.normal();
      case "small":
        return 1e-3 * random.normal();
      case "uniform":
        return 1 + random.uniform();
      // Along x, so that nearly all of it goes away again.
      case "values":
        return Math.abs(value) < 1e3 ? value : Math.sign(value);
      default:
        return random.normal();
    }
  });
}

/**
 * @typedef {object} Case
 * @property {string} op of the backward function
 * @property {any[]} inputs
 * @property {Record<string, any>} options
 * @property {Problem} problem
 */

/**
 * @param {Draw & { gradient: string, broadcast?: boolean, given?: boolean }} draw
 * @returns {Case}
 */
export function makeBackwardCase({ gradient, broadcast, given, ...draw }) {
  const made = makeCase(draw);
  const { dtype } = draw;
  const { setting, options, places } = made;
  const { dims } = setting;
  const wide = arithmetic(dtype);
  const random = new Random(draw.seed + 7);
  const round = (/** @type {Row} */ row) => row.map((value) => roundTo(value, dtype));
  const grad = round(drawGradient(gradient, made.x, random));
  const like = (/** @type {Row} */ values) => ({ data: store(values, dtype), dims, type: dtype });
  /** @type {Problem} */
  const problem = { setting, x: made.x, grad, places };
  /** @type {Record<string, any>} */
  const all = { ...options };
  const inputs = [like(grad), ...made.inputs];
  if (made.added) {
    const { x, gate, sumBias } = made.added;
    let residual = { given: made.added.residual, index: (/** @type {number} */ i) => i };
    if (broadcast) {
      // The last dimension's alone.
      const last = dims[dims.length - 1];
      const values = /** @type {Row} */ (made.added.residual.slice(0, last));
      residual = { given: values, index: (i) => i % last };
      inputs[2] = { data: store(values, dtype), dims: [last], type: dtype };
      const to = (/** @type {number} */ value) => roundTo(value, wide);
      problem.x = x.map((value, i) => {
        const factor = gate === undefined ? 1 : typeof gate === "number" ? gate : gate.field[i];
        const sum = to(values[i % last] + to(factor * value));
        return roundTo(to(sum + (sumBias?.field[i] ?? 0)), dtype);
      });
    }
    problem.added = { x, residual, gate, sumBias };
    if (draw.seed % 3 === 0) {
      const gradSum = round(familyValues("normal", dtype, count(dims), random));
      problem.added.gradSum = gradSum;
      all.gradSum = like(gradSum);
    }
  }
  if (given) {
    const { mean, rstd } = ops[made.op](...inputs.slice(1), { ...options, returnStats: true });
    if (mean) all.mean = mean;
    all.rstd = rstd;
    problem.given = { mean: mean?.data, rstd: rstd.data };
  }
  return { op: `${made.op}Backward`, inputs, options: all, problem };
}

/** The gradients of a case as numbers. @param {Case} made @returns {Record<string, any>} */
export function gradientsOf({ op, inputs, options, problem }) {
  const result = ops[op](...inputs, options);
  const { dtype } = problem.setting;
  /** @type {Record<string, any>} */
  const numbers = {};
  for (const [name, value] of Object.entries(result)) {
    numbers[name] = value?.data ? load(value.data, dtype) : value;
  }
  return numbers;
}
