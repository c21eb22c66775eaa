// What each entry of the package has to do in every engine. A new entry is one more line of ENTRIES: it loads the entry
// and returns plain data, which has to be the same, bit for bit, wherever it runs.
import { checks, describe, describeRejection } from "../browser/pages/checks.js";
import { hashBackward } from "../js/hash_backward.js";
import { fnv1a, hashCases } from "../js/hash_cases.js";
import { hashOperations } from "../js/hash_operations.js";

/**
 * @typedef {object} Context
 * @property {(name: string) => Promise<any>} load imports an entry by its name
 * @property {Record<string, unknown>} wasm options of init() that bring the engine the wasm
 */

/** @type {Record<string, (context: Context) => Promise<unknown>>} */
export const ENTRIES = {
  layernorm: async ({ load }) => checkOperations(await load("layernorm")),
  "layernorm/slim": async ({ load, wasm }) => {
    const slim = await load("layernorm/slim");
    // All entries share one instance.
    slim.dispose();
    await slim.init(wasm);
    return checkOperations(slim);
  },
  "layernorm/lite": async ({ load }) => checkLite(await load("layernorm/lite")),
  "layernorm/nn": async ({ load }) => checkLayers(await load("layernorm/nn")),
  "layernorm/auto": async ({ load }) => checkAuto(await load("layernorm/auto")),
  // What runs on a GPU has no bits that are the same everywhere; it is there to be imported, and says what it needs.
  "layernorm/webgpu": async ({ load }) => {
    const { WebGpuNorm } = await load("layernorm/webgpu");
    return { error: describe(() => new WebGpuNorm(null)) };
  },
};

/** Entries that are not among them, and why. @type {Record<string, string>} */
export const ELSEWHERE = {
  "layernorm/tfjs": "it wants TensorFlow.js; tests/tfjs/runtimes.test.js",
};

/** @param {any} functions */
function checkOperations(functions) {
  const hashes = {
    ...hashCases(functions),
    ...hashOperations(functions),
    ...prefixed(hashBackward(functions)),
  };
  return { checks: checks(functions), hashes };
}

/** Names that begin with a number in more than one list. @param {Record<string, string>} hashes */
export const prefixed = (hashes) =>
  Object.fromEntries(Object.entries(hashes).map(([name, hash]) => [`backward ${name}`, hash]));

/** @param {any} nn */
function checkLayers({ LayerNorm, RMSNorm }) {
  return [new LayerNorm(4, { eps: 1e-6 }), new RMSNorm(4)].map((layer) => {
    const y = layer.forward(Float32Array.of(3, 5, 2, 8, 1, 3, 5, 8));
    const gradInput = layer.backward(Float32Array.of(1, -2, 0.5, 3, 0, 1, 2, -1));
    const grads = layer.parameters().map((/** @type {any} */ { grad }) => [...grad]);
    layer.dispose();
    return { y: [...y], gradInput: [...gradInput], grads };
  });
}

/** Rows of every length up to 200 values, and one that goes through the arena in pieces. @param {any} lite */
async function checkLite({ layerNorm, rmsNorm, init }) {
  await init();
  const x = Float32Array.from({ length: 70_000 }, (_, i) => ((i * 7919) % 1009) / 64 - 3);
  const results = Array.from({ length: 200 }, (_, i) =>
    layerNorm(x.subarray(0, 3 * (i + 1)), { shape: [3, i + 1], weight: 1.5, bias: 0.5 }),
  );
  results.push(rmsNorm(x), layerNorm(x, { weight: x }));
  return { hash: fnv1a(results), error: describe(() => layerNorm(x, { eps: -1 })) };
}

/** Small tensors go to wasm, wherever there is a GPU. @param {any} auto */
async function checkAuto(auto) {
  const x = Float32Array.of(3, 5, 2, 8, 1, 3, 5, 8);
  return {
    layerNorm: [...(await auto.layerNorm(x, { shape: [2, 4], weight: 1.5, bias: 0.5 }))],
    nested: await auto.rmsNorm([[3, 5, 2, 8]]),
    error: await describeRejection(() => auto.layerNorm(x, { weight: [1, 2, 3] })),
  };
}

/**
 * @param {Context} context
 * @param {string[]} [names] all entries unless told
 * @returns {Promise<Record<string, any>>} the results of each entry by its name
 */
export async function checkEntries(context, names = Object.keys(ENTRIES)) {
  /** @type {Record<string, unknown>} */
  const results = {};
  for (const name of names) results[name] = await ENTRIES[name](context);
  return results;
}

/**
 * Two threads, where the engine has them: they work on the same memory.
 *
 * @param {Context} context
 * @returns {Promise<unknown>} what init() resolves to, and whether the bits are those of one thread
 */
export async function checkThreads({ load }) {
  const { dispose, init, plan, zeros } = await load("layernorm");
  const run = () => {
    const x = zeros([500, 1025]);
    for (const i of x.data.keys()) x.data[i] = (i * 7919) % 1009;
    const step = plan("layerNorm", x, { weight: 1.5, returnStats: true });
    for (let i = 0; i < 20; i++) step.run();
    return digest([[...step.output.data], [...step.rstd.data]]);
  };
  dispose();
  const expected = run();
  dispose();
  const used = await init({ threads: 2 });
  const same = run() === expected;
  dispose();
  return { used, same };
}

/** @param {unknown} results plain data @returns {string} one hash of all of it */
export const digest = (results) => fnv1a([new TextEncoder().encode(JSON.stringify(results))]);
