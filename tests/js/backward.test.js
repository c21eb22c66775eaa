/** Gradients: their form for every kind of argument, plans, the same bits, edges, memory, and errors. */
import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as layernorm from "../../dist/index.js";
import { DIFFERENTIABLE, gradientsOf, makeBackwardCase } from "./backward_cases.js";
import { assertSameBits, unaligned } from "./bits.js";
import { familyValues, Random } from "./data.js";
import { load, store } from "./half.js";
import { DTYPES, hasAffine, layoutsOf, OPERATIONS, ops } from "./operation_cases.js";
import { count, isOfChannels, runsOf } from "./runs.js";

const { layerNorm, plan, tensor, zeros } = layernorm;

/** @type {any} */
const anyPlan = plan;

/** @param {any} value a tensor-like or resident gradient, or a number @returns {any} */
const bitsOf = (value) => {
  const data = value?.data ?? value;
  if (data?.BYTES_PER_ELEMENT !== 2) return data;
  return new Uint16Array(data.buffer, data.byteOffset, data.length);
};

/** @param {Record<string, any>} got @param {Record<string, any>} expected @param {string} where */
function assertSameGradients(got, expected, where) {
  assert.deepEqual(Object.keys(got), Object.keys(expected), where);
  for (const [name, value] of Object.entries(expected)) {
    if (value === null || typeof value === "number")
      assert.equal(got[name], value, `${where}: ${name}`);
    else assertSameBits(bitsOf(got[name]), bitsOf(value), `${where}: ${name}`);
  }
}

describe("kinds", () => {
  test("layerNormBackward returns each gradient as what it is the gradient of", () => {
    const x = new Float32Array([1, 2, 4, 3, 5, 9]);
    const weight = tensor([1, 2, 3]);
    const result = ops.layerNormBackward(new Float64Array([1, 0, 0, 0, 2, 1]), x, {
      shape: [2, 3],
      weight,
      bias: new Float64Array(3),
      scale: 0.5,
      shift: { data: new Uint16Array(3), shape: [1, 3], dtype: "bfloat16" },
    });
    assert.ok(result.gradInput instanceof Float32Array);
    assert.ok(result.gradWeight instanceof layernorm.Tensor);
    assert.deepEqual([result.gradWeight.shape, result.gradWeight.dtype], [[3], "float32"]);
    assert.ok(result.gradBias instanceof Float64Array);
    assert.deepEqual([...result.gradBias], [1.5, 3, 1.5]);
    assert.equal(typeof result.gradScale, "number");
    assert.deepEqual(result.gradShift.shape, [1, 3]);
    assert.equal(result.gradShift.dtype, "bfloat16");
    assert.deepEqual([...load(result.gradShift.data, "bfloat16")], [1, 2, 1]);
  });

  test("nested arrays give nested gradients, without the parameters nulls", () => {
    const { gradInput, ...rest } = ops.rmsNormBackward([[1, 0]], [[3, 4]], { eps: 0 });
    assert.equal(gradInput.length, 1);
    assert.ok(Math.abs(gradInput[0][0] - 0.181019335983756) < 1e-14);
    assert.deepEqual(rest, { gradWeight: null, gradBias: null, gradScale: null, gradShift: null });
    assert.deepEqual(Object.keys(ops.l2NormalizeBackward([1, 0], [3, 4])), ["gradInput"]);
  });

  test("every kind of x and of the gradient gives the same bits", () => {
    const data = new Float32Array(24).map((_, i) => Math.sin(i * i));
    const grad = data.toReversed();
    const options = { weight: new Float32Array([1, 2, 3, 4]), bias: 0.5 };
    const expected = ops.layerNormBackward(grad, data, { ...options, shape: [6, 4] });
    const like = (/** @type {any} */ values) => ({ data: values, dims: [6, 4], type: "float32" });
    const kinds = (/** @type {any} */ v) => [v, like(v), tensor(v, [6, 4]), like(unaligned(v))];
    for (const x of kinds(data)) {
      for (const g of kinds(grad)) {
        assertSameGradients(
          ops.layerNormBackward(g, x, { ...options, shape: [6, 4] }),
          expected,
          "kinds",
        );
      }
    }
  });

  test("x whose memory is a view of wasm memory survives its growth", () => {
    const x = tensor(new Float32Array(64).map((_, i) => Math.cos(i)));
    const own = Float32Array.from(x.data);
    const weight = zeros([64]);
    const expected = ops.layerNormBackward(own, own, { weight: new Float32Array(64) });
    for (let i = 0; i < 40; i++) {
      const got = ops.layerNormBackward(x.data, x.data, { weight });
      assertSameBits(bitsOf(got.gradWeight), expected.gradWeight, "gradWeight");
      if (i < 39) zeros([2 ** (10 + (i % 12))]);
    }
  });
});

