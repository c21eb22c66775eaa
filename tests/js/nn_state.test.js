/** stateDict and loadStateDict. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tensor } from "../../dist/index.js";
import { BatchNorm, LayerNorm } from "../../dist/nn.js";
import { detach, LAYERS, normals } from "./nn_layers.js";

for (const [name, make] of Object.entries(LAYERS)) {
  test(`${name}'s state dict is a copy that loads into another`, () => {
    const layer = make();
    for (const { data } of layer.parameters()) data.set(normals(data.length, 4));
    if (layer.runningVar) layer.runningVar.data.fill(3);
    if (layer.numBatchesTracked) layer.numBatchesTracked.data[0] = 7n;
    const dict = layer.stateDict();
    const other = make();
    assert.notDeepEqual(other.stateDict(), dict);
    assert.deepEqual(other.loadStateDict(dict), { missingKeys: [], unexpectedKeys: [] });
    assert.deepEqual(other.stateDict(), dict);
    /** @type {any} */ for (const { data } of Object.values(dict))
      data.fill(/** @type {any} */ (data instanceof BigInt64Array ? 0n : 0));
    assert.notDeepEqual(other.stateDict(), dict);
  });
}

test("loadStateDict names all that is wrong in one error, and loads nothing", () => {
  const norm = new BatchNorm(4);
  const before = norm.stateDict();
  assert.throws(
    () =>
      norm.loadStateDict({
        weight: { data: new Float32Array(3), shape: [3], dtype: "float32" },
        bias: new Float32Array(4).fill(9),
        gamma: new Float32Array(4),
        running_var: [[1, 1, 1, 1]],
        num_batches_tracked: 1.5,
      }),
    {
      name: "RangeError",
      message:
        'BatchNorm: "stateDict" expected weight [4], bias [4], running_mean [4], running_var [4], num_batches_tracked [], ' +
        'got "weight" expected shape [4], got [3]; "running_var" expected shape [4], got [1, 4]; ' +
        '"num_batches_tracked" expected an integer >= 0, got 1.5; "running_mean" is missing; "gamma" is unknown',
    },
  );
  assert.deepEqual(norm.stateDict(), before);
  for (const wrong of [null, 3, "weight", [1], new Float32Array(4)]) {
    assert.throws(() => norm.loadStateDict(/** @type {any} */ (wrong)), {
      name: "TypeError",
      message: /^BatchNorm: "stateDict" expected an object of tensors/,
    });
  }
  const weight = new Float32Array(4);
  for (const [value, message] of /** @type {[any, RegExp][]} */ ([
    ["text", /"bias" expected a Float32Array/],
    [3, /"bias" expected a Float32Array/],
    [{ data: new Int32Array(4), shape: [4] }, /"bias.data" expected a Float32Array/],
    [{ data: new Float32Array(3), shape: [4] }, /"bias" expected 4 elements/],
    [new Float32Array(), /"bias" expected 4 elements/],
  ])) {
    const load = () => new LayerNorm(4).loadStateDict({ weight, bias: value });
    assert.throws(load, { name: "RangeError", message });
  }
  const negative = () => norm.loadStateDict({ ...before, running_var: [1, 1, -1, 1] });
  assert.throws(negative, /"running_var" expected variances >= 0, got a negative one at 2/);
  assert.deepEqual(norm.stateDict(), before);
});

test("loadStateDict loads nothing where reading an entry takes the layer's memory away", () => {
  const norm = new LayerNorm(2);
  const { weight, bias } = norm;
  const dict = {
    weight: [5, 6],
    get bias() {
      detach(/** @type {any} */ (bias).data);
      return [1, 2];
    },
  };
  assert.throws(() => norm.loadStateDict(dict), {
    name: "TypeError",
    message: 'LayerNorm: "bias" expected memory that is there, got a detached Float32Array',
  });
  assert.deepEqual(weight?.data, Float32Array.of(1, 1));
});

test("loadStateDict without strict tells what was missing and unknown; shapes still have to fit", () => {
  const norm = new LayerNorm(4);
  const weight = Float32Array.of(1, 2, 3, 4);
  const result = norm.loadStateDict({ weight, gamma: weight }, { strict: false });
  assert.deepEqual(result, { missingKeys: ["bias"], unexpectedKeys: ["gamma"] });
  assert.deepEqual(norm.weight?.data, weight);
  const wrong = () => norm.loadStateDict({ weight: new Float32Array(3) }, { strict: false });
  assert.throws(wrong, /"weight" expected 4 elements for shape \[4\], got 3/);
});

