/** Gradients: sums beyond the arena, and memory left where it was. */
import assert from "node:assert/strict";
import test from "node:test";
import * as layernorm from "../../dist/index.js";
import { DIFFERENTIABLE, makeBackwardCase } from "./backward_cases.js";
import { DTYPES, hasAffine, layoutsOf, OPERATIONS, ops } from "./operation_cases.js";

const { plan, tensor, zeros } = layernorm;

/** @type {any} */
const anyPlan = plan;

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
