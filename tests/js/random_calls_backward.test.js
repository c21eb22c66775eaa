// Random calls of every backward operation, by fast-check, in every kind of x, layout and parameter: the gradients of one that
// is right are the slopes of its formula, alike those of a plan; one with anything wrong in it is refused in the package's
// grammar. Budget: 30 s.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { plan, Tensor, tensor } from "../../dist/index.js";
import { DIFFERENTIABLE } from "./backward_cases.js";
import { arithmetic, store } from "./half.js";
import { OPERATIONS, ops } from "./operation_cases.js";
import {
  assertDocumented,
  chance,
  free,
  makeRight,
  numbers,
  numbersOf,
  pick,
  SPOILERS,
} from "./random_calls.js";
import { count, indices, reference } from "./reference.js";

const RUNS = 200;
const SEED = 7;
const STEP = 2 ** -20;

/** Parameters that have gradients, with what these are called. @type {Record<string, string>} */
const GRADIENTS = {
  weight: "gradWeight",
  bias: "gradBias",
  scale: "gradScale",
  shift: "gradShift",
  gate: "gradGate",
  sumBias: "gradSumBias",
};

/** @typedef {import("./random_calls.js").Made} Made */
/** @typedef {fc.GeneratorValue} Draw */
/** @typedef {Made & { grad: number[], gradSum: number[] | undefined }} Backward */

/** @param {Draw} g @param {string} name @returns {Backward} a call that is right */
function makeRightBackward(g, name) {
  const made = makeRight(g, name);
  const { dims, dtype, values, options } = made;
  // The floor of a norm is a corner, from which slopes differ; so is 0 for relu.
  if (made.op === "l2Normalize") options.eps = made.setting.eps = 1e-3;
  if (options.activation === "relu") options.activation = made.setting.activation = "gelu";
  const like = (/** @type {number[]} */ of) => ({
    data: store(Float64Array.from(of), dtype),
    dims,
    type: dtype,
  });
  const grad = numbers(g, values.length);
  made.inputs.unshift(like(grad));
  let gradSum;
  if (made.op.startsWith("add") && chance(g, 2)) {
    gradSum = numbers(g, values.length);
    options.gradSum = like(gradSum);
  }
  return { ...made, op: `${made.op}Backward`, grad, gradSum };
}

/** @param {Made} made @returns {any} */
const call = ({ op, inputs, options }) => ops[op](...inputs, options);

/** @param {any} gradient of any kind and element type @param {import("./reference.js").DType} dtype of x's kind @returns {number[]} */
function numbersIn(gradient, dtype) {
  if (typeof gradient === "number") return [gradient];
  return numbersOf(gradient, gradient.type ?? gradient.dtype ?? dtype);
}

/** The sum of all results times their gradients. @param {Backward} made @param {number[]} values @param {any} setting */
function loss({ dims, grad, gradSum }, values, setting) {
  const { output, sum } = reference(values, dims, "float64", setting);
  let total = 0;
  for (const [i, each] of output.entries()) {
    total += each * grad[i] + (gradSum ? sum[i] * gradSum[i] : 0);
  }
  return total;
}

/** @param {number[]} gradient @param {number[]} direction */
const along = (gradient, direction) =>
  gradient.reduce((sum, each, i) => sum + each * direction[i], 0);

/** @param {Backward} made @param {any} result */
function assertSlopes(made, result) {
  const { dims, dtype, values, setting } = made;
  const n = values.length;
  const direction = values.map((_, i) => Math.cos(3 * i));
  const all = new Map(indices(dims).map((index, i) => [index.join(), direction[i]]));
  const moved = (/** @type {number} */ by) => values.map((value, i) => value + by * direction[i]);
  /** @param {string} name @param {any} gradient @param {number[]} to @param {(by: number) => number} lossAt */
  const check = (name, gradient, to, lossAt) => {
    const slope = (lossAt(STEP) - lossAt(-STEP)) / (2 * STEP);
    const list = numbersIn(gradient, dtype);
    const got = along(list, to);
    const size = 1 + list.reduce((sum, each, i) => sum + Math.abs(each * to[i]), 0);
    // What slopes are off by, and the rounding of gradients.
    const allowed = (1e-4 + 2 * epsilonOf(name, made)) * size + 1e-5 * n;
    assert.ok(Math.abs(got - slope) <= allowed, `${name}: ${got}, slope ${slope} (${allowed})`);
  };
  check("gradInput", result.gradInput, direction, (by) => loss(made, moved(by), setting));
  if (setting.residual) {
    const { residual } = setting;
    check("gradResidual", result.gradResidual, direction, (by) => {
      const to = (/** @type {number[]} */ index) =>
        by * /** @type {number} */ (all.get(index.join()));
      return loss(made, values, {
        ...setting,
        residual: (/** @type {number[]} */ index) => residual(index) + to(index),
      });
    });
  }
  for (const [name, key] of Object.entries(GRADIENTS)) {
    const field = /** @type {any} */ (setting)[name];
    if (field === undefined) {
      assert.ok(result[key] == null, `${key} without ${name}`);
      continue;
    }
    const ones = numbersIn(result[key], dtype).fill(1);
    check(key, result[key], ones, (by) =>
      loss(made, values, {
        ...setting,
        [name]: (/** @type {number[]} */ index) => field(index) + by,
      }),
    );
  }
}

