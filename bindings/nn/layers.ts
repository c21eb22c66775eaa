// The layers that know nothing but their input: layer, RMS and group normalization.
import type { Dims } from "../dims.js";
import { wrongValue } from "../errors.js";
import { orNone, readCount, readEps, readFlag, readSize } from "../option_readers.js";
import type { ChannelOptions, DType, Input, Like, ShapeOptions } from "../types.js";
import { COMMON, readArguments, readLayout } from "./arguments.js";
import { Layer } from "./layer.js";
import type { Parameter } from "./state.js";

/** Options of all layers. */
export interface LayerOptions<D extends DType = DType> {
  /** The element type of parameters and buffers. x may have any. Default: float32. */
  dtype?: D | undefined;
}

/** Options of `new LayerNorm`. */
export interface LayerNormConfig<D extends DType = DType> extends LayerOptions<D> {
  /** Added to the variance inside the root: finite, >= 0. Default: 1e-5. */
  eps?: number | undefined;
  /** Whether there are a weight and a bias. Default: true. */
  elementwiseAffine?: boolean | undefined;
  /** Whether there is a bias beside the weight. Default: true. */
  bias?: boolean | undefined;
}

/** Options of `new RMSNorm`. */
export interface RMSNormConfig<D extends DType = DType> extends LayerOptions<D> {
  /** Added to the mean of squares inside the root; null: the machine epsilon of x's element type. Default: null. */
  eps?: number | null | undefined;
  /** Whether there is a weight. Default: true. */
  elementwiseAffine?: boolean | undefined;
}

/** Options of `new GroupNorm`. */
export interface GroupNormConfig<D extends DType = DType> extends LayerOptions<D> {
  /** Added to the variance inside the root: finite, >= 0. Default: 1e-5. */
  eps?: number | undefined;
  /** Whether there are a weight and a bias. Default: true. */
  affine?: boolean | undefined;
  /** Where the channels stand: `channels_first` is PyTorch's. Default: `channels_first`. */
  layout?: ChannelOptions["layout"];
}

/** What `forward` may be told about a flat x. */
export type ForwardOptions = ShapeOptions;

/**
 * Layer normalization over trailing dimensions, `torch.nn.LayerNorm`: `layerNorm` with a weight and a bias of its own, both
 * of `normalizedShape`, 1 and 0 at first.
 *
 * State: `weight`, `bias`.
 *
 * @example
 * const norm = new LayerNorm(4, { eps: 1e-5 });
 * const y = norm.forward(new Float32Array([3, 5, 2, 8])); // -> [-0.6547, 0.2182, -1.0911, 1.5275]
 * const gradInput = norm.backward(new Float32Array([1, 0, 0, 0])); // x.grad; weight.grad and bias.grad are added up
 * for (const { data, grad } of norm.parameters()) {
 *   for (let i = 0; i < data.length; i++) data[i] -= 0.1 * grad[i];
 * }
 * norm.zeroGrad();
 * norm.dispose();
 */
export class LayerNorm<D extends DType = "float32"> extends Layer {
  readonly normalizedShape: readonly number[];
  readonly eps: number;
  readonly weight: Parameter<D> | null;
  readonly bias: Parameter<D> | null;

  constructor(normalizedShape: number | readonly number[], options?: LayerNormConfig<D>);
  /** PyTorch's order. */
  constructor(
    normalizedShape: number | readonly number[],
    eps?: number,
    elementwiseAffine?: boolean,
    bias?: boolean,
    dtype?: D,
  );
  constructor(normalizedShape: number | readonly number[], ...rest: unknown[]) {
    super("LayerNorm");
    this.normalizedShape = readShape("LayerNorm", normalizedShape);
    const {
      eps = 1e-5,
      elementwiseAffine = true,
      bias = true,
      dtype = "float32" as D,
    } = readArguments<LayerNormConfig<D>>(
      "LayerNorm",
      { eps: readEps, elementwiseAffine: readFlag, bias: readFlag, ...COMMON },
      rest,
    );
    this.eps = eps;
    const make = (name: string, value: 0 | 1) =>
      this.addParameter(name, this.normalizedShape, dtype, value);
    this.weight = elementwiseAffine ? make("weight", 1) : null;
    this.bias = elementwiseAffine && bias ? make("bias", 0) : null;
  }

  /** `layerNorm` of x, which `backward` remembers: leave its elements as they are until then. A flat x is taken as rows. */
  forward<X extends Input>(x: X, options?: ForwardOptions): Like<X> {
    const { normalizedShape, eps } = this;
    const shape = this.readForward(options);
    return this.run("layerNorm", x, this, { normalizedShape, eps, shape });
  }

  /** The gradient of the last forward's x; the parameters' are added to theirs. gradOutput is as x. */
  backward<X extends Input>(gradOutput: X): Like<X> {
    return this.runBackward(gradOutput, this).gradInput as Like<X>;
  }
}

/**
 * Root mean square normalization over trailing dimensions, `torch.nn.RMSNorm`: `rmsNorm` with a weight of its own of
 * `normalizedShape`, 1 at first. Without `eps` it is the machine epsilon of x's element type, as PyTorch has it.
 *
 * State: `weight`.
 *
 * @example
 * const norm = new RMSNorm(2, { eps: 0 });
 * const y = norm.forward([[3, 4]]); // -> [[0.8485, 1.1314]]
 */