describe("statistics", () => {
  test("given statistics of the forward call give what is computed without them, to rounding", () => {
    for (const name of DIFFERENTIABLE.filter(
      (each) => hasAffine(OPERATIONS[each].op) && each !== "batchNorm",
    )) {
      for (const [l, layout] of layoutsOf(OPERATIONS[name].op, 40, 6).entries()) {
        const draw = {
          name,
          layout,
          dtype: /** @type {const} */ ("float32"),
          family: "normal",
          kind: "weightBias",
        };
        const own = gradientsOf(makeBackwardCase({ ...draw, seed: 2 * l, gradient: "normal" }));
        const given = gradientsOf(
          makeBackwardCase({ ...draw, seed: 2 * l, gradient: "normal", given: true }),
        );
        for (const [i, value] of own.gradInput.entries()) {
          assert.ok(
            Math.abs(given.gradInput[i] - value) < 1e-5 * (1 + Math.abs(value)),
            `${name} ${layout.name} ${i}`,
          );
        }
      }
    }
  });

  test("given statistics count, whatever x is", () => {
    const { gradInput, gradWeight } = ops.layerNormBackward([1, 0], [5, 7], {
      weight: [1, 1],
      mean: [4],
      rstd: [2],
    });
    // n = [2, 6], mean(gw) = 1/2, mean(gw * n) = 1.
    assert.deepEqual(gradInput, [2 * (1 - 0.5 - 2), 2 * (-0.5 - 6)]);
    assert.deepEqual(gradWeight, [2, 0]);
  });

  test("an infinite rstd, given or found, gives the gradient 0", () => {
    const given = ops.layerNormBackward([1, 2], [5, 7], { mean: [6], rstd: [Infinity], weight: 3 });
    assert.deepEqual([given.gradInput, given.gradWeight], [[0, 0], 0]);
    for (const [op, options] of /** @type {any[]} */ ([
      ["layerNormBackward", {}],
      ["rmsNormBackward", {}],
      ["l2NormalizeBackward", {}],
      ["groupNormBackward", { numGroups: 1 }],
      ["batchNormBackward", { training: true }],
    ])) {
      const x = /rms|l2/.test(op) ? 0 : 3;
      for (const dtype of /** @type {const} */ (["float32", "float64", "float16"])) {
        const like = (/** @type {number} */ v) => ({
          data: store(new Float64Array(6).fill(v), dtype),
          dims: [3, 2],
          type: dtype,
        });
        const { gradInput } = ops[op](like(1.25), like(x), { ...options, eps: 0 });
        assert.deepEqual([...load(gradInput.data, dtype)], [0, 0, 0, 0, 0, 0], `${op} ${dtype}`);
      }
    }
  });

  test("a constant run with eps has the gradient of what eps leaves", () => {
    const { gradInput } = ops.layerNormBackward([1, 0], [3, 3], { eps: 0.25 });
    assert.deepEqual(gradInput, [1, -1]);
    assert.deepEqual(ops.rmsNormBackward([1, 0], [0, 0], { eps: 0.25 }).gradInput, [2, 0]);
    assert.deepEqual(ops.l2NormalizeBackward([1, 0], [0, 0], { eps: 0.5 }).gradInput, [2, 0]);
  });

  test("training leaves running statistics alone", () => {
    const runningMean = new Float32Array([7]);
    const runningVar = new Float32Array([8]);
    const options = { training: true, runningMean, runningVar };
    ops.batchNormBackward([[1]], [[2]], options);
    ops.batchNormBackward([[1], [0]], [[2], [5]], options);
    assert.deepEqual([runningMean[0], runningVar[0]], [7, 8]);
  });
});

