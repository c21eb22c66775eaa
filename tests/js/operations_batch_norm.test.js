/** batchNorm: inference, training and running statistics. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { plan, tensor, zeros } from "../../dist/index.js";
import {
  assertClose,
  checkCall,
  DTYPES,
  free,
  load,
  ops,
  parameter,
  sample,
  store,
} from "./operation_checks.js";
import { EPSILON, nest, reference } from "./reference.js";

describe("batchNorm", () => {
  const dims = [3, 4, 2];
  const values = sample(24, "float64");
  const { variance } = reference(values, dims, "float64", { op: "batchNorm" });
  const { mean } = reference(values, dims, "float64", { op: "batchNorm" });
  const start = { mean: [1, -2, 0.5, 0], variance: [1, 0.25, 4, 2] };

  test("normalizes with running statistics", () => {
    const runningMean = start.mean;
    const runningVar = start.variance;
    for (const kind of [runningMean.slice(), Float32Array.from(runningMean), tensor(runningMean)]) {
      const options = { runningMean: kind, runningVar, weight: parameter(4), bias: 0.25 };
      const setting = {
        op: "batchNorm",
        runningMean,
        runningVar,
        weight: (/** @type {number[]} */ index) => parameter(4)[index[1]],
        bias: () => 0.25,
      };
      checkCall({ dims, options, setting });
      const last = { ...setting, last: true, weight: (/** @type {any} */ i) => parameter(4)[i[2]] };
      const options2 = { ...options, layout: "channels_last" };
      checkCall({ dims: [3, 2, 4], options: options2, setting: last });
    }
  });

  /** @type {[any, { momentum: number, unbiased: boolean }][]} */
  const updates = [
    [{}, { momentum: 0.1, unbiased: true }],
    [{ momentum: 0.25 }, { momentum: 0.25, unbiased: true }],
    [{ momentum: 0 }, { momentum: 0, unbiased: true }],
    [{ momentum: 1 }, { momentum: 1, unbiased: true }],
    [{ preset: "pytorch" }, { momentum: 0.1, unbiased: true }],
    [
      { preset: "pytorch", momentum: 0.25 },
      { momentum: 0.25, unbiased: true },
    ],
    [{ preset: "keras" }, { momentum: 1 - 0.99, unbiased: false }],
    [
      { preset: "keras", momentum: 0.75 },
      { momentum: 0.25, unbiased: false },
    ],
    [{ preset: "tensorflow" }, { momentum: 1 - 0.99, unbiased: true }],
    [
      { preset: "tensorflow", momentum: 0.75 },
      { momentum: 0.25, unbiased: true },
    ],
    [{ preset: "flax" }, { momentum: 1 - 0.99, unbiased: false }],
    [{ preset: "onnx" }, { momentum: 1 - 0.9, unbiased: false }],
    [
      { preset: "onnx", momentum: 1 },
      { momentum: 0, unbiased: false },
    ],
  ];
  for (const [options, { momentum, unbiased }] of updates) {
    test(`updates running statistics with ${JSON.stringify(options)}`, () => {
      const n = 6;
      const wanted = {
        mean: start.mean.map((old, c) => (1 - momentum) * old + momentum * mean[c]),
        variance: start.variance.map((old, c) => {
          const own = unbiased ? (variance[c] * n) / (n - 1) : variance[c];
          return (1 - momentum) * old + momentum * own;
        }),
      };
      for (const dtype of DTYPES) {
        /** @type {((values: number[]) => any)[]} */
        const makers = [
          (list) => ({ data: store(list, dtype), dims: [4], type: dtype }),
          (list) =>
            tensor(/** @type {any} */ ({ data: store(list, dtype), dims: [4], type: dtype })),
        ];
        if (dtype === "float32") makers.push((list) => Float32Array.from(list));
        for (const make of makers) {
          const running = { runningMean: make(start.mean), runningVar: make(start.variance) };
          const y = ops.batchNorm(Float64Array.from(values), {
            shape: dims,
            training: true,
            ...running,
            ...options,
          });
          // The batch's own statistics normalize.
          const eps = options.preset === "keras" || options.preset === "tensorflow" ? 1e-3 : 1e-5;
          const expected = reference(values, dims, "float64", { op: "batchNorm", eps });
          assertClose(load(y), expected, "float64", 11);
          for (const [got, want] of [
            [running.runningMean, wanted.mean],
            [running.runningVar, wanted.variance],
          ]) {
            const unit = EPSILON[dtype];
            for (const [c, value] of load(got).entries()) {
              const allowed = 4 * unit * Math.max(Math.abs(want[c]), 1);
              assert.ok(Math.abs(value - want[c]) <= allowed, `${dtype}: ${value}, ${want[c]}`);
            }
          }
          free(running);
        }
      }
    });
  }

  test("updates one of them, or none", () => {
    const x = Float64Array.from(values);
    const expected = ops.batchNorm(x, { shape: dims, training: true });
    const runningMean = new Float64Array(4);
    const options = { shape: dims, training: true, runningMean, runningVar: null, momentum: 1 };
    assert.deepEqual(ops.batchNorm(x, options), expected);
    for (const [c, value] of runningMean.entries()) assert.ok(Math.abs(value - mean[c]) < 1e-14);
    const runningVar = new Float64Array(4);
    ops.batchNorm(x, { shape: dims, training: true, runningVar, momentum: 1, preset: "pytorch" });
    for (const [c, value] of runningVar.entries()) {
      assert.ok(Math.abs(value - (variance[c] * 6) / 5) < 1e-14);
    }
  });

  test("inference leaves running statistics alone", () => {
    const runningMean = Float32Array.from(start.mean);
    const runningVar = Float32Array.from(start.variance);
    ops.batchNorm(nest(values, dims), { runningMean, runningVar, momentum: 1 });
    assert.deepEqual([...runningMean], start.mean);
    assert.deepEqual([...runningVar], start.variance);
  });

  test("a training plan updates resident running statistics at each run", () => {
    const x = tensor(nest(values, dims), dims, "float64");
    const runningMean = zeros([4], "float64");
    const runningVar = zeros([4], "float64");
    const given = { training: true, momentum: 0.5, runningMean, runningVar };
    const step = plan("batchNorm", x, given);
    step.run();
    step.run();
    for (const [c, value] of runningMean.data.entries()) {
      assert.ok(Math.abs(value - 0.75 * mean[c]) < 1e-14);
    }
    for (const [c, value] of runningVar.data.entries()) {
      assert.ok(Math.abs(value - (0.75 * variance[c] * 6) / 5) < 1e-14);
    }
    step.dispose();
    free({ x, runningMean, runningVar });
  });

  test("a batch without values is empty and leaves running statistics alone", () => {
    for (const shape of [
      [0, 4],
      [0, 4, 2],
      [3, 4, 0],
      [3, 0, 2],
    ]) {
      const channels = shape[1];
      const runningMean = new Float32Array(channels).fill(7);
      const runningVar = new Float32Array(channels).fill(7);
      for (const training of [false, true]) {
        const options = { shape, training, runningMean, runningVar };
        assert.deepEqual(ops.batchNorm(new Float32Array(), options), new Float32Array());
        const { rstd } = ops.batchNorm(new Float32Array(), { ...options, returnStats: true });
        assert.equal(rstd.length, channels);
        assert.ok([...runningMean, ...runningVar].every((value) => value === 7));
      }
      const x = tensor([], shape);
      const step = plan("batchNorm", x, { training: true });
      assert.deepEqual(step.run().shape, shape);
      step.dispose();
      x.dispose();
    }
  });

  test("an unbiased update of one value for each channel is refused before anything is written", () => {
    const [runningMean, runningVar] = [Float32Array.of(5, 5), Float32Array.of(5, 5)];
    const x = Float32Array.of(1, 2);
    const shape = [1, 2];
    for (const preset of [undefined, "pytorch", "tensorflow"]) {
      const options = { shape, training: true, runningMean, runningVar, preset, out: x };
      assert.throws(() => ops.batchNorm(x, options), RangeError);
    }
    assert.deepEqual([...x, ...runningMean, ...runningVar], [1, 2, 5, 5, 5, 5]);
    const biased = { shape, training: true, runningMean, runningVar, preset: "keras", momentum: 0 };
    assert.deepEqual(ops.batchNorm(x, biased), new Float32Array(2));
    assert.deepEqual([...runningMean, ...runningVar], [1, 2, 0, 0]);
    assert.deepEqual(ops.batchNorm(x, { shape, training: true, runningMean }).length, 2);
  });
});
