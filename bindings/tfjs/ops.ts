// The operations on tensors of TensorFlow.js.
import { type Tensor, tidy } from "@tensorflow/tfjs-core";
import { sameDims, show } from "../dims.js";
import { describe, wrongType, wrongValue } from "../errors.js";
import { OPS } from "../ops.js";
import { readEps, readFinite } from "../option_readers.js";
import { Options } from "../options.js";
import { composed, type Parameter, parameterShape, type Recipe } from "./composed.js";
import { computed } from "./computed.js";
import { runsOnWasm, throughWasm } from "./through_wasm.js";
import { runsOnWebGpu, throughWebGpu } from "./through_webgpu.js";

export type TfOp = "layerNorm" | "rmsNorm" | "groupNorm" | "instanceNorm";

/** What follows normalization. */
interface Affine {
  /** Of the normalized dimensions, of groupNorm and instanceNorm [C]; or a number. Default: none. */
  weight?: Tensor | number | null | undefined;
  /** As `weight`. Default: none. */
  bias?: Tensor | number | null | undefined;
  /** Added to weight; ignored without weight. Default: 0. */
  weightOffset?: number | undefined;
  /** Added to the variance or mean of squares inside the root: finite, >= 0. Default: 1e-5. */
  eps?: number | undefined;
}

/** Options of `layerNorm` and `rmsNorm`: at most one of normalizedShape, axis and axes. */
export interface LayerNormOptions extends Affine {
  /** The trailing dimensions, as PyTorch has it. Default: the last dimension. */
  normalizedShape?: number | readonly number[] | undefined;
  /** All dimensions from this one on, as ONNX has it; negative from the end. */
  axis?: number | undefined;
  /** The dimensions by number, in any order, negative from the end. */
  axes?: readonly number[] | undefined;
}

export type RmsNormOptions = LayerNormOptions;

/** Options of `instanceNorm`. */
export interface InstanceNormOptions extends Affine {
  /** `channels_first`: (N, C, ...), `channels_last`: (N, ..., C), TensorFlow.js's own. Default: `channels_first`. */
  layout?: "channels_first" | "channels_last" | undefined;
}

/** Options of `groupNorm`. */
export interface GroupNormOptions extends InstanceNormOptions {
  /** The number of groups; it divides the number of channels. */
  numGroups: number;
}

/** Those that say which dimensions are normalized; the readers of the operation's table take them. */
const PLACES = ["normalizedShape", "axis", "axes", "layout", "numGroups"];
const AFFINE = ["weight", "bias", "weightOffset", "eps"];

/**
 * Layer normalization of a float32 tensor: `y = (x - mean) * rstd * (weightOffset + weight) + bias` with
 * `rstd = 1 / sqrt(var + eps)`, as `layerNorm` of the package has it.
 *
 * On TensorFlow.js's wasm and cpu backends this package's wasm computes it and its gradient, on its webgpu backend this package's
 * kernels, in the backend's buffers; on any other it is made of TensorFlow.js's own operations. x, weight and bias are differentiable, any number of times; derivatives beyond the first
 * are TensorFlow.js's of the formula.
 *
 * Ba, Kiros, Hinton 2016, https://arxiv.org/abs/1607.06450
 *
 * @throws {TypeError} for a wrong kind or dtype, unknown or clashing options
 * @throws {RangeError} for a wrong value or shape
 */
export function layerNorm(x: Tensor, options?: LayerNormOptions): Tensor {
  return apply("layerNorm", x, options);
}

/**
 * Root mean square normalization of a float32 tensor: `y = x * rstd * (weightOffset + weight) + bias` with
 * `rstd = 1 / sqrt(mean(x^2) + eps)`. Backends and gradients are as of `layerNorm`.
 *
 * Zhang, Sennrich 2019, https://arxiv.org/abs/1910.07467
 *
 * @throws {TypeError} for a wrong kind or dtype, unknown or clashing options
 * @throws {RangeError} for a wrong value or shape
 */
