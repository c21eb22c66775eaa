// A call that is the last one again is not checked again (bindings/last_call.ts). Whatever has changed between two calls, the
// second answers as a call with arrays of its own, which is never one again. Budget: 6 s.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dispose, tensor, zeros } from "../../dist/index.js";
import { DIFFERENTIABLE, makeBackwardCase } from "./backward_cases.js";
import { collector } from "./memory_size.js";
import { hasAffine, layoutsOf, makeCase, OPERATIONS, ops } from "./operation_cases.js";

/** @typedef {{ op: string, inputs: any[], options: Record<string, any> }} Call */

/** After as many, one is remembered: of calls that are no repetition, each eighth. */
const CALLS = 10;

/** @param {Call} call @returns {Call} the same on arrays of its own */
function freshOf({ op, inputs, options }) {
  /** What is one stays one. @type {Map<any, any>} */
  const copies = new Map();
  const copyOf = (/** @type {any} */ value) => {
    if (!ArrayBuffer.isView(value) && !Array.isArray(value)) return value;
    if (!copies.has(value)) copies.set(value, /** @type {any} */ (value).slice());
    return copies.get(value);
  };
  const own = Object.entries(options).map(([name, value]) => [name, copyOf(value)]);
  return { op, inputs: inputs.map(copyOf), options: Object.fromEntries(own) };
}

/** @param {Call} call @returns {any} */
const run = ({ op, inputs, options }) => ops[op](...inputs, options);

/** What a call returns, and what its arrays hold then, or its error. @param {Call} call */
function outcomeOf(call) {
  const read = (/** @type {any} */ value) =>
    ArrayBuffer.isView(value) ? Array.from(/** @type {any} */ (value)) : value;
  try {
    const result = run(call);
    const parts = ArrayBuffer.isView(result) ? [result] : Object.entries(result).flat();
    return [...parts, ...call.inputs, ...Object.values(call.options)].map(read);
  } catch (error) {
    return `${error}`;
  }
}

/** Makes a call the last one. @param {Call} call */
function repeat(call) {
  for (let i = 0; i < CALLS; i++) run(call);
}

/** Fails unless a call answers as one on arrays of its own. @param {Call} call */
function assertFresh(call, what = call.op) {
  const fresh = freshOf(call);
  const got = outcomeOf(call);
  assert.deepEqual(got, outcomeOf(fresh), what);
}

/** Other values in all arrays but those of variances. @param {Call} call @param {number} turn */
function change({ inputs, options }, turn) {
  for (const [name, value] of [...Object.entries(inputs), ...Object.entries(options)]) {
    if (!ArrayBuffer.isView(value)) continue;
    const elements = /** @type {Float32Array} */ (value);
    for (const [i, v] of elements.entries()) {
      elements[i] = name === "runningVar" ? v + 0.5 : Math.sin(v + turn + i);
    }
  }
}

/** Flat arrays in place of tensor-like objects. @param {Call} made @returns {Call} */
const flat = ({ op, inputs, options }) => ({
  op,
  inputs: inputs.map((input) => input.data),
  options: {
    ...Object.fromEntries(
      Object.entries(options).map(([name, value]) => [name, value?.data ?? value]),
    ),
    shape: inputs[0].dims,
  },
});

