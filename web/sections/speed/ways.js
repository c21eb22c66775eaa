// The ways to run one LayerNorm that share a worker: what each does, and what it must hold to.

import { layerNorm, plan, tensor } from "layernorm";
import { repeat } from "../../timing.js";
import { EPS, plainLayerNorm } from "./problem.js";

/** @typedef {import("./problem.js").Problem} Problem */
/** @typedef {"wayPlain" | "wayTyped" | "wayPlan" | "wayThreads" | "wayGpu" | "wayGpuCopied"} WayName a string's key */

/**
 * @typedef {object} Way
 * @property {WayName} name
 * @property {(calls: number) => void | Promise<unknown>} run that many, until they are done
 * @property {() => Float32Array | Promise<Float32Array>} result
 * @property {number} bound of its difference from the plain loop's result
 */
/** @typedef {{ ways: Way[], dispose(): void }} Ways */

const UNIT = 2 ** -23;
/** The package's bounds, and half a unit for the loop's own rounding. */
const WASM_BOUND = 3.5 * UNIT;
const GPU_BOUND = 8.5 * UNIT;

/** @param {Problem} problem @returns {Ways} on one thread */
export function singleWays(problem) {
  const { rows, features, x, weight, bias } = problem;
  const plainOut = new Float32Array(x.length);
  const typedOut = new Float32Array(x.length);
  const options = { shape: [rows, features], weight, bias, eps: EPS, out: typedOut };
  const resident = planWay("wayPlan", problem);
  return {
    ways: [
      {
        name: "wayPlain",
        run: (calls) => repeat(calls, () => plainLayerNorm(problem, plainOut)),
        result: () => plainOut,
        bound: 0,
      },
      {
        name: "wayTyped",
        run: (calls) => repeat(calls, () => layerNorm(x, options)),
        result: () => typedOut,
        bound: WASM_BOUND,
      },
      resident.way,
    ],
    dispose: resident.dispose,
  };
}

/** @param {Problem} problem @returns {Ways} on as many threads as the package has been given */
export function threadWays(problem) {
  const { way, dispose } = planWay("wayThreads", problem);
  return { ways: [way], dispose };
}

/**
 * @param {WayName} name
 * @param {Problem} problem
 * @returns {{ way: Way, dispose(): void }}
 */
function planWay(name, { rows, features, x, weight, bias }) {
  const input = tensor(x, [rows, features]);
  const step = plan("layerNorm", input, { weight, bias, eps: EPS });
  return {
    way: {
      name,
      run: (calls) => repeat(calls, () => step.run()),
      result: () => step.output.data,
      bound: WASM_BOUND,
    },
    dispose() {
      step.dispose();
      input.dispose();
    },
  };
}

/**
 * @param {import("layernorm/webgpu").WebGpuNorm} gpu
 * @param {Problem} problem
 * @returns {Ways}
 */
export function gpuWays(gpu, { rows, features, x, weight, bias }) {
  const shape = [rows, features];
  const [onGpu, offset] = [gpu.tensor(weight), gpu.tensor(bias)];
  const input = gpu.tensor(x, shape);
  const out = gpu.tensor(new Float32Array(x.length), shape);
  const options = { weight: onGpu, bias: offset, eps: EPS, out };
  /** @type {Float32Array} */
  let copied = new Float32Array();
  return {
    ways: [
      {
        name: "wayGpu",
        async run(calls) {
          repeat(calls, () => gpu.layerNorm(input, options));
          await gpu.done();
        },
        result: async () => /** @type {Float32Array} */ (await gpu.read(out)),
        bound: GPU_BOUND,
      },
      {
        name: "wayGpuCopied",
        async run(calls) {
          for (let i = 0; i < calls; i++) {
            const sent = gpu.tensor(x, shape);
            gpu.layerNorm(sent, options);
            copied = /** @type {Float32Array} */ (await gpu.read(out));
            sent.dispose();
          }
        },
        result: () => copied,
        bound: GPU_BOUND,
      },
    ],
    dispose() {
      for (const held of [onGpu, offset, input, out]) held.dispose();
    },
  };
}

/** What a copy of the same values costs, which no way on this processor can undercut. @param {Problem} problem */
export function copyContender({ x }) {
  const out = new Float32Array(x.length);
  return { run: (/** @type {number} */ calls) => repeat(calls, () => out.set(x)) };
}
