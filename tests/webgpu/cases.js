/** The cases of tests/js on the GPU: the same table, the same exact arithmetic, the bounds of layernorm/webgpu. */
import { boundOf } from "../js/exact_operations.js";
import { isHalf, load } from "../js/half.js";
import { hasAffine } from "../js/operation_cases.js";
import { Random } from "../js/random.js";

/** @typedef {import("../js/operation_cases.js").Case} Case */
/** @typedef {import("../js/exact.js").DType} DType */

/** @type {DType[]} */
export const DTYPES = ["float32", "float16", "bfloat16"];

/** @param {number} n @param {number} seed */
export function normal(n, seed) {
  const random = new Random(seed);
  return Float32Array.from({ length: n }, () => random.normal());
}

/** How many eps are allowed, as a multiple of what judgeOperation allows. @param {Case} made @returns {number} */
export function allowed({ op, setting }) {
  if (isHalf(setting.dtype)) return 1;
  const eps = setting.activation ? 16 : 8;
  return (op === "localResponseNorm" ? 8 : eps) / boundOf(setting);
}

/** Tensors on the GPU as numbers. @param {any} norm @param {any} tensor */
export async function read(norm, tensor) {
  const elements = await norm.read(tensor);
  const { dtype } = tensor;
  if (!isHalf(dtype)) return elements;
  return load(new Uint16Array(elements.buffer, elements.byteOffset, elements.length), dtype);
}

/**
 * Runs a case on the GPU.
 * @param {any} norm a WebGpuNorm
 * @param {Case} made
 * @param {{ inPlace?: boolean, parametersOnGpu?: boolean }} [how]
 */
export async function resultsOnGpu(norm, made, { inPlace = false, parametersOnGpu = false } = {}) {
  const { op, inputs, options } = made;
  const upload = (/** @type {any} */ like) => norm.tensor(like.data, like.dims, like.type);
  const tensors = inputs.map(upload);
  /** @type {Record<string, any>} */
  const given = { ...options };
  const owned = [...tensors];
  if (parametersOnGpu) owned.push(...moveToGpu(norm, given, made.setting));
  if (inPlace) given.out = tensors[0];
  const affine = hasAffine(op);
  if (affine) given.returnStats = true;
  const result = norm[op](...tensors, given);
  const parts = affine ? result : { output: result };
  /** @type {Record<string, any>} */
  const values = {};
  for (const name of ["output", "sum", "mean", "rstd"]) {
    if (parts[name] === undefined) continue;
    values[name] = await read(norm, parts[name]);
    owned.push(parts[name]);
  }
  for (const tensor of new Set(owned)) tensor.dispose();
  return values;
}

/**
 * Puts parameters on the GPU, in place of those in memory.
 * @param {any} norm
 * @param {Record<string, any>} options
 * @param {Case["setting"]} setting
 */
function moveToGpu(norm, options, setting) {
  const made = [];
  for (const [name, value] of Object.entries(options)) {
    if (!ArrayBuffer.isView(value)) continue;
    // Their dimensions are what a flat array is matched by.
    const like = /** @type {Float32Array} */ (value);
    options[name] = norm.tensor(like, shapeOf(setting, like.length));
    made.push(options[name]);
  }
  return made;
}

/** @param {Case["setting"]} setting @param {number} length @returns {number[]} dimensions for a flat parameter of some length */
function shapeOf({ dims, axes, last }, length) {
  const own = axes === undefined ? [dims[last ? dims.length - 1 : 1]] : axes.map((d) => dims[d]);
  const count = own.reduce((a, b) => a * b, 1);
  return length === count ? own : [length / count, ...own];
}

/**
 * The gradients of a case as numbers.
 * @param {any} norm a WebGpuNorm
 * @param {import("../js/backward_cases.js").Case} made
 * @param {{ parametersOnGpu?: boolean }} [how]
 */
export async function gradientsOnGpu(norm, made, { parametersOnGpu = false } = {}) {
  const { op, inputs, options, problem } = made;
  const tensors = inputs.map(({ data, dims, type }) => norm.tensor(data, dims, type));
  const given = { ...options };
  const owned = [...tensors];
  if (parametersOnGpu) owned.push(...moveToGpu(norm, given, problem.setting));
  const result = norm[op](...tensors, given);
  /** @type {Record<string, any>} */
  const values = {};
  for (const [name, tensor] of Object.entries(result)) {
    if (tensor === null) continue;
    values[name] = await read(norm, tensor);
    owned.push(tensor);
  }
  for (const tensor of new Set(owned)) tensor.dispose();
  return values;
}

/** A device with limits that make tests of splitting small. @param {any} norm @param {Record<string, number>} limits */
export function limited(norm, limits) {
  const { device } = norm;
  const fake = new Proxy(device, {
    get(target, name) {
      if (name === "limits")
        return new Proxy(target.limits, {
          get: (all, key) => limits[/** @type {string} */ (key)] ?? all[key],
        });
      if (name === "features")
        return { has: (/** @type {string} */ feature) => feature !== "subgroups" };
      const value = target[name];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return /** @type {any} */ (new norm.constructor(fake));
}
