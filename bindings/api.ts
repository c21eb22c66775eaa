// The signatures of the public functions, with their documentation. Every entry implements them.
import type { Affine, Summed } from "./backward_api.js";
import type { Step } from "./plan.js";
import type { Tensor } from "./tensor.js";
import type {
  AddGroupNormBackwardOptions,
  AddGroupNormOptions,
  AddLayerNormBackwardOptions,
  AddLayerNormOptions,
  AddRmsNormBackwardOptions,
  AddRmsNormOptions,
  BatchNormBackwardOptions,
  BatchNormOptions,
  DType,
  Float16ArrayLike,
  GroupNormBackwardOptions,
  GroupNormOptions,
  InitOptions,
  InitResult,
  Input,
  InstanceNormBackwardOptions,
  InstanceNormOptions,
  L2NormalizeBackwardOptions,
  L2NormalizeOptions,
  LayerNormBackwardOptions,
  LayerNormOptions,
  Like,
  LocalResponseNormOptions,
  LpNormalizeOptions,
  MeanVarianceNormalizeOptions,
  NestedArray,
  OutFor,
  Parameter,
  RmsNormBackwardOptions,
  RmsNormOptions,
  StatisticsLike,
  WithStatistics,
} from "./types.js";

type Plain = { out?: undefined; returnStats?: false | undefined };

/** The forms of an operation without statistics that writes to the caller's memory. */
export interface PlainForms<Options> {
  <X extends Input, Out extends OutFor<X>>(x: X, options: Options & { out: Out }): Out;
}

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
    options: Options & { out?: OutFor<X> | undefined },
  ): Like<X> | OutFor<X> | WithStatistics<Like<X> | OutFor<X>, StatisticsLike<X>, Statistics>;
}

type OutOr<X, Out> = [Out] extends [undefined] ? Like<X> : Out;

/** What an add form returns. */
export type Sums<Output, Sum> = { output: Output; sum: Sum };

/** The forms of an operation that normalizes a sum, with statistics. */
export interface AddForms<Options, Statistics extends string> {
  <
    X extends Input,
    Out extends OutFor<X> | undefined = undefined,
    SumOut extends OutFor<X> | undefined = undefined,
  >(
    x: X,
    residual: Input,
    options: Options & { out?: Out; sumOut?: SumOut; returnStats: true },
  ): Sums<OutOr<X, Out>, OutOr<X, SumOut>> & { [N in Statistics]: StatisticsLike<X> };
}

export interface LayerNorm extends Forms<LayerNormOptions<unknown>, "mean" | "rstd"> {
  /**
   * Layer normalization: x with the values of each run brought to mean 0 and variance 1.
   *
   * `y = (x - mean) * rstd * (weightOffset + weight) + bias` with `rstd = 1 / sqrt(var + eps)`, where the variance is the
   * biased one. A run is what `normalizedShape`, `axis` or `axes` select, the last dimension by default. Conditional `scale`
   * and `shift` and an `activation` follow where given.
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
   * `normalizedShape`, `axis` or `axes` select, the last dimension by default. Conditional `scale` and `shift` and an
   * `activation` follow where given.
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

export interface GroupNorm extends Forms<GroupNormOptions<unknown>, "mean" | "rstd"> {
  /**
   * Group normalization: in each of the N items, each group of channels brought to mean 0 and variance 1.
   *
   * `y = (x - mean) * rstd * (weightOffset + weight) + bias` with `rstd = 1 / sqrt(var + eps)`, where the variance is the
   * biased one over the C / numGroups channels of a group and all that is inside them. weight and bias are [C]; `layout` says
   * where the channels stand. x has at least two dimensions, (N, C, ...) or (N, ..., C); a flat x needs `shape`.
   *
   * Conditional `scale` and `shift` and an `activation` follow where given. The result has x's kind and element type. Sums
   * are taken in higher precision. With `returnStats` it is
   * `{ output, mean, rstd }`, the statistics [N, numGroups].
   *
   * Wu, He 2018, https://arxiv.org/abs/1803.08494; matches `torch.nn.GroupNorm`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, overlapping memory, or no memory
   * @example
   * const x = new Float32Array([1, 2, 3, 4, 5, 6, 7, 9]); // one item, four channels of two
   * const y = groupNorm(x, { shape: [1, 4, 2], numGroups: 2, weight: [1, 1, 2, 2] });
   */
  <X extends Input>(x: X, options: GroupNormOptions<unknown> & Plain): Like<X>;
}

