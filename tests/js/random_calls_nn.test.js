// Random calls of layernorm/nn, by fast-check: layers with any options that are right are the operations with their parameters,
// save and load their state, and add up gradients; anything wrong is refused in the package's grammar and leaves the layer as it
// was. Budget: 20 s.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import * as nn from "../../dist/nn.js";
import { DTYPES, ops } from "./operation_cases.js";
import { chance, integer, numbers, numbersOf, pick } from "./random_calls.js";

const RUNS = 400;
const SEED = 11;

/** @typedef {fc.GeneratorValue} Draw */
/**
 * @typedef {object} Made
 * @property {any} Layer
 * @property {unknown[]} args of its constructor
 * @property {any} x
 * @property {any[]} more arguments of forward
 * @property {string} op what it computes, in training
 * @property {Record<string, any>} options
 */

/** @param {Draw} g @param {number[]} dims */
const like = (g, dims) => {
  const size = dims.reduce((a, b) => a * b, 1);
  return { data: Float32Array.from(numbers(g, size)), dims, type: "float32" };
};

/** @param {Draw} g @param {Record<string, () => unknown>} all @returns {Record<string, any>} some of them */
const some = (g, all) =>
  Object.fromEntries(
    Object.entries(all)
      .filter(() => chance(g, 2))
      .map(([name, make]) => [name, make()]),
  );

/** @param {Draw} g */
const eps = (g) => () => pick(g, [1e-3, 1e-6]);
/** @param {Draw} g */
const flag = (g) => () => chance(g, 2);
/** @param {Draw} g */
const dtype = (g) => () => pick(g, DTYPES);

/** Each layer: a construction that is right, and x for it. @type {Record<string, (g: Draw) => Made>} */
const LAYERS = {
  LayerNorm: (g) => {
    const shape = [integer(g, 1, 4), integer(g, 1, 5)].slice(integer(g, 0, 1));
    const all = { eps: eps(g), elementwiseAffine: flag(g), bias: flag(g), dtype: dtype(g) };
    const given = some(g, all);
    const options = { normalizedShape: shape, eps: given.eps };
    const x = like(g, [3, ...shape]);
    return { Layer: nn.LayerNorm, args: [shape, given], x, more: [], op: "layerNorm", options };
  },
  RMSNorm: (g) => {
    const n = integer(g, 1, 6);
    const given = some(g, { eps: eps(g), elementwiseAffine: flag(g), dtype: dtype(g) });
    const options = { eps: given.eps ?? 2 ** -23 };
    const x = like(g, [3, n]);
    return { Layer: nn.RMSNorm, args: [n, given], x, more: [], op: "rmsNorm", options };
  },
  GroupNorm: (g) => {
    const groups = integer(g, 1, 3);
    const given = some(g, { eps: eps(g), affine: flag(g), dtype: dtype(g) });
    const x = like(g, [2, 2 * groups, 3]);
    const options = { numGroups: groups, eps: given.eps };
    const args = [groups, 2 * groups, given];
    return { Layer: nn.GroupNorm, args, x, more: [], op: "groupNorm", options };
  },
  BatchNorm: (g) => {
    const channels = integer(g, 1, 4);
    const given = some(g, {
      eps: eps(g),
      momentum: () => pick(g, [null, 0.5, 1]),
      affine: flag(g),
      trackRunningStats: flag(g),
      dtype: dtype(g),
    });
    const x = like(g, [3, channels, 2]);
    const options = { training: true, eps: given.eps };
    return { Layer: nn.BatchNorm, args: [channels, given], x, more: [], op: "batchNorm", options };
  },
  InstanceNorm: (g) => {
    const channels = integer(g, 1, 4);
    const given = some(g, { eps: eps(g), affine: flag(g), trackRunningStats: flag(g) });
    const x = like(g, [3, channels, 2]);
    const args = [channels, given];
    const options = { eps: given.eps };
    return { Layer: nn.InstanceNorm, args, x, more: [], op: "instanceNorm", options };
  },
  ConditionalLayerNorm: (g) => {
    const [n, features] = [integer(g, 1, 5), integer(g, 1, 3)];
    const given = some(g, { eps: eps(g), dtype: dtype(g) });
    const x = like(g, [3, n]);
    const more = [like(g, [3, features])];
    const args = [n, features, given];
    const options = { eps: given.eps };
    return { Layer: nn.ConditionalLayerNorm, args, x, more, op: "layerNorm", options };
  },
};

const names = Object.keys(LAYERS);

/** A gradient of an element of a result, whatever it is. @param {any} of */
const gradientFor = ({ data, dims, type }) => ({
  data: data.map((/** @type {number} */ value) => value / 2 - 1),
  dims,
  type,
});

/** All that a layer has. @param {any} layer */
const stateOf = (layer) => [
  layer.stateDict(),
  layer.parameters().map((/** @type {any} */ { grad }) => [...grad]),
];

