// The public types. They name nothing that a TypeScript project with a plain ES2020 library lacks.
import type { Tensor } from "./tensor.js";

/** Element types. */
export type DType = "float32" | "float64";

/** The typed arrays that hold elements. */
export type FloatArray = Float32Array | Float64Array;

// New arrays stand on a buffer that is not shared, which TypeScript 5.7 and later says with a type argument that older
// versions refuse: `of` has the right type in both.
type NewFloat32Array = ReturnType<Float32ArrayConstructor["of"]>;
type NewFloat64Array = ReturnType<Float64ArrayConstructor["of"]>;

/** The typed array of an element type. */
export type DataOf<D extends DType> = D extends "float32"
  ? NewFloat32Array
  : D extends "float64"
    ? NewFloat64Array
    : never;

/**
 * Data with dimensions, as onnxruntime, transformers.js and others have it. `dims` wins over `shape`, `type` over `dtype`;
 * without either the element type is that of `data`.
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

/** A weight or bias: a number for all elements, or a tensor of any kind and element type. */
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
    : NewFloat32Array | NewFloat64Array;

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
    : X extends Tensor
      ? Tensor
      : X extends TensorLike
        ? FloatArray
        : never;

/** A result with its statistics. */
export type WithStatistics<Output, Statistics, Names extends string> = { output: Output } & {
  [N in Names]: Statistics;
};

/** Which dimensions x has, and which of them are normalized together. At most one of the last three. */
export interface DimensionOptions {
  /** The dimensions of a flat x. Of any other x it may only repeat the dimensions that x has. */
  shape?: readonly number[] | undefined;
  /** The trailing dimensions, as PyTorch has it. Default: the last dimension. */
  normalizedShape?: number | readonly number[] | undefined;
  /** All dimensions from this one on, as ONNX has it; negative from the end. */
  axis?: number | undefined;
  /** The dimensions by number, negative from the end. They must be the trailing dimensions in order. */
  axes?: readonly number[] | undefined;
}

/** The affine part: `normalized * (weightOffset + weight) + bias`. */
export interface AffineOptions {
  /** A number, or a tensor of the normalized dimensions. Default: none. */
  weight?: Parameter | null | undefined;
  /** A number, or a tensor of the normalized dimensions. Default: none. */
  bias?: Parameter | null | undefined;
  /** Added to weight, finite; ignored without weight. Default: 0. */
  weightOffset?: number | undefined;
}

/** Where results go, and which. */
export interface OutputOptions<Out> {
  /**
   * Written and returned in place of a new result: of x's kind (a typed array for a tensor-like x), element type and
   * count. It may be x itself, else it must not overlap x or a parameter.
   */
  out?: Out | undefined;
  /** Return `{ output, mean, rstd }`, the statistics as float64 with the normalized dimensions kept as 1. Default: false. */
  returnStats?: boolean | undefined;
}

/** Options of `layerNorm`; the argument is the type of `out`. */
// biome-ignore lint/suspicious/noExplicitAny: options that are declared by themselves fit every x
export interface LayerNormOptions<Out = any>
  extends DimensionOptions,
    AffineOptions,
    OutputOptions<Out> {
  /** Added to the variance inside the root: finite, >= 0. Default: 1e-5. */
  eps?: number | undefined;
  /** A framework's conventions; options given explicitly win. */
  preset?: "pytorch" | "keras" | "tensorflow" | "flax" | "onnx" | "bert" | null | undefined;
}

/** Options of `rmsNorm`; the argument is the type of `out`. */
// biome-ignore lint/suspicious/noExplicitAny: options that are declared by themselves fit every x
export interface RmsNormOptions<Out = any>
  extends DimensionOptions,
    AffineOptions,
    OutputOptions<Out> {
  /** Added to the mean of squares inside the root: finite, >= 0. Default: 1e-5. */
  eps?: number | undefined;
  /** A framework's or model's conventions; options given explicitly win. */
  preset?:
    | "pytorch"
    | "keras"
    | "tensorflow"
    | "flax"
    | "onnx"
    | "llama"
    | "t5"
    | "gemma"
    | null
    | undefined;
}

/** Options of `init`. */
export interface InitOptions {
  /** How many threads to use at most. */
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
