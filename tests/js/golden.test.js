/** Conformance cases that others wrote (tests/golden/README.md), through the public functions. */
import assert from "node:assert/strict";
import test from "node:test";
import * as layernorm from "../../dist/index.js";
import { affine, EPS, errorInEps, momentsOf, Normalizer } from "./exact.js";
import { ARRAYS, assertClose, callOf, golden, OPERATORS } from "./onnx_cases.js";

// --- ONNX ------------------------------------------------------------------------------------------------------------

/** No type tells what each kind of x gives. @type {Record<string, (...args: any[]) => any>} */
const ops = /** @type {any} */ (layernorm);
/** @typedef {(...args: any[]) => any} Call */
const { addLayerNorm, batchNorm, groupNorm, instanceNorm, layerNorm, rmsNorm } = layernorm;

/** @type {Map<string, number>} */
const ran = new Map();

for (const each of golden("onnx.json").cases) {
  const { name, op, options, output, extraOutputs, tolerance } = each;
  ran.set(op, (ran.get(op) ?? 0) + 1);
  test(`${OPERATORS.get(op)?.call} agrees with ONNX's ${name}`, () => {
    const { call: callName, args, settings, isSum } = callOf(each);
    const call = ops[callName];
    const result = call(...args, settings);
    const y = isSum ? result.output : result;
    assertClose(y, output, tolerance, "output");
    assert.equal(y.type, output.dtype);
    if (extraOutputs?.sum) assertClose(result.sum, extraOutputs.sum, tolerance, "sum");
    if (extraOutputs?.runningMean) {
      assertClose(settings.runningMean, extraOutputs.runningMean, tolerance, "running mean");
      assertClose(settings.runningVar, extraOutputs.runningVariance, tolerance, "running variance");
    }

    if (op === "layer_norm" || op === "rms_norm") {
      const all = call(...args, { ...settings, returnStats: true });
      assert.deepEqual(all.output.data, y.data);
      if (extraOutputs?.mean) assertClose(all.mean, extraOutputs.mean, tolerance, "mean");
      if (extraOutputs?.invStdDev) assertClose(all.rstd, extraOutputs.invStdDev, tolerance, "rstd");
      // The same set as axes, in which parameters that have as many dimensions as x broadcast.
      const byAxes = call(...args, { ...settings, axis: undefined, axes: options.axes });
      assertClose(byAxes, output, tolerance, "output by axes");
    }
  });
}

test("the table above names all of ONNX's operators, and all of their cases ran", () => {
  for (const [op, { cases }] of OPERATORS) assert.equal(ran.get(op), cases, op);
  assert.equal(
    [...ran.values()].reduce((a, b) => a + b),
    69,
  );
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

/**
 * Ways to normalize a set as something other than a row, each with the dimensions and where its values stand.
 * @type {Record<string, (n: number) => { call: Call, dims: number[], begin: number, step: number, options: any }>}
 */
const LAYOUTS = {
  "layerNorm of a column": (n) => ({
    call: layerNorm,
    dims: [n, 3],
    begin: 1,
    step: 3,
    options: { axes: [0] },
  }),
  "layerNorm of a column between": (n) => ({
    call: layerNorm,
    dims: [2, n, 2],
    begin: 2 * n + 1,
    step: 2,
    options: { axes: [1] },
  }),
  "groupNorm, channels first": (n) => ({
    call: groupNorm,
    dims: [1, 2, n],
    begin: n,
    step: 1,
    options: { numGroups: 2 },
  }),
  "instanceNorm, channels last": (n) => ({
    call: instanceNorm,
    dims: [2, n, 5],
    begin: 5 * n + 3,
    step: 5,
    options: { layout: "channels_last" },
  }),
  "batchNorm, channels last": (n) => ({
    call: batchNorm,
    dims: [n, 4],
    begin: 2,
    step: 4,
    options: { layout: "channels_last", training: true },
  }),
  "addLayerNorm of a column": (n) => ({
    call: addLayerNorm,
    dims: [n, 3],
    begin: 2,
    step: 3,
    options: { axes: [0] },
  }),
};

for (const [layout, make] of Object.entries(LAYOUTS)) {
  test(`${layout} takes NIST's statistics to their bound`, () => {
    for (const { name, data, float32, float64 } of nist) {
      const values = Array.isArray(data) ? data : new Array(data.count).fill(data.fill);
      const { call, dims, begin, step, options } = make(values.length);
      for (const [dtype, expected] of /** @type {const} */ ([
        ["float32", float32],
        ["float64", float64],
      ])) {
        const size = dims.reduce((a, b) => a * b, 1);
        // Beside the set stand other values.
        const x = /** @type {Float32Array} */ (new ARRAYS[dtype](size)).map((_, i) => Math.sin(i));
        for (const [i, value] of values.entries()) x[begin + i * step] = value;
        const zeros = call === addLayerNorm ? [new ARRAYS[dtype](size)] : [];
        const all = { ...options, shape: dims, eps: 0, returnStats: true };
        const { output, mean, rstd } = call(x, ...zeros, all);
        const set = new ARRAYS[dtype](values);
        const reference = new Normalizer(momentsOf(set), { eps: 0, centered: true });
        // The statistic of the set is that whose run holds its first value.
        const runs = mean.length;
        const outer = Math.floor(begin / (step * values.length));
        const run = step === 1 ? outer : outer * step + ((begin % step) % runs);
        const where = `${name} (${dtype})`;
        assert.ok(reference.meanError(mean[run], dtype) <= 1, `${where}: mean ${mean[run]}`);
        assert.ok(reference.rstdError(rstd[run], dtype) <= 3, `${where}: rstd ${rstd[run]}`);
        const error = Math.abs(mean[run] - Number(expected.mean));
        const std = Number(expected.populationStd);
        assert.ok(
          error <= 3 * EPS[dtype] * std + 2 ** -52 * Math.abs(Number(expected.mean)),
          where,
        );
        for (const [i, value] of values.entries()) {
          const normalized = reference.normalized(set[i]);
          const { exact, M } = affine(normalized, null, null);
          const judged = errorInEps(output[begin + i * step], exact, M, dtype);
          assert.ok(judged <= 3, `${where}: index ${i} of ${value}: ${judged} eps`);
        }
      }
    }
  });
}

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