export interface InstanceNorm extends Forms<InstanceNormOptions<unknown>, "mean" | "rstd"> {
  /**
   * Instance normalization: in each of the N items, each channel brought to mean 0 and variance 1.
   *
   * `y = (x - mean) * rstd * (weightOffset + weight) + bias` with `rstd = 1 / sqrt(var + eps)`, where the variance is the
   * biased one over all that is inside a channel. weight and bias are [C]; `layout` says where the channels stand. x has at
   * least two dimensions, (N, C, ...) or (N, ..., C); a flat x needs `shape`.
   *
   * Conditional `scale` and `shift` and an `activation` follow where given. The result has x's kind and element type. Sums
   * are taken in higher precision. With `returnStats` it is
   * `{ output, mean, rstd }`, the statistics [N, C].
   *
   * Ulyanov, Vedaldi, Lempitsky 2016, https://arxiv.org/abs/1607.08022; matches `torch.nn.InstanceNorm2d`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, overlapping memory, or no memory
   * @example
   * const y = instanceNorm([[[1, 3], [2, 6]]], { eps: 0 }); // -> [[[-1, 1], [-1, 1]]]
   */
  <X extends Input>(x: X, options?: InstanceNormOptions<unknown> & Plain): Like<X>;
}

export interface BatchNorm extends Forms<BatchNormOptions<unknown>, "mean" | "rstd"> {
  /**
   * Batch normalization: each channel, over all items, with statistics that are given, or with its own in training.
   *
   * `y = (x - mean) * rstd * (weightOffset + weight) + bias` with `rstd = 1 / sqrt(var + eps)`. Without `training`, mean and
   * var are `runningMean` and `runningVar`, both [C]. With it they are those of the batch, the variance the biased one, and
   * `runningMean` and `runningVar`, where given, are updated in place:
   * `running = (1 - momentum) * running + momentum * batch`, with the unbiased variance of the batch. So has PyTorch it;
   * `preset` names frameworks in which momentum weights the old value, or the running variance is biased.
   *
   * weight and bias are [C]; `layout` says where the channels stand. x has at least two dimensions, (N, C, ...) or
   * (N, ..., C); a flat x needs `shape`. Conditional `scale` and `shift` and an `activation` follow where given. The result
   * has x's kind and element type. A batch without values gives an empty
   * result and leaves the running statistics alone. With `returnStats` the result is `{ output, mean, rstd }`, the statistics
   * [C].
   *
   * Ioffe, Szegedy 2015, https://arxiv.org/abs/1502.03167; matches `torch.nn.BatchNorm2d`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, overlapping memory, or no memory
   * @example
   * const runningMean = new Float32Array(2);
   * const runningVar = new Float32Array([1, 1]);
   * const x = new Float32Array([1, 4, 3, 8]); // two items of two channels
   * const y = batchNorm(x, { shape: [2, 2], training: true, runningMean, runningVar, eps: 0 }); // -> [-1, -1, 1, 1]
   * console.log(runningMean); // -> [0.2, 0.6]
   * const z = batchNorm(x, { shape: [2, 2], runningMean, runningVar });
   */
  <X extends Input>(x: X, options: BatchNormOptions<unknown> & Plain): Like<X>;
}

export interface L2Normalize extends PlainForms<L2NormalizeOptions<unknown>> {
  /**
   * x with each run divided by its Euclidean norm.
   *
   * `y = x / max(sqrt(sum(x^2)), eps)`. A run is what `axes` selects, the last dimension by default; a run of zeros stays 0,
   * also with eps 0. x may be of any kind; the result has its kind and element type. Sums are taken in higher precision, and
   * squares neither overflow nor vanish.
   *
   * Matches `torch.nn.functional.normalize`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, overlapping memory, or no memory
   * @example
   * const y = l2Normalize([3, 4]); // -> [0.6, 0.8]
   */
  <X extends Input>(x: X, options?: L2NormalizeOptions<unknown> & { out?: undefined }): Like<X>;
}

export interface LpNormalize extends PlainForms<LpNormalizeOptions<unknown>> {
  /**
   * x with each run divided by a norm of it: the sum of magnitudes (p 1), the Euclidean one (2) or the largest magnitude
   * (Infinity).
   *
   * `y = x / max(norm, eps)`. A run is what `axes` selects, the last dimension by default; a run of zeros stays 0, also with
   * eps 0. x may be of any kind; the result has its kind and element type. Sums are taken in higher precision.
   *
   * Matches `torch.nn.functional.normalize`; with `preset: "onnx"` LpNormalization of ONNX.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, overlapping memory, or no memory
   * @example
   * const y = lpNormalize([1, -3], { p: 1 }); // -> [0.25, -0.75]
   */
  <X extends Input>(x: X, options?: LpNormalizeOptions<unknown> & { out?: undefined }): Like<X>;
}

