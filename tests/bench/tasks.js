/** What is computed, as data: operations, shapes and options; and the values that are put in. */

import { Random } from "../js/data.js";
import { decoded, encoded } from "./dtypes.js";
import { geometryOf, productOf } from "./geometry.js";

/** @typedef {import("./dtypes.js").DType} DType */
/** @typedef {"layerNorm" | "rmsNorm" | "groupNorm" | "instanceNorm" | "batchNorm" | "addRmsNorm"} Operation */
/** @typedef {"weight" | "bias" | "scale" | "shift" | "runningMean" | "runningVar"} ParameterName */
/**
 * @typedef {object} Options the package's, those that are not tensors
 * @property {number} [eps]
 * @property {number} [numGroups]
 * @property {"channels_last"} [layout]
 * @property {number[]} [axes]
 * @property {"silu"} [activation]
 * @property {boolean} [training]
 */
/**
 * @typedef {object} Spec a row of the table of what is measured
 * @property {string} id
 * @property {Operation} operation
 * @property {number[]} dims of x
 * @property {DType} dtype of x and the parameters
 * @property {Options} options
 * @property {ParameterName[]} parameters
 */
/**
 * @typedef {object} Values float32, rounded to the element type
 * @property {number} eps
 * @property {Float32Array} x
 * @property {Float32Array | null} residual of an operation that adds
 * @property {Partial<Record<ParameterName, Float32Array>>} values of the parameters
 */
/** @typedef {Spec & Values} Task */

/**
 * What has a bias: one for rmsNorm exists in the package only, ONNX, PyTorch and Keras have none.
 * @type {Record<Operation, { title: string, parameters: ParameterName[] }>}
 */
const OPERATIONS = {
  layerNorm: { title: "LayerNorm", parameters: ["weight", "bias"] },
  rmsNorm: { title: "RMSNorm", parameters: ["weight"] },
  groupNorm: { title: "GroupNorm", parameters: ["weight", "bias"] },
  instanceNorm: { title: "InstanceNorm", parameters: ["weight", "bias"] },
  batchNorm: { title: "BatchNorm", parameters: ["weight", "bias", "runningMean", "runningVar"] },
  addRmsNorm: { title: "add and RMSNorm", parameters: ["weight"] },
};

const EPS = 1e-5;

/** @param {Pick<Spec, "operation" | "dims"> & Partial<Spec>} row @returns {Spec} */
export function specOf({
  operation,
  dims,
  id = `${operation} ${dims.join("x")}`,
  dtype = "float32",
  options = {},
  parameters = OPERATIONS[operation].parameters,
}) {
  return { id, operation, dims, dtype, options, parameters };
}

/** The operations of the first tables, each on all of their shapes. */
export const MATRIX_OPERATIONS = /** @type {const} */ (["layerNorm", "rmsNorm"]);
const MATRIX_DIMS = [
  [1, 768],
  [128, 768],
  [512, 768],
  [1024, 4096],
  [4096, 4096],
  [16384, 128],
  [4, 262144],
];
/** @type {readonly Spec[]} */
export const MATRICES = MATRIX_OPERATIONS.flatMap((operation) =>
  MATRIX_DIMS.map((dims) => specOf({ operation, dims })),
);

/** Shapes of models: U-Net of Stable Diffusion, style transfer, ResNet-50, ConvNeXt, Llama, DiT, BERT. @type {readonly Spec[]} */
export const MODELS = /** @type {const} */ ([
  ["group", "groupNorm", [1, 320, 64, 64], { numGroups: 32 }],
  ["group-silu", "groupNorm", [1, 320, 64, 64], { numGroups: 32, activation: "silu" }],
  ["group-last", "groupNorm", [1, 64, 64, 320], { numGroups: 32, layout: "channels_last" }],
  [
    "group-last-silu",
    "groupNorm",
    [1, 64, 64, 320],
    { numGroups: 32, layout: "channels_last", activation: "silu" },
  ],
  ["instance", "instanceNorm", [8, 64, 128, 128]],
  ["batch", "batchNorm", [8, 64, 56, 56]],
  ["batch-training", "batchNorm", [8, 64, 56, 56], { training: true }],
  ["layer-channels", "layerNorm", [1, 96, 56, 56], { axes: [1] }],
  ["add-rms", "addRmsNorm", [512, 4096]],
  ["adaptive", "layerNorm", [2, 1024, 1152], {}, { parameters: ["scale", "shift"] }],
  ["layer-silu", "layerNorm", [512, 768], { activation: "silu" }],
  ["float16", "layerNorm", [512, 768], {}, { dtype: "float16" }],
  ["bfloat16", "layerNorm", [512, 768], {}, { dtype: "bfloat16" }],
]).map(([id, operation, dims, options = {}, others = {}]) =>
  specOf(/** @type {any} */ ({ id, operation, dims, options, ...others })),
);