export function rmsNorm(x: Tensor, options?: RmsNormOptions): Tensor {
  return apply("rmsNorm", x, options);
}

/**
 * Group normalization of a float32 tensor: `layerNorm`'s formula over each group of channels of each item. weight and bias
 * are [C]. Backends and gradients are as of `layerNorm`. TensorFlow.js's images are `layout: "channels_last"`.
 *
 * Wu, He 2018, https://arxiv.org/abs/1803.08494
 *
 * @throws {TypeError} for a wrong kind or dtype, unknown or missing options
 * @throws {RangeError} for a wrong value or shape
 */
export function groupNorm(x: Tensor, options: GroupNormOptions): Tensor {
  return apply("groupNorm", x, options);
}

/**
 * Instance normalization of a float32 tensor: `layerNorm`'s formula over each channel of each item. weight and bias are [C].
 * Backends and gradients are as of `layerNorm`. TensorFlow.js's images are `layout: "channels_last"`.
 *
 * Ulyanov, Vedaldi, Lempitsky 2016, https://arxiv.org/abs/1607.08022
 *
 * @throws {TypeError} for a wrong kind or dtype, unknown options
 * @throws {RangeError} for a wrong value or shape
 */
export function instanceNorm(x: Tensor, options?: InstanceNormOptions): Tensor {
  return apply("instanceNorm", x, options);
}

function apply(name: TfOp, x: Tensor, given: object = {}): Tensor {
  const op = OPS[name];
  checkTensor(name, "x", x);
  const known = [...PLACES.filter((place) => op.options.has(place)), ...AFFINE];
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw wrongType(name, "options", "an object", describe(given));
  }
  const places: Record<string, unknown> = {};
  const affine: Record<string, unknown> = {};
  for (const [option, value] of Object.entries(given)) {
    if (!known.includes(option)) {
      throw wrongType(name, "options", `only ${known.join(", ")}`, describe(option));
    }
    if (value === undefined) continue;
    if (AFFINE.includes(option)) affine[option] = value;
    else places[option] = op.options.get(option)!(name, option, value);
  }
  const { weight = null, bias = null, weightOffset = 0, eps = op.eps } = affine;
  const geometry = op.geometry(name, x.shape, x.size, Object.assign(new Options(), places));
  const recipe: Recipe = {
    geometry,
    centered: name !== "rmsNorm",
    eps: readEps(name, "eps", eps),
    weightOffset: readFinite(name, "weightOffset", weightOffset),
  };
  const shape = parameterShape(geometry);
  const w = readParameter(name, "weight", weight, shape);
  const b = readParameter(name, "bias", bias, shape);
  const made = { name, places, recipe, x, weight: w, bias: b };
  if (runsOnWasm()) return computed(throughWasm, made);
  // TensorFlow.js has no buffers for what is empty.
  if (runsOnWebGpu() && x.size !== 0) return computed(throughWebGpu, made);
  return tidy(() => composed(recipe, x, w, b));
}

function isTensor(value: unknown): value is Tensor {
  return typeof value === "object" && value !== null && "dataId" in value && "dtype" in value;
}

function checkTensor(where: string, name: string, value: unknown): void {
  const expected = "a float32 tensor of TensorFlow.js";
  if (!isTensor(value)) throw wrongType(where, name, expected, describe(value));
  if (value.dtype !== "float32") throw wrongType(where, name, expected, `one of ${value.dtype}`);
  if (value.isDisposed) throw wrongType(where, name, "a live tensor", "a disposed tensor");
}

function readParameter(where: string, name: string, value: unknown, shape: number[]): Parameter {
  if (value === null || typeof value === "number") return value;
  checkTensor(where, name, value);
  const { shape: got } = value as Tensor;
  if (!sameDims(got, shape)) throw wrongValue(where, name, `shape ${show(shape)}`, show(got));
  return value as Tensor;
}
