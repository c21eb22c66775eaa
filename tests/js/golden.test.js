/** Conformance cases that others wrote (tests/golden/README.md), through the public functions. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { layerNorm, rmsNorm } from "../../dist/index.js";
import { EPS, momentsOf, Normalizer } from "./exact.js";

/** @param {string} name */
function golden(name) {
  return JSON.parse(readFileSync(new URL(`../golden/${name}`, import.meta.url), "utf8"));
}

// --- ONNX ------------------------------------------------------------------------------------------------------------

/** @typedef {(x: any, options?: any) => any} Call */

/**
 * The operations that the package has, each with the number of its cases; those of others are left out.
 * @type {Map<string, { call: Call, cases: number }>}
 */
const SUPPORTED = new Map([
  ["layer_norm", { call: layerNorm, cases: 19 }],
  ["rms_norm", { call: rmsNorm, cases: 19 }],
]);

const ARRAYS = { float32: Float32Array, float64: Float64Array };

/** @param {{ shape: number[], dtype: "float32" | "float64", data: (number | string)[] }} tensor as onnxruntime has them */
function tensorLike({ shape, dtype, data }) {
  return { data: new ARRAYS[dtype](data.map(Number)), dims: shape, type: dtype };
}

/**
 * @param {any} got a tensor-like
 * @param {{ shape: number[], dtype: string, data: (number | string)[] }} expected
 * @param {{ type: string, rtol: number, atol: number }} tolerance
 * @param {string} what
 */
function assertClose(got, expected, tolerance, what) {
  assert.equal(tolerance.type, "RTOL_ATOL");
  assert.deepEqual(got.dims, expected.shape, `${what}: dims`);
  assert.equal(got.data.length, expected.data.length, `${what}: length`);
  for (const [i, text] of expected.data.entries()) {
    const value = Number(text);
    const error = Math.abs(got.data[i] - value);
    const allowed = tolerance.atol + tolerance.rtol * Math.abs(value);
    assert.ok(error <= allowed, `${what}: index ${i} got ${got.data[i]}, expected ${value}`);
  }
}

/** @type {Map<string, number>} */
const ran = new Map();

for (const { name, op, inputs, options, output, extraOutputs, tolerance } of golden("onnx.json")
  .cases) {
  const operation = SUPPORTED.get(op);
  if (operation === undefined) continue;
  ran.set(op, (ran.get(op) ?? 0) + 1);
  test(`${operation.call.name} agrees with ONNX's ${name}`, () => {
    const x = tensorLike(inputs.input);
    const settings = {
      axis: options.axis,
      eps: options.epsilon,
      weight: tensorLike(inputs.scale),
      bias: inputs.bias ? tensorLike(inputs.bias) : null,
    };
    const y = operation.call(x, settings);
    assertClose(y, output, tolerance, "output");
    assert.equal(y.type, output.dtype);

    const all = operation.call(x, { ...settings, returnStats: true });
    assert.deepEqual(all.output.data, y.data);
    if (extraOutputs?.mean) assertClose(all.mean, extraOutputs.mean, tolerance, "mean");
    if (extraOutputs?.invStdDev) assertClose(all.rstd, extraOutputs.invStdDev, tolerance, "rstd");

    // The same set as axes, in which parameters that have as many dimensions as x broadcast.
    const byAxes = operation.call(x, { ...settings, axis: undefined, axes: options.axes });
    assertClose(byAxes, output, tolerance, "output by axes");
  });
}

test("layerNorm and rmsNorm ran all of ONNX's cases", () => {
  for (const [op, { cases }] of SUPPORTED) assert.equal(ran.get(op), cases, op);
});

// --- NIST ------------------------------------------------------------------------------------------------------------

const nist = golden("nist.json").cases;

test("layerNorm takes NIST's statistics to their bound", () => {
  for (const { name, data, float32, float64 } of nist) {
    const values = Array.isArray(data) ? data : new Array(data.count).fill(data.fill);
    for (const [dtype, expected] of /** @type {const} */ ([
      ["float32", float32],
      ["float64", float64],
    ])) {
      const x = new ARRAYS[dtype](values);
      const { output, mean, rstd } = layerNorm(x, { eps: 0, returnStats: true });
      const std = Number(expected.populationStd);
      const exactMean = Number(expected.mean);
      const where = `${name} (${dtype})`;

      const meanAllowed = 3 * EPS[dtype] * std + 2 ** -52 * Math.abs(exactMean);
      assert.ok(
        Math.abs(mean[0] - exactMean) <= meanAllowed,
        `${where}: mean ${mean[0]}, expected ${expected.mean}`,
      );
      if (std === 0) {
        assert.equal(rstd[0], Number.POSITIVE_INFINITY, where);
        assert.ok(
          output.every((value) => value === 0),
          where,
        );
        continue;
      }
      assert.ok(
        Math.abs(rstd[0] * std - 1) <= 3 * EPS[dtype],
        `${where}: rstd ${rstd[0]}, expected 1 / ${std}`,
      );

      // The decimals above have 20 digits; the reference has all.
      const reference = new Normalizer(momentsOf(x), { eps: 0, centered: true });
      assert.ok(reference.meanError(mean[0], dtype) <= 1, `${where}: mean`);
      assert.ok(reference.rstdError(rstd[0], dtype) <= 3, `${where}: rstd`);
    }
  }
});

test("layerNorm ran all of NIST's cases", () => {
  assert.equal(nist.length, 17);
});

// --- The worked example of the two documents ---------------------------------------------------------------------------

const { eps, weight, bias, rows } = golden("documents.json");

for (const [dtype, Type] of Object.entries(ARRAYS)) {
  const unit = EPS[/** @type {"float32" | "float64"} */ (dtype)];

  for (const { call, key } of /** @type {{ call: Call, key: string }[]} */ ([
    { call: layerNorm, key: "layerNorm" },
    { call: rmsNorm, key: "rmsNorm" },
  ])) {
    test(`${key} gives the numbers of the documents' example (${dtype})`, () => {
      assert.equal(rows.length, 3);
      for (const row of rows) {
        const expected = row[key];
        const x = new Type(row.x);
        const { output, mean, rstd } = call(x, { eps, returnStats: true });
        const scaled = call(x, { eps, weight, bias });
        for (let i = 0; i < x.length; i++) {
          // Half a unit of 2^-52 for the rounding of the expected value.
          const slack = 2 ** -53 * Math.max(1, Math.abs(expected.scaled[i]));
          const y = expected.normalized[i];
          const z = expected.scaled[i];
          const term = Math.abs(weight * y);
          assert.ok(
            Math.abs(output[i] - y) <= 3 * unit * Math.max(1, Math.abs(y)) + slack,
            `${row.x}: ${output[i]}`,
          );
          assert.ok(
            Math.abs(scaled[i] - z) <= 3 * unit * Math.max(1, Math.abs(z), term) + slack,
            `${row.x}: ${scaled[i]}`,
          );
        }
        assert.ok(Math.abs(rstd[0] / expected.rstd - 1) <= 3 * unit + 2 ** -52);
        if (key === "layerNorm") assert.equal(mean[0], expected.mean);
      }
    });
  }
}
