// Guarantee 5 for each entry point: many calls leave wasm memory where it was, and JavaScript's as well. LAYERNORM_CALLS is how
// many of each, 1,000,000 for the whole of the guarantee, which takes about half an hour. Budget without it: 40 s.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as auto from "../../dist/auto.js";
import { init, plan, Tensor, tensor, zeros } from "../../dist/index.js";
import * as nn from "../../dist/nn.js";
import { DIFFERENTIABLE, makeBackwardCase } from "./backward_cases.js";
import { collector, memorySize } from "./memory_size.js";
import { hasAffine, layoutsOf, makeCase, OPERATIONS, ops } from "./operation_cases.js";

/** How many at a time: engines' tables of what is weakly held are as large as what was made between collections. */
const PIECE = 2500;
const CALLS = Number(process.env.LAYERNORM_CALLS ?? PIECE);
/** Of what each call may keep; that engines keep some of their own shows with few calls. */
const BYTES_PER_CALL = 8;
const ENGINE_BYTES = 512 * 1024;

const gc = collector();

/** @param {string} name of OPERATIONS */
function makeForward(name) {
  const { op } = OPERATIONS[name];
  const kind = hasAffine(op) ? "all" : "none";
  const [layout] = layoutsOf(op, 6, 3);
  return makeCase({ name, layout, dtype: "float32", family: "normal", kind, seed: 2 });
}

/** @param {string} name of DIFFERENTIABLE */
function makeBackward(name) {
  const { op } = OPERATIONS[name];
  const kind = hasAffine(op) ? "all" : "none";
  const [layout] = layoutsOf(op, 6, 3);
  const draw = { name, layout, family: "normal", kind, seed: 2, gradient: "normal" };
  return makeBackwardCase({ ...draw, dtype: "float32" });
}

/** @param {any} value a result, whatever it is: its tensors are disposed of */
function free(value) {
  for (const each of [value, ...Object.values(value ?? {})]) {
    if (each instanceof Tensor) each.dispose();
  }
}

/** A call on resident copies, whose results are disposed of. @param {{ op: string, inputs: any[], options: any }} made */
function residentCall({ op, inputs, options }) {
  const residents = inputs.map((input) => tensor(input));
  const parameters = Object.fromEntries(
    Object.entries(options).map(([key, value]) => [
      key,
      ArrayBuffer.isView(value) ? tensor(/** @type {any} */ (value)) : value,
    ]),
  );
  return { op, inputs: residents, options: parameters };
}

/** What is called, by name. @type {Record<string, () => unknown>} */
const ENTRIES = {};

for (const name of Object.keys(OPERATIONS)) {
  const made = makeForward(name);
  const { op, inputs, options } = made;
  const out = inputs[0].data.slice();
  ENTRIES[name] = () => ops[op](...inputs, options);
  ENTRIES[`${name}, out`] = () => ops[op](...inputs, { ...options, out });
  ENTRIES[`${name}, auto`] = () => /** @type {any} */ (auto)[op](...inputs, options);
  const resident = residentCall(made);
  ENTRIES[`${name}, resident`] = () => free(ops[op](...resident.inputs, resident.options));
  const step = /** @type {any} */ (plan)(op, ...resident.inputs, resident.options);
  ENTRIES[`${name}, a plan's run`] = () => step.run();
}

for (const name of DIFFERENTIABLE) {
  const made = makeBackward(name);
  const { op, inputs, options } = made;
  ENTRIES[`the gradient of ${name}`] = () => ops[op](...inputs, options);
  const resident = residentCall(made);
  ENTRIES[`the gradient of ${name}, resident`] = () =>
    free(ops[op](...resident.inputs, resident.options));
  const step = /** @type {any} */ (plan)(op, ...resident.inputs, resident.options);
  ENTRIES[`the gradient of ${name}, a plan's run`] = () => step.run();
  ENTRIES[`the gradient of ${name}, an error`] = () =>
    assert.throws(() => ops[op](...inputs, { ...options, eps: -1 }), RangeError);
}

const x = Float32Array.from({ length: 24 }, (_, i) => Math.sin(i));
const images = { data: x, dims: [2, 4, 3], type: "float32" };
const rows = { data: x, dims: [6, 4], type: "float32" };
const condition = { data: x.subarray(0, 12), dims: [6, 2], type: "float32" };
const residentRows = tensor(rows);
/** @type {[any, any[]][]} */
const LAYERS = [
  [new nn.LayerNorm(4), [rows]],
  [new nn.RMSNorm(4), [residentRows]],
  [new nn.LayerNorm(4, { dtype: "bfloat16" }), [rows]],
  [new nn.GroupNorm(2, 4), [images]],
  [new nn.BatchNorm(4), [images]],
  [new nn.InstanceNorm(4, { affine: true, trackRunningStats: true }), [images]],
  [new nn.ConditionalLayerNorm(4, 2), [rows, condition]],
];
for (const [i, [layer, inputs]] of LAYERS.entries()) {
  ENTRIES[`${layer[Symbol.toStringTag]} ${i}, forward and backward`] = () => {
    const y = layer.forward(...inputs);
    free(layer.backward(y));
    free(y);
    layer.zeroGrad();
  };
  ENTRIES[`${layer[Symbol.toStringTag]} ${i}, its state`] = () =>
    layer.loadStateDict(layer.stateDict());
}

ENTRIES["tensor and zeros"] = () => {
  tensor(x, [6, 4], "float16").dispose();
  zeros([6, 4]).dispose();
};
ENTRIES["rows, and their data"] = () => {
  const part = residentRows.rows(1, 3);
  if (part.data.length !== 8) throw new Error("other rows");
  part.dispose();
};
ENTRIES["plan made and disposed of"] = () => {
  const step = plan("layerNormBackward", residentRows, residentRows, { weight: x.subarray(0, 4) });
  step.run();
  step.dispose();
};
ENTRIES.init = () => init();
const header = new TextEncoder().encode('{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}');
const file = Uint8Array.of(header.length, 0, 0, 0, 0, 0, 0, 0, ...header, 0, 0, 0, 0, 0, 0, 0, 0);
ENTRIES.parseSafetensors = () => nn.parseSafetensors(file);

for (const [name, call] of Object.entries(ENTRIES)) {
  test(`${name}: ${CALLS} calls keep nothing`, { timeout: 600_000 }, async () => {
    /** @param {number} calls */
    const turn = async (calls) => {
      for (let i = 0; i < calls; i++) {
        const result = call();
        if (result instanceof Promise) await result;
        if (i % PIECE === PIECE - 1) {
          gc();
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      gc();
    };
    await turn(PIECE);
    const size = memorySize();
    const { heapUsed, external } = process.memoryUsage();
    await turn(CALLS);
    assert.equal(memorySize(), size, "wasm memory");
    const after = process.memoryUsage();
    const kept = after.heapUsed + after.external - heapUsed - external;
    const allowed = ENGINE_BYTES + BYTES_PER_CALL * CALLS;
    assert.ok(kept <= allowed, `JavaScript's memory grew by ${kept} bytes`);
  });
}