export interface MeanVarianceNormalize extends PlainForms<MeanVarianceNormalizeOptions<unknown>> {
  /**
   * x with each run brought to mean 0 and deviation 1, eps beside the deviation.
   *
   * `y = (x - mean) / (std + eps)` with the biased deviation. A run is what `axes` selects: by default [0, 2, 3] of four
   * dimensions, else the last. A constant run gives 0, also with eps 0. x may be of any kind; the result has its kind and
   * element type. Sums are taken in higher precision.
   *
   * MeanVarianceNormalization 13, https://onnx.ai/onnx/operators/onnx__MeanVarianceNormalization.html
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, overlapping memory, or no memory
   * @example
   * const y = meanVarianceNormalize([1, 3]); // -> [-1, 1]
   */
  <X extends Input>(
    x: X,
    options?: MeanVarianceNormalizeOptions<unknown> & { out?: undefined },
  ): Like<X>;
}

export interface LocalResponseNorm extends PlainForms<LocalResponseNormOptions<unknown>> {
  /**
   * Local response normalization: each value divided by a power of the squares in the channels near its own.
   *
   * `y = x / (k + alpha / size * sum(x^2))^beta`, the sum over the channels from `c - floor((size - 1) / 2)` to
   * `c + ceil((size - 1) / 2)` that there are. `layout` says where the channels stand. x has at least two dimensions,
   * (N, C, ...) or (N, ..., C); a flat x needs `shape`. The result has x's kind and element type.
   *
   * Krizhevsky, Sutskever, Hinton 2012, section 3.3; LRN 13, https://onnx.ai/onnx/operators/onnx__LRN.html
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, overlapping memory, or no memory
   * @example
   * const y = localResponseNorm([[1, 2, 3]], { size: 3, alpha: 3, beta: 1, k: 0 }); // -> [[0.2, 0.1429, 0.2308]]
   */
  <X extends Input>(
    x: X,
    options: LocalResponseNormOptions<unknown> & { out?: undefined },
  ): Like<X>;
}

export interface AddLayerNorm extends AddForms<AddLayerNormOptions<unknown>, "mean" | "rstd"> {
  /**
   * Layer normalization of a sum: the residual connection and the normalization behind it in one.
   *
   * `sum = (residual + gate * x) + sumBias`, each step rounded, and `output` is `layerNorm` of that sum, with
   * `layerNorm`'s options: the bits are those of the parts called in turn. residual broadcasts against x; gate and sumBias are
   * numbers or tensors, 1 and 0 by default.
   *
   * Returns `{ output, sum }`, both of x's kind and element type, written to `out` and `sumOut` where these are given; each may
   * be x or the residual itself. With `returnStats` also `mean` and `rstd`.
   *
   * SkipLayerNormalization of onnxruntime is this with its skip as the residual and its bias as `sumBias`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, overlapping memory, or no memory
   * @example
   * const { output, sum } = addLayerNorm([1, 2], [2, 5], { eps: 0 });
   * console.log(sum); // -> [3, 7]
   * console.log(output); // -> [-1, 1]
   */
  <
    X extends Input,
    Out extends OutFor<X> | undefined = undefined,
    SumOut extends OutFor<X> | undefined = undefined,
  >(
    x: X,
    residual: Input,
    options?: AddLayerNormOptions<unknown> & {
      out?: Out;
      sumOut?: SumOut;
      returnStats?: false | undefined;
    },
  ): Sums<OutOr<X, Out>, OutOr<X, SumOut>>;
}

export interface AddRmsNorm extends AddForms<AddRmsNormOptions<unknown>, "rstd"> {
  /**
   * Root mean square normalization of a sum: the residual connection and the normalization behind it in one.
   *
   * `sum = (residual + gate * x) + sumBias`, each step rounded, and `output` is `rmsNorm` of that sum, with
   * `rmsNorm`'s options: the bits are those of the parts called in turn. residual broadcasts against x; gate and sumBias are
   * numbers or tensors, 1 and 0 by default.
   *
   * Returns `{ output, sum }`, both of x's kind and element type, written to `out` and `sumOut` where these are given; each may
   * be x or the residual itself. With `returnStats` also `rstd`.
   *
   * SkipSimplifiedLayerNormalization of onnxruntime is this with its skip as the residual and its bias as `sumBias`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, overlapping memory, or no memory
   * @example
   * const hidden = new Float32Array([1, 2, 3, 4]);
   * const residual = new Float32Array([4, 3, 2, 1]);
   * const { output } = addRmsNorm(hidden, residual, { preset: "llama", sumOut: residual });
   * console.log(residual); // -> [5, 5, 5, 5]
   */
  <
    X extends Input,
    Out extends OutFor<X> | undefined = undefined,
    SumOut extends OutFor<X> | undefined = undefined,
  >(
    x: X,
    residual: Input,
    options?: AddRmsNormOptions<unknown> & {
      out?: Out;
      sumOut?: SumOut;
      returnStats?: false | undefined;
    },
  ): Sums<OutOr<X, Out>, OutOr<X, SumOut>>;
}