describe("edges", () => {
  test("an empty batch gives an empty gradient and zeros for the parameters", () => {
    for (const [op, dims, options] of /** @type {any[]} */ ([
      ["layerNormBackward", [0, 3], {}],
      ["groupNormBackward", [0, 3, 2], { numGroups: 3 }],
      ["batchNormBackward", [0, 3], { training: true }],
      ["addLayerNormBackward", [0, 3], {}],
    ])) {
      const like = () => ({ data: new Float32Array(0), dims });
      const given = {
        ...options,
        weight: tensor([1, 2, 3]),
        bias: new Float32Array(3),
        scale: 0.5,
      };
      const tensors = op.startsWith("add") ? [like(), like(), like()] : [like(), like()];
      const result = ops[op](...tensors, given);
      assert.deepEqual(result.gradInput, like());
      assert.deepEqual([...result.gradWeight.data], [0, 0, 0]);
      assert.deepEqual([...result.gradBias], [0, 0, 0]);
      assert.equal(result.gradScale, 0);
    }
  });

  test("NaN and infinity spoil the gradient of their own run only", () => {
    const random = new Random(3);
    for (const bad of [Number.NaN, Infinity]) {
      for (const [rows, n, axes] of /** @type {any[]} */ ([
        [9, 70, [1]],
        [70, 9, [0]],
      ])) {
        const x = familyValues("normal", "float32", rows * n, random);
        const grad = familyValues("normal", "float32", rows * n, random);
        const options = { shape: [rows, n], axes, weight: new Float32Array(70).fill(2) };
        const good = ops.layerNormBackward(grad, x, options).gradInput;
        x[n + 2] = bad;
        const got = ops.layerNormBackward(grad, x, options).gradInput;
        const { runs } = runsOf("layerNorm", { dims: [rows, n], axes });
        for (const run of runs) {
          for (const i of run) {
            if (run.includes(n + 2)) assert.ok(Number.isNaN(got[i]));
            else assert.equal(got[i], good[i]);
          }
        }
      }
    }
  });

  test("the gradient of relu at 0 is 0", () => {
    const { gradBias } = ops.layerNormBackward([1, 1, 1], [1, 2, 3], {
      activation: "relu",
      bias: [0, 0, 0],
    });
    assert.deepEqual(gradBias, [0, 0, 1]);
  });
});

