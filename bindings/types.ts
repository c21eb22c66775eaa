// The public types. They name nothing that a TypeScript project with a plain ES2020 library lacks.
import type { Tensor } from "./tensor.js";

/** Element types. */
export type DType = "float32" | "float64" | "float16" | "bfloat16";

/** A Float16Array, which TypeScript's older libraries do not know. */
export interface Float16ArrayLike {
  readonly [Symbol.toStringTag]: "Float16Array";
  readonly BYTES_PER_ELEMENT: number;
  readonly buffer: ArrayBufferLike;
  readonly byteLength: number;
  readonly byteOffset: number;
  readonly length: number;
  [index: number]: number;
  fill(value: number, start?: number, end?: number): this;
  set(array: ArrayLike<number>, offset?: number): void;
  slice(start?: number, end?: number): Float16ArrayLike;
  [Symbol.iterator](): Iterator<number>;
}

/** The typed arrays that hold elements by themselves. */
export type FloatArray = Float32Array | Float64Array | Float16ArrayLike;

// New arrays stand on a buffer that is not shared, which TypeScript 5.7 and later says with a type argument that older
// versions refuse: `of` has the right type in both.
type NewFloat32Array = ReturnType<Float32ArrayConstructor["of"]>;
type NewFloat64Array = ReturnType<Float64ArrayConstructor["of"]>;
type NewUint16Array = ReturnType<Uint16ArrayConstructor["of"]>;
type NewFloat16Array = typeof globalThis extends {
  Float16Array: { of(...items: number[]): infer A extends Float16ArrayLike };
}
  ? A
  : Float16ArrayLike;

/** The typed array of an element type: for float16 a Float16Array where the engine has it, else its bits. */
export type DataOf<D extends DType> = D extends "float32"
  ? NewFloat32Array
  : D extends "float64"
    ? NewFloat64Array
    : D extends "float16"
      ? NewFloat16Array | NewUint16Array
      : D extends "bfloat16"
        ? NewUint16Array
        : never;

/**
 * Data with dimensions, as onnxruntime, transformers.js and others have it. `dims` wins over `shape`, `type` over `dtype`;
 * without either the element type is that of `data`. A Uint16Array holds the bits of what is then named: float16, bfloat16.
 */
export type TensorLike =
  | { readonly data: ArrayLike<unknown>; readonly dims: readonly number[]; readonly type?: string }
  | {
      readonly data: ArrayLike<unknown>;
      readonly shape: readonly number[];
      readonly dtype?: string;
    };

/** Nested arrays of numbers, all rows of one length; computed in float64. */
export type NestedArray = readonly number[] | readonly NestedArray[];

/** What can be normalized. */
export type Input = FloatArray | TensorLike | NestedArray | Tensor;

/** A parameter: a number for all elements, or a tensor of any kind and element type. */
export type Parameter = number | Input;

type NestedLike<X> = X extends readonly (infer E)[]
  ? E extends number
    ? number[]
    : NestedLike<E>[]
  : never;

type TensorLikeOf<X, Data, Type> = { data: Data } & ("dims" extends keyof X
  ? { dims: number[] }
  : { shape: number[] }) &
  ("type" extends keyof X ? { type: Type } : "dtype" extends keyof X ? { dtype: Type } : unknown);

type DataLike<Data> = Data extends Float32Array
  ? NewFloat32Array
  : Data extends Float64Array
    ? NewFloat64Array
    : Data extends Float16ArrayLike
      ? NewFloat16Array
      : Data extends Uint16Array
        ? NewUint16Array
        : Data extends { readonly BYTES_PER_ELEMENT: number } | readonly unknown[]
          ? never
          : NewFloat32Array | NewFloat64Array | NewFloat16Array | NewUint16Array;

type TypeOf<X> = X extends { readonly type: infer T }
  ? T
  : X extends { readonly dtype: infer T }
    ? T
    : string;

/** What a call returns for x: the same kind with the same element type. */
export type Like<X> = X extends Float32Array
  ? NewFloat32Array
  : X extends Float64Array
    ? NewFloat64Array
    : X extends Float16ArrayLike
      ? NewFloat16Array
      : X extends Tensor<infer D>
        ? Tensor<D>
        : X extends TensorLike
          ? TensorLikeOf<X, DataLike<X["data"]>, TypeOf<X>>
          : NestedLike<X>;

/** Statistics of x: float64 in x's kind. */
export type StatisticsLike<X> = X extends FloatArray
  ? NewFloat64Array
  : X extends Tensor
    ? Tensor<"float64">
    : X extends TensorLike
      ? TensorLikeOf<X, NewFloat64Array, "float64">
      : NestedLike<X>;

