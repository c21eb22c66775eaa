/**
 * Guarantee 2 for data that passes through wasm memory in pieces: beyond the arena's chunk of 128 KB and the kernels' stage
 * of 64 KB, in every layout, typed arrays and resident tensors give the same bits.
 */
import test from "node:test";
import { plan, tensor } from "../../dist/index.js";
import { assertSameBits, unaligned } from "./bits.js";
import { familyValues, Random } from "./data.js";
import { isHalf, load, store } from "./half.js";
import { DTYPES, hasAffine, OPERATIONS, ops } from "./operation_cases.js";
import { count, isOfChannels } from "./runs.js";

/** @typedef {[number[], Record<string, any>]} Form dimensions, and the options that go with them */

/** @type {any} */
const anyPlan = plan;

/** Forms for norms over axes. @type {Form[]} */
const AXES = [
  [[2, 40_001], {}],
  [[3, 16_384], {}],
  [[9000, 7], {}],
  [[40_001, 2], { axes: [0] }],
  [[20_000, 5], { axes: [0] }],
  [[130, 600], { axes: [0] }],
  [[40, 3, 700], { axes: [0, 2] }],
  [[3000, 3, 9], { axes: [2, 0] }],
  [[2, 1100, 33], { axes: [1] }],
];
/** Forms for norms of channels. @type {Form[]} */
const CHANNELS = [
  [[2, 6, 9001], {}],
  [[700, 6, 19], {}],
  [[2, 9001, 6], { layout: "channels_last" }],
  [[2, 70, 516], { layout: "channels_last" }],
  [[1, 20_004, 3], {}],
  [[2, 3, 12_000], { layout: "channels_last" }],
];

/** @param {string} op @param {Form} form @param {Random} random @param {number} turn @returns {Record<string, any>} */
function optionsFor(op, [dims, own], random, turn) {
  /** @type {Record<string, any>} */
  const options = { ...own };
  const channels = own.layout ? dims[dims.length - 1] : dims[1];
  if (/group/i.test(op)) options.numGroups = 3;
  if (op === "localResponseNorm") options.size = turn % 2 ? 5 : 2;
  if (!hasAffine(op)) return options;
  const axes = own.axes ?? [dims.length - 1];
  const length = isOfChannels(op)
    ? channels
    : axes.reduce(
        (/** @type {number} */ product, /** @type {number} */ axis) => product * dims[axis],
        1,
      );
  const vector = (/** @type {number} */ n) =>
    Float32Array.from({ length: n }, () => random.normal());
  if (turn % 3 !== 0) Object.assign(options, { weight: vector(length), bias: vector(length) });
  if (turn % 3 === 2) {
    const isPerItem = op !== "batchNorm" && !axes.includes(0);
    Object.assign(options, {
      scale: vector(length * (isPerItem ? dims[0] : 1)),
      shift: vector(length),
    });
  }
  if (turn % 4 === 1) options.activation = "silu";
  if (op.startsWith("add") && turn % 2) {
    Object.assign(options, { gate: vector(length), sumBias: vector(length) });
  }
  return options;
}

const FAMILIES = ["normal", "mean1e4", "prefixFar", "heavySigned"];

for (const [name, { op, options: fixed = {} }] of Object.entries(OPERATIONS)) {
  for (const dtype of DTYPES) {
    test(`${name} gives the same bits in pieces and resident, from sizes beyond all buffers (${dtype}, seed = turn)`, () => {
      const forms = isOfChannels(op) ? CHANNELS : AXES;
      for (const [turn, form] of forms.entries()) {
        const random = new Random(turn);
        const [dims] = form;
        const n = count(dims);
        const values = familyValues(FAMILIES[turn % FAMILIES.length], dtype, n, random);
        const x = { data: store(values, dtype), dims, type: dtype };
        const options = { ...fixed, ...optionsFor(op, form, random, turn) };
        if (name === "batchNorm") {
          const channels = form[1].layout ? dims[2] : dims[1];
          options.runningMean = Float32Array.from({ length: channels }, () => random.normal());
          options.runningVar = Float32Array.from({ length: channels }, () => random.uniform());
        }
        const inputs = [x];
        if (op.startsWith("add")) {
          const residual = { ...x, data: x.data.toReversed() };
          // One that repeats is read again and again.
          if (turn % 3 === 1)
            Object.assign(residual, {
              data: x.data.slice(0, dims[dims.length - 1]),
              dims: dims.slice(-1),
            });
          inputs.push(residual);
        }
        if (hasAffine(op)) options.returnStats = true;
        const where = `${name} ${dtype} [${dims}] ${JSON.stringify(form[1])}`;
        const result = ops[op](...inputs, options);
        const expected = "output" in result ? result : { output: result };

        const residents = inputs.map((input) => tensor(/** @type {any} */ (input)));
        const step = anyPlan(op, ...residents, { ...options, out: residents[0] });
        const planned = step.run();
        const got = "output" in planned ? planned : { output: planned };
        for (const key of Object.keys(expected)) {
          const { data } = got[key];
          const bits =
            data.BYTES_PER_ELEMENT === 2
              ? new Uint16Array(data.buffer, data.byteOffset, data.length)
              : data;
          assertSameBits(bits, expected[key].data, `${where}: ${key} of a plan`);
        }
        step.dispose();
        for (const each of residents) each.dispose();

        const inPlace = { ...x, data: unaligned(x.data) };
        ops[op](inPlace, ...inputs.slice(1), { ...options, out: inPlace.data });
        assertSameBits(inPlace.data, expected.output.data, `${where}: in place`);
        if (isHalf(dtype) && !op.startsWith("add")) {
          const wide = ops[op]({ data: load(x.data, dtype), dims, type: "float32" }, options);
          const output = wide.output ?? wide;
          assertSameBits(expected.output.data, store(output.data, dtype), `${where}: of float32`);
        }
      }
    });
  }
}