test("loadStateDict takes an entry that is undefined for one that is missing", () => {
  const norm = new LayerNorm(2);
  const dict = /** @type {any} */ ({ weight: [3, 4], bias: undefined, gamma: undefined });
  assert.throws(() => norm.loadStateDict(dict), {
    name: "RangeError",
    message: 'LayerNorm: "stateDict" expected weight [2], bias [2], got "bias" is missing',
  });
  const result = norm.loadStateDict(dict, { strict: false });
  assert.deepEqual(result, { missingKeys: ["bias"], unexpectedKeys: [] });
  assert.throws(() => norm.loadStateDict(/** @type {any} */ (new Map(Object.entries(dict)))), {
    name: "TypeError",
    message: 'LayerNorm: "stateDict" expected an object of tensors, got a Map',
  });
});

test("loadStateDict takes the entries below a prefix alone", () => {
  const norm = new LayerNorm(4, { bias: false });
  const dict = { "a.weight": [1, 2, 3, 4], "b.weight": [5, 6, 7, 8], "b.bias": [0, 0, 0, 0] };
  norm.loadStateDict(dict, { prefix: "a." });
  assert.deepEqual([...(norm.weight?.data ?? [])], [1, 2, 3, 4]);
  assert.throws(
    () => norm.loadStateDict(dict, { prefix: "b." }),
    /under "b\.", got "bias" is unknown/,
  );
  assert.throws(() => norm.loadStateDict(dict, { prefix: "c." }), /"weight" is missing/);
  assert.throws(() => norm.loadStateDict(dict, /** @type {any} */ ({ prefix: 1 })), /"prefix" exp/);
  assert.throws(
    () => norm.loadStateDict(dict, /** @type {any} */ ({ pre: "" })),
    /only strict, pre/,
  );
});

test("loadStateDict takes num_batches_tracked as any integer, and leaves it where it is missing", () => {
  const norm = new BatchNorm(1);
  const others = { weight: [1], bias: [0], running_mean: [0], running_var: [1] };
  for (const [value, expected] of /** @type {[any, bigint][]} */ ([
    [{ data: BigInt64Array.of(5n), shape: [], dtype: "int64" }, 5n],
    [{ data: Int32Array.of(6), shape: [], dtype: "int32" }, 6n],
    [{ data: Float32Array.of(7), dims: [1] }, 7n],
    [8, 8n],
    [[9], 9n],
    [[[10]], 10n],
    [{ data: [11n] }, 11n],
    [tensor([4]), 4n],
    [tensor([12], [], "bfloat16"), 12n],
    [{ data: Uint16Array.of(0x4200), shape: [], dtype: "float16" }, 3n],
    [{ data: Uint16Array.of(0x4140), dims: [1], type: "bfloat16" }, 12n],
    [{ data: Uint16Array.of(0x4200), shape: [], dtype: "uint16" }, 0x4200n],
    [{ data: Uint8Array.of(1), shape: [], dtype: "bool" }, 1n],
    [BigUint64Array.of(2n ** 63n - 1n), 2n ** 63n - 1n],
    [Uint16Array.of(9), 9n],
  ])) {
    norm.loadStateDict({ ...others, num_batches_tracked: value });
    assert.equal(norm.numBatchesTracked?.data[0], expected);
  }
  norm.loadStateDict(others);
  assert.equal(norm.numBatchesTracked?.data[0], 9n);
  for (const wrong of [
    ...[-1, 0.5, NaN, 2 ** 63, "1", [1, 2], [], null, true, {}],
    { data: BigInt64Array.of(1n, 2n), shape: [2] },
    { data: BigUint64Array.of(2n ** 63n), shape: [] },
    { data: Uint16Array.of(0x3800), shape: [], dtype: "float16" }, // 0.5
    { data: Uint8Array.of(0x38), shape: [], dtype: "float8_e4m3fn" },
    { data: Int32Array.of(1), shape: [], dtype: Symbol("int32") },
    { data: Int32Array.of(1), shape: [], dtype: "float32" },
    tensor([1, 2]),
    tensor([0.5]),
  ]) {
    const load = () =>
      norm.loadStateDict({ ...others, num_batches_tracked: /** @type {any} */ (wrong) });
    assert.throws(load, { name: "RangeError", message: /"num_batches_tracked(.data)?" expected/ });
  }
});
