/** The cases of tests/js on the GPU: the same table, the same exact arithmetic, the bounds of layernorm/webgpu. */
import { boundOf } from "../js/exact_operations.js";
import { isHalf, load } from "../js/half.js";
import { hasAffine } from "../js/operation_cases.js";

/** @typedef {import("../js/operation_cases.js").Case} Case */
/** @typedef {import("../js/exact.js").DType} DType */

/** @type {DType[]} */
export const DTYPES = ["float32", "float16", "bfloat16"];

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
  if (parametersOnGpu) {
    for (const [name, value] of Object.entries(given)) {
      if (!ArrayBuffer.isView(value)) continue;
      // Their dimensions are what a flat array is matched by.
      const like = /** @type {Float32Array} */ (value);
      given[name] = norm.tensor(like, shapeOf(made, like.length));
      owned.push(given[name]);
    }
  }
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

/** @param {Case} made @param {number} length @returns {number[]} dimensions for a flat parameter of some length */
function shapeOf({ setting: { dims, axes, last } }, length) {
  const own = axes === undefined ? [dims[last ? dims.length - 1 : 1]] : axes.map((d) => dims[d]);
  const count = own.reduce((a, b) => a * b, 1);
  return length === count ? own : [length / count, ...own];
}