/** All, in the order in which they are measured. */
export const SPECS = [...MATRICES, ...MODELS];

/** @param {{ id: string }} spec */
export function isMatrix({ id }) {
  return MATRICES.some((matrix) => matrix.id === id);
}

/** @param {Operation} operation @returns {string} such as "LayerNorm" */
export function titleOf(operation) {
  return OPERATIONS[operation].title;
}

/** @param {Spec} spec @returns {string} such as "GroupNorm 1x64x64x320, 32 groups, channels last, silu" */
export function labelOf({ operation, dims, dtype, options, parameters }) {
  const { numGroups, layout, axes, activation, training } = options;
  const notes = [
    numGroups && `${numGroups} groups`,
    layout && "channels last",
    axes && "over channels",
    parameters.includes("scale") && "scale and shift per item",
    operation === "batchNorm" && (training ? "training" : "inference"),
    activation,
    dtype !== "float32" && dtype,
  ];
  return [`${titleOf(operation)} ${dims.join("x")}`, ...notes.filter(Boolean)].join(", ");
}

/** @param {Spec} spec @returns {number} bytes of the inputs read once and of the results written once */
export function bytesOf({ operation, dims, dtype }) {
  const tensors = operation === "addRmsNorm" ? 4 : 2;
  return tensors * productOf(dims) * (dtype === "float32" ? 4 : 2);
}

/** A prime, so that runs of any length differ; drawing every value of a large tensor would take seconds. */
const DRAWN = 65_537;

/** @type {Record<ParameterName, { middle: number, deviation: number }>} */
const PARAMETERS = {
  weight: { middle: 1, deviation: 0.1 },
  bias: { middle: 0, deviation: 0.1 },
  scale: { middle: 0, deviation: 0.1 },
  shift: { middle: 0, deviation: 0.1 },
  runningMean: { middle: 0, deviation: 0.1 },
  runningVar: { middle: 1, deviation: 0.01 },
};

/**
 * @param {Spec} spec
 * @param {number} seed
 * @returns {Task} x and residual normal(0, 1), weight about 1, bias about 0, eps 1e-5
 */
export function makeTask(spec, seed) {
  const random = new Random(seed);
  const { channels, items } = geometryOf(spec);
  /** @param {number} length @param {number} middle @param {number} deviation */
  const drawn = (length, middle, deviation) => {
    const values = Float32Array.from(
      { length: Math.min(length, DRAWN) },
      () => middle + deviation * random.normal(),
    );
    const rounded = decoded(encoded(values, spec.dtype), spec.dtype);
    const all = new Float32Array(length);
    for (let i = 0; i < length; i += DRAWN) all.set(rounded.subarray(0, length - i), i);
    return all;
  };
  const length = productOf(spec.dims);
  const x = drawn(length, 0, 1);
  const values = spec.parameters.map((name) => {
    const { middle, deviation } = PARAMETERS[name];
    const shape = name === "scale" || name === "shift" ? items : channels;
    return [name, drawn(productOf(shape), middle, deviation)];
  });
  return {
    ...spec,
    eps: spec.options.eps ?? EPS,
    x,
    residual: spec.operation === "addRmsNorm" ? drawn(length, 0, 1) : null,
    values: Object.fromEntries(values),
  };
}
