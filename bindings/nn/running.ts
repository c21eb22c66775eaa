// The layers that keep running statistics: batch and instance normalization.
import type { Dims } from "../dims.js";
import { describe, wrongValue } from "../errors.js";
import { inlined } from "../inlined.js";
import { OPS } from "../ops.js";
import { orNone, readCount, readEps, readFlag, readFraction } from "../option_readers.js";
import { shared } from "../shared.js";
import { Tensor } from "../tensor.js";
import type { ChannelOptions, DType, Input, Like } from "../types.js";
import { COMMON, readArguments, readLayout } from "./arguments.js";
import { Layer } from "./layer.js";
import type { ForwardOptions, LayerOptions } from "./layers.js";
import {
  type CountBuffer,
  countBuffer,
  type FloatBuffer,
  type Parameter,
  readFloat64,
  requireMemory,
  writerOf,
} from "./state.js";

const BATCH_NORM = "BatchNorm";
const INSTANCE_NORM = "InstanceNorm";

/** What an int64 holds. */
const MOST_BATCHES = 2n ** 63n - 1n;

/** Options of `new BatchNorm` and `new InstanceNorm`. */
export interface RunningNormConfig<D extends DType = DType> extends LayerOptions<D> {
  /** Added to the variance inside the root: finite, >= 0. Default: 1e-5. */
  eps?: number | undefined;
  /**
   * The weight of the new value in the running statistics, 0 to 1; null: `BatchNorm` takes the mean of all batches,
   * `InstanceNorm` leaves them as they are, both as PyTorch does. Default: 0.1.
   */
  momentum?: number | null | undefined;
  /** Whether there are a weight and a bias. Default: `BatchNorm` true, `InstanceNorm` false. */
  affine?: boolean | undefined;
  /** Whether running statistics are kept, and used after `eval()`. Default: `BatchNorm` true, `InstanceNorm` false. */
  trackRunningStats?: boolean | undefined;
  /** Where the channels stand: `channels_first` is PyTorch's. Default: `channels_first`. */
  layout?: ChannelOptions["layout"];
}

const READERS = {
  eps: readEps,
  // null means something: it is kept apart from what was not given.
  momentum: (where: string, name: string, value: unknown) =>
    orNone(readFraction)(where, name, value) ?? null,
  affine: readFlag,
  trackRunningStats: readFlag,
  ...COMMON,
  layout: readLayout,
};

abstract class RunningNorm<D extends DType> extends Layer {
  readonly numFeatures: number;
  readonly eps: number;
  readonly momentum: number | null;
  readonly layout: "channels_first" | "channels_last";
  readonly weight: Parameter<D> | null;
  readonly bias: Parameter<D> | null;
  /** [numFeatures], 0 at first; null unless they are tracked. */
  readonly runningMean: FloatBuffer<D> | null;
  /** [numFeatures], 1 at first; null unless they are tracked. */
  readonly runningVar: FloatBuffer<D> | null;
  /** How many batches `BatchNorm` has seen in training, at most 2^63 - 1; null unless they are tracked. */
  readonly numBatchesTracked: CountBuffer | null;

  /** @internal */
  protected constructor(
    where: string,
    numFeatures: number,
    rest: readonly unknown[],
    byDefault: boolean,
  ) {
    super(where);
    this.numFeatures = readCount(where, "numFeatures", numFeatures);
    const {
      eps = 1e-5,
      momentum = 0.1,
      affine = byDefault,
      trackRunningStats = byDefault,
      dtype = "float32" as D,
      layout = "channels_first",
    } = readArguments<RunningNormConfig<D>>(where, READERS, rest);
    this.eps = eps;
    this.momentum = momentum;
    this.layout = layout;
    const shape = [numFeatures];
    this.weight = affine ? this.addParameter("weight", shape, dtype, 1) : null;
    this.bias = affine ? this.addParameter("bias", shape, dtype, 0) : null;
    const buffer = (name: string, value: 0 | 1) =>
      trackRunningStats ? this.addBuffer(name, shape, dtype, value) : null;
    this.runningMean = buffer("running_mean", 0);
    this.runningVar = buffer("running_var", 1);
    this.numBatchesTracked = trackRunningStats
      ? this.addState(countBuffer("num_batches_tracked"))
      : null;
  }

