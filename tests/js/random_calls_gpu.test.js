// Random calls of layernorm/webgpu, by fast-check, on a device that does nothing: what is right is submitted and has its shape
// and element type; what is wrong is refused in the package's grammar, with nothing submitted and no buffer left. What a GPU
// computes is tested in tests/webgpu. Budget: 20 s.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { WebGpuNorm } from "../../dist/webgpu.js";
import { OPERATIONS } from "./operation_cases.js";
import { assertDocumented, chance, free, makeRight, pick, SPOILERS } from "./random_calls.js";

const RUNS = 150;
const SEED = 9;

/** What was submitted, and how many buffers there are. */
const seen = { submitted: 0, buffers: 0 };

/** @param {{ size: number, usage: number }} descriptor */
function makeBuffer({ size, usage }) {
  seen.buffers++;
  const memory = new ArrayBuffer(size);
  let destroyed = false;
  return {
    size,
    usage,
    mapAsync: async () => undefined,
    getMappedRange: () => memory,
    unmap() {},
    destroy() {
      if (!destroyed) seen.buffers--;
      destroyed = true;
    },
  };
}

const pass = { setPipeline() {}, setBindGroup() {}, dispatchWorkgroups() {}, end() {} };
const encoder = { beginComputePass: () => pass, copyBufferToBuffer() {}, finish: () => ({}) };

/** A GPUDevice without a GPU, with the limits that every one has. @type {any} */
const device = {
  features: new Set(),
  limits: {
    maxStorageBufferBindingSize: 2 ** 27,
    maxBufferSize: 2 ** 28,
    maxStorageBuffersPerShaderStage: 8,
    maxComputeWorkgroupsPerDimension: 65535,
    minStorageBufferOffsetAlignment: 256,
  },
  lost: new Promise(() => {}),
  queue: {
    submit: () => seen.submitted++,
    onSubmittedWorkDone: async () => undefined,
    writeBuffer() {},
  },
  createBuffer: makeBuffer,
  createShaderModule: () => ({ getCompilationInfo: async () => ({ messages: [] }) }),
  createComputePipeline: () => ({ getBindGroupLayout: () => ({}) }),
  createBindGroup: () => ({}),
  createCommandEncoder: () => encoder,
  pushErrorScope() {},
  popErrorScope: async () => null,
  destroy() {},
};

const gpu = /** @type {any} */ (new WebGpuNorm(device));

/** @typedef {import("./random_calls.js").Made} Made */

/** A tensor-like object in memory, or a caller's own of the same dimensions in a buffer. @param {any} value */
function onGpu(value) {
  if (typeof value !== "object" || value?.data === undefined || value.dims === undefined)
    return value;
  const { data, dims, type } = value;
  const bytes = Math.ceil((data.byteLength ?? 0) / 4) * 4;
  return { buffer: makeBuffer({ size: bytes, usage: 0 }), offset: 0, shape: dims, dtype: type };
}

/** @param {fc.GeneratorValue} g @param {string} name @returns {Made} what is right but for where x stands */
function make(g, name) {
  const made = makeRight(g, name);
  fc.pre(made.dtype !== "float64");
  const { dims, dtype: type, inputs, values, options } = made;
  free(...inputs);
  const bytes = type === "float32" ? Float32Array : Uint16Array;
  inputs[0] = { data: new bytes(values.length), dims, type };
  delete options.shape;
  if (options.training) {
    for (const running of ["runningMean", "runningVar"]) {
      if (options[running]) options[running] = gpu.tensor(options[running]);
    }
  }
  return made;
}

/** @param {Made} made @returns {any} */
const call = ({ op, inputs, options }) => gpu[op](...inputs, options);

/** A buffer may be larger than its tensor. */
const { "too few dimensions": _, ...SHARED_SPOILERS } = SPOILERS;

/** @type {typeof SPOILERS} */
const OWN_SPOILERS = {
  "an encoder that is none": (g, { options }) => {
    options.encoder = pick(g, [{}, null, 1, "pass"]);
  },
  "an offset that is none": (g, { inputs }) => {
    inputs[0] = { ...onGpu(inputs[0]), offset: pick(g, [2, -4, NaN, "0"]) };
  },
  "a buffer that is too small": (_, { inputs }) => {
    inputs[0] = { ...onGpu(inputs[0]), offset: 2 ** 20 };
  },
  "an element type that it has not": (g, { inputs }) => {
    inputs[0] = { ...onGpu(inputs[0]), dtype: pick(g, ["float64", "int32", 1]) };
  },
  "x in memory": (g, { inputs, values }) => {
    inputs[0] = pick(g, [new Float32Array(values.length), values, null]);
  },
};

/** The call of the gradient, with a gradient of the output as x is. @param {Made} made @returns {Made} */
function gradientOf(made) {
  const { dims, dtype: type, values, op, inputs } = made;
  const bytes = type === "float32" ? Float32Array : Uint16Array;
  const gradient = { data: new bytes(values.length), dims, type };
  return { ...made, op: `${op}Backward`, inputs: [gradient, ...inputs] };
}

const asItIs = (/** @type {Made} */ made) => made;
const GRADIENTS = Object.keys(OPERATIONS).filter((name) => `${name}Backward` in gpu);

for (const [name, form] of [
  ...Object.keys(OPERATIONS).map((name) => /** @type {const} */ ([name, asItIs])),
  ...GRADIENTS.map((name) => /** @type {const} */ ([name, gradientOf])),
]) {
  const isGradient = form === gradientOf;
  const op = `${OPERATIONS[name].op}${isGradient ? "Backward" : ""}`;
  describe(`webgpu ${isGradient ? "gradient of " : ""}${name}`, () => {
    test(`takes any options that are right (seed ${SEED})`, () => {
      const property = fc.property(fc.gen(), (g) => {
        const made = form(make(g, name));
        made.inputs = made.inputs.map(onGpu);
        const before = seen.submitted;
        /** @type {any} */
        let result;
        try {
          result = call(made);
        } catch (error) {
          assertDocumented(op, error);
          const isFew = made.options.training && made.values.length === made.ownCount;
          assert.ok(made.values.length === 0 || isFew, `${error}`);
          return;
        }
        const output = result.output ?? result.gradInput ?? result;
        assert.deepEqual(output.shape, made.dims);
        assert.equal(output.dtype, made.dtype);
        assert.equal(seen.submitted - before, made.values.length === 0 ? 0 : 1);
      });
      fc.assert(property, { numRuns: RUNS, seed: SEED });
    });

    test(`refuses anything wrong, submits nothing and keeps nothing (seed ${SEED})`, () => {
      const property = fc.property(fc.gen(), (g) => {
        const spoilt = make(g, name);
        const spoilers = chance(g, 5) ? OWN_SPOILERS : SHARED_SPOILERS;
        spoilers[pick(g, Object.keys(spoilers))](g, spoilt);
        const made = form(spoilt);
        // A weight or running statistics of other kinds may stand in memory; what is normalized may not.
        made.inputs = made.inputs.map(onGpu);
        const { submitted, buffers } = seen;
        try {
          call(made);
        } catch (error) {
          assertDocumented(op, error);
          assert.deepEqual(seen, { submitted, buffers });
          return;
        }
        assert.fail("it was taken");
      });
      fc.assert(property, { numRuns: RUNS, seed: SEED });
    });
  });
}
