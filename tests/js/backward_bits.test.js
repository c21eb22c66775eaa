/** Gradients have the same bits in pieces, resident, by plans, alone and in a batch. */
import test, { describe } from "node:test";
import * as layernorm from "../../dist/index.js";
import { DIFFERENTIABLE } from "./backward_cases.js";
import { assertSameGradients } from "./backward_checks.js";
import { assertSameBits, unaligned } from "./bits.js";
import { familyValues, Random } from "./data.js";
import { store } from "./half.js";
import { DTYPES, hasAffine, OPERATIONS, ops } from "./operation_cases.js";
import { count, isOfChannels } from "./runs.js";

const { plan, tensor } = layernorm;

/** @type {any} */
const anyPlan = plan;

/** Forms beyond the stages of the kernels, and rows that are taken four at a time. @type {[number[], Record<string, any>][]} */
const AXES = [
  [[2, 40_001], {}],
  [[21, 768], {}],
  [[6, 2048], {}],
  [[900, 7], {}],
  [[4001, 3], { axes: [0] }],
  [[130, 200], { axes: [0] }],
  [[40, 3, 70], { axes: [0, 2] }],
  [[300, 3, 9], { axes: [2, 0] }],
];
/** @type {[number[], Record<string, any>][]} */
const CHANNELS = [
  [[2, 6, 3001], {}],
  [[70, 6, 19], {}],
  [[2, 901, 6], { layout: "channels_last" }],
  [[2, 7, 516], { layout: "channels_last" }],
];