describe("magnitudes", () => {
  /** Every operation with its options, for x of [4, 2, 40]. @type {[string, Record<string, any>, number][]} */
  const calls = [
    ["layerNormBackward", {}, 40],
    ["layerNormBackward", { axes: [1, 2] }, 80],
    ["layerNormBackward", { axes: [1] }, 2],
    ["rmsNormBackward", {}, 40],
    ["groupNormBackward", { numGroups: 1 }, 2],
    ["instanceNormBackward", {}, 2],
    ["batchNormBackward", { training: true }, 2],
    ["addLayerNormBackward", {}, 40],
    ["addRmsNormBackward", {}, 40],
    ["addGroupNormBackward", { numGroups: 2 }, 2],
  ];
  const dims = [4, 2, 40];
  const like = (/** @type {any} */ data, type = "float32") => ({ data, dims, type });
  const values = Float32Array.from({ length: 320 }, (_, i) => Math.sin((i % 160) ** 2));

  test("gradients of parameters that cancel to 0 do, however large their terms are", () => {
    const grad = Float32Array.from(values, (_, i) => (i < 160 ? 3e38 : -3e38));
    for (const dtype of /** @type {const} */ (["float32", "bfloat16"])) {
      const x = like(store(values, dtype), dtype);
      for (const [op, options, n] of calls) {
        const inputs = op.startsWith("add") ? [x, x] : [x];
        for (const [weight, bias] of [
          [new Float32Array(n).fill(1e-30), new Float32Array(n)],
          [1e-30, 0],
        ]) {
          const got = ops[op](like(grad), ...inputs, { ...options, weight, bias });
          for (const name of ["gradWeight", "gradBias"]) {
            for (const value of [got[name]].flat()) {
              for (const each of typeof value === "number" ? [value] : value) {
                assert.ok(Math.abs(each) < 1e26, `${op} ${dtype} ${name}: ${each}`);
              }
            }
          }
          for (const each of load(got.gradInput.data, dtype)) {
            assert.ok(Math.abs(each) < 1e10, `${op} ${dtype} gradInput: ${each}`);
          }
        }
      }
    }
  });

  test("the gradient of a float64 weight is exact to its bound where terms beside float32 are subnormal", () => {
    const grad = Float32Array.from(values, (_, i) => ((i % 9) + 1) * 1e-44);
    for (const [op, options, n] of calls) {
      const inputs = op.startsWith("add") ? [like(values), like(values)] : [like(values)];
      const given = (/** @type {any[]} */ tensors) =>
        ops[op](...tensors, { ...options, weight: new Float64Array(n).fill(1e35), eps: 1e-5 });
      const { gradWeight } = given([like(grad), ...inputs]);
      const wide = (/** @type {any} */ each) => like(Float64Array.from(each.data), "float64");
      const exact = given([like(grad), ...inputs].map(wide)).gradWeight;
      // No term is larger than seven times the sum of the gradients that it is made of.
      const terms = new Float64Array(n);
      for (const [i, value] of grad.entries()) {
        terms[n === 2 ? Math.floor(i / 40) % 2 : i % n] += 7 * value;
      }
      for (const [i, value] of gradWeight.entries()) {
        const error = Math.abs(value - exact[i]);
        assert.ok(error <= 2 ** -23 * terms[i], `${op} ${i}: ${value}, not ${exact[i]}`);
      }
    }
  });

  test("beside float64 sums may leave its range, and products fall below it", () => {
    const x = Float64Array.from(values);
    const turned = x.toReversed();
    const names = [...calls, ["l2NormalizeBackward", {}, 0]];
    for (const [op, options, n] of /** @type {typeof calls} */ (names)) {
      /** @param {number} ofX @param {number} ofGrad @param {number} ofWeight @param {(i: number) => number} grad */
      const call = (ofX, ofGrad, ofWeight, grad) => {
        const data = like(
          Float64Array.from(x, (value) => value * ofX),
          "float64",
        );
        const gradOutput = like(
          Float64Array.from(x, (_, i) => grad(i) * ofGrad),
          "float64",
        );
        const rest = op.startsWith("add") ? [data] : [];
        const weight = Float64Array.from({ length: n }, (_, i) => (1 + i / 64) * ofWeight);
        const all = n === 0 ? options : { ...options, weight, eps: 0 };
        return ops[op](gradOutput, data, ...rest, all).gradInput.data;
      };
      /** @param {Float64Array} got @param {Float64Array} expected @param {string} where */
      const compare = (got, expected, where) => {
        const most = expected.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
        for (const [i, value] of got.entries()) {
          const error = Math.abs(value - expected[i]) / most;
          assert.ok(error < 1e-14, `${op} ${where} ${i}: ${value}, expected ${expected[i]}`);
        }
      };
      // Nearly all of one sign: sums are beyond 2^1024.
      const ones = (/** @type {number} */ i) => (i % 40 === 3 ? -1 : 1 + turned[i] / 8);
      const scaled = call(2 ** 30, 2 ** 500, 1, ones).map(
        (/** @type {number} */ value) => value * 2 ** 522,
      );
      compare(call(2 ** 30, 2 ** 1022, 1, ones), scaled, "large");
      // Products are subnormal, gradients are not.
      const small = call(2 ** -600, 2 ** -400, 2 ** -100, (i) => turned[i]);
      const expected = small.map((/** @type {number} */ value) => value * 2 ** -570);
      if (n !== 0)
        compare(
          call(2 ** -600, 2 ** -970, 2 ** -100, (i) => turned[i]),
          expected,
          "small",
        );
    }
  });

  test("beside a run whose sums leave float64's range another one has the same bits", () => {
    for (const axes of [[0], [1]]) {
      const shape = axes[0] === 0 ? [50, 2] : [2, 50];
      const other = (/** @type {number} */ i) => (axes[0] === 0 ? i % 2 : Math.floor(i / 50)) === 1;
      const x = Float64Array.from({ length: 100 }, (_, i) => Math.sin(i * i) * 2 ** 40);
      const grad = (/** @type {number} */ most) =>
        Float64Array.from(x, (_, i) => (other(i) ? Math.cos(i) : most) * 2 ** -30);
      const bitsOfOther = (/** @type {number} */ most) =>
        ops
          .layerNormBackward(grad(most), x, { shape, axes })
          .gradInput.filter((/** @type {number} */ _, /** @type {number} */ i) => other(i));
      for (const most of [1e308 * 2 ** 30, 1e-308, Number.NaN, 0]) {
        assertSameBits(bitsOfOther(most), bitsOfOther(1), `axes ${axes}, beside ${most}`);
      }
    }
  });
});

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
});

