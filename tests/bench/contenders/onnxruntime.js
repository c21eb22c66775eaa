/** onnxruntime on one thread: a model of its operators for the task, its session made once, the input tensor reused. */

import { normModel } from "../onnx_norms.js";
import { inBrowser, inputsOf } from "./contender.js";

/** @typedef {import("./contender.js").Contender} Contender */
/** @typedef {import("./contender.js").Task} Task */

/**
 * @param {any} ort
 * @param {Task} task
 * @param {object} options of the session
 */
async function prepare(ort, task, options) {
  const session = await ort.InferenceSession.create(normModel(task), options);
  const [x, residual] = inputsOf(task).map((data) => new ort.Tensor(task.dtype, data, task.dims));
  const feeds = residual ? { x, residual } : { x };
  return {
    run: () => session.run(feeds),
    read: (/** @type {any} */ { y, sum }) => (sum ? [y.data, sum.data] : [y.data]),
    dispose: () => session.release(),
  };
}

/** @type {Contender} */
export const onnxruntimeWeb = {
  id: "onnxruntime-web",
  name: "onnxruntime-web",
  detail: "wasm, SIMD build, 1 thread: session.run with a reused input tensor",
  kind: "peer",
  packages: ["onnxruntime-web"],
  async: true,
  column: "onnxruntime-web",
  async prepare(task) {
    // The name in a variable: the types of peers need not be installed.
    const name = "onnxruntime-web";
    const ort = await import(name);
    ort.env.wasm.numThreads = 1;
    const prepared = await prepare(ort, task, { executionProviders: ["wasm"] });
    // It leaves Node's Worker behind as a global, which jax-js takes for a browser's; one thread needs none.
    if (!inBrowser) Reflect.deleteProperty(globalThis, "Worker");
    return prepared;
  },
};

/** @type {Contender} */
export const onnxruntimeNode = {
  id: "onnxruntime-node",
  name: "onnxruntime-node",
  detail: "native, 1 thread: session.run with a reused input tensor",
  kind: "peer",
  packages: ["onnxruntime-node"],
  async: true,
  column: "onnxruntime-node",
  nodeOnly: true,
  async prepare(task) {
    const name = "onnxruntime-node";
    const module = await import(name);
    const ort = module.default ?? module;
    return prepare(ort, task, {
      executionProviders: ["cpu"],
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
    });
  },
};
