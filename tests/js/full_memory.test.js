// Guarantee 5 where memory is large: addresses beyond 2 GB, a heap that cannot grow, growth in the midst of everything, and typed
// arrays of 2 GB, which are skipped where less than 8 GB are free. Budget: 30 s.
import assert from "node:assert/strict";
import { freemem } from "node:os";
import { after, describe, test } from "node:test";
import {
  dispose,
  layerNorm,
  layerNormBackward,
  plan,
  rmsNorm,
  Tensor,
  tensor,
  zeros,
} from "../../dist/index.js";
import { BatchNorm, ConditionalLayerNorm, LayerNorm } from "../../dist/nn.js";
import { call, everyCall, numbersOf, resident } from "./every_call.js";
import { fillMemory, memorySize } from "./memory_size.js";

/** @param {any[]} values whose tensors are disposed of */
function free(...values) {
  for (const each of values.flatMap((value) => [value, ...Object.values(value ?? {})])) {
    if (each instanceof Tensor) each.dispose();
  }
}

/** @param {import("./every_call.js").Made} made of residents */
function freeCall({ inputs, options }) {
  free(...inputs, options);
}

/** What holds memory. @type {{ dispose(): void }[]} */
const held = [];
const release = () => {
  for (const each of held.splice(0)) each.dispose();
};
after(release);

/** Holds pieces of memory. Results of plans that never run take addresses, but no memory of the machine's. @param {number} most */
function hold(most) {
  const source = zeros([2 ** 24]);
  held.push(source);
  for (let bytes = 0; bytes < most; bytes += 2 ** 26) held.push(plan("layerNorm", source));
}

/** Holds all memory, down to what not even one element fits in. */
function fill() {
  try {
    hold(Infinity);
  } catch (error) {
    assert.ok(error instanceof RangeError, `${error}`);
  }
  held.push(...fillMemory(2 ** 24, 1));
}

const cases = everyCall(70);
const expected = cases.map((made) => numbersOf(call(made)));

test("tensors beyond 2 GB are read and written where they stand, in calls and plans", () => {
  hold(2 ** 31);
  for (const [i, made] of cases.entries()) {
    const far = resident(made);
    for (const each of far.inputs) assert.ok(each.data.byteOffset > 2 ** 31, "it stands far up");
    const result = call(far);
    assert.deepEqual(numbersOf(result), expected[i], made.what);
    free(result);
    const step = /** @type {any} */ (plan)(far.op, ...far.inputs, far.options);
    if (made.options.training !== true) {
      assert.deepEqual(numbersOf(step.run()), expected[i], `${made.what}, a plan`);
    }
    step.dispose();
    assert.deepEqual(numbersOf(call(made)), expected[i], `${made.what}, in memory`);
    freeCall(far);
  }
  const rows = zeros([4, 3]);
  rows.rows(2, 3).data.set([1, 2, 3]);
  assert.deepEqual([...rows.data], [0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0]);
  rows.dispose();
  release();
});