describe("plans", () => {
  test("a plan's results are the same objects, follow resident parameters, and numbers are read anew", () => {
    const x = tensor(new Float32Array([1, 2, 4, 8]), [2, 2]);
    const grad = tensor(new Float32Array([1, 0, 0, 1]), [2, 2]);
    const weight = tensor([1, 1]);
    const step = anyPlan("layerNormBackward", grad, x, {
      weight,
      bias: 3,
      shift: new Float32Array(2),
    });
    const result = step.run();
    assert.equal(step.run(), result);
    assert.equal(step.gradInput, result.gradInput);
    assert.equal(step.gradBias, 2);
    assert.equal(step.gradScale, null);
    assert.ok(step.gradShift instanceof layernorm.Tensor);
    const before = Float32Array.from(result.gradInput.data);
    weight.data.fill(2);
    grad.data[0] = 5;
    step.run();
    assert.equal(result.gradBias, 6);
    assert.notDeepEqual(Float32Array.from(step.gradInput.data), before);
    step.dispose();
    assert.throws(() => step.run(), TypeError);
    assert.throws(() => step.gradInput.data, TypeError);
  });

  test("the gradient of a number is gone with its plan and with the package's memory", () => {
    const make = () => {
      const given = [tensor([1, 2, 4, 8], [2, 2]), tensor([1, 0, 0, 1], [2, 2])];
      const step = anyPlan("layerNormBackward", ...given, { bias: 3, weight: 2 });
      assert.equal(step.run().gradBias, 15);
      return step;
    };
    for (const [end, got] of /** @type {[(step: any) => void, string][]} */ ([
      [(step) => step.dispose(), "a disposed tensor"],
      [() => layernorm.dispose(), "a tensor lost by dispose()"],
    ])) {
      const step = make();
      const result = step.run();
      end(step);
      const expected = new TypeError(`Tensor: "data" expected a live tensor, got ${got}`);
      for (const each of [step, result]) {
        assert.throws(() => each.gradBias, expected);
        assert.throws(() => each.gradWeight, expected);
      }
    }
  });

  test("a plan of an empty batch gives zeros", () => {
    const step = anyPlan("rmsNormBackward", zeros([0, 2]), zeros([0, 2]), {
      weight: tensor([1, 2]),
      bias: 1,
    });
    const { gradWeight, gradBias } = step.run();
    assert.deepEqual([[...gradWeight.data], gradBias], [[0, 0], 0]);
  });
});

