/** What holds beside exactness on a GPU: activations, presets, statistics, NaN, constants, empty batches, long runs. */
import assert from "node:assert/strict";
import test, { after } from "node:test";
import * as layernorm from "../../dist/index.js";
import { WebGpuNorm } from "../../dist/webgpu.js";
import { familyValues, Random } from "../js/data.js";
import { judgeOperation } from "../js/exact_operations.js";
import { load, store } from "../js/half.js";
import { layoutsOf, makeCase, OPERATIONS } from "../js/operation_cases.js";
import { adapter, skip } from "./adapter.js";
import { allowed, DTYPES, read, resultsOnGpu } from "./cases.js";

/** No type tells what each kind of x gives. @type {any} */
const ops = layernorm;
const norm = /** @type {any} */ (skip ? undefined : await WebGpuNorm.create({ adapter }));
after(() => norm?.dispose());

const ACTIVATIONS = /** @type {const} */ (["relu", "silu", "gelu", "gelu_tanh", "sigmoid", "tanh"]);
const FAMILIES = ["normal", "mean1e4", "outlierFirst", "rampSigned", "heavySigned", "constant0_1"];

/** @param {import("../js/operation_cases.js").Draw} draw */
async function check(draw) {
  const made = makeCase(draw);
  if (!made.x.every(Number.isFinite)) return 0;
  const results = await resultsOnGpu(norm, made, { parametersOnGpu: true });
  const { error, index, got, expected } = judgeOperation(made.setting, made.x, {
    output: results.output,
  });
  const { name, dtype, family, kind, activation, preset, layout } = draw;
  const where = [name, dtype, family, `[${layout.dims}]`, kind, activation, preset].join(" ");
  const share = error / allowed(made);
  assert.ok(
    share <= 1,
    `${where}: index ${index} got ${got}, expected ${expected}, ${share} of its bound`,
  );
  return share;
}

for (const activation of ACTIVATIONS) {
  for (const dtype of DTYPES) {
    test(`${activation} is within its bound after norms on a GPU (${dtype}, seed = turn)`, {
      skip,
    }, async (t) => {
      let worst = 0;
      for (const [seed, family] of FAMILIES.entries()) {
        const name = ["layerNorm", "groupNorm"][seed % 2];
        const layout = layoutsOf(name, [33, 130, 64][seed % 3])[0];
        for (const kind of ["far", "none"]) {
          worst = Math.max(
            worst,
            await check({ name, layout, dtype, family, kind, activation, seed }),
          );
        }
      }
      t.diagnostic(`at most ${worst.toFixed(3)} of its bound`);
    });
  }
}

for (const preset of ["llama", "gemma"]) {
  for (const dtype of DTYPES) {
    test(`rmsNorm with the preset ${preset} is within its bound on a GPU (${dtype}, seed = turn)`, {
      skip,
    }, async () => {
      for (const [seed, family] of FAMILIES.entries()) {
        const layout = layoutsOf("rmsNorm", [64, 33, 130][seed % 3])[seed % 2];
        await check({
          name: "rmsNorm",
          layout,
          dtype,
          family,
          kind: preset === "gemma" ? "offset" : "weight",
          preset,
          eps: 1e-6,
          seed,
        });
      }
    });
  }
}