/** How much the element type of a gradient rounds. @param {string} name @param {Backward} made */
function epsilonOf(name, { dtype, options }) {
  const option = Object.keys(GRADIENTS).find((each) => GRADIENTS[each] === name);
  const type = option === undefined ? dtype : (options[option].type ?? "float32");
  return { float16: 2 ** -10, bfloat16: 2 ** -7, float32: 2 ** -20, float64: 0 }[
    /** @type {"float16"} */ (type)
  ];
}

/** @param {Backward} made @param {any} result what a plan on resident copies gives is the same */
function assertSameOfPlan(made, result) {
  const { op, inputs, options, dims, dtype } = made;
  const residents = inputs.map((input) => {
    if (input instanceof Tensor) return input;
    const isFlat = ArrayBuffer.isView(input);
    return isFlat || Array.isArray(input)
      ? tensor(/** @type {any} */ (input), dims, dtype)
      : tensor(input);
  });
  // Of a batch that is trained on they are not read, and a plan wants them resident.
  const { gradSum, runningMean, runningVar, ...rest } = options;
  const running = options.training ? {} : { runningMean, runningVar };
  const own = gradSum && { gradSum: tensor(gradSum) };
  const step = /** @type {any} */ (plan)(op, ...residents, { ...rest, ...running, ...own });
  const planned = step.run();
  for (const [key, value] of Object.entries(result)) {
    if (value === null) assert.equal(planned[key], null);
    else if (typeof value === "number") assert.equal(planned[key], value, key);
    else assert.deepEqual(numbersIn(planned[key], dtype), numbersIn(value, dtype), key);
  }
  step.dispose();
  free(...residents.filter((each) => !inputs.includes(each)), own?.gradSum);
}

/** What spoils the gradient of a call, besides what spoils the call. @type {Record<string, (g: Draw, made: Backward) => void>} */
const OWN_SPOILERS = {
  "a gradient of another shape": (_, { inputs, dims, dtype }) => {
    const other = dims.map((n) => n + 1);
    inputs[0] = { data: store(new Float64Array(count(other)), dtype), dims: other, type: dtype };
  },
  "one statistic of two": (g, { op, options, values }) => {
    fc.pre(/layer|group|instance|batch/i.test(op));
    options[pick(g, ["mean", "rstd"])] = new Float64Array(values.length + 7);
  },
  "statistics of another shape": (_, { op, options, values }) => {
    fc.pre(!op.startsWith("l2"));
    options.rstd = new Float64Array(values.length + 7);
    if (!/rms/i.test(op)) options.mean = new Float64Array(values.length + 7);
  },
  "a place for the result": (g, { options, values }) => {
    options[pick(g, ["out", "sumOut", "returnStats"])] = new Float32Array(values.length);
  },
};

for (const name of DIFFERENTIABLE) {
  describe(`${OPERATIONS[name].op}Backward: ${name}`, () => {
    test(`is right for any options that are right (seed ${SEED})`, () => {
      const property = fc.property(fc.gen(), (g) => {
        const made = makeRightBackward(g, name);
        /** @type {any} */
        let result;
        try {
          result = call(made);
        } catch (error) {
          assertDocumented(made.op, error);
          assert.ok(made.values.length === 0, `${error}`);
          free(...made.inputs);
          return;
        }
        try {
          assert.equal(numbersOf(result.gradInput, made.dtype).length, made.values.length);
          // Sums of 16 bits are rounded: their slope is that of stairs.
          const isSmooth = !made.op.startsWith("add") || arithmetic(made.dtype) === made.dtype;
          if (made.values.length > 0 && isSmooth) assertSlopes(made, result);
          if (made.values.length > 0) assertSameOfPlan(made, result);
        } finally {
          free(...made.inputs, ...Object.values(result));
        }
      });
      fc.assert(property, { numRuns: RUNS, seed: SEED });
    });

    test(`refuses anything wrong in its own words (seed ${SEED})`, () => {
      const property = fc.property(fc.gen(), (g) => {
        const made = makeRightBackward(g, name);
        const [grad, ...inputs] = made.inputs;
        if (chance(g, 3)) OWN_SPOILERS[pick(g, Object.keys(OWN_SPOILERS))](g, made);
        else {
          const forward = { ...made, op: made.op.slice(0, -"Backward".length), inputs };
          SPOILERS[pick(g, Object.keys(SPOILERS))](g, forward);
          made.inputs = [grad, ...inputs];
        }
        try {
          call(made);
        } catch (error) {
          assertDocumented(made.op, error);
          return;
        } finally {
          free(...made.inputs);
        }
        assert.fail("it was taken");
      });
      fc.assert(property, { numRuns: RUNS, seed: SEED });
    });
  });
}