/** What `out` can be for x. */
export type OutFor<X> = X extends Float32Array
  ? Float32Array
  : X extends Float64Array
    ? Float64Array
    : X extends Float16ArrayLike
      ? Float16ArrayLike | Uint16Array
      : X extends Tensor
        ? Tensor
        : X extends TensorLike
          ? FloatArray | Uint16Array
          : never;

/** A result with its statistics. */
export type WithStatistics<Output, Statistics, Names extends string> = { output: Output } & {
  [N in Names]: Statistics;
};

/** The dimensions of x. */
export interface ShapeOptions {
  /** The dimensions of a flat x. Of any other x it may only repeat the dimensions that x has. */
  shape?: readonly number[] | undefined;
}

/** Which dimensions are normalized together. */
export interface AxesOptions extends ShapeOptions {
  /** The dimensions by number, in any order, negative from the end. Default: the last. */
  axes?: readonly number[] | undefined;
}

/** Which dimensions x has, and which of them are normalized together. At most one of normalizedShape, axis and axes. */
export interface DimensionOptions extends AxesOptions {
  /** The trailing dimensions, as PyTorch has it. Default: the last dimension. */
  normalizedShape?: number | readonly number[] | undefined;
  /** All dimensions from this one on, as ONNX has it; negative from the end. */
  axis?: number | undefined;
}

/** Where the channels stand. A flat x needs `shape`, since there are at least two dimensions, N first. */
export interface ChannelOptions extends ShapeOptions {
  /** `channels_first`: (N, C, ...), `channels_last`: (N, ..., C). Default: `channels_first`. */
  layout?: "channels_first" | "channels_last" | undefined;
}

/** How the channels are grouped. */
export interface GroupOptions extends ChannelOptions {
  /** The number of groups; it divides the number of channels. */
  numGroups: number;
}

/** An activation function; `gelu` is the exact one with erf, `gelu_tanh` its approximation with tanh, `silu` x * sigmoid(x). */
export type ActivationName = "relu" | "silu" | "gelu" | "gelu_tanh" | "sigmoid" | "tanh";

/**
 * What follows normalization: `normalized * (weightOffset + weight) + bias`, then `y * (1 + scale) + shift`, then the
 * activation.
 *
 * Parameters are numbers or tensors of any kind and element type. A tensor has the normalized dimensions (in the order of
 * `axes`), of group, instance and batch norms [C]; or it is a flat array of that length; or it broadcasts against x as in
 * numpy.
 */
export interface AffineOptions {
  /** Default: none. */
  weight?: Parameter | null | undefined;
  /** Default: none. */
  bias?: Parameter | null | undefined;
  /** Added to weight, finite; ignored without weight. Default: 0. */
  weightOffset?: number | undefined;
  /**
   * Conditional (adaptive) scale: dimensions as `weight` for all, behind N for each item, behind the leading dimensions of x
   * for each row, or broadcast; a flat array by its length, also that of an item for each position. Default: none.
   */
  scale?: Parameter | null | undefined;
  /** Conditional shift, shaped as `scale`. Default: none. */
  shift?: Parameter | null | undefined;
  /** Comes last. Default: none. */
  activation?: ActivationName | null | undefined;
}

/** The options of `sum = (residual + gate * x) + sumBias`. */
export interface SumOptions<Out> {
  /** A number, or a tensor shaped as `scale`. Default: 1. */
  gate?: Parameter | null | undefined;
  /** A number, or a tensor shaped as `weight`. Default: 0. */
  sumBias?: Parameter | null | undefined;
  /** As `out`, for the sum; apart from `out`, but it may be x or the residual itself. */
  sumOut?: Out | undefined;
}

/** Where the result goes. */
export interface OutOptions<Out> {
  /**
   * Written and returned in place of a new result: of x's kind (a typed array for a tensor-like x), element type and
   * count. It may be x (or the residual) itself, else it must not overlap what is read.
   */
  out?: Out | undefined;
}

/** Where results go, and which. */
export interface OutputOptions<Out> extends OutOptions<Out> {
  /**
   * Return the statistics too, as float64: with the normalized dimensions kept as 1, of group norms [N, numGroups], of
   * instanceNorm [N, C], of batchNorm [C]. Default: false.
   */
  returnStats?: boolean | undefined;
}

/** A framework with conventions of its own. */
export type Framework = "pytorch" | "keras" | "tensorflow" | "flax" | "onnx";

/** Options of all with mean and variance. */
export interface LayerConstants {
  /** Added to the variance inside the root: finite, >= 0. Default: 1e-5. */
  eps?: number | undefined;
  /** A framework's or model's eps: options given explicitly win. */
  preset?: Framework | "bert" | null | undefined;
}