export class RMSNorm<D extends DType = "float32"> extends Layer {
  readonly normalizedShape: readonly number[];
  readonly eps: number | null;
  readonly weight: Parameter<D> | null;

  constructor(normalizedShape: number | readonly number[], options?: RMSNormConfig<D>);
  /** PyTorch's order. */
  constructor(
    normalizedShape: number | readonly number[],
    eps?: number | null,
    elementwiseAffine?: boolean,
    dtype?: D,
  );
  constructor(normalizedShape: number | readonly number[], ...rest: unknown[]) {
    super("RMSNorm");
    this.normalizedShape = readShape("RMSNorm", normalizedShape);
    const {
      eps,
      elementwiseAffine = true,
      dtype = "float32" as D,
    } = readArguments<RMSNormConfig<D>>(
      "RMSNorm",
      { eps: orNone(readEps), elementwiseAffine: readFlag, ...COMMON },
      rest,
    );
    this.eps = eps ?? null;
    this.weight = elementwiseAffine
      ? this.addParameter("weight", this.normalizedShape, dtype, 1)
      : null;
  }

  /** `rmsNorm` of x, which `backward` remembers: leave its elements as they are until then. A flat x is taken as rows. */
  forward<X extends Input>(x: X, options?: ForwardOptions): Like<X> {
    const { normalizedShape, eps, weight } = this;
    const constant = eps === null ? { preset: "pytorch" } : { eps };
    const shape = this.readForward(options);
    return this.run("rmsNorm", x, { weight }, { normalizedShape, shape, ...constant });
  }

  /** The gradient of the last forward's x; the weight's is added to its own. gradOutput is as x. */
  backward<X extends Input>(gradOutput: X): Like<X> {
    return this.runBackward(gradOutput, { weight: this.weight }).gradInput as Like<X>;
  }
}

/**
 * Group normalization, `torch.nn.GroupNorm`: `groupNorm` with a weight and a bias of its own, [numChannels], 1 and 0 at
 * first. x is (N, C, ...), or with `layout: "channels_last"` (N, ..., C); `forward` of a flat x needs `{ shape }`.
 *
 * State: `weight`, `bias`.
 *
 * @example
 * const norm = new GroupNorm(2, 4);
 * const y = norm.forward({ data: Float32Array.of(1, 2, 3, 5), dims: [1, 4] }); // data [-1, 1, -1, 1]
 */
export class GroupNorm<D extends DType = "float32"> extends Layer {
  readonly numGroups: number;
  readonly numChannels: number;
  readonly eps: number;
  readonly layout: "channels_first" | "channels_last";
  readonly weight: Parameter<D> | null;
  readonly bias: Parameter<D> | null;

  constructor(numGroups: number, numChannels: number, options?: GroupNormConfig<D>);
  /** PyTorch's order. */
  constructor(numGroups: number, numChannels: number, eps?: number, affine?: boolean, dtype?: D);
  constructor(numGroups: number, numChannels: number, ...rest: unknown[]) {
    super("GroupNorm");
    this.numGroups = readCount("GroupNorm", "numGroups", numGroups);
    this.numChannels = readCount("GroupNorm", "numChannels", numChannels);
    if (numChannels % numGroups !== 0) {
      const expected = `a divisor of ${numChannels} channels`;
      throw wrongValue("GroupNorm", "numGroups", expected, `${numGroups}`);
    }
    const {
      eps = 1e-5,
      affine = true,
      dtype = "float32" as D,
      layout = "channels_first",
    } = readArguments<GroupNormConfig<D>>(
      "GroupNorm",
      { eps: readEps, affine: readFlag, ...COMMON, layout: readLayout },
      rest,
    );
    this.eps = eps;
    this.layout = layout;
    const make = (name: string, value: 0 | 1) =>
      this.addParameter(name, [numChannels], dtype, value);
    this.weight = affine ? make("weight", 1) : null;
    this.bias = affine ? make("bias", 0) : null;
  }

  /** `groupNorm` of x, which `backward` remembers: leave its elements as they are until then. */
  forward<X extends Input>(x: X, options?: ForwardOptions): Like<X> {
    const { numGroups, eps, layout } = this;
    const shape = this.readForward(options);
    this.checkChannels(x, shape, layout, this.numChannels);
    return this.run("groupNorm", x, this, { numGroups, eps, layout, shape });
  }

  /** The gradient of the last forward's x; the parameters' are added to theirs. gradOutput is as x. */
  backward<X extends Input>(gradOutput: X): Like<X> {
    return this.runBackward(gradOutput, this).gradInput as Like<X>;
  }
}

/**
 * A size or dimensions, none of them 0.
 * @internal
 */
export function readShape(where: string, value: unknown): Dims {
  const shape = readSize(where, "normalizedShape", value);
  if (shape.length === 0 || shape.includes(0)) {
    const expected = "one or more dimensions of at least 1";
    throw wrongValue(where, "normalizedShape", expected, `[${shape.join(", ")}]`);
  }
  return Object.freeze(shape);
}
