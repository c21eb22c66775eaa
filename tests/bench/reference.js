/** The right results in float64: two passes for the statistics, one for the result; any operation, written once and slowly. */

import { geometryOf, isRms, productOf, statisticsShape } from "./geometry.js";

/** @typedef {import("./tasks.js").Task} Task */

/** @param {number[]} shape @returns {number[]} of four dimensions */
function padded(shape) {
  return [...Array(4 - shape.length).fill(1), ...shape];
}

/** @param {number[]} shape @returns {number[]} four steps, 0 where the shape broadcasts */
function stepsOf(shape) {
  const lengths = padded(shape);
  return lengths.map((length, axis) => (length === 1 ? 0 : productOf(lengths.slice(axis + 1))));
}

/**
 * @param {number[]} view
 * @param {number[][]} shapes that broadcast against view
 * @param {(i: number, first: number, second: number, third: number) => void} visit gets an element's index, and that in each shape
 */
function forEach(view, shapes, visit) {
  const [A, B, C, D] = padded(view);
  const [first, second, third] = [...shapes, [], []].map(stepsOf);
  let i = 0;
  for (let a = 0; a < A; a++) {
    for (let b = 0; b < B; b++) {
      for (let c = 0; c < C; c++) {
        /** @param {number[]} steps */
        const begin = (steps) => a * steps[0] + b * steps[1] + c * steps[2];
        const [f, s, t] = [begin(first), begin(second), begin(third)];
        for (let d = 0; d < D; d++) {
          visit(i++, f + d * first[3], s + d * second[3], t + d * third[3]);
        }
      }
    }
  }
}

/**
 * @param {Task} task
 * @param {ArrayLike<number>} x
 * @returns {{ mean: ArrayLike<number>, variance: ArrayLike<number> }} for a root mean square the mean is 0
 */
function statisticsOf(task, x) {
  const { operation, options, values } = task;
  const { runningMean: mean, runningVar: variance } = values;
  if (mean && variance && !options.training) return { mean, variance };
  const geometry = geometryOf(task);
  const shape = statisticsShape(geometry);
  const runs = productOf(shape);
  const count = x.length / runs;
  const [sums, squares] = [new Float64Array(runs), new Float64Array(runs)];
  if (!isRms(operation)) {
    forEach(geometry.view, [shape], (i, run) => {
      sums[run] += x[i];
    });
  }
  const means = sums.map((sum) => sum / count);
  forEach(geometry.view, [shape], (i, run) => {
    squares[run] += (x[i] - means[run]) ** 2;
  });
  return { mean: means, variance: squares.map((sum) => sum / count) };
}

/**
 * @param {Task} task
 * @returns {ArrayLike<number>[]} the result, and the sum of an operation that adds
 */
export function referenceOf(task) {
  const { residual, eps, options } = task;
  const { weight, bias, scale, shift } = task.values;
  const x = residual ? task.x.map((value, i) => value + residual[i]) : task.x;
  const geometry = geometryOf(task);
  const { mean, variance } = statisticsOf(task, x);
  const rstd = Float64Array.from(variance, (value) => 1 / Math.sqrt(value + eps));
  const y = new Float64Array(x.length);
  const shapes = [statisticsShape(geometry), geometry.channels, geometry.items];
  forEach(geometry.view, shapes, (i, run, channel, item) => {
    let value = (x[i] - mean[run]) * rstd[run];
    if (weight) value *= weight[channel];
    if (bias) value += bias[channel];
    if (scale) value *= 1 + scale[item];
    if (shift) value += shift[item];
    y[i] = options.activation === "silu" ? value / (1 + Math.exp(-value)) : value;
  });
  return residual ? [y, x] : [y];
}

/** Loose: it is to catch a wrong formula or a wrong axis. How exact the results are is another table. */
const BOUND = { float32: 1e-3, float16: 2e-3, bfloat16: 1.6e-2 };

/**
 * @param {ArrayLike<number>} got
 * @param {ArrayLike<number>} expected
 * @param {keyof typeof BOUND} [dtype]
 * @returns {string | null} what is wrong, or null
 */
export function faultOf(got, expected, dtype = "float32") {
  if (got.length !== expected.length) return `${got.length} values instead of ${expected.length}`;
  for (let i = 0; i < got.length; i++) {
    const allowed = BOUND[dtype] * Math.max(1, Math.abs(expected[i]));
    if (!(Math.abs(got[i] - expected[i]) <= allowed)) {
      return `element ${i} is ${got[i]} instead of ${expected[i]}`;
    }
  }
  return null;
}