test(`layers with any options that are right compute, learn, save and load (seed ${SEED})`, () => {
  const property = fc.property(fc.gen(), (g) => {
    const { Layer, args, x, more, op, options } = LAYERS[pick(g, names)](g);
    const layer = new Layer(...args);
    const y = layer.forward(x, ...more);
    // Weights are 1 and biases 0 at first.
    assert.deepEqual(numbersOf(y, "float32"), numbersOf(ops[op](x, options), "float32"));
    const found = layer.backward(gradientFor(y));
    const gradInput = found.gradInput ?? found;
    assert.deepEqual(gradInput.dims, x.dims);
    const own = ops[`${op}Backward`](gradientFor(y), x, options).gradInput;
    for (const [i, each] of gradInput.data.entries()) {
      assert.ok(Math.abs(each - own.data[i]) <= 1e-5 * (1 + Math.abs(each)));
    }
    const [before, grads] = stateOf(layer);
    const other = new Layer(...args);
    other.loadStateDict(before);
    assert.deepEqual(other.stateDict(), before);
    assert.ok(grads.flat().every(Number.isFinite));
    layer.dispose();
  });
  fc.assert(property, { numRuns: RUNS, seed: SEED });
});

const WRONG = [Symbol("wrong"), () => 1, 10n, new Date(0), "wrong", {}, []];

/** What is wrong: with a construction, or with a layer. @type {Record<string, (g: Draw, made: Made) => () => unknown>} */
const CONSTRUCTIONS = {
  "an unknown option": (_, { Layer, args }) => {
    const [options] = args.slice(-1);
    return () => new Layer(...args.slice(0, -1), { .../** @type {object} */ (options), wrong: 1 });
  },
  "an option of a wrong kind": (g, { Layer, args }) => {
    const option = pick(g, ["eps", "dtype"]);
    const value = pick(g, WRONG);
    return () => new Layer(...args.slice(0, -1), { [option]: value });
  },
  "a size that is none": (g, { Layer, args }) => {
    const size = pick(g, [0, -1, 1.5, NaN, 2 ** 53, "4", null, undefined]);
    return () => new Layer(size, ...args.slice(1));
  },
  "too many arguments": (_, { Layer, args }) => {
    const many = [1e-5, ...new Array(8).fill(undefined)];
    return () => new Layer(...args.slice(0, -1), ...many);
  },
};

/** @type {Record<string, (g: Draw, made: Made, layer: any) => () => unknown>} */
const CALLS = {
  "x of a wrong kind": (g, { more }, layer) => {
    const x = pick(g, [...WRONG, null, undefined, 1, new Int32Array(4)]);
    return () => layer.forward(x, ...more);
  },
  "x of other dimensions": (_, { x, more }, layer) => {
    const dims = [2, x.dims[1] + 1, ...x.dims.slice(2).map((/** @type {number} */ n) => n + 1)];
    const data = new Float32Array(dims.reduce((a, b) => a * b, 1));
    return () => layer.forward({ data, dims }, ...more);
  },
  "an unknown option of forward": (_, { x, more }, layer) => {
    return () => layer.forward(x, ...more, { wrong: 1 });
  },
  "a gradient without a forward": (_, { x }, layer) => {
    return () => layer.backward(x);
  },
  "a gradient of other dimensions": (_, { x, more }, layer) => {
    layer.forward(x, ...more);
    const dims = x.dims.map((/** @type {number} */ n) => n + 1);
    const data = new Float32Array(
      dims.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1),
    );
    return () => layer.backward({ data, dims });
  },
  "a state that lacks or has too much": (_, __, layer) => {
    return () => layer.loadStateDict({ ...layer.stateDict(), wrong: [1] });
  },
  "a state of another shape": (_, __, layer) => {
    const entries = Object.entries(layer.stateDict());
    if (entries.length === 0) return () => layer.loadStateDict({ weight: [1] });
    const [name] = entries[0];
    return () => layer.loadStateDict({ ...layer.stateDict(), [name]: new Float32Array(77) });
  },
  "a state of a wrong kind": (g, _, layer) => {
    const dict = pick(g, [null, undefined, 1, "state", [], new Map(), new Float32Array(4)]);
    return () => layer.loadStateDict(dict);
  },
  "a mode that is none": (g, _, layer) => {
    const mode = pick(g, [1, null, "eval"]);
    return () => layer.train(mode);
  },
  "anything of a disposed layer": (g, { Layer, args, x, more }) => {
    const gone = new Layer(...args);
    gone.dispose();
    return pick(g, [
      () => gone.forward(x, ...more),
      () => gone.backward(x),
      () => gone.stateDict(),
      () => gone.loadStateDict({}),
      () => gone.zeroGrad(),
      () => gone.train(),
    ]);
  },
};

/** @param {() => unknown} call @param {string} what */
function assertRefused(call, what) {
  assert.throws(
    call,
    (error) => {
      assert.ok(error instanceof TypeError || error instanceof RangeError, `${what}: ${error}`);
      assert.match(error.message, /^\w+: ("[\w.]+" expected .+, got .+|out of memory, .+)$/s, what);
      return true;
    },
    what,
  );
}

test(`layers refuse anything wrong in the package's words, and stay as they were (seed ${SEED})`, () => {
  const property = fc.property(fc.gen(), (g) => {
    const made = LAYERS[pick(g, names)](g);
    if (chance(g, 3)) {
      const what = pick(g, Object.keys(CONSTRUCTIONS));
      const call = CONSTRUCTIONS[what](g, made);
      assertRefused(call, what);
      return;
    }
    const layer = new made.Layer(...made.args);
    const what = pick(g, Object.keys(CALLS));
    const call = CALLS[what](g, made, layer);
    const before = stateOf(layer);
    assertRefused(call, what);
    assert.deepEqual(stateOf(layer), before, what);
    assert.deepEqual(layer.forward(made.x, ...made.more).dims, made.x.dims, "the next call works");
  });
  fc.assert(property, { numRuns: 2 * RUNS, seed: SEED });
});