export interface AddGroupNorm extends AddForms<AddGroupNormOptions<unknown>, "mean" | "rstd"> {
  /**
   * Group normalization of a sum: the residual connection and the normalization behind it in one.
   *
   * `sum = (residual + gate * x) + sumBias`, each step rounded, and `output` is `groupNorm` of that sum, with
   * `groupNorm`'s options: the bits are those of the parts called in turn. residual broadcasts against x; gate and sumBias are
   * numbers or tensors, 1 and 0 by default.
   *
   * Returns `{ output, sum }`, both of x's kind and element type, written to `out` and `sumOut` where these are given; each may
   * be x or the residual itself. With `returnStats` also `mean` and `rstd`.
   *
   * SkipGroupNorm of onnxruntime is its like.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, overlapping memory, or no memory
   * @example
   * const { output, sum } = addGroupNorm([[1, 2]], [[2, 5]], { numGroups: 1, eps: 0 });
   * console.log(output); // -> [[-1, 1]]
   */
  <
    X extends Input,
    Out extends OutFor<X> | undefined = undefined,
    SumOut extends OutFor<X> | undefined = undefined,
  >(
    x: X,
    residual: Input,
    options: AddGroupNormOptions<unknown> & {
      out?: Out;
      sumOut?: SumOut;
      returnStats?: false | undefined;
    },
  ): Sums<OutOr<X, Out>, OutOr<X, SumOut>>;
}

export interface MakeTensor {
  /**
   * A resident tensor with a copy of a typed array, a tensor-like object, plain or nested arrays, or another tensor.
   *
   * Without `shape` it has the dimensions of the data, or one. Without `dtype` it has the element type of the data, and
   * float32 for plain numbers; values are rounded once to the element type. A Uint16Array holds the bits of a `dtype` that is
   * float16 or bfloat16.
   *
   * @throws {TypeError} for a wrong kind
   * @throws {RangeError} for a shape that does not fit, an unknown element type, or no memory
   * @example
   * const weight = tensor([1, 1, 2]);
   * weight.dispose();
   */
  <D extends DType = "float32">(data: NestedArray, shape?: readonly number[], dtype?: D): Tensor<D>;
  <D extends DType>(data: Input, shape: readonly number[] | undefined, dtype: D): Tensor<D>;
  <D extends "float16" | "bfloat16">(
    data: Uint16Array,
    shape: readonly number[] | undefined,
    dtype: D,
  ): Tensor<D>;
  (data: Float32Array, shape?: readonly number[]): Tensor<"float32">;
  (data: Float64Array, shape?: readonly number[]): Tensor<"float64">;
  (data: Float16ArrayLike, shape?: readonly number[]): Tensor<"float16">;
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
  groupNorm: GroupNormOptions<Tensor>;
  instanceNorm: InstanceNormOptions<Tensor>;
  batchNorm: BatchNormOptions<Tensor>;
}

interface PlannedPlainOptions {
  l2Normalize: L2NormalizeOptions<Tensor>;
  lpNormalize: LpNormalizeOptions<Tensor>;
  meanVarianceNormalize: MeanVarianceNormalizeOptions<Tensor>;
  localResponseNorm: LocalResponseNormOptions<Tensor>;
}

interface PlannedAddOptions {
  addLayerNorm: AddLayerNormOptions<Tensor>;
  addRmsNorm: AddRmsNormOptions<Tensor>;
  addGroupNorm: AddGroupNormOptions<Tensor>;
}

interface PlannedBackwardOptions {
  layerNormBackward: LayerNormBackwardOptions;
  rmsNormBackward: RmsNormBackwardOptions;
  groupNormBackward: GroupNormBackwardOptions;
  instanceNormBackward: InstanceNormBackwardOptions;
  batchNormBackward: BatchNormBackwardOptions;
}

interface PlannedAddBackwardOptions {
  addLayerNormBackward: AddLayerNormBackwardOptions;
  addRmsNormBackward: AddRmsNormBackwardOptions;
  addGroupNormBackward: AddGroupNormBackwardOptions;
}