describe("where memory cannot grow", () => {
  test("every call that needs some is a RangeError, those on typed arrays go on, and all works once there is some", () => {
    const far = cases.map(resident);
    const steps = far.map((made) =>
      /** @type {any} */ (plan)(made.op, ...made.inputs, made.options),
    );
    const inTraining = (/** @type {import("./every_call.js").Made} */ { options }) =>
      options.training === true;
    fill();
    const size = memorySizeWithoutAny();
    for (const [i, made] of cases.entries()) {
      assert.throws(() => call(far[i]), RangeError, `${made.what}, resident`);
      const anyPlan = /** @type {any} */ (plan);
      assert.throws(
        () => anyPlan(made.op, ...far[i].inputs, far[i].options),
        RangeError,
        `${made.what}, a plan`,
      );
      assert.deepEqual(numbersOf(call(made)), expected[i], `${made.what}, in memory`);
      if (!inTraining(made)) {
        assert.deepEqual(numbersOf(steps[i].run()), expected[i], `${made.what}, a plan of before`);
      }
    }
    assert.throws(() => tensor([1, 2]), RangeError);
    assert.throws(() => zeros([1]), RangeError);
    assert.equal(memorySizeWithoutAny(), size);
    release();
    for (const [i, made] of far.entries()) {
      const result = call(made);
      if (!inTraining(made)) assert.deepEqual(numbersOf(result), expected[i], made.what);
      free(result);
    }
    for (const step of steps) step.dispose();
    for (const made of far) freeCall(made);
  });

  test("layers are refused what they need with nothing half done, and work on", () => {
    const x = { data: Float32Array.of(3, 5, 2, 8, 1, 3, 5, 8), dims: [2, 4], type: "float32" };
    const inMemory = tensor(x);
    const norm = new LayerNorm(4);
    const batch = new BatchNorm(4);
    const conditional = new ConditionalLayerNorm(4, 4);
    const y = norm.forward(x);
    const gradInput = norm.backward(y);
    norm.zeroGrad();
    fill();
    const before = [norm, batch].map((layer) => layer.stateDict());
    assert.throws(() => norm.forward(inMemory), RangeError);
    assert.throws(() => batch.forward(inMemory), RangeError);
    assert.throws(() => conditional.forward(inMemory, x), RangeError);
    const other = { weight: [1, 2, 3, 4], bias: [5, 6, 7, 8] };
    assert.throws(() => norm.loadStateDict(other), RangeError);
    assert.deepEqual(
      [norm, batch].map((layer) => layer.stateDict()),
      before,
    );
    // What does with typed arrays alone goes on.
    assert.deepEqual(norm.forward(x), y);
    assert.deepEqual(norm.backward(y), gradInput);
    release();
    norm.loadStateDict(other);
    assert.deepEqual([...(norm.weight?.data ?? [])], other.weight);
    free(norm.forward(inMemory), batch.forward(inMemory));
    assert.deepEqual(numbersOf(conditional.forward(x, x)), numbersOf(layerNorm(x)));
    inMemory.dispose();
  });
});

/** The size of wasm memory, where not even a probe fits. */
function memorySizeWithoutAny() {
  return /** @type {Tensor} */ (held[0]).data.buffer.byteLength;
}

test("memory that grows within any call leaves it right, also where parameters are views of it", () => {
  for (const [i, made] of cases.entries()) {
    if (made.options.training === true) continue;
    dispose();
    const far = resident(made);
    const views = Object.fromEntries(
      Object.entries(far.options).map(([key, value]) => [
        key,
        value instanceof Tensor ? { ...like(made.options[key]), data: value.data } : value,
      ]),
    );
    const step = /** @type {any} */ (plan)(made.op, ...far.inputs, far.options);
    const size = memorySize();
    /** @type {any[]} */
    const results = [];
    let grew = false;
    while (!grew) {
      // Views are read anew: those of before may have been detached.
      for (const [key, value] of Object.entries(far.options)) {
        if (value instanceof Tensor) views[key].data = value.data;
      }
      results.push(call({ ...far, options: views }));
      grew = far.inputs[0].data.buffer.byteLength > size;
    }
    const all = [results[0], results[results.length - 1], step.run()];
    for (const each of all) assert.deepEqual(numbersOf(each), expected[i], made.what);
    free(...results);
    step.dispose();
    freeCall(far);
  }
});

/** The dimensions and element type of a parameter. @param {any} value */
function like(value) {
  if (!ArrayBuffer.isView(value)) return { dims: value.dims, type: value.type };
  const { length } = /** @type {Float32Array} */ (value);
  return { dims: [length], type: value instanceof Float64Array ? "float64" : "float32" };
}

test("typed arrays of 2 GiB stream, and their gradients", {
  skip: freemem() < 8 * 2 ** 30 && "less than 8 GiB are free",
}, () => {
  const size = memorySize();
  const n = 2 ** 29 + 2 ** 10;
  const x = new Float32Array(n);
  const piece = Float32Array.from({ length: 2 ** 10 }, (_, i) => Math.sin(i));
  for (let i = 0; i < n; i += piece.length) x.set(piece, i);
  const one = layerNorm(piece);
  const { gradInput } = layerNormBackward(x, x, { normalizedShape: piece.length });
  const own = layerNormBackward(piece, piece).gradInput;
  for (const at of [0, n - piece.length]) {
    assert.deepEqual(gradInput.subarray(at, at + piece.length), own);
  }
  layerNorm(x, { normalizedShape: piece.length, out: x });
  for (const at of [0, n - piece.length]) {
    assert.deepEqual(x.subarray(at, at + piece.length), one);
  }
  // One run; all of it is normalized already.
  rmsNorm(x, { eps: 0, out: x });
  for (const at of [0, n - piece.length]) {
    for (const [i, value] of x.subarray(at, at + piece.length).entries()) {
      assert.ok(Math.abs(value - one[i]) < 1e-4);
    }
  }
  assert.equal(memorySize(), size);
});