/** Options of all with the root mean square. */
export interface RmsConstants {
  /** Added to the mean of squares inside the root: finite, >= 0. Default: 1e-5. */
  eps?: number | undefined;
  /**
   * A framework's or model's conventions; options given explicitly win. `llama` and `t5` round the normalized value to x's
   * element type before the weight; `gemma` has weightOffset 1.
   */
  preset?: Framework | "llama" | "t5" | "gemma" | null | undefined;
}

/** Options of all that divide by a norm. */
export interface NormConstants {
  /** The norm is taken to be at least this: finite, >= 0. Default: 1e-12. */
  eps?: number | undefined;
  /** A framework's conventions; only `onnx` differs: eps 0. */
  preset?: Framework | "bert" | "llama" | "t5" | "gemma" | null | undefined;
}

// biome-ignore-start lint/suspicious/noExplicitAny: options that are declared by themselves fit every x

/** Options of `layerNorm`; the argument is the type of `out`. */
export interface LayerNormOptions<Out = any>
  extends DimensionOptions,
    AffineOptions,
    LayerConstants,
    OutputOptions<Out> {}

/** Options of `rmsNorm`; the argument is the type of `out`. */
export interface RmsNormOptions<Out = any>
  extends DimensionOptions,
    AffineOptions,
    RmsConstants,
    OutputOptions<Out> {}

/** Options of `groupNorm`; the argument is the type of `out`. */
export interface GroupNormOptions<Out = any>
  extends GroupOptions,
    AffineOptions,
    LayerConstants,
    OutputOptions<Out> {}

/** Options of `instanceNorm`; the argument is the type of `out`. */
export interface InstanceNormOptions<Out = any>
  extends ChannelOptions,
    AffineOptions,
    LayerConstants,
    OutputOptions<Out> {}

/** Options of `batchNorm`; the argument is the type of `out`. */
export interface BatchNormOptions<Out = any>
  extends ChannelOptions,
    AffineOptions,
    OutputOptions<Out> {
  /** The running mean, [C]: what normalizes, or in training what is updated in place (null: nothing is). */
  runningMean?: Input | null | undefined;
  /** The running variance, [C], >= 0: what normalizes, or in training what is updated in place (null: nothing is). */
  runningVar?: Input | null | undefined;
  /** Normalize with the statistics of the batch, and update the running ones. Default: false. */
  training?: boolean | undefined;
  /**
   * From 0 to 1. Without a preset and for `pytorch` the weight of the new value,
   * `running = (1 - momentum) * running + momentum * batch`, default 0.1; for `keras`, `tensorflow`, `flax` and `onnx` that
   * of the old, `running = momentum * running + (1 - momentum) * batch`, default 0.99 (`onnx`: 0.9).
   */
  momentum?: number | undefined;
  /** Added to the variance inside the root: finite, >= 0. Default: 1e-5. */
  eps?: number | undefined;
  /**
   * A framework's conventions for eps, momentum and the running variance; options given explicitly win. The running
   * variance is updated with the unbiased one without a preset and for `pytorch` and `tensorflow` (as its fused kernel
   * does), with the biased one for `keras`, `flax` and `onnx`.
   */
  preset?: Framework | null | undefined;
}

/** Options of `l2Normalize`; the argument is the type of `out`. */
export interface L2NormalizeOptions<Out = any>
  extends AxesOptions,
    NormConstants,
    OutOptions<Out> {}

/** Options of `lpNormalize`; the argument is the type of `out`. */
export interface LpNormalizeOptions<Out = any> extends AxesOptions, NormConstants, OutOptions<Out> {
  /** The norm: 1 the sum of magnitudes, 2 the Euclidean one, Infinity the largest magnitude. Default: 2. */
  p?: 1 | 2 | typeof Infinity | undefined;
}

/** Options of `meanVarianceNormalize`; the argument is the type of `out`. */
export interface MeanVarianceNormalizeOptions<Out = any> extends ShapeOptions, OutOptions<Out> {
  /** The dimensions by number, in any order, negative from the end. Default: [0, 2, 3] of four dimensions, else the last. */
  axes?: readonly number[] | undefined;
  /** Added to the standard deviation: finite, >= 0. Default: 1e-9. */
  eps?: number | undefined;
  /** A framework's conventions, none of which differ here. */
  preset?: NormConstants["preset"];
}

/** Options of `localResponseNorm`; the argument is the type of `out`. */
export interface LocalResponseNormOptions<Out = any> extends ChannelOptions, OutOptions<Out> {
  /** The number of channels in the window. */
  size: number;
  /** Multiplies the mean of squares over the window, finite. Default: 1e-4. */
  alpha?: number | undefined;
  /** The exponent, finite. Default: 0.75. */
  beta?: number | undefined;
  /** Added to it, finite. Default: 1. */
  k?: number | undefined;
}