/** The gradient of a parameter, which a plan keeps as a tensor. */
type PlannedGradient<P> = P extends number ? number : P extends Input ? Tensor : null;
type Given = Parameter | null | undefined;

/** The gradients of a plan. */
export type PlannedGradients<D extends DType, W, B, S, H> = Plan<{
  gradInput: Tensor<D>;
  gradWeight: PlannedGradient<W>;
  gradBias: PlannedGradient<B>;
  gradScale: PlannedGradient<S>;
  gradShift: PlannedGradient<H>;
}>;

type PlannedStatistics<Op> = Op extends "rmsNorm" | "addRmsNorm" ? "rstd" : "mean" | "rstd";

/** The options of an operation, which may be left out where none is required. */
type Planned<Options> = object extends Options ? [options?: Options] : [options: Options];

export interface MakePlan {
  /**
   * A call on resident tensors that is checked once: its `run()` allocates, copies and checks nothing, and returns the same
   * object each time.
   *
   * x, the residual of an add form and out are resident. Resident parameters are used where they stand, so changes show at
   * the next run; others are copied once, and the gradients of a backward plan are tensors for both (a number for a number).
   * gradOutput and gradSum of a backward operation are resident too. The running statistics of a training batchNorm are resident too. `output` (`sum`,
   * and `mean`, `rstd` with `returnStats`) are made when no `out` is given, and freed by the plan's `dispose()`; until then
   * the plan keeps the memory of all its tensors.
   *
   * @throws {TypeError} for what the function throws it for, and for x, residual or out that are not resident
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
    ...options: Planned<PlannedOptions[Op] & { returnStats?: false | undefined }>
  ): Plan<Tensor<D>>;
  <D extends DType, Op extends keyof PlannedOptions>(
    op: Op,
    x: Tensor<D>,
    options: PlannedOptions[Op] & { returnStats: true },
  ): Plan<WithStatistics<Tensor<D>, Tensor<"float64">, PlannedStatistics<Op>>>;
  <D extends DType, Op extends keyof PlannedPlainOptions>(
    op: Op,
    x: Tensor<D>,
    ...options: Planned<PlannedPlainOptions[Op]>
  ): Plan<Tensor<D>>;
  <D extends DType, Op extends keyof PlannedAddOptions>(
    op: Op,
    x: Tensor<D>,
    residual: Tensor,
    ...options: Planned<PlannedAddOptions[Op] & { returnStats?: false | undefined }>
  ): Plan<Sums<Tensor<D>, Tensor<D>>>;
  <D extends DType, Op extends keyof PlannedAddOptions>(
    op: Op,
    x: Tensor<D>,
    residual: Tensor,
    options: PlannedAddOptions[Op] & { returnStats: true },
  ): Plan<Sums<Tensor<D>, Tensor<D>> & { [N in PlannedStatistics<Op>]: Tensor<"float64"> }>;
  <
    D extends DType,
    Op extends keyof PlannedBackwardOptions,
    W extends Given = undefined,
    B extends Given = undefined,
    S extends Given = undefined,
    H extends Given = undefined,
  >(
    op: Op,
    gradOutput: Tensor,
    x: Tensor<D>,
    ...options: Planned<PlannedBackwardOptions[Op] & Affine<W, B, S, H>>
  ): PlannedGradients<D, W, B, S, H>;
  <D extends DType>(
    op: "l2NormalizeBackward",
    gradOutput: Tensor,
    x: Tensor<D>,
    options?: L2NormalizeBackwardOptions,
  ): Plan<{ gradInput: Tensor<D> }>;
  <
    D extends DType,
    Op extends keyof PlannedAddBackwardOptions,
    W extends Given = undefined,
    B extends Given = undefined,
    S extends Given = undefined,
    H extends Given = undefined,
    G extends Given = undefined,
    C extends Given = undefined,
  >(
    op: Op,
    gradOutput: Tensor,
    x: Tensor<D>,
    residual: Tensor,
    ...options: Planned<PlannedAddBackwardOptions[Op] & Affine<W, B, S, H> & Summed<G, C>>
  ): PlannedGradients<D, W, B, S, H> &
    Plan<{
      gradResidual: Tensor;
      gradGate: PlannedGradient<G>;
      gradSumBias: PlannedGradient<C>;
    }>;
}

export interface Init {
  /**
   * Compiles and instantiates asynchronously, and resolves to what is in use. Without options, or with options that match
   * what is in use, it may be called at any time; concurrent calls share one promise.
   *
   * `layernorm` needs it only where engines refuse to compile at the first call; `layernorm/slim` needs it, or `initSync`,
   * with `module`, `url` or `bytes`. With `threads` it loads a build that has its wasm inlined, in every entry.
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