  /** The gradient of the last forward's x; the parameters' are added to theirs. gradOutput is as x. */
  backward<X extends Input>(gradOutput: X): Like<X> {
    return this.runBackward(gradOutput, this).gradInput as Like<X>;
  }

  /** Normalizes with the running statistics. @internal */
  protected infer<X extends Input>(x: X, shape: Dims | undefined): Like<X> {
    const { eps, layout, runningMean, runningVar } = this;
    return this.run("batchNorm", x, this, { eps, layout, shape, runningMean, runningVar });
  }
}

/**
 * Batch normalization, `torch.nn.BatchNorm1d`, `2d` and `3d` in one: `batchNorm` with a weight, a bias and running statistics
 * of its own, all [numFeatures].
 *
 * In training each channel is normalized with the batch's mean and biased variance, and the running statistics are updated
 * (with the unbiased variance): `momentum` weights the new value, null makes them the mean over all batches. After `eval()`,
 * the running statistics normalize. x is (N, C, ...), or with `layout: "channels_last"` (N, ..., C); `forward` of a flat x
 * needs `{ shape }`. A batch without values changes nothing.
 *
 * State: `weight`, `bias`, `running_mean`, `running_var`, `num_batches_tracked`.
 *
 * @example
 * const norm = new BatchNorm(1, { momentum: null, eps: 0 });
 * norm.forward([[1], [3]]); // -> [[-1], [1]]
 * norm.forward([[4], [8]]); // -> [[-1], [1]]
 * console.log(norm.runningMean?.data); // -> [4]
 * norm.eval().forward([[9]]); // -> [[2.2361]]
 */
export class BatchNorm<D extends DType = "float32"> extends RunningNorm<D> {
  constructor(numFeatures: number, options?: RunningNormConfig<D>);
  /** PyTorch's order. */
  constructor(
    numFeatures: number,
    eps?: number,
    momentum?: number | null,
    affine?: boolean,
    trackRunningStats?: boolean,
    dtype?: D,
  );
  constructor(numFeatures: number, ...rest: unknown[]) {
    super(BATCH_NORM, numFeatures, rest, true);
  }

  /** `batchNorm` of x, which `backward` remembers: leave its elements as they are until then. */
  forward<X extends Input>(x: X, options?: ForwardOptions): Like<X> {
    const { eps, layout, momentum, runningMean, runningVar, numBatchesTracked } = this;
    const shape = this.readForward(options);
    const hasValues = this.checkChannels(x, shape, layout, this.numFeatures);
    if (!this.training && runningMean !== null) return this.infer(x, shape);
    const common = { eps, layout, shape, training: true };
    if (!this.training || numBatchesTracked === null) {
      return this.run("batchNorm", x, this, common);
    }
    const batches = countNext(BATCH_NORM, numBatchesTracked);
    const updates = { runningMean, runningVar, momentum: momentum ?? 1 / Number(batches) };
    const y = this.run("batchNorm", x, this, common, updates);
    if (hasValues) numBatchesTracked.data[0] = batches;
    return y;
  }
}

/**
 * Instance normalization, `torch.nn.InstanceNorm1d`, `2d` and `3d` in one: `instanceNorm`, with a weight and a bias of its own
 * if `affine`, both [numFeatures].
 *
 * With `trackRunningStats`, training also updates running statistics with the mean over the items of each channel's mean and
 * unbiased variance, and after `eval()` these normalize, as PyTorch has it; `num_batches_tracked` then stays 0, as there. x is
 * (N, C, ...), or with `layout: "channels_last"` (N, ..., C); `forward` of a flat x needs `{ shape }`.
 *
 * State: `weight`, `bias` if `affine`; `running_mean`, `running_var`, `num_batches_tracked` if `trackRunningStats`.
 *
 * @example
 * const norm = new InstanceNorm(2, { eps: 0 });
 * const y = norm.forward([[[1, 3], [2, 6]]]); // -> [[[-1, 1], [-1, 1]]]
 */
