/** What the tests of operations share: calls for every kind of x and element type, beside a plain float64 reference. */
import assert from "node:assert/strict";
import * as layernorm from "../../dist/index.js";
import { plan, Tensor, tensor } from "../../dist/index.js";
import { count, EPSILON, fromBits, nest, reference, round, toBits } from "./reference.js";

/** @typedef {import("./reference.js").DType} DType */
/** @typedef {import("./reference.js").Setting} Setting */
/** @typedef {import("./reference.js").Field} Field */

/** No type tells what each kind of x gives. @type {Record<string, any>} */
export const ops = layernorm;
/** @type {any} */
export const anyPlan = plan;

/** @type {DType[]} */
export const DTYPES = ["float32", "float64", "float16", "bfloat16"];
/** @type {any} */
export const Float16 = /** @type {any} */ (globalThis).Float16Array;

/** Deviations of about 2 about a mean of 0.5, as the element type has them. @param {number} n @param {DType} dtype */
export const sample = (n, dtype, seed = 1) =>
  Array.from({ length: n }, (_, i) => round(Math.sin(7 * i + seed) * 2.5 + 0.5, dtype));

/** Parameters of n elements that every element type has. @param {number} n */
export const parameter = (n, seed = 0) =>
  Array.from({ length: n }, (_, i) => (((i + seed) * 5 + 3) % 11) / 4 - 1);

/** @param {ArrayLike<number>} values @param {DType} dtype @returns {Float32Array | Float64Array | Uint16Array} */
export function store(values, dtype) {
  if (dtype === "float32") return Float32Array.from(values);
  if (dtype === "float64") return Float64Array.from(values);
  return Uint16Array.from(values, (value) => toBits(value, dtype));
}

/** A result's elements as numbers. @param {any} result @returns {number[]} */
export function load(result) {
  if (Array.isArray(result)) return result.flat(Infinity);
  if (result instanceof Tensor) return numbers(result.data, result.dtype);
  if (ArrayBuffer.isView(result)) return numbers(result, "float32");
  return numbers(result.data, result.type);
}

/** @param {any} array @param {string} dtype */
export function numbers(array, dtype) {
  if (!(array instanceof Uint16Array)) return Array.from(array);
  return Array.from(array, (bits) => fromBits(bits, /** @type {"float16"} */ (dtype)));
}

/** The four kinds of x, where they can have the element type. @param {number[]} values @param {number[]} dims @param {DType} dtype */
export function kindsOf(values, dims, dtype) {
  const data = store(values, dtype);
  /** @type {[string, any, any][]} */
  const kinds = [
    ["tensor-like", { data, dims, type: dtype }, {}],
    ["resident", tensor(/** @type {any} */ ({ data, dims, type: dtype })), {}],
  ];
  const flat = data.slice();
  if (!(flat instanceof Uint16Array)) kinds.push(["flat", flat, { shape: dims }]);
  else if (dtype === "float16" && Float16) {
    kinds.push(["flat", new Float16(flat.buffer), { shape: dims }]);
  }
  if (dtype === "float64") kinds.push(["nested", nest(values, dims), {}]);
  return kinds;
}

/**
 * @param {number[]} got
 * @param {{ output: number[], terms: number[] }} expected
 * @param {DType} dtype
 * @param {number} units
 */
export function assertClose(got, { output, terms }, dtype, units) {
  assert.equal(got.length, output.length);
  for (const [i, want] of output.entries()) {
    const allowed = units * EPSILON[dtype] * Math.max(1, Math.abs(want), terms[i]);
    const error = Math.abs(got[i] - want);
    assert.ok(error <= allowed, `index ${i}: got ${got[i]}, expected ${want}`);
  }
}

/** The bound of the guarantees, and what the reference's own rounding adds. @param {DType} dtype @param {Setting} setting */
export function unitsOf(dtype, { activation, op }) {
  if (dtype === "float16" || dtype === "bfloat16") return 1.001;
  const own = dtype === "float64" ? 8 : 0;
  return (activation || op === "localResponseNorm" ? 8 : 3) + own;
}

/** @type {any[]} */
export const made = [];
/** @param {any} result */
export function free(result) {
  for (const each of result instanceof Tensor ? [result] : Object.values(result)) {
    if (each instanceof Tensor) each.dispose();
  }
}

/**
 * Runs a call for all kinds and element types of x, and as a plan.
 *
 * @param {{ dims: number[], options?: any, setting: Setting, dtypes?: DType[] }} call
 */
export function checkCall({ dims, options = {}, setting, dtypes = DTYPES }) {
  const { op } = setting;
  const isAdd = op.startsWith("add");
  const hasStats = !/Normalize|Response/.test(op);
  for (const dtype of dtypes) {
    const values = sample(count(dims), dtype);
    const expected = reference(values, dims, dtype, setting);
    const units = unitsOf(dtype, setting);
    for (const [kind, x, own] of kindsOf(values, dims, dtype)) {
      const residual = isAdd ? [options.residual] : [];
      const { residual: _, ...rest } = options;
      const given = { ...own, ...rest };
      const result = ops[op](x, ...residual, given);
      const where = `${op} ${dtype} ${kind}`;
      const output = isAdd ? result.output : result;
      assertClose(load(output), expected, dtype, units);
      if (isAdd) assert.deepEqual(load(result.sum), expected.sum, where);
      if (kind === "resident") assert.deepEqual([output.shape, output.dtype], [dims, dtype]);
      if (kind === "tensor-like") assert.deepEqual([output.dims, output.type], [dims, dtype]);

      if (hasStats) {
        const all = ops[op](x, ...residual, { ...given, returnStats: true });
        assert.deepEqual(load(all.output), load(output), `${where}: with statistics`);
        const names = /rms/i.test(op) ? ["rstd"] : ["mean", "rstd"];
        assert.deepEqual(
          Object.keys(all),
          isAdd ? ["output", "sum", ...names] : ["output", ...names],
        );
        for (const name of names) {
          const want = /** @type {any} */ (expected)[name];
          const got = load(all[name]);
          assert.equal(got.length, want.length, where);
          for (const [i, value] of want.entries()) {
            const allowed = 4 * 2 ** -23 * Math.max(1, Math.abs(value));
            assert.ok(Math.abs(got[i] - value) <= allowed, `${where}: ${name}[${i}] ${got[i]}`);
          }
        }
        free(all);
      }

      if (kind === "resident") {
        const residents = residual.map((value) => tensor(/** @type {any} */ (value)));
        const step = anyPlan(op, x, ...residents, { ...rest });
        const again = step.run();
        assert.equal(step.run(), again);
        assert.deepEqual(load(isAdd ? again.output : again), load(output), `${where}: plan`);
        if (isAdd) assert.deepEqual(load(again.sum), load(result.sum));
        step.dispose();
        for (const each of residents) each.dispose();
      }
      // In place.
      if (kind !== "nested") {
        const out = kind === "tensor-like" ? x.data : x;
        const inPlace = ops[op](x, ...residual, { ...given, out });
        assert.equal(isAdd ? inPlace.output : inPlace, out);
        const bits = kind === "tensor-like" ? { data: out, type: dtype } : out;
        assert.deepEqual(load(bits), load(output), `${where}: in place`);
      }
      free(result);
      made.push(x);
    }
    for (const each of made.splice(0)) free(each);
  }
}

export const UNARY = ["layerNorm", "rmsNorm"];
export const CHANNELS = ["groupNorm", "instanceNorm", "batchNorm"];
