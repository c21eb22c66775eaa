/** Each task as an ONNX model of the operators that onnxruntime has for it. */

import { geometryOf } from "./geometry.js";
import { MICROSOFT, onnxModel } from "./onnx.js";

/** @typedef {import("./onnx.js").Node} Node */
/** @typedef {Pick<import("./tasks.js").Task, "operation" | "dims" | "dtype" | "options" | "parameters" | "values" | "eps">} NormTask */

/** @param {string} operator @param {string[]} inputs @param {import("./onnx.js").Attributes} [attributes] */
const step = (operator, inputs, attributes) => ({ operator, inputs, attributes });

/** @param {number} rank @returns {{ toLast: number[], toFirst: number[] }} permutations that move the channels */
function permutations(rank) {
  const positions = Array.from({ length: rank - 2 }, (_, i) => i + 2);
  return {
    toLast: [0, ...positions, 1],
    toFirst: [0, rank - 1, ...positions.map((axis) => axis - 1)],
  };
}

/**
 * The norm itself. onnxruntime has its RMS norm under the name SimplifiedLayerNormalization, in every version.
 * @param {NormTask} task
 * @returns {Omit<Node, "outputs">[]} a chain: what has no "x" yet takes the output of the step before
 */
function normSteps({ operation, dims, options, parameters, eps: epsilon }) {
  const { layout, axes, training } = options;
  const { toLast, toFirst } = permutations(dims.length);
  const inputs = ["x", "weight", "bias"];
  switch (operation) {
    case "layerNorm": {
      const norm = step("LayerNormalization", parameters.includes("bias") ? inputs : ["x", "one"], {
        axis: -1,
        epsilon,
      });
      if (axes === undefined) return [norm];
      return [
        step("Transpose", ["x"], { perm: toLast }),
        norm,
        step("Transpose", ["x"], { perm: toFirst }),
      ];
    }
    case "rmsNorm":
      return [step("SimplifiedLayerNormalization", ["x", "weight"], { axis: -1, epsilon })];
    case "addRmsNorm":
      return [
        {
          ...step("SkipSimplifiedLayerNormalization", ["x", "residual", "weight"], { epsilon }),
          domain: MICROSOFT,
        },
      ];
    case "groupNorm": {
      // As PyTorch exports it: onnxruntime takes twice as long for GroupNormalization.
      const norm = [
        step("Reshape", ["x", "split"]),
        step("InstanceNormalization", ["x", "one", "zero"], { epsilon }),
        step("Reshape", ["x", "whole"]),
        step("Mul", ["x", "weight"]),
        step("Add", ["x", "bias"]),
      ];
      if (layout === undefined) return norm;
      return [
        step("Transpose", ["x"], { perm: toFirst }),
        ...norm,
        step("Transpose", ["x"], { perm: toLast }),
      ];
    }
    case "instanceNorm":
      return [step("InstanceNormalization", inputs, { epsilon })];
    case "batchNorm":
      return [
        step("BatchNormalization", [...inputs, "runningMean", "runningVar"], {
          epsilon,
          ...(training && { training_mode: 1 }),
        }),
      ];
  }
}

/** @param {NormTask} task @returns {Node[]} from "x" to "y", and for an operation that adds to "sum" */
function nodesOf(task) {
  const { operation, options, parameters } = task;
  const steps = normSteps(task);
  if (parameters.includes("scale")) steps.push(step("Mul", ["x", "factor"]));
  if (parameters.includes("shift")) steps.push(step("Add", ["x", "shift"]));
  /** @type {Node[]} */
  const nodes = [];
  // What the operators have besides their result.
  const others =
    operation === "addRmsNorm" ? ["", "", "sum"] : options.training ? ["newMean", "newVar"] : [];
  let last = "x";
  for (const { inputs, ...rest } of steps) {
    const output = `step${nodes.length}`;
    const outputs = [output, ...others];
    nodes.push({ ...rest, inputs: inputs.map((name) => (name === "x" ? last : name)), outputs });
    last = output;
  }
  if (options.activation === "silu") {
    nodes.push({ ...step("Sigmoid", [last]), outputs: ["sigmoid"] });
    nodes.push({ ...step("Mul", [last, "sigmoid"]), outputs: ["y"] });
  } else nodes[nodes.length - 1].outputs[0] = "y";
  return nodes;
}

/** @param {NormTask} task @returns {import("./onnx.js").Constant[]} */
function constantsOf({ operation, dims, options, values }) {
  const { scale, shift, ...others } = values;
  const isGroup = operation === "groupNorm";
  const constants = Object.entries(others).map(([name, data]) => ({
    name,
    dims: isGroup ? [data.length, 1, 1] : [data.length],
    values: data,
  }));
  /** @param {string} name @param {number} length @param {number} value */
  const filled = (name, length, value) => ({
    name,
    dims: [length],
    values: new Float32Array(length).fill(value),
  });
  /** @param {string} name @param {number[]} shape */
  const shapeOf = (name, shape) => ({
    name,
    dims: [shape.length],
    values: BigInt64Array.from(shape, BigInt),
  });
  if (scale && shift) {
    const { items } = geometryOf({ operation, dims, options });
    return [
      filled("one", dims[dims.length - 1], 1),
      { name: "factor", dims: items, values: scale.map((value) => 1 + value) },
      { name: "shift", dims: items, values: shift },
    ];
  }
  if (isGroup) {
    const { numGroups = 1, layout } = options;
    const { toFirst } = permutations(dims.length);
    const first = layout === undefined ? dims : toFirst.map((axis) => dims[axis]);
    return [
      ...constants,
      filled("one", numGroups, 1),
      filled("zero", numGroups, 0),
      shapeOf("split", [dims[0], numGroups, -1]),
      shapeOf("whole", first),
    ];
  }
  return constants;
}

/**
 * @param {NormTask} task
 * @returns {Uint8Array} a model from "x" (and "residual") to "y" (and "sum"), with the parameters as constants
 */
export function normModel(task) {
  const { operation, dims, dtype } = task;
  const adds = operation === "addRmsNorm";
  return onnxModel({
    nodes: nodesOf(task),
    constants: constantsOf(task),
    inputs: adds ? ["x", "residual"] : ["x"],
    outputs: adds ? ["y", "sum"] : ["y"],
    dims,
    dtype,
  });
}
