/**
 * Guarantees 3, 4 and 6 for every forward operation, layout and element type: NaN and infinity spoil their own run,
 * constant runs give the bias, empty batches are empty, an error writes nothing and the next call works.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { tensor, zeros } from "../../dist/index.js";
import { assertSameBits } from "./bits.js";
import { LIMITS } from "./data.js";
import { arithmetic, load, roundTo, store } from "./half.js";
import {
  CONDITIONAL_KINDS,
  DTYPES,
  hasAffine,
  KINDS,
  layoutsOf,
  makeCase,
  OPERATIONS,
  ops,
  resultsOf,
} from "./operation_cases.js";
import { count, gather, runsOf } from "./runs.js";

/** @typedef {import("./operation_cases.js").Case} Case */
/** @typedef {import("./exact.js").DType} DType */

const LENGTHS = [1, 2, 5, 16, 65, 130, 259];
const BAD = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];

/**
 * @param {string} name of OPERATIONS
 * @param {DType} dtype
 * @param {(made: Case, where: string, turn: number) => void} visit
 * @param {string[]} [kinds]
 */
function eachCase(name, dtype, visit, kinds = [...KINDS, ...CONDITIONAL_KINDS]) {
  const { op } = OPERATIONS[name];
  let turn = dtype.length;
  for (const l of layoutsOf(op, 4).keys()) {
    for (let k = 0; k < 6; k++) {
      const layout = layoutsOf(op, LENGTHS[turn % LENGTHS.length], 2 + (turn % 5))[l];
      const kind = hasAffine(op) ? kinds[turn % kinds.length] : "none";
      const eps = turn % 3 ? 0 : undefined;
      const made = makeCase({ name, layout, dtype, family: "normal", kind, eps, seed: turn });
      visit(made, `${name} ${dtype} [${layout.dims}] ${layout.name} ${kind} seed ${turn}`, turn);
      turn++;
    }
  }
}

/** @param {Case} made @returns {Int32Array[]} what one bad value may reach: runs, windows or elements */
function reachOf({ op, setting }) {
  const { dims, last } = setting;
  if (setting.runningMean) return Array.from({ length: count(dims) }, (_, i) => Int32Array.of(i));
  // Windows lie within the channels of a position: the axis of the channels is the run.
  if (op === "localResponseNorm") {
    return runsOf("layerNorm", { dims, axes: [last ? dims.length - 1 : 1] }).runs;
  }
  return runsOf(op, setting).runs;
}

for (const name of Object.keys(OPERATIONS)) {
  for (const dtype of DTYPES) {
    test(`${name} lets NaN and infinity spoil their own run only (${dtype}, seed = turn)`, () => {
      eachCase(name, dtype, (made, where, turn) => {
        const clean = resultsOf(made);
        const [x, ...residual] = made.inputs;
        const bad = BAD[turn % BAD.length];
        const at = (turn * 7919) % x.data.length;
        const data = x.data.slice();
        data[at] = store([bad], dtype)[0];
        const got = resultsOf({ ...made, inputs: [{ ...x, data }, ...residual] });
        for (const [r, run] of reachOf(made).entries()) {
          const isSpoiled = run.includes(at);
          const output = gather(got.output, run);
          if (!isSpoiled) {
            assertSameBits(output, gather(clean.output, run), `${where}: run ${r}`);
            for (const key of /** @type {const} */ (["mean", "rstd"])) {
              const [a, b] = [got[key], clean[key]];
              if (a && b && !made.setting.runningMean)
                assert.ok(Object.is(a[r], b[r]), `${where}: ${key}`);
            }
          } else if (!made.setting.runningMean && hasAffine(made.op)) {
            const isRms = /rms/i.test(made.op) && !Number.isNaN(bad);
            const spoiled = isRms ? [got.output[at]] : output;
            assert.ok(spoiled.every(Number.isNaN), `${where}: spoiled ${output.slice(0, 9)}`);
          } else {
            const y = got.output[at];
            assert.ok(Number.isNaN(y) || made.op !== "lpNormalize", `${where}: spoiled ${y}`);
            if (Number.isNaN(bad)) assert.ok(Number.isNaN(y), `${where}: NaN gives ${y}`);
          }
        }
      });
    });

    test(`${name} of constant runs gives the bias, scaled and shifted (${dtype}, seed = turn)`, () => {
      if (name === "batchNorm" || name === "localResponseNorm" || name.startsWith("add")) return;
      const isCentered = !/rms|l2|lp/.test(name);
      const { max, tiny } = LIMITS[dtype];
      const values = isCentered ? [0.1, -7, max, tiny, 0, -max, 1 / 3, 1e4 + 1 / 3] : [0, -0];
      eachCase(name, dtype, (made, where, turn) => {
        const { setting, inputs, options } = made;
        const wide = arithmetic(dtype);
        const value = roundTo(values[turn % values.length], dtype);
        const x = { ...inputs[0], data: store(new Float64Array(made.x.length).fill(value), dtype) };
        const { output, mean, rstd } = resultsOf({
          ...made,
          inputs: [x],
          options: { ...options, eps: 0 },
        });
        for (let i = 0; i < output.length; i++) {
          const pick = (/** @type {any} */ field) =>
            (typeof field === "object" ? field?.[i] : field) ?? 0;
          const y = pick(setting.bias) * (1 + pick(setting.scale)) + pick(setting.shift);
          const want = roundTo(roundTo(y, wide), dtype);
          const isExact = !setting.scale || !setting.bias;
          // Beside a scale each step may be rounded.
          const slack = isExact ? 0 : 2 ** (dtype === "float64" ? -51 : -22) * (1 + Math.abs(y));
          const half =
            isExact || wide === dtype ? 0 : Math.abs(want) * 2 ** (dtype === "float16" ? -10 : -7);
          assert.ok(
            Math.abs(output[i] - want) <= slack + half,
            `${where} of ${value}: index ${i} got ${output[i]}, expected ${want}`,
          );
        }
        if (mean)
          assert.ok(
            mean.every((each) => each === value),
            `${where}: mean of ${value}`,
          );
        if (rstd)
          assert.ok(
            rstd.every((each) => each === Infinity),
            `${where}: rstd`,
          );
      });
    });
  }
}

