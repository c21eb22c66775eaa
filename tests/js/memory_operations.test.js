/** Guarantee 5 for every operation, layout and element type: calls with typed arrays leave wasm memory where it was. */
import assert from "node:assert/strict";
import test from "node:test";
import { plan, tensor } from "../../dist/index.js";
import { memorySize } from "./memory_size.js";
import { DTYPES, hasAffine, layoutsOf, makeCase, OPERATIONS, ops } from "./operation_cases.js";

/** Calls of each form: with all the others, millions. */
const CALLS = 4000;

/** @type {any} */
const anyPlan = plan;

for (const [name, { op }] of Object.entries(OPERATIONS)) {
  test(`${name} leaves memory where it was after ${CALLS} calls of each layout and element type`, () => {
    const cases = DTYPES.flatMap((dtype, k) =>
      layoutsOf(op, 6, 3).flatMap((layout, l) => {
        const kind = hasAffine(op) ? ["all", "numbers", "weightBias"][(k + l) % 3] : "none";
        const made = makeCase({ name, layout, dtype, family: "normal", kind, seed: k + l });
        if (hasAffine(op) && l % 2) made.options.returnStats = true;
        const out = made.inputs[0].data.slice();
        return [made, { ...made, options: { ...made.options, out } }];
      }),
    );
    for (const { inputs, options } of cases) ops[op](...inputs, options);
    const before = memorySize();
    for (const { inputs, options } of cases) {
      for (let i = 0; i < CALLS / 2; i++) ops[op](...inputs, options);
    }
    for (const { inputs, options } of cases) {
      for (let i = 0; i < 50; i++) {
        assert.throws(() => ops[op](...inputs, { ...options, unknown: 1 }), TypeError);
      }
    }
    assert.equal(memorySize(), before);
  });
}

test("all operations with resident x and out leave memory where it was, plans and results once disposed of", () => {
  const cases = Object.entries(OPERATIONS).flatMap(([name, { op }]) =>
    layoutsOf(op, 6, 3).map((layout, l) => {
      const dtype = DTYPES[l % DTYPES.length];
      const kind = hasAffine(op) ? "all" : "none";
      const made = makeCase({ name, layout, dtype, family: "normal", kind, seed: l });
      if (hasAffine(op)) made.options.returnStats = true;
      return { op, options: made.options, inputs: made.inputs.map((input) => tensor(input)) };
    }),
  );
  /** @param {number} calls */
  const turn = (calls) => {
    for (const { op, inputs, options } of cases) {
      for (let i = 0; i < calls; i++) {
        const result = ops[op](...inputs, options);
        for (const each of result.dispose ? [result] : Object.values(result)) each.dispose();
        const step = anyPlan(op, ...inputs, options);
        step.run();
        step.dispose();
      }
    }
  };
  turn(10);
  const before = memorySize();
  turn(300);
  assert.equal(memorySize(), before);
  for (const each of cases.flatMap(({ inputs }) => inputs)) each.dispose();
});

/** Forms of 64 MiB and more, each through an arena of less than half a mebibyte. */
const HUGE = /** @type {[string, number[], Record<string, any>][]} */ ([
  ["layerNorm", [2 ** 23, 2], { axes: [0] }],
  ["layerNorm", [2, 2 ** 22, 2], { axes: [2, 0] }],
  ["rmsNorm", [2, 2 ** 21, 4], { axes: [1] }],
  ["l2Normalize", [2 ** 24], {}],
  ["lpNormalize", [4, 2 ** 22], { axes: [0], p: 1 }],
  ["meanVarianceNormalize", [2, 2, 2048, 2048], {}],
  ["groupNorm", [2, 8, 1024, 1024], { numGroups: 2 }],
  ["groupNorm", [2, 1024, 1024, 8], { numGroups: 2, layout: "channels_last" }],
  ["instanceNorm", [2, 1024, 1024, 8], { layout: "channels_last" }],
  ["batchNorm", [4, 3, 1200, 1200], { training: true }],
  ["localResponseNorm", [2, 64, 131_072], { size: 5 }],
  ["addLayerNorm", [2, 2 ** 23], {}],
  ["addGroupNorm", [2, 8, 1024, 1024], { numGroups: 2 }],
]);

test("all operations stream 64 MiB in the memory they have", () => {
  const before = memorySize();
  const data = new Float32Array(17_280_000);
  for (const [op, dims, options] of HUGE) {
    const x = data.subarray(
      0,
      dims.reduce((a, b) => a * b, 1),
    );
    for (let i = 0; i < x.length; i++) x[i] = (i & 1023) / 256;
    const residual = op.startsWith("add") ? [new Float32Array(x.length).fill(0.5)] : [];
    const sumOut = residual[0] && { sumOut: residual[0] };
    ops[op](x, ...residual, { ...options, ...sumOut, shape: dims, out: x });
    assert.ok(Number.isFinite(x[0]) && Number.isFinite(x[x.length - 1]), `${op} [${dims}]`);
  }
  assert.equal(memorySize(), before);
});