/** @type {[string, () => Call][]} */
const CASES = [];
for (const [i, name] of Object.keys(OPERATIONS).entries()) {
  const { op } = OPERATIONS[name];
  for (const [j, layout] of layoutsOf(op, 40, 3).entries()) {
    /** @type {"float32" | "float64"} */
    const dtype = (i + j) % 2 === 0 ? "float32" : "float64";
    for (const kind of hasAffine(op) ? ["none", "all"] : ["none"]) {
      const draw = { name, layout, dtype, family: "normal", kind, seed: 2 * i };
      const what = `${name} ${dtype} ${layout.name} ${kind}`;
      CASES.push([what, () => flat(makeCase(draw))]);
      if (!hasAffine(op) || kind === "none") continue;
      CASES.push([
        `${what}, statistics`,
        () => {
          const made = flat(makeCase(draw));
          return { ...made, options: { ...made.options, returnStats: true } };
        },
      ]);
    }
    CASES.push([
      `${name} ${dtype} ${layout.name}, out`,
      () => {
        const made = flat(
          makeCase({ name, layout, dtype, family: "normal", kind: "none", seed: 2 * i }),
        );
        return { ...made, options: { ...made.options, out: made.inputs[0].slice() } };
      },
    ]);
    if (!DIFFERENTIABLE.includes(name)) continue;
    for (const given of [false, hasAffine(op)]) {
      const kind = hasAffine(op) ? "all" : "none";
      const draw = {
        name,
        layout,
        dtype,
        family: "normal",
        kind,
        seed: 2 * i,
        gradient: "normal",
      };
      const what = `the gradient of ${name} ${dtype} ${layout.name}${given ? ", given statistics" : ""}`;
      CASES.push([what, () => flat(makeBackwardCase({ ...draw, given }))]);
    }
  }
}

test("repeated calls see what their arrays hold by then, whatever the operation", () => {
  for (const [what, make] of CASES) {
    const call = make();
    const got = [];
    const fresh = [];
    // Nothing else is called between them.
    for (let turn = 0; turn < CALLS; turn++) {
      fresh.push(freshOf(call));
      // The caller's loop may make its options anew.
      got.push(outcomeOf(turn % 2 === 0 ? call : { ...call, options: { ...call.options } }));
      change(call, turn);
    }
    for (const [i, each] of fresh.entries()) assert.deepEqual(got[i], outcomeOf(each), what);
  }
});

test("repeated calls in turn with others do not mix", () => {
  const calls = CASES.map(([, make]) => make());
  const some = calls.filter((_, i) => i % 7 === 0);
  for (const call of some) repeat(call);
  for (let turn = 0; turn < 3; turn++) for (const call of some) assertFresh(call, call.op);
});

test("repeated calls return results of their own", () => {
  for (const [what, make] of CASES) {
    const call = make();
    if (call.options.out) continue;
    repeat(call);
    const first = run(call);
    const parts = (/** @type {any} */ result) =>
      (ArrayBuffer.isView(result) ? [result] : Object.values(result)).filter((part) =>
        ArrayBuffer.isView(part),
      );
    const before = parts(first).map((/** @type {any} */ part) => part.slice());
    change(call, 1);
    const second = run(call);
    assert.notEqual(first, second, what);
    assert.deepEqual(parts(first), before, what);
    for (const [i, part] of parts(second).entries()) assert.notEqual(part, parts(first)[i], what);
  }
});

const N = 64;
/** @param {number} seed @param {number} [n] */
const values = (seed, n = N) => Float32Array.from({ length: n }, (_, i) => Math.sin(seed + i * i));

/** @returns {Call} */
const layerCall = (options = {}) => ({
  op: "layerNorm",
  inputs: [values(1)],
  options: { weight: values(2), bias: values(3), eps: 1e-3, out: values(0), ...options },
});

