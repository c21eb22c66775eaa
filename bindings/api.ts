// The signatures of the public functions, with their documentation. Every entry implements them.
import type { Step } from "./plan.js";
import type { Tensor } from "./tensor.js";
import type {
  DType,
  InitOptions,
  InitResult,
  Input,
  LayerNormOptions,
  Like,
  NestedArray,
  OutFor,
  RmsNormOptions,
  StatisticsLike,
  WithStatistics,
} from "./types.js";

type Plain = { out?: undefined; returnStats?: false | undefined };

/** The forms of an operation that returns something else than a new result alone. */
export interface Forms<Options, Statistics extends string> {
  <X extends Input>(
    x: X,
    options: Options & { out?: undefined; returnStats: true },
  ): WithStatistics<Like<X>, StatisticsLike<X>, Statistics>;
  <X extends Input, Out extends OutFor<X>>(
    x: X,
    options: Options & { out: Out; returnStats?: false | undefined },
  ): Out;
  <X extends Input, Out extends OutFor<X>>(
    x: X,
    options: Options & { out: Out; returnStats: true },
  ): WithStatistics<Out, StatisticsLike<X>, Statistics>;
  <X extends Input>(
    x: X,
    options?: Options & { out?: OutFor<X> | undefined },
  ): Like<X> | OutFor<X> | WithStatistics<Like<X> | OutFor<X>, StatisticsLike<X>, Statistics>;
}

export interface LayerNorm extends Forms<LayerNormOptions<unknown>, "mean" | "rstd"> {
  /**
   * Layer normalization: x with the values of each run brought to mean 0 and variance 1.
   *
   * `y = (x - mean) * rstd * (weightOffset + weight) + bias` with `rstd = 1 / sqrt(var + eps)`, where the variance is the
   * biased one. A run is what `normalizedShape`, `axis` or `axes` select, the last dimension by default.
   *
   * x may be a typed array (with its dimensions in `shape`, else one row), a tensor-like object, nested arrays, or a
   * resident `Tensor`; the result has its kind and element type. Sums are taken in higher precision about a shift, so a
   * large mean costs no digits. A constant run gives the bias. With `returnStats` the result is `{ output, mean, rstd }`.
   *
   * Ba, Kiros, Hinton 2016, https://arxiv.org/abs/1607.06450; matches `torch.nn.LayerNorm`.
   *
   * @throws {TypeError} for a wrong kind, an unknown or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown preset, overlapping memory, or no memory
   * @example
   * const x = new Float32Array([1, 2, 3, 4, 5, 6]);
   * const y = layerNorm(x, { shape: [2, 3], weight: new Float32Array([1, 1, 2]), bias: 0.5 });
   */
  <X extends Input>(x: X, options?: LayerNormOptions<unknown> & Plain): Like<X>;
}

export interface RmsNorm extends Forms<RmsNormOptions<unknown>, "rstd"> {
  /**
   * Root mean square normalization: x with each run divided by its root mean square.
   *
   * `y = x * rstd * (weightOffset + weight) + bias` with `rstd = 1 / sqrt(mean(x^2) + eps)`. A run is what
   * `normalizedShape`, `axis` or `axes` select, the last dimension by default.
   *
   * x may be a typed array (with its dimensions in `shape`, else one row), a tensor-like object, nested arrays, or a
   * resident `Tensor`; the result has its kind and element type. A run of zeros gives the bias. With `returnStats` the
   * result is `{ output, rstd }`.
   *
   * Zhang, Sennrich 2019, https://arxiv.org/abs/1910.07467; matches `torch.nn.RMSNorm`.
   *
   * @throws {TypeError} for a wrong kind, an unknown or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown preset, overlapping memory, or no memory
   * @example
   * const x = new Float32Array([1, 2, 3, 4, 5, 6]);
   * const y = rmsNorm(x, { shape: [2, 3], preset: "llama", weight: new Float32Array([1, 1, 2]) });
   */
  <X extends Input>(x: X, options?: RmsNormOptions<unknown> & Plain): Like<X>;
}

