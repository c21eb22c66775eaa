/** The plain loops on a task. */

import { geometryOf, productOf } from "../geometry.js";
import { makeTask } from "../tasks.js";
import { inputsOf } from "./contender.js";
import * as loops from "./plain_loops.js";

/** @typedef {import("./contender.js").Contender} Contender */
/** @typedef {import("./contender.js").Spec} Spec */
/** @typedef {import("./contender.js").Task} Task */

/** @param {Spec} spec @returns {loops.Loop} */
function loopOf({ operation, dtype, options, parameters }) {
  const { layout, axes, activation, training } = options;
  switch (operation) {
    case "groupNorm":
      return layout === "channels_last" ? loops.groupNormLast : loops.groupNorm;
    case "instanceNorm":
      return loops.groupNorm;
    case "batchNorm":
      return training ? loops.batchNormTraining : loops.batchNorm;
    case "layerNorm":
      if (axes) return loops.layerNormChannels;
      if (dtype !== "float32") return loops.layerNorm16;
      if (parameters.includes("scale")) return loops.adaptiveLayerNorm;
      return activation ? loops.layerNormSilu : loops.layerNorm;
    case "rmsNorm":
      return loops.rmsNorm;
    case "addRmsNorm":
      return loops.addRmsNorm;
  }
}

/** @param {Task} task @returns {loops.Arguments} */
function argumentsOf(task) {
  const { operation, dims, dtype, options, eps, values } = task;
  const channels = productOf(geometryOf(task).channels) || 1;
  const features = dims[dims.length - 1];
  const { runningMean, runningVar } = values;
  return {
    items: dims[0],
    channels,
    positions: productOf(dims) / dims[0] / channels,
    groups: operation === "instanceNorm" ? channels : (options.numGroups ?? 1),
    rows: productOf(dims) / features,
    features,
    eps,
    dtype,
    activation: options.activation,
    ...values,
    // Updated in place.
    runningMean: runningMean?.slice(),
    runningVar: runningVar?.slice(),
  };
}

/** @param {Task} task @returns {() => (Float32Array | Uint16Array)[]} */
function runnerOf(task) {
  const loop = loopOf(task);
  const inputs = inputsOf(task);
  const outputs = inputs.map((input) => input.slice());
  const all = argumentsOf(task);
  return () => {
    loop(inputs, outputs, all);
    return outputs;
  };
}

/**
 * While there is one closure of a runner, V8 builds its shape into the code, which makes one row half again as fast; a
 * program's calls do not have that. Closures for two other shapes end it.
 * @param {Spec} spec
 */
function exercise(spec) {
  for (const items of [2, 3]) {
    const dims = spec.dims.map((length, axis) =>
      axis === 0 ? items : Math.min(length, axis === spec.dims.length - 1 ? 64 : 16),
    );
    const options = { ...spec.options, ...(spec.options.numGroups && { numGroups: 4 }) };
    const run = runnerOf(makeTask({ ...spec, dims, options }, 1));
    for (let i = 0; i < 100; i++) run();
  }
}

/** @type {Contender} */
export const plainJs = {
  id: "plain-js",
  name: "plain JavaScript loop",
  detail: "two passes in float64, a reused Float32Array out",
  kind: "baseline",
  column: "plain JavaScript loop",
  async prepare(task) {
    exercise(task);
    return { run: runnerOf(task), read: (outputs) => outputs };
  },
};