/** What may be another in the second call. @type {Record<string, [make: () => Call, change: (call: Call) => void]>} */
const CHANGES = {
  "another x": [layerCall, (call) => (call.inputs[0] = values(9))],
  "a longer x": [layerCall, (call) => (call.inputs[0] = values(9, 2 * N))],
  "another residual": [
    () => ({
      ...layerCall({ sumOut: values(0) }),
      op: "addLayerNorm",
      inputs: [values(1), values(2)],
    }),
    (call) => (call.inputs[1] = values(9)),
  ],
  "another x of a gradient": [
    () => ({ op: "layerNormBackward", inputs: [values(1), values(2)], options: {} }),
    (call) => (call.inputs[1] = values(9)),
  ],
  "another residual of a gradient": [
    () => ({ op: "addLayerNormBackward", inputs: [values(1), values(2), values(3)], options: {} }),
    (call) => (call.inputs[2] = values(9)),
  ],
  "another weight": [layerCall, ({ options }) => (options.weight = values(9))],
  "a weight of another length": [layerCall, ({ options }) => (options.weight = values(9, 3))],
  "a number for a weight": [layerCall, ({ options }) => (options.weight = 2)],
  "no weight": [layerCall, ({ options }) => delete options.weight],
  "an undefined weight": [layerCall, ({ options }) => (options.weight = undefined)],
  "a weight of null": [layerCall, ({ options }) => (options.weight = null)],
  "no last option": [
    () => ({ ...layerCall(), options: { weight: values(2), bias: values(3) } }),
    ({ options }) => delete options.bias,
  ],
  "no out": [layerCall, ({ options }) => delete options.out],
  "one more option": [layerCall, ({ options }) => (options.activation = "relu")],
  "another eps": [layerCall, ({ options }) => (options.eps = 0.5)],
  "a wrong eps": [layerCall, ({ options }) => (options.eps = Number.NaN)],
  "an unknown option": [layerCall, ({ options }) => (options.training = false)],
  "only an unknown option": [
    () => layerCall(),
    (call) => (call.options = { gate: call.options.weight }),
  ],
  "another name for a value": [
    () => ({ ...layerCall(), options: { weight: values(2) } }),
    (call) => (call.options = { bias: call.options.weight }),
  ],
  "another order": [
    layerCall,
    (call) => (call.options = Object.fromEntries(Object.entries(call.options).reverse())),
  ],
  "another out": [layerCall, ({ options }) => (options.out = values(9))],
  "out that overlaps the weight": [layerCall, ({ options }) => (options.out = options.weight)],
  "0 for -0": [
    () => layerCall({ weight: -0, bias: -0 }),
    ({ options }) => Object.assign(options, { bias: 0, weight: 0 }),
  ],
  "another preset": [
    () => layerCall({ preset: "keras", eps: undefined }),
    ({ options }) => (options.preset = "bert"),
  ],
  "statistics, which were not asked for": [
    () => layerCall({ returnStats: false }),
    ({ options }) => (options.returnStats = true),
  ],
  "another shape in the same array": [
    () => layerCall({ shape: [1, N], weight: 2, bias: 1 }),
    ({ options }) => options.shape.splice(0, 2, 4, 16),
  ],
  "another rank in the same array": [
    () => layerCall({ shape: [1, 1, N], axis: 1, weight: 2, bias: 1 }),
    ({ options }) => options.shape.splice(0, 1),
  ],
  "no array for a shape": [
    () => layerCall({ shape: [1, N] }),
    ({ options }) => (options.shape = N),
  ],
  "a shape of something else": [
    () => layerCall({ shape: [1, N] }),
    ({ options }) => (options.shape = ["1", N]),
  ],
  "a number for a normalized shape": [
    () => layerCall({ normalizedShape: [16], weight: 2, bias: 1 }),
    ({ options }) => (options.normalizedShape = 16),
  ],
  "other axes": [
    () => layerCall({ shape: [8, 8], axes: [0], weight: 2, bias: 1 }),
    ({ options }) => (options.axes[0] = 1),
  ],
  "other values in nested arrays": [
    () => layerCall({ weight: [...values(2)] }),
    ({ options }) => (options.weight[3] = 7),
  ],
  "other nested arrays": [
    () => ({ ...layerCall(), inputs: [[[...values(1)]]], options: {} }),
    ({ inputs }) => (inputs[0][0][3] = 7),
  ],
  "other data of a tensor-like object": [
    () => layerCall({ weight: { data: values(2), dims: [N], type: "float32" } }),
    ({ options }) => (options.weight.data = values(9)),
  ],
  "a negative variance": [
    () => ({
      op: "batchNorm",
      inputs: [values(1)],
      options: {
        shape: [8, 8],
        runningMean: values(2, 8),
        runningVar: values(0, 8).fill(1),
        out: values(0),
      },
    }),
    ({ options }) => (options.runningVar[5] = -1),
  ],
  "a negative variance in training": [
    () => ({
      op: "batchNorm",
      inputs: [values(1)],
      options: { shape: [8, 8], runningVar: values(0, 8).fill(1), training: true, out: values(0) },
    }),
    ({ options }) => (options.runningVar[5] = -1),
  ],
  "a negative variance of a gradient": [
    () => ({
      op: "batchNormBackward",
      inputs: [values(3), values(1)],
      options: { shape: [8, 8], runningVar: values(0, 8).fill(1), training: true },
    }),
    ({ options }) => (options.runningVar[5] = -1),
  ],
};