describe("the same bits", () => {
  for (const name of DIFFERENTIABLE) {
    const { op, options: fixed = {} } = OPERATIONS[name];
    for (const dtype of DTYPES) {
      test(`${name}Backward gives the same bits in pieces and resident (${dtype}, seed = turn)`, () => {
        for (const [turn, [dims, own]] of (isOfChannels(op) ? CHANNELS : AXES).entries()) {
          const random = new Random(turn);
          const size = count(dims);
          const draw = (family = "normal") => ({
            data: store(familyValues(family, dtype, size, random), dtype),
            dims,
            type: dtype,
          });
          /** @type {Record<string, any>} */
          const options = { ...fixed, ...own };
          if (/group/i.test(op)) options.numGroups = 3;
          const channels = own.layout ? dims[dims.length - 1] : dims[1];
          const axes = own.axes ?? [dims.length - 1];
          const length = isOfChannels(op)
            ? channels
            : count(axes.map((/** @type {number} */ axis) => dims[axis]));
          const vector = (n = length) => Float32Array.from({ length: n }, () => random.normal());
          if (hasAffine(op)) {
            Object.assign(options, { weight: vector(), bias: turn % 2 ? vector() : 0.5 });
            if (turn % 3 === 2)
              Object.assign(options, { scale: vector(), shift: 0.25, activation: "silu" });
          }
          if (name === "batchNorm") {
            Object.assign(options, { runningMean: vector(), runningVar: vector().map(Math.abs) });
          }
          const inputs = [draw(), draw(["normal", "mean1e4", "heavySigned"][turn % 3])];
          if (op.startsWith("add")) {
            const residual = draw();
            // One that repeats is summed over.
            if (turn % 3 === 1) {
              Object.assign(residual, {
                data: residual.data.slice(0, dims[dims.length - 1]),
                dims: dims.slice(-1),
              });
            }
            inputs.push(residual);
            Object.assign(options, {
              gradSum: draw(),
              gate: turn % 2 ? vector() : 2,
              sumBias: vector(),
            });
          }
          const where = `${name} ${dtype} [${dims}]`;
          const expected = ops[`${op}Backward`](...inputs, options);
          const again = inputs.map((each) => ({ ...each, data: unaligned(each.data) }));
          assertSameGradients(
            ops[`${op}Backward`](...again, options),
            expected,
            `${where}: unaligned`,
          );

          const residents = inputs.map((each) => tensor(/** @type {any} */ (each)));
          const gradSum = options.gradSum && tensor(options.gradSum);
          const given = gradSum ? { ...options, gradSum } : options;
          assertSameGradients(
            ops[`${op}Backward`](...residents, given),
            expected,
            `${where}: resident`,
          );
          const step = anyPlan(`${op}Backward`, ...residents, given);
          assertSameGradients(step.run(), expected, `${where}: plan`);
          assertSameGradients(step.run(), expected, `${where}: plan again`);
          step.dispose();
          for (const each of residents) each.dispose();
        }
      });
    }
  }

  test("the gradient of x of a run is the same alone and in a batch, at any position", () => {
    for (const dtype of DTYPES) {
      for (const [rows, n] of [
        [11, 768],
        [7, 5],
        [6, 3000],
      ]) {
        const random = new Random(n);
        const families = ["normal", "outlierHuge", "mean1e4"];
        const x = store(
          Float32Array.from({ length: rows }).reduce(
            (all, _, r) => {
              all.set(familyValues(families[r % 3], dtype, n, random), r * n);
              return all;
            },
            dtype === "float64" ? new Float64Array(rows * n) : new Float32Array(rows * n),
          ),
          dtype,
        );
        const grad = store(familyValues("normal", dtype, rows * n, random), dtype);
        const weight = familyValues("normal", "float32", n, random);
        for (const op of ["layerNormBackward", "rmsNormBackward", "l2NormalizeBackward"]) {
          const options = op.startsWith("l2") ? {} : { weight };
          const call = (/** @type {number} */ begin, /** @type {number} */ end) => {
            const like = (/** @type {any} */ data) => ({
              data: data.slice(begin * n, end * n),
              dims: [end - begin, n],
              type: dtype,
            });
            return ops[op](like(grad), like(x), options).gradInput.data;
          };
          const all = call(0, rows);
          for (let r = 0; r < rows; r++) {
            assertSameBits(
              call(r, r + 1),
              all.slice(r * n, (r + 1) * n),
              `${op} ${dtype} ${r} of ${rows}`,
            );
          }
          assertSameBits(call(1, rows), all.slice(n), `${op} ${dtype}: from the second row on`);
        }
      }
    }
  });

  test("the gradients of a sum are the same alone and in a batch, beside rows that float32 does not do for", () => {
    const [rows, n] = [21, 300];
    for (const dtype of DTYPES) {
      const random = new Random(7);
      const draw = (family = "normal") => familyValues(family, dtype, rows * n, random);
      const grad = draw();
      const x = draw();
      grad.fill(0, 3 * n, 4 * n);
      x.fill(2, 9 * n, 10 * n);
      x[12 * n + 5] = Infinity;
      for (let i = 15 * n; i < 16 * n; i++) grad[i] *= dtype === "float16" ? 2 ** -14 : 2 ** 90;
      const inputs = [grad, x, draw("mean1e4")].map((values) => store(values, dtype));
      const gradSum = store(draw(), dtype);
      const weight = familyValues("normal", "float32", n, random);
      for (const op of ["addLayerNormBackward", "addRmsNormBackward"]) {
        for (const sum of [undefined, gradSum]) {
          const call = (/** @type {number} */ begin, /** @type {number} */ end) => {
            const like = (/** @type {any} */ data) => ({
              data: data.slice(begin * n, end * n),
              dims: [end - begin, n],
              type: dtype,
            });
            const more = sum && { gradSum: like(sum) };
            return ops[op](...inputs.map(like), { weight, ...more });
          };
          const all = call(0, rows);
          for (let r = 0; r < rows; r++) {
            const alone = call(r, r + 1);
            for (const name of ["gradInput", "gradResidual"]) {
              assertSameBits(
                alone[name].data,
                all[name].data.slice(r * n, (r + 1) * n),
                `${op} ${dtype} ${name} ${r}`,
              );
            }
          }
        }
      }
    }
  });
});