/** Options of `addLayerNorm`; the argument is the type of `out` and `sumOut`. */
export interface AddLayerNormOptions<Out = any> extends LayerNormOptions<Out>, SumOptions<Out> {}

/** Options of `addRmsNorm`; the argument is the type of `out` and `sumOut`. */
export interface AddRmsNormOptions<Out = any> extends RmsNormOptions<Out>, SumOptions<Out> {}

/** Options of `addGroupNorm`; the argument is the type of `out` and `sumOut`. */
export interface AddGroupNormOptions<Out = any> extends GroupNormOptions<Out>, SumOptions<Out> {}

// biome-ignore-end lint/suspicious/noExplicitAny: options that are declared by themselves fit every x

/** The statistics that the forward call returned, which count as exact; without them they are taken from x again. */
export interface GivenStatistics {
  /** With the dimensions that `returnStats` gives it, or flat; only beside `rstd`. */
  mean?: Input | null | undefined;
  /** With the dimensions that `returnStats` gives it, or flat; only beside `mean`. */
  rstd?: Input | null | undefined;
}

/** The same of operations that have no mean. */
export type GivenRstd = Pick<GivenStatistics, "rstd">;

/** The gradient of the sum, from whatever else it went to. */
export interface GivenSumGradient {
  /** Shaped as x. Default: none. */
  gradSum?: Input | null | undefined;
}

type Backward<Options> = Omit<Options, "out" | "sumOut" | "returnStats">;

/** Options of `layerNormBackward`. */
export interface LayerNormBackwardOptions extends Backward<LayerNormOptions>, GivenStatistics {}

/** Options of `rmsNormBackward`. */
export interface RmsNormBackwardOptions extends Backward<RmsNormOptions>, GivenRstd {}

/** Options of `groupNormBackward`. */
export interface GroupNormBackwardOptions extends Backward<GroupNormOptions>, GivenStatistics {}

/** Options of `instanceNormBackward`. */
export interface InstanceNormBackwardOptions
  extends Backward<InstanceNormOptions>,
    GivenStatistics {}

/** Options of `batchNormBackward`. Running statistics are read without `training`, and left alone with it. */
export interface BatchNormBackwardOptions extends Backward<BatchNormOptions>, GivenStatistics {}

/** Options of `l2NormalizeBackward`. */
export interface L2NormalizeBackwardOptions extends Backward<L2NormalizeOptions> {}

/** Options of `addLayerNormBackward`. */
export interface AddLayerNormBackwardOptions
  extends Backward<AddLayerNormOptions>,
    GivenStatistics,
    GivenSumGradient {}

/** Options of `addRmsNormBackward`. */
export interface AddRmsNormBackwardOptions
  extends Backward<AddRmsNormOptions>,
    GivenRstd,
    GivenSumGradient {}

/** Options of `addGroupNormBackward`. */
export interface AddGroupNormBackwardOptions
  extends Backward<AddGroupNormOptions>,
    GivenStatistics,
    GivenSumGradient {}

/** The gradient of a parameter: null where there is none, a number for a number, else as the parameter. */
export type GradientLike<P> = P extends number
  ? number
  : P extends null | undefined
    ? null
    : Like<P>;

/** Options of `init`. */
export interface InitOptions {
  /**
   * How many threads to use at most, the one that calls among them. More than one have a build of their own, over shared
   * memory: in Node, Deno, Bun and pages that are cross-origin isolated; elsewhere there is one, and a reason.
   */
  threads?: number | undefined;
  /** Whether to use relaxed SIMD, whose last bits may differ between CPUs. */
  relaxedSimd?: boolean | undefined;
  /** The compiled `layernorm/layernorm.wasm`, a WebAssembly.Module. */
  module?: object | undefined;
  /** Where `layernorm/layernorm.wasm` is served; in Node also a file: URL. */
  url?: string | { readonly href: string } | undefined;
  /** The bytes of `layernorm/layernorm.wasm`. */
  bytes?: ArrayBuffer | ArrayBufferView | undefined;
}

/** What is in use. */
export interface InitResult {
  threads: number;
  relaxedSimd: boolean;
  /** Why what was asked for is not in use: one sentence for each. */
  reasons: string[];
}

type DisposeKey = SymbolConstructor extends { readonly dispose: infer S extends symbol }
  ? S
  : never;

/** `[Symbol.dispose]`, for `using`, where the TypeScript library that is in use knows it. */
export type WithDispose = { [K in DisposeKey]: () => void };