for (const [what, [make, change]] of Object.entries(CHANGES)) {
  test(`a repeated call sees ${what}`, () => {
    const call = make();
    repeat(call);
    change(call);
    assertFresh(call);
    // And once more, also where it has failed.
    assertFresh(call);
    const again = make();
    repeat(again);
    assertFresh(again);
  });
}

test("a repeated call sees that an array has lost its memory, and writes nothing", () => {
  for (const which of ["x", "weight", "bias"]) {
    const call = layerCall();
    repeat(call);
    const out = call.options.out.fill(-1);
    const array = which === "x" ? call.inputs[0] : call.options[which];
    structuredClone(array, { transfer: [array.buffer] });
    assert.throws(() => run(call), { name: "TypeError", message: /detached/ });
    assert.ok(out.every((/** @type {number} */ v) => v === -1));
  }
  const empty = { op: "layerNorm", inputs: [new Float32Array(0)], options: { shape: [0, N] } };
  repeat(empty);
  structuredClone(empty.inputs[0], { transfer: [empty.inputs[0].buffer] });
  assert.throws(() => run(empty), { name: "TypeError", message: /detached/ });
  const call = layerCall();
  repeat(call);
  structuredClone(call.options.out, { transfer: [call.options.out.buffer] });
  assert.throws(() => run(call), { name: "TypeError", message: /detached/ });
});

test("a repeated call sees that an array has another length", () => {
  const buffer = new /** @type {any} */ (ArrayBuffer)(4 * N, { maxByteLength: 8 * N });
  const x = new Float32Array(buffer);
  x.set(values(1));
  const call = { op: "layerNorm", inputs: [x], options: {} };
  repeat(call);
  buffer.resize(2 * N);
  assert.equal(run(call).length, N / 2);
  assertFresh(call);
  buffer.resize(8 * N);
  assertFresh(call);
});

test("a repeated call reads each option once, and sees what its getters do", () => {
  const call = layerCall();
  const { weight, bias, eps, out } = call.options;
  repeat(call);
  let nextEps = eps;
  /** @type {string[]} */
  const read = [];
  /** @param {() => void} [inTheMiddle] */
  const options = (inTheMiddle) => ({
    get weight() {
      read.push("weight");
      return weight;
    },
    bias,
    get eps() {
      read.push("eps");
      inTheMiddle?.();
      return nextEps;
    },
    get out() {
      read.push("out");
      return out;
    },
  });
  const [x] = call.inputs;
  const expected = run(call).slice();
  assert.deepEqual(ops.layerNorm(x, options()), expected);
  assert.deepEqual(read.splice(0), ["weight", "eps", "out"]);
  // Another last call, from within one.
  const other = layerCall({ eps: 0.5 });
  assert.deepEqual(
    ops.layerNorm(
      x,
      options(() => repeat(other)),
    ),
    expected,
  );
  assert.deepEqual(read.splice(0), ["weight", "eps", "out"]);
  repeat(call);
  assert.deepEqual(
    ops.layerNorm(
      x,
      options(() => run(call)),
    ),
    expected,
  );
  assert.deepEqual(read.splice(0), ["weight", "eps", "out"]);
  // Those that are still the same are not read again where another is not.
  repeat(call);
  nextEps = -1;
  assert.throws(() => ops.layerNorm(x, options()), RangeError);
  assert.deepEqual(read.splice(0), ["weight", "eps"]);
  nextEps = eps;
  repeat(call);
  out.fill(-1);
  const detach = () => structuredClone(weight, { transfer: [weight.buffer] });
  assert.throws(() => ops.layerNorm(x, options(detach)), {
    name: "TypeError",
    message: /detached/,
  });
  assert.ok(out.every((/** @type {number} */ v) => v === -1));
});

