/** Guarantee 1 as a property of every operation: whatever finite values fast-check comes up with, and shrinks to. */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { LIMITS } from "./data.js";
import { judgeOperation } from "./exact_operations.js";
import { arithmetic, load, roundTo, store } from "./half.js";
import { DTYPES, defaultEps, hasAffine, OPERATIONS, ops } from "./operation_cases.js";
import { count, isOfChannels, runsOf } from "./runs.js";

/** @typedef {import("./exact.js").DType} DType */
/** @typedef {import("./exact_operations.js").Setting} Setting */
/** @typedef {import("./transcendental.js").ActivationName} ActivationName */

const settings = { noNaN: true, noDefaultInfinity: true };
const moderate = fc.double({ ...settings, min: -4, max: 4 });
/** Parameters: their sizes stay where no term is far from what is added to it. */
const parameter = fc.oneof(moderate, fc.constantFrom(0, 1, -1, 0.5));

/** @param {DType} dtype finite values of the type, of one magnitude, or few about a mean */
function valuesOf(dtype) {
  const { max } = LIMITS[dtype];
  const any = dtype === "float64" ? fc.double(settings) : fc.float(settings);
  const list = (/** @type {fc.Arbitrary<number>} */ value) =>
    fc.array(value, { minLength: 1, maxLength: 96, size: "max" });
  const about = fc
    .tuple(fc.double({ ...settings, min: -1e6, max: 1e6 }), list(fc.constantFrom(-1, 0, 0.25, 3)))
    .map(([mean, values]) => values.map((value) => mean + value));
  return fc
    .oneof(list(any), list(moderate), about)
    .map((values) => values.map((v) => Math.max(-max, Math.min(max, roundTo(v, dtype)))));
}

/** Where the normalized dimensions or the channels can stand, of three dimensions. */
const placements = fc.constantFrom(
  .../** @type {number[][]} */ ([[2], [0], [1], [0, 2], [2, 1], [1, 0]]),
);

/** @param {string} name @param {DType} dtype */
function propertyOf(name, dtype) {
  const { op, options: fixed = {} } = OPERATIONS[name];
  const draws = fc.record({
    values: valuesOf(dtype),
    rest: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
    axes: placements,
    last: fc.boolean(),
    eps: fc.constantFrom(0, 1e-12, 1e-5, 1e-3),
    parameters: fc.tuple(parameter, parameter, parameter, parameter),
    given: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
    activation: /** @type {fc.Arbitrary<ActivationName | null>} */ (
      fc.constantFrom(null, null, "relu", "silu", "gelu", "gelu_tanh", "sigmoid", "tanh")
    ),
    window: fc.record({
      size: fc.integer({ min: 1, max: 9 }),
      alpha: fc.constantFrom(1e-4, 0.5, 2),
      beta: fc.constantFrom(0.75, 0.5, 1, 2.3),
      k: fc.constantFrom(1, 2, 0.1),
    }),
  });
  return fc.property(
    draws,
    ({ values, rest: [a, b], axes, last, eps, parameters, given, activation, window }) => {
      // The values repeat until the dimensions are full.
      const dims = [a, b, Math.ceil(values.length / b)];
      if (last) dims.reverse();
      const size = count(dims);
      const wide = arithmetic(dtype);
      const data = store(
        Array.from({ length: size }, (_, i) => values[i % values.length]),
        dtype,
      );
      let x = load(data, dtype);
      /** @type {Record<string, any>} */
      const options = { ...fixed };
      /** @type {Setting} */
      const setting = { op, dtype, dims, eps: defaultEps(op), p: fixed.p };
      if (isOfChannels(op)) {
        options.layout = last ? "channels_last" : "channels_first";
        setting.last = last;
        const channels = last ? dims[2] : dims[1];
        if (/group/i.test(op)) options.numGroups = setting.numGroups = channels % 2 ? 1 : 2;
      } else options.axes = setting.axes = axes;
      if (op === "localResponseNorm") {
        setting.window = window;
        Object.assign(options, window);
      } else options.eps = setting.eps = eps;
      const { runs, own, ownCount } = runsOf(op, setting);
      if (name === "batchNorm") {
        const array = wide === "float32" ? Float32Array : Float64Array;
        options.runningMean = setting.runningMean = new array(runs.length).fill(values[0] / 2);
        options.runningVar = setting.runningVar = new array(runs.length).fill(
          Math.abs(parameters[0]) + 0.1,
        );
      }
      if (hasAffine(op)) {
        const keys = [["weight"], ["bias"], ["scale", "shift"]].filter((_, k) => given[k]).flat();
        for (const [k, key] of keys.entries()) {
          const list = Float32Array.from({ length: ownCount }, (_, i) => parameters[(k + i) % 4]);
          options[key] = list;
          /** @type {any} */ (setting)[key] = Float32Array.from(x, (_, i) => list[own[i]]);
        }
        if (activation) options.activation = setting.activation = activation;
        options.returnStats = true;
      }
      const inputs = [{ data, dims, type: dtype }];
      if (op.startsWith("add")) {
        const residual = values.toReversed();
        inputs.push({
          data: store(
            Array.from(x, (_, i) => residual[i % residual.length]),
            dtype,
          ),
          dims,
          type: dtype,
        });
        const other = load(inputs[1].data, dtype);
        x = x.map((value, i) => roundTo(roundTo(other[i] + value, wide), dtype));
      }
      if (!x.every(Number.isFinite)) return;
      const result = ops[op](...inputs, options);
      const verdict = judgeOperation(setting, x, {
        output: load((result.output ?? result).data, dtype),
        mean: result.mean?.data,
        rstd: result.rstd?.data,
      });
      const { error, mean, rstd } = verdict;
      assert.ok(error <= 1 && mean <= 1 && rstd <= 1, JSON.stringify(verdict));
    },
  );
}

for (const name of Object.keys(OPERATIONS)) {
  for (const dtype of DTYPES) {
    test(`${name} stays within its bound of exact arithmetic for any ${dtype} values`, () => {
      fc.assert(propertyOf(name, dtype), { numRuns: 150, seed: 21, endOnFailure: true });
    });
  }
}