export class InstanceNorm<D extends DType = "float32"> extends RunningNorm<D> {
  constructor(numFeatures: number, options?: RunningNormConfig<D>);
  /** PyTorch's order. */
  constructor(
    numFeatures: number,
    eps?: number,
    momentum?: number | null,
    affine?: boolean,
    trackRunningStats?: boolean,
    dtype?: D,
  );
  constructor(numFeatures: number, ...rest: unknown[]) {
    super(INSTANCE_NORM, numFeatures, rest, false);
  }

  /** `instanceNorm` of x, which `backward` remembers: leave its elements as they are until then. */
  forward<X extends Input>(x: X, options?: ForwardOptions): Like<X> {
    const { eps, layout, momentum, runningMean } = this;
    const shape = this.readForward(options);
    const hasValues = this.checkChannels(x, shape, layout, this.numFeatures);
    if (!this.training && runningMean !== null) return this.infer(x, shape);
    const update = hasValues && momentum ? this.#statistics(x, shape) : undefined;
    const y = this.run("instanceNorm", x, this, { eps, layout, shape });
    update?.();
    return y;
  }

  /** Takes the statistics of x, which has values; what is returned lets the running ones follow them. */
  #statistics(x: Input, shape: Dims | undefined): (() => void) | undefined {
    const { layout, runningMean, runningVar, numFeatures: channels } = this;
    if (runningMean === null || runningVar === null) return undefined;
    const weight = this.momentum ?? 0;
    // With eps 0 rstd alone has the variance, however small it is.
    const options = { layout, shape, eps: 0, returnStats: true };
    const { output, mean, rstd } = shared.call(OPS.instanceNorm, inlined, x, options);
    const means = numbersOf(mean);
    const variances = numbersOf(rstd).map((value) => 1 / value ** 2);
    const perChannel = countOf(output) / means.length;
    for (const each of [output, mean, rstd]) if (each instanceof Tensor) each.dispose();
    if (perChannel === 1) {
      const expected = "more than one value per channel for the unbiased running variance";
      throw wrongValue(INSTANCE_NORM, "x", expected, "1");
    }
    const unbiased = perChannel / (perChannel - 1);
    const items = means.length / channels;
    const averageOf = (values: Float64Array, channel: number): number => {
      let sum = 0;
      for (let i = channel; i < values.length; i += channels) sum += values[i]!;
      return sum / items;
    };
    const writes = [
      follow(runningMean, (old, c) => old + weight * (averageOf(means, c) - old)),
      follow(runningVar, (old, c) => old + weight * (unbiased * averageOf(variances, c) - old)),
    ];
    return () => {
      for (const write of writes) write();
    };
  }
}

/** Computes a buffer's next values; what is returned writes them. */
function follow(buffer: FloatBuffer, next: (old: number, channel: number) => number): () => void {
  return writerOf(INSTANCE_NORM, buffer, readFloat64(INSTANCE_NORM, buffer).map(next));
}

/** The number of batches with the one at hand. It stays at the largest there is. */
function countNext(where: string, batches: CountBuffer): bigint {
  requireMemory(where, batches);
  const seen = batches.data[0]!;
  if (seen < 0n) throw wrongValue(where, batches.name, "an integer >= 0", describe(seen));
  return seen < MOST_BATCHES ? seen + 1n : seen;
}

/** Statistics of any kind, flat; a copy. */
function numbersOf(statistics: unknown): Float64Array {
  if (Array.isArray(statistics)) return Float64Array.from(statistics.flat(Infinity));
  const { data = statistics } = statistics as { data?: unknown };
  return Float64Array.from(data as Float64Array);
}

/** How many elements a result of any kind has. */
function countOf(result: unknown): number {
  if (Array.isArray(result)) return result.flat(Infinity).length;
  const { data = result } = result as { data?: unknown };
  return (data as Float64Array).length;
}