for (const dtype of DTYPES) {
  test(`statistics are float32 near those of wasm, and batchNorm moves the running ones (${dtype})`, {
    skip,
  }, async () => {
    const values = familyValues("mean7", dtype, 3 * 5 * 14, new Random(4));
    const like = { data: store(values, dtype), dims: [3, 5, 14], type: dtype };
    const x = norm.tensor(like.data, like.dims, dtype);
    for (const [op, options] of /** @type {const} */ ([
      ["layerNorm", {}],
      ["layerNorm", { axes: [0] }],
      ["rmsNorm", {}],
      ["groupNorm", { numGroups: 5 }],
      ["instanceNorm", {}],
      ["batchNorm", { training: true }],
    ])) {
      const got = norm[op](x, { ...options, returnStats: true });
      const expected = ops[op](like, { ...options, returnStats: true });
      for (const name of op === "rmsNorm" ? ["rstd"] : ["mean", "rstd"]) {
        assert.equal(got[name].dtype, "float32");
        assert.deepEqual(got[name].shape, expected[name].dims, `${op} ${name}`);
        const statistics = await norm.read(got[name]);
        for (const [i, value] of expected[name].data.entries()) {
          assert.ok(
            Math.abs(statistics[i] - value) <= 2 ** -20 * Math.abs(value),
            `${op} ${name} ${i}`,
          );
        }
      }
    }
    for (const running of DTYPES) {
      for (const options of [{}, { preset: "keras" }, { momentum: 0.5 }]) {
        const old = store([1, 2, 3, 4, 5], running);
        const make = () => norm.tensor(old, [5], running);
        const given = { runningMean: make(), runningVar: make() };
        norm.batchNorm(x, { training: true, ...given, ...options });
        const cpu = {
          runningMean: { data: old.slice(), dims: [5], type: running },
          runningVar: { data: old.slice(), dims: [5], type: running },
        };
        ops.batchNorm(like, { training: true, ...cpu, ...options });
        for (const name of /** @type {const} */ (["runningMean", "runningVar"])) {
          const got = await read(norm, given[name]);
          const expected = load(cpu[name].data, running);
          const eps = { float32: 2 ** -20, float16: 2 ** -10, bfloat16: 2 ** -7 }[
            /** @type {"float32"} */ (running)
          ];
          for (const [i, value] of expected.entries()) {
            assert.ok(
              Math.abs(got[i] - value) <= eps * Math.abs(value),
              `${name} ${running} ${i}: ${got[i]}, ${value}`,
            );
          }
        }
      }
    }
  });
}

test("NaN and infinity leave the other runs as they are", { skip }, async () => {
  const random = new Random(8);
  const clean = Float32Array.from({ length: 8 * 40 }, () => random.normal());
  for (const [name, { op, options: fixed }] of Object.entries(OPERATIONS)) {
    if (!/^(layer|rms|l2|lp|mean)/.test(name)) continue;
    for (const axes of [[1], [0]]) {
      const spoiled = clean.slice();
      // Runs 2 and 5, rows or columns.
      const at = (/** @type {number} */ run, /** @type {number} */ i) =>
        axes[0] === 1 ? run * 40 + i : i * 40 + run;
      spoiled[at(2, 3)] = Number.NaN;
      spoiled[at(5, 0)] = Number.POSITIVE_INFINITY;
      const options = { ...fixed, axes };
      const [a, b] = await Promise.all(
        [clean, spoiled].map((values) =>
          norm.read(norm[op](norm.tensor(values, [8, 40]), options)),
        ),
      );
      for (let i = 0; i < clean.length; i++) {
        const run = axes[0] === 1 ? Math.floor(i / 40) : i % 40;
        if (run !== 2 && run !== 5) assert.equal(b[i], a[i], `${name} axes ${axes}: ${i}`);
      }
    }
  }
});

test("a constant run gives the bias, also with eps 0, and rstd is then infinite", {
  skip,
}, async () => {
  for (const dtype of DTYPES) {
    for (const n of [1, 2, 7, 64, 769, 5000, 20_000]) {
      for (const value of [0.1, 1e30, -7, 0, 3e-38]) {
        const x = norm.tensor(
          new Float32Array(2 * n).fill(dtype === "float16" ? value % 65504 : value),
          [2, n],
          dtype,
        );
        const { output, rstd } = norm.layerNorm(x, { eps: 0, bias: 0.5, returnStats: true });
        const y = await read(norm, output);
        assert.ok(
          y.every((/** @type {number} */ v) => v === 0.5),
          `${dtype} ${n} ${value}: ${y.slice(0, 3)}`,
        );
        const r = await norm.read(rstd);
        assert.ok(
          r.every((/** @type {number} */ v) => v === Number.POSITIVE_INFINITY),
          `${dtype} ${n} ${value}: rstd ${r[0]}`,
        );
        for (const tensor of [x, output, rstd]) tensor.dispose();
      }
    }
  }
});

