/** Guarantee 5: calls leave wasm memory where it was, memory can grow at any time, running out of it is a RangeError. */
import assert from "node:assert/strict";
import test from "node:test";
import { layerNorm, plan, rmsNorm, tensor, zeros } from "../../dist/index.js";
import { collector, fillMemory, memorySize } from "./memory_size.js";

const CALLS = 1_000_000;

const n = 8;
const float32 = Float32Array.from({ length: 2 * n }, (_, i) => i * i);
const float64 = Float64Array.from(float32);
const nested = [Array.from(float32.subarray(0, n)), Array.from(float32.subarray(n))];
const weight = new Float32Array(n).fill(1.5);
const bias = new Float64Array(n).fill(-0.5);
const out = new Float32Array(2 * n);
const sharedX = new Float32Array(/** @type {any} */ (new SharedArrayBuffer(8 * n)));
sharedX.set(float32);
const options = { normalizedShape: n, weight, bias };

/** Kinds of calls that leave nothing behind; nested arrays are slow, so fewer of them do. */
/** @type {[string, number, () => unknown][]} */
const KINDS = [
  ["flat float32", CALLS, () => layerNorm(float32, options)],
  ["flat float64", CALLS, () => rmsNorm(float64, options)],
  [
    "flat with statistics",
    CALLS,
    () => layerNorm(float32, { normalizedShape: n, returnStats: true }),
  ],
  [
    "tensor-like",
    CALLS,
    () => layerNorm({ data: float32, dims: [2, n], type: "float32" }, { weight, bias }),
  ],
  ["shared", CALLS, () => rmsNorm(sharedX, options)],
  ["out", CALLS, () => layerNorm(float32, { ...options, out })],
  ["in place", CALLS, () => rmsNorm(out, { ...options, out })],
  ["nested", CALLS / 4, () => layerNorm(nested, { weight, bias })],
  ["an error", CALLS / 4, () => assert.throws(() => layerNorm(float32, { ...options, eps: -1 }))],
];

for (const [name, calls, call] of KINDS) {
  test(`layerNorm and rmsNorm leave memory where it was after ${calls} calls: ${name}`, () => {
    for (let i = 0; i < 1000; i++) call();
    const before = memorySize();
    for (let i = 0; i < calls; i++) call();
    assert.equal(memorySize(), before);
  });
}

test("layerNorm with resident x and out leaves memory where it was after 1000000 calls", () => {
  const x = tensor(float32, [2, n]);
  const y = zeros([2, n]);
  layerNorm(x, { weight, bias, out: y });
  const before = memorySize();
  for (let i = 0; i < CALLS; i++) layerNorm(x, { weight, bias, out: y });
  assert.equal(memorySize(), before);
  x.dispose();
  y.dispose();
});

test("layerNorm's resident results leave memory where it was when they are disposed of", () => {
  const x = tensor(float32, [2, n]);
  for (let i = 0; i < 100; i++) layerNorm(x, { weight }).dispose();
  const before = memorySize();
  for (let i = 0; i < CALLS; i++) layerNorm(x, { weight, bias }).dispose();
  assert.equal(memorySize(), before);
  x.dispose();
  x.dispose();
});

test("plan makes and disposes of plans in the same memory", () => {
  const x = tensor(float32, [2, n]);
  const turn = () => {
    const step = plan("layerNorm", x, { weight, bias });
    step.run();
    step.dispose();
    step.dispose();
  };
  for (let i = 0; i < 100; i++) turn();
  const before = memorySize();
  for (let i = 0; i < CALLS / 10; i++) turn();
  assert.equal(memorySize(), before);
  x.dispose();
});

test("layerNorm streams 256 MiB in the memory it has", () => {
  const before = memorySize();
  const x = new Float32Array(2 ** 26);
  for (let i = 0; i < x.length; i++) x[i] = i & 1023;
  layerNorm(x, { normalizedShape: 2 ** 25, out: x });
  rmsNorm(x, { out: x });
  layerNorm(x, { normalizedShape: 64, out: x });
  assert.equal(memorySize(), before);
});

test("layerNorm's resident results without out are freed once the event loop turns", {
  timeout: 60_000,
}, async (t) => {
  const collect = collector();
  const x = zeros([2 ** 18]);
  const turn = async () => {
    // 32 MiB a turn that nobody holds or disposes of.
    for (let i = 0; i < 32; i++) layerNorm(x);
    collect();
    await new Promise((resolve) => setTimeout(resolve, 0));
    collect();
    await new Promise((resolve) => setTimeout(resolve, 0));
  };
  for (let i = 0; i < 4; i++) await turn();
  const before = memorySize();
  for (let i = 0; i < 40; i++) await turn();
  const grown = memorySize() - before;
  t.diagnostic(`grew by ${grown} bytes over 1.25 GiB of results`);
  assert.ok(grown <= 64 * 2 ** 20, `grew by ${grown} bytes`);
  x.dispose();
});

test("tensors keep their values and plans run on when memory grows under them", () => {
  const x = tensor(float32, [2, n]);
  const w = tensor(weight);
  const step = plan("layerNorm", x, { weight: w, bias });
  const expected = layerNorm(float32, options);
  const held = x.data;
  const size = held.buffer.byteLength;

  const large = zeros([2 * size]);
  assert.ok(memorySize() > size, "memory grew");
  // A held view is detached or stale; x.data is neither.
  assert.deepEqual(x.data, float32);
  assert.notEqual(x.data.buffer, held.buffer);
  assert.deepEqual(/** @type {any} */ (step.run()).data, expected);
  assert.deepEqual(layerNorm(float32, options), expected);
  x.data.set(float32.map((value) => 2 * value + 1));
  step.run();
  const moved = layerNorm(
    float32.map((value) => 2 * value + 1),
    options,
  );
  assert.deepEqual(/** @type {any} */ (step.output).data, moved);

  // A result of a call that itself makes memory grow.
  const y = layerNorm(large);
  assert.ok(y.data.every((value) => value === 0));
  assert.deepEqual(/** @type {any} */ (step.output).data, moved);
  for (const one of [y, large, step, x, w]) one.dispose();
});

test("zeros, tensor, layerNorm and plan throw a RangeError when memory runs out, and the next call works", () => {
  const expected = layerNorm(float32, options);
  const x = tensor(float32, [2, n]);
  const step = plan("layerNorm", x, options);
  /** @param {() => unknown} call */
  const refuses = (call) => {
    assert.throws(call, (error) => error instanceof RangeError && error.constructor === RangeError);
    assert.deepEqual(layerNorm(float32, options), expected);
    assert.deepEqual(/** @type {any} */ (step.run()).data, expected);
  };
  for (const elements of [2 ** 30, 2 ** 31, 2 ** 32, 2 ** 53]) refuses(() => zeros([elements]));
  refuses(() => zeros([2 ** 31, 2 ** 31]));

  // Fill memory with ever smaller tensors, then ask for results.
  const held = fillMemory(2 ** 26, 2 ** 20);
  assert.ok(held.length > 0);
  const [first] = held;
  refuses(() => layerNorm(first));
  refuses(() => plan("layerNorm", first, {}));
  refuses(() => tensor(new Float32Array(2 ** 24)));
  assert.equal(layerNorm(first, { out: first }), first);
  for (const one of held) one.dispose();
  const again = zeros([2 ** 26]);
  assert.equal(again.data.length, 2 ** 26);
  again.dispose();
  assert.deepEqual(layerNorm(float32, options), expected);
  step.dispose();
  x.dispose();
});