export interface MakeTensor {
  /**
   * A resident tensor with a copy of a typed array, a tensor-like object, plain or nested arrays, or another tensor.
   *
   * Without `shape` it has the dimensions of the data, or one. Without `dtype` it has the element type of the data, and
   * float32 for plain numbers.
   *
   * @throws {TypeError} for a wrong kind
   * @throws {RangeError} for a shape that does not fit, an unknown element type, or no memory
   * @example
   * const weight = tensor([1, 1, 2]);
   * weight.dispose();
   */
  <D extends DType = "float32">(data: NestedArray, shape?: readonly number[], dtype?: D): Tensor<D>;
  <D extends DType>(data: Input, shape: readonly number[] | undefined, dtype: D): Tensor<D>;
  (data: Float32Array, shape?: readonly number[]): Tensor<"float32">;
  (data: Float64Array, shape?: readonly number[]): Tensor<"float64">;
  (data: Input, shape?: readonly number[], dtype?: DType): Tensor;
}

export interface Zeros {
  /**
   * A resident tensor of zeros.
   *
   * @throws {TypeError} for a wrong kind
   * @throws {RangeError} for dimensions that are none, an unknown element type, or no memory
   * @example
   * const x = zeros([8, 768]);
   * x.data.fill(0.5);
   * x.dispose();
   */
  <D extends DType = "float32">(shape: readonly number[], dtype?: D): Tensor<D>;
}

/** A plan with its results, which `run()` fills anew. */
export type Plan<Result> = Step<Result> &
  (Result extends Tensor ? { readonly output: Result } : Readonly<Result>);

interface PlannedOptions {
  layerNorm: LayerNormOptions<Tensor>;
  rmsNorm: RmsNormOptions<Tensor>;
}

interface PlannedStatistics {
  layerNorm: "mean" | "rstd";
  rmsNorm: "rstd";
}

export interface MakePlan {
  /**
   * A call on resident tensors that is checked once: its `run()` allocates, copies and checks nothing, and returns the same
   * object each time.
   *
   * x and out are resident. Resident parameters are used where they stand, so changes show at the next run; others are
   * copied once. `output` (and `mean`, `rstd` with `returnStats`) are made when no `out` is given, and freed by the plan's
   * `dispose()`; until then the plan keeps the memory of all its tensors.
   *
   * @throws {TypeError} for what the function throws it for, and for x or out that are not resident
   * @throws {RangeError} for what the function throws it for, and for an unknown operation
   * @example
   * const x = zeros([8, 768]);
   * const step = plan("layerNorm", x, { weight: 2 });
   * x.data.fill(1);
   * step.run();
   * step.dispose();
   */
  <D extends DType, Op extends keyof PlannedOptions>(
    op: Op,
    x: Tensor<D>,
    options?: PlannedOptions[Op] & { returnStats?: false | undefined },
  ): Plan<Tensor<D>>;
  <D extends DType, Op extends keyof PlannedOptions>(
    op: Op,
    x: Tensor<D>,
    options: PlannedOptions[Op] & { returnStats: true },
  ): Plan<WithStatistics<Tensor<D>, Tensor<"float64">, PlannedStatistics[Op]>>;
}

export interface Init {
  /**
   * Compiles and instantiates asynchronously, and resolves to what is in use. Without options, or with options that match
   * what is in use, it may be called at any time; concurrent calls share one promise.
   *
   * `layernorm` needs it only where engines refuse to compile at the first call; `layernorm/slim` needs it, or `initSync`,
   * with `module`, `url` or `bytes`.
   *
   * @throws {TypeError} (as a rejection) for a wrong kind, unknown or clashing options
   * @throws {Error} (as a rejection) for other options than those in use or pending, and when loading fails
   * @example
   * await init();
   */
  (options?: InitOptions): Promise<InitResult>;
}

export interface InitSync {
  /**
   * Instantiates at once, from a WebAssembly.Module or the bytes of `layernorm/layernorm.wasm`; in `layernorm` without an
   * argument from its own.
   *
   * @throws {TypeError} for a wrong kind
   * @throws {Error} if something else is in use or pending, or compiling is not allowed
   */
  (source?: object): InitResult;
}

export interface Dispose {
  /**
   * Frees the instance. The package is then as at import: earlier tensors and plans are lost, and the next call starts a
   * new instance (`layernorm/slim`: after `init`).
   */
  (): void;
}