test("sums of parameters that leave no room in the arena for that of a number", () => {
  const n = 16_384;
  const x = Float32Array.from({ length: 2 * n }, (_, i) => Math.sin(i));
  const weight = new Float32Array(n).fill(2);
  for (const given of [weight, tensor(weight)]) {
    const options = { shape: [2, n], weight: given, bias: 1, shift: tensor([3], [1, 1]) };
    const { gradWeight, gradBias, gradShift } = ops.layerNormBackward(x, x, options);
    const sum = x.reduce((a, b) => a + b, 0);
    assert.ok(Math.abs(gradBias - sum) < 1e-4, `${gradBias}, expected ${sum}`);
    assert.ok(Math.abs(gradShift.data[0] - sum) < 1e-4);
    assert.equal((gradWeight.data ?? gradWeight).length, n);
  }
});

test("sums beside float64 that leave no room in the arena: every kind of x, parameter and operation", () => {
  const n = 9000;
  const x = Float64Array.from({ length: 2 * n }, (_, i) => Math.sin(i));
  const sum = (/** @type {number} */ i) => x[i] + x[i + n];
  const ones = (length = n) => new Float64Array(length).fill(1);
  const like = (/** @type {any} */ data, dims = [2, n]) => ({ data, dims, type: "float64" });
  const nested = [[...x.subarray(0, n)], [...x.subarray(n)]];
  for (const each of [like(x), nested, tensor(x, [2, n], "float64")]) {
    for (const bias of [ones(), [...ones()], tensor(ones()), like(ones(), [n])]) {
      const { gradWeight, gradBias, gradShift } = ops.layerNormBackward(like(x), each, {
        weight: ones(),
        bias,
        shift: new Float32Array(n),
      });
      assert.equal(gradWeight.length, n);
      const values = gradBias.data ?? gradBias;
      assert.equal(values.length, n);
      for (const i of [0, 1, 4499, n - 1]) {
        assert.equal(values[i], sum(i));
        assert.equal(gradShift[i], Math.fround(sum(i)));
      }
    }
  }
  const two = { weight: ones(5000), bias: ones(5000) };
  const short = like(x.subarray(0, 10_000), [2, 5000]);
  assert.equal(ops.layerNormBackward(short, short, two).gradBias[7], x[7] + x[5007]);
  for (const op of ["addLayerNormBackward", "addRmsNormBackward"]) {
    const got = ops[op](like(x), like(x), like(x), { weight: ones(), bias: ones() });
    assert.deepEqual([got.gradBias[5], got.gradBias.length], [sum(5), n], op);
  }
  const channels = like(x, [2, n, 1]);
  for (const [op, options] of /** @type {any[]} */ ([
    ["groupNormBackward", { numGroups: 2 }],
    ["instanceNormBackward", {}],
    ["batchNormBackward", { training: true }],
    ["addGroupNormBackward", { numGroups: 2 }],
  ])) {
    const inputs = op.startsWith("add") ? [channels, channels, channels] : [channels, channels];
    const got = ops[op](...inputs, { ...options, weight: ones(), bias: ones() });
    assert.deepEqual([got.gradBias[5], got.gradBias.length], [sum(5), n], op);
  }
});