// --- Empty ---------------------------------------------------------------------------------------------------------------

/** Dimensions without any element, and the options that make them fit. @type {[string, number[], Record<string, any>, number[]][]} */
const EMPTY = [
  ["layerNorm", [0, 4], {}, [0, 1]],
  ["layerNorm", [3, 0, 4], { axes: [2, 0] }, [1, 0, 1]],
  ["rmsNorm", [2, 0, 4], { axes: [0] }, [1, 0, 4]],
  ["l2Normalize", [0, 4], {}, []],
  ["l2Normalize", [4, 0], { axes: [0] }, []],
  ["lpNormalize", [0, 4], { p: 1 }, []],
  ["meanVarianceNormalize", [2, 0, 3], { axes: [2] }, []],
  ["groupNorm", [0, 4, 3], { numGroups: 2 }, [0, 2]],
  ["groupNorm", [0, 3, 4], { numGroups: 2, layout: "channels_last" }, [0, 2]],
  ["instanceNorm", [0, 4, 3], {}, [0, 4]],
  ["instanceNorm", [0, 3, 4], { layout: "channels_last" }, [0, 4]],
  ["batchNorm", [0, 4, 3], { training: true }, [4]],
  ["batchNorm", [3, 4, 0], { training: true }, [4]],
  ["batchNorm", [0, 3, 4], { training: true, layout: "channels_last" }, [4]],
  ["localResponseNorm", [0, 4, 3], { size: 3 }, []],
  ["addLayerNorm", [0, 4], {}, [0, 1]],
  ["addRmsNorm", [0, 4], {}, [0, 1]],
  ["addGroupNorm", [0, 4, 3], { numGroups: 2 }, [0, 2]],
];

for (const dtype of DTYPES) {
  test(`all operations give empty results of empty batches and leave running statistics alone (${dtype})`, () => {
    for (const [op, dims, own, statDims] of EMPTY) {
      const x = { data: store([], dtype), dims, type: dtype };
      const inputs = op.startsWith("add") ? [x, x] : [x];
      const running = () => ({ data: store([1, 2, 3, 4], dtype), dims: [4], type: dtype });
      const options = { ...own };
      if (op === "batchNorm")
        Object.assign(options, { runningMean: running(), runningVar: running() });
      const where = `${op} [${dims}]`;
      const result = ops[op](...inputs, options);
      const y = result.output ?? result;
      assert.deepEqual([y.data.length, y.dims, y.type], [0, dims, dtype], where);
      if (hasAffine(op)) {
        const { rstd, mean } = ops[op](...inputs, { ...options, returnStats: true });
        assert.deepEqual(rstd.dims, statDims, where);
        assert.equal(rstd.data.length, count(statDims), where);
        if (!/rms/i.test(op)) assert.deepEqual(mean.dims, statDims, where);
      }
      const out = store([], dtype);
      const written = ops[op](...inputs, { ...options, out });
      assert.equal(written.output ?? written, out, where);
      if (op === "batchNorm") {
        for (const key of ["runningMean", "runningVar"]) {
          assert.deepEqual(options[key], running(), `${where}: ${key}`);
        }
      }
    }
  });
}

// --- Errors --------------------------------------------------------------------------------------------------------------