test("an empty batch gives an empty result", { skip }, async () => {
  const x = norm.tensor(new Float32Array(0), [0, 4]);
  const y = norm.layerNorm(x, { weight: new Float32Array(4), returnStats: true });
  assert.deepEqual([y.output.shape, (await norm.read(y.output)).length], [[0, 4], 0]);
  assert.deepEqual(y.mean.shape, [0, 1]);
  const running = norm.tensor([1, 2, 3, 4]);
  norm.batchNorm(x, { training: true, runningMean: running });
  assert.deepEqual([...(await norm.read(running))], [1, 2, 3, 4]);
  assert.throws(
    () => norm.layerNorm(norm.tensor(new Float32Array(0), [4, 0])),
    /^RangeError: layerNorm: "x" expected at least one element to normalize/,
  );
});

for (const dtype of DTYPES) {
  test(`runs of 10^6 values are within the bound (${dtype})`, { skip }, async (t) => {
    for (const family of dtype === "float32"
      ? ["mean1e4", "prefixFar", "nearMaxSigned"]
      : ["mean1e4"]) {
      const layout = { name: "rows", dims: [1, 1_000_000], axes: [1], options: {} };
      const share = await check({
        name: "layerNorm",
        layout,
        dtype,
        family,
        kind: "none",
        seed: 2,
      });
      t.diagnostic(`${family}: ${share.toFixed(3)} of its bound`);
    }
    const columns = { name: "columns", dims: [40_000, 5], axes: [0], options: { axes: [0] } };
    await check({
      name: "layerNorm",
      layout: columns,
      dtype,
      family: "mean1e4",
      kind: "none",
      seed: 2,
    });
  });
}

test("what is recorded keeps its constants, whatever is called before it is submitted", {
  skip,
}, async () => {
  const { device } = norm;
  const values = Float32Array.from({ length: 64 }, (_, i) => Math.sin(i));
  const x = norm.tensor(values, [8, 8]);
  const encoder = device.createCommandEncoder();
  const y = norm.layerNorm(x, { weight: 3, encoder });
  // More descriptors than the cache of uniforms keeps.
  for (let i = 0; i < 600; i++) norm.layerNorm(x, { weight: i, out: x });
  const again = norm.tensor(values, [8, 8]);
  device.queue.submit([
    (() => {
      const copy = device.createCommandEncoder();
      copy.copyBufferToBuffer(again.buffer, 0, x.buffer, 0, 256);
      return copy.finish();
    })(),
  ]);
  device.queue.submit([encoder.finish()]);
  const got = await norm.read(y);
  const expected = ops.layerNorm(values, { shape: [8, 8], weight: 3 });
  for (let i = 0; i < 64; i++) assert.ok(Math.abs(got[i] - expected[i]) < 4e-6, `${i}`);
});

test("tensors are copies of what they are made of, words that are not whole and shared memory too", {
  skip,
}, async () => {
  const bits = Uint16Array.from({ length: 7 }, (_, i) => 0x3c00 + i);
  const halves = norm.tensor(bits, [7], "bfloat16");
  const shared = new Float32Array(new SharedArrayBuffer(40), 8, 5).fill(1.5);
  const whole = norm.tensor(shared);
  const expected = bits.slice();
  bits.fill(0);
  shared.fill(0);
  assert.deepEqual(await norm.read(halves), expected);
  assert.deepEqual(await norm.read(whole), new Float32Array(5).fill(1.5));
  halves.dispose();
  whole.dispose();
});