test("backward calls leave memory where it was", () => {
  const memory = () => {
    const probe = zeros([1]);
    const size = probe.data.buffer.byteLength;
    probe.dispose();
    return size;
  };
  const cases = DIFFERENTIABLE.flatMap((name) =>
    layoutsOf(OPERATIONS[name].op, 6, 3).map((layout, l) => {
      const kind = hasAffine(OPERATIONS[name].op) ? ["all", "numbers", "items"][l % 3] : "none";
      const dtype = DTYPES[l % DTYPES.length];
      return makeBackwardCase({
        name,
        layout,
        dtype,
        family: "normal",
        kind,
        seed: 3 * l,
        gradient: "normal",
      });
    }),
  );
  const large = new Float32Array(300_000);
  const turn = () => {
    for (const { op, inputs, options } of cases) ops[op](...inputs, options);
    // Beyond the arena: the sums of the parameters, and what is read.
    ops.layerNormBackward(large, large, { weight: large, bias: large });
  };
  turn();
  const before = memory();
  for (let i = 0; i < 300; i++) turn();
  assert.equal(memory(), before);
  const residents = [tensor([1, 2]), tensor([3, 4])];
  const resident = () => {
    const { gradInput, gradWeight } = ops.layerNormBackward(...residents, {
      weight: residents[1],
      bias: 1,
    });
    gradInput.dispose();
    gradWeight.dispose();
    anyPlan("layerNormBackward", ...residents, { weight: residents[1], bias: 1 }).dispose();
  };
  for (let i = 0; i < 10; i++) resident();
  const held = memory();
  for (let i = 0; i < 10_000; i++) resident();
  assert.equal(memory(), held);
});