test("a repeated call reads a shape once, also where it is another by then", () => {
  const call = layerCall({ shape: [1, N], weight: 2, bias: 1 });
  for (const dims of [
    [1, N],
    [4, 16],
    [3, 16],
  ]) {
    repeat(call);
    let reads = 0;
    const shape = new Proxy(dims, {
      get: (target, name) => {
        reads++;
        return Reflect.get(target, name);
      },
    });
    const expected = outcomeOf(freshOf({ ...call, options: { ...call.options, shape: dims } }));
    const got = outcomeOf({ ...call, options: { ...call.options, shape } });
    if (typeof expected === "string") assert.equal(got, expected);
    else assert.deepEqual(got.slice(0, 1), expected.slice(0, 1));
    // length and two dimensions; the outcome itself reads nothing.
    assert.equal(reads, 3);
  }
});

test("repeated calls outlast dispose() and memory that grows", () => {
  for (const [what, make] of CASES.filter((_, i) => i % 5 === 0)) {
    const call = make();
    repeat(call);
    dispose();
    assertFresh(call, what);
    repeat(call);
    dispose();
    assert.deepEqual(outcomeOf(freshOf(call)).length > 0, true);
    assertFresh(call, what);
  }
  const call = layerCall();
  repeat(call);
  const large = zeros([1 << 24]);
  assertFresh(call);
  large.dispose();
});

test("a tensor of a repeated call may be disposed of", () => {
  const weight = tensor(values(2));
  const call = layerCall({ weight });
  repeat(call);
  weight.dispose();
  assert.throws(() => run(call), { name: "TypeError", message: /disposed/ });
});

test("what calls were given and have returned is not kept alive, but for short arrays", async () => {
  const gc = collector();
  /** @type {[string, WeakRef<object>][]} */
  const refs = [];
  const hold = (/** @type {string} */ what, /** @type {any} */ value) =>
    refs.push([what, new WeakRef(value)]);
  (() => {
    const held = { ...layerCall(), op: "rmsNorm" };
    repeat(held);
    hold("what x no longer comes with", held.options.weight);
    held.options.weight = values(9);
    run(held);
    const x = tensor(values(1));
    for (let i = 0; i < CALLS; i++) ops.rmsNorm(x).dispose();
    hold("a tensor", x);
    const { op, inputs, options } = layerCall({ returnStats: true, out: undefined });
    for (let i = 0; i < CALLS; i++) {
      const { output, mean } = ops[op](...inputs, options);
      hold("a result", output);
      hold("statistics", mean);
      const gradients = ops.layerNormBackward(...inputs, ...inputs, { weight: inputs[0] });
      hold("a gradient", gradients.gradInput);
      hold("a weight's gradient", gradients.gradWeight);
    }
    const long = new Float32Array(1 << 18);
    const part = long.subarray(0, N);
    for (let i = 0; i < CALLS; i++) ops.l2Normalize(part);
    hold("a part of a long buffer", long.buffer);
  })();
  await new Promise((resolve) => setTimeout(resolve, 10));
  gc();
  for (const [what, ref] of refs) assert.equal(ref.deref(), undefined, `${what} is kept`);
});