for (const [name, { op }] of Object.entries(OPERATIONS)) {
  test(`${name} writes nothing on an error, and the next call works`, () => {
    for (const dtype of DTYPES) {
      for (const [l, layout] of layoutsOf(op, 33, 4).entries()) {
        const kind = hasAffine(op) ? "all" : "none";
        const made = makeCase({ name, layout, dtype, family: "normal", kind, seed: l });
        const { inputs, options } = made;
        const [x] = inputs;
        const expected = resultsOf(made);
        const size = x.data.length;
        const fill = () => store(new Float64Array(size).fill(77), dtype);
        const [out, sumOut] = [fill(), fill()];
        const running = {
          runningMean: new Float32Array(99).fill(5),
          runningVar: new Float32Array(99).fill(5),
        };
        const before = x.data.slice();
        const outs = op.startsWith("add") ? { out, sumOut } : { out };
        const call = (/** @type {any} */ given, /** @type {any[]} */ args = inputs) =>
          ops[op](...args, { ...options, ...outs, ...given });
        const buffer = new ArrayBuffer((size + 8) * x.data.BYTES_PER_ELEMENT);
        const Type = /** @type {any} */ (x.data.constructor);
        const overlapping = [{ ...x, data: new Type(buffer, 0, size) }, ...inputs.slice(1)];
        const disposed = zeros([4]);
        disposed.dispose();
        /** @type {[ErrorConstructor, string, () => unknown][]} */
        const faults = [
          [TypeError, "an unknown option", () => call({ epsilon: 1 })],
          [RangeError, "out of another size", () => call({ out: out.subarray(1) })],
          [
            TypeError,
            "out of another type",
            () =>
              call({ out: dtype === "float64" ? new Float32Array(size) : new Float64Array(size) }),
          ],
          [RangeError, "shape of another size", () => call({ shape: [3, 3, 3] })],
          [
            RangeError,
            "out that overlaps x",
            () => call({ out: new Type(buffer, x.data.BYTES_PER_ELEMENT, size) }, overlapping),
          ],
          [TypeError, "out that is resident", () => call({ out: disposed })],
          [TypeError, "x of a wrong kind", () => call({}, ["x", ...inputs.slice(1)])],
          [RangeError, "a tensor larger than memory", () => zeros([2 ** 20, 2 ** 20])],
          [
            TypeError,
            "data of another type",
            () =>
              call({}, [
                { ...x, type: dtype === "float32" ? "float64" : "float32" },
                ...inputs.slice(1),
              ]),
          ],
        ];
        if (op !== "localResponseNorm") {
          faults.push([RangeError, "negative eps", () => call({ eps: -1 })]);
          faults.push([RangeError, "an unknown preset", () => call({ preset: "caffe" })]);
        } else faults.push([RangeError, "a window of 0", () => call({ size: 0 })]);
        if (hasAffine(op)) {
          faults.push(
            [RangeError, "weight of another size", () => call({ weight: new Float32Array(2001) })],
            [TypeError, "a disposed weight", () => call({ weight: disposed })],
            [RangeError, "an unknown activation", () => call({ activation: "softmax" })],
            [RangeError, "scale of another size", () => call({ scale: new Float32Array(2001) })],
          );
        }
        if (op === "batchNorm") {
          faults.push([
            RangeError,
            "running statistics of another size",
            () => call({ training: true, ...running }),
          ]);
        }
        if (/group/i.test(op)) {
          faults.push([RangeError, "groups that do not divide", () => call({ numGroups: 5 })]);
        }
        if (op.startsWith("add")) {
          faults.push([RangeError, "out that is sumOut", () => call({ sumOut: out })]);
          faults.push([TypeError, "no residual", () => ops[op](x)]);
          faults.push([
            RangeError,
            "a residual of another size",
            () => call({}, [x, new Float32Array(2001)]),
          ]);
        }
        for (const [kind, what, fault] of faults) {
          const where = `${name} ${dtype} [${layout.dims}]: ${what}`;
          assert.throws(
            fault,
            (error) => /** @type {any} */ (error).constructor === kind && `${error}`.length > 20,
            where,
          );
          for (const written of [out, sumOut]) assertSameBits(written, fill(), where);
          assertSameBits(x.data, before, `${where}: x`);
          assert.ok(
            [...running.runningMean, ...running.runningVar].every((value) => value === 5),
            where,
          );
        }
        const again = resultsOf(made);
        assertSameBits(again.output, expected.output, `${name} ${dtype}: the next call`);
      }
    }
  });
}

test("all operations find a resident x that ran out of memory for its result a RangeError, and work on", () => {
  const held = [];
  for (let elements = 2 ** 26; elements >= 2 ** 16; elements /= 2) {
    for (;;) {
      try {
        held.push(zeros([1, 2, elements / 2]));
      } catch (error) {
        assert.ok(error instanceof RangeError);
        break;
      }
    }
  }
  const [large] = held;
  const small = tensor(
    Float32Array.from({ length: 8 }, (_, i) => i),
    [1, 2, 4],
  );
  for (const [name, { op, options: fixed }] of Object.entries(OPERATIONS)) {
    const options = { ...fixed };
    if (/group/i.test(op)) options.numGroups = 2;
    if (op === "localResponseNorm") options.size = 3;
    if (name === "batchNorm") Object.assign(options, { runningMean: [0, 0], runningVar: [1, 1] });
    const residual = (/** @type {any} */ x) => (op.startsWith("add") ? [x] : []);
    assert.throws(() => ops[op](large, ...residual(large), options), RangeError, name);
    const sum = op.startsWith("add") ? { sumOut: tensor(new Float32Array(8), [1, 2, 4]) } : {};
    const result = ops[op](small, ...residual(small), { ...options, ...sum, out: small });
    assert.ok(load((result.output ?? result).data, "float32").every(Number.isFinite), name);
  }
  for (const each of held) each.dispose();
});