describe("errors", () => {
  const x = [
    [1, 2],
    [3, 4],
  ];
  const ones = new Float32Array([1, 1]);
  /** @type {[string, () => unknown, typeof Error, string][]} */
  const rules = [
    [
      "a gradient of the wrong shape",
      () => ops.layerNormBackward([1, 2, 3, 4, 5], x),
      RangeError,
      'layerNormBackward: "gradOutput" expected shape [2, 2], got [5]',
    ],
    [
      "a gradient of other dimensions",
      () => ops.layerNormBackward([[1, 2, 3, 4]], x),
      RangeError,
      'layerNormBackward: "gradOutput" expected shape [2, 2], got [1, 4]',
    ],
    [
      "no gradient",
      () => ops.layerNormBackward(undefined, x),
      TypeError,
      'layerNormBackward: "gradOutput" expected a Float32Array',
    ],
    [
      "no x",
      () => ops.rmsNormBackward(x, 3),
      TypeError,
      'rmsNormBackward: "x" expected a Float32Array',
    ],
    [
      "mean without rstd",
      () => ops.layerNormBackward(x, x, { mean: [1, 2] }),
      TypeError,
      'layerNormBackward: "rstd" expected a tensor beside "mean", got none',
    ],
    [
      "rstd without mean",
      () => ops.groupNormBackward(x, x, { numGroups: 1, rstd: [1, 2] }),
      TypeError,
      'groupNormBackward: "mean" expected a tensor beside "rstd", got none',
    ],
    [
      "a mean of rmsNorm",
      () => ops.rmsNormBackward(x, x, { mean: [1, 2], rstd: [1, 1] }),
      TypeError,
      'rmsNormBackward: "options" expected only shape,',
    ],
    [
      "statistics of the wrong shape",
      () => ops.layerNormBackward(x, x, { mean: [1], rstd: [1] }),
      RangeError,
      'layerNormBackward: "mean" expected shape [2, 1], got [1]',
    ],
    [
      "out",
      () => ops.layerNormBackward(x, x, { out: x }),
      TypeError,
      'layerNormBackward: "options" expected only shape, normalizedShape, axis, axes, weight, bias, weightOffset, scale, shift, activation, eps, preset, mean, rstd, got "out"',
    ],
    [
      "returnStats",
      () => ops.l2NormalizeBackward(x, x, { returnStats: true }),
      TypeError,
      'l2NormalizeBackward: "options" expected only shape, axes, eps, preset, got "returnStats"',
    ],
    [
      "gradSum without a sum",
      () => ops.layerNormBackward(x, x, { gradSum: x }),
      TypeError,
      'layerNormBackward: "options" expected only',
    ],
    [
      "gradSum of the wrong shape",
      () => ops.addLayerNormBackward(x, x, x, { gradSum: [1] }),
      RangeError,
      'addLayerNormBackward: "gradSum" expected shape [2, 2], got [1]',
    ],
    [
      "no residual",
      () => ops.addRmsNormBackward(x, x),
      TypeError,
      'addRmsNormBackward: "residual" expected a Float32Array',
    ],
    [
      "no running statistics",
      () => ops.batchNormBackward(x, x, { mean: [1, 2], rstd: [1, 1] }),
      TypeError,
      'batchNormBackward: "runningMean" expected a tensor, unless training, got none',
    ],
    [
      "running statistics of the wrong shape, in training",
      () => ops.batchNormBackward(x, x, { training: true, runningMean: [1, 2, 3] }),
      RangeError,
      'batchNormBackward: "runningMean" expected shape [2], got [3]',
    ],
    [
      "a running variance of the wrong shape, in training",
      () =>
        ops.batchNormBackward(x, x, { training: true, runningVar: { data: ones, dims: [1, 2] } }),
      RangeError,
      'batchNormBackward: "runningVar" expected shape [2], got [1, 2]',
    ],
    [
      "a negative running variance, in training",
      () => ops.batchNormBackward(x, x, { training: true, runningVar: tensor([1, -1]) }),
      RangeError,
      'batchNormBackward: "runningVar" expected variances >= 0, got a negative one at 1',
    ],
    [
      "a detached running mean, in training",
      () => {
        const runningMean = new Float64Array(2);
        structuredClone(runningMean.buffer, { transfer: [runningMean.buffer] });
        return ops.batchNormBackward(x, x, { training: true, runningMean });
      },
      TypeError,
      'batchNormBackward: "runningMean" expected memory that is there, got a detached Float64Array',
    ],
    [
      "a disposed running variance, in training",
      () => {
        const runningVar = zeros([2]);
        runningVar.dispose();
        return ops.batchNormBackward(x, x, { training: true, runningVar });
      },
      TypeError,
      'batchNormBackward: "runningVar" expected a live tensor, got a disposed tensor',
    ],
    [
      "a preset of others",
      () => ops.layerNormBackward(x, x, { preset: "gemma" }),
      RangeError,
      'layerNormBackward: "preset" expected one of "pytorch", "keras", "tensorflow", "flax", "onnx", "bert", got "gemma", which is for rmsNormBackward, addRmsNormBackward',
    ],
    [
      "a plan without tensors",
      () => anyPlan("layerNormBackward", x, zeros([2, 2])),
      TypeError,
      'layerNormBackward: "gradOutput" expected a Tensor, in a plan, got nested arrays',
    ],
    [
      "a plan with a gradSum that is none",
      () => anyPlan("addRmsNormBackward", zeros([1]), zeros([1]), zeros([1]), { gradSum: [1] }),
      TypeError,
      'addRmsNormBackward: "gradSum" expected a Tensor, in a plan, got nested arrays',
    ],
    [
      "a disposed gradient",
      () => {
        const gone = zeros([2, 2]);
        gone.dispose();
        return ops.layerNormBackward(gone, x);
      },
      TypeError,
      'layerNormBackward: "gradOutput" expected a live tensor, got a disposed tensor',
    ],
  ];
  for (const [what, call, type, message] of rules) {
    test(`${what}: a ${type.name}, and the next call works`, () => {
      assert.throws(call, (/** @type {Error} */ error) => {
        assert.equal(error.constructor, type, error.message);
        assert.equal(error.message.slice(0, message.length), message);
        return true;
      });
      assert.deepEqual([...layerNorm(new Float32Array([1, 3]), { eps: 0 })], [-1, 1]);
    });
  }
});
