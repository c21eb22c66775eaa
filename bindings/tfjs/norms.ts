// Layers with the names and configurations of Keras 3, so that its saved models load.
import { reshape, type serialization, type Tensor, transpose } from "@tensorflow/tfjs-core";
import { initializers, type LayerVariable, layers, type Shape } from "@tensorflow/tfjs-layers";
import { describe, wrongType, wrongValue } from "../errors.js";
import { readEps, readFlag } from "../option_readers.js";
import { isPlain, requirePlain } from "../tensor.js";
import { composedRmsScaling } from "./composed.js";
import { groupNorm, layerNorm, rmsNorm } from "./ops.js";

type Config = serialization.ConfigDict;

/** What TensorFlow.js takes for an initializer, a regularizer or a constraint: a name, a configuration or the object. */
type Named = string | object | null | undefined;

/** What all layers of TensorFlow.js take. */
export interface LayerArgs {
  name?: string | undefined;
  trainable?: boolean | undefined;
  dtype?: string | undefined;
  /** Of a model's first layer: x's dimensions without that of the batch. */
  inputShape?: Shape | undefined;
  batchInputShape?: Shape | undefined;
  batchSize?: number | undefined;
  weights?: Tensor[] | undefined;
  inputDType?: string | undefined;
}

/** Arguments of all layers. */
export interface NormalizationArgs extends LayerArgs {
  /** Added to the variance inside the root. Default: 1e-3; RMSNormalization: 1e-6. */
  epsilon?: number | undefined;
}

/** Arguments of layers with `gamma` and `beta`. */
export interface AffineArgs extends NormalizationArgs {
  /** Whether there is a `beta`. Default: true. */
  center?: boolean | undefined;
  /** Whether there is a `gamma`. Default: true. */
  scale?: boolean | undefined;
  betaInitializer?: Named;
  gammaInitializer?: Named;
  betaRegularizer?: Named;
  gammaRegularizer?: Named;
  betaConstraint?: Named;
  gammaConstraint?: Named;
}

export interface LayerNormalizationArgs extends AffineArgs {
  /** Which dimensions are normalized together. Default: -1. */
  axis?: number | number[] | undefined;
  /** Multiply x itself by rstd and gamma, without beta, as Keras has it. Default: false. */
  rmsScaling?: boolean | undefined;
}

export interface GroupNormalizationArgs extends AffineArgs {
  /** The number of groups; -1: one for each channel. Default: 32. */
  groups?: number | undefined;
  /** The dimension of the channels. Default: -1. */
  axis?: number | undefined;
}

export interface RMSNormalizationArgs extends NormalizationArgs {
  /** Which dimensions are normalized together. Default: -1. */
  axis?: number | number[] | undefined;
}

export interface InstanceNormalizationArgs extends AffineArgs {
  /** The dimension of the channels. Default: -1. */
  axis?: number | undefined;
}

const AFFINE = [
  "betaInitializer",
  "gammaInitializer",
  "betaRegularizer",
  "gammaRegularizer",
  "betaConstraint",
  "gammaConstraint",
] as const;
type AffineName = (typeof AFFINE)[number];

const LAYER: readonly (keyof LayerArgs)[] = [
  "name",
  "trainable",
  "dtype",
  "inputShape",
  "batchInputShape",
  "batchSize",
  "weights",
  "inputDType",
];

/** Arguments for TensorFlow.js's layer, which ignores what it does not know: that is refused here. */
export function baseArgs(where: string, args: unknown, own: readonly string[]): Config {
  requirePlain(where, "args", args);
  const known = [...own, ...LAYER];
  for (const [name, value] of Object.entries(args)) {
    // Keras writes null for what a layer makes no use of; TensorFlow.js adds to what it loads.
    if (value != null && name !== "customObjects" && !known.includes(name)) {
      throw wrongType(where, "args", `only ${known.join(", ")}`, describe(name));
    }
  }
  const { dtype } = args;
  // Keras 3 writes it as a policy.
  if (typeof dtype !== "object" || dtype === null) return args;
  const { config } = dtype as { config?: { name?: string } };
  return { ...args, dtype: config?.name };
}

/** The one shape of a layer with one input. */
export function oneShape(where: string, shape: Shape | Shape[]): Shape {
  const shapes = shape.every((each) => Array.isArray(each)) ? (shape as Shape[]) : [shape as Shape];
  if (shapes.length !== 1) throw wrongValue(where, "inputs", "one tensor", `${shapes.length}`);
  return shapes[0]!;
}

function oneTensor(where: string, inputs: Tensor | Tensor[]): Tensor {
  if (!Array.isArray(inputs)) return inputs;
  if (inputs.length !== 1) throw wrongValue(where, "inputs", "one tensor", `${inputs.length}`);
  return inputs[0]!;
}

const isInteger = (value: unknown): value is number => Number.isInteger(value);

function readAxis(where: string, axis: unknown): number {
  if (!isInteger(axis)) throw wrongType(where, "axis", "an integer", describe(axis));
  return axis;
}

function readAxes(where: string, axis: unknown): number | number[] {
  if (!Array.isArray(axis)) return readAxis(where, axis);
  return axis.map((each) => readAxis(where, each));
}

/** The size of a dimension that has to be known. */
function sizeOf(where: string, shape: Shape, axis: number): number {
  const size = shape.at(axis);
  if (axis < -shape.length || axis >= shape.length || !isInteger(size)) {
    throw wrongValue(
      where,
      "axis",
      `one of known size in [${shape.map(String).join(", ")}]`,
      `${axis}`,
    );
  }
  return size;
}

abstract class Normalization extends layers.Layer {
  protected readonly epsilon: number;

  protected constructor(
    protected readonly where: string,
    args: NormalizationArgs,
    own: readonly string[],
    epsilon: number,
  ) {
    super(baseArgs(where, args, [...own, "epsilon"]));
    this.epsilon = readEps(where, "epsilon", args.epsilon ?? epsilon);
    this.supportsMasking = true;
  }

  /** What console.log shows: the build shortens the names of classes. @internal */
  get [Symbol.toStringTag](): string {
    return this.where;
  }

  override call(inputs: Tensor | Tensor[], kwargs: object): Tensor {
    this.invokeCallHook(inputs, kwargs);
    return this.normalize(oneTensor(this.where, inputs));
  }

  protected abstract normalize(x: Tensor): Tensor;
}

abstract class AffineNormalization extends Normalization {
  protected readonly center: boolean;
  protected readonly scale: boolean;
  protected gamma: LayerVariable | null = null;
  protected beta: LayerVariable | null = null;
  /** TensorFlow.js's own layer with the same arguments: it reads them and writes their configuration. */
  readonly #affine: layers.Layer;

  protected constructor(where: string, args: AffineArgs, own: readonly string[]) {
    super(where, args, [...own, "center", "scale", ...AFFINE], 1e-3);
    this.center = readFlag(where, "center", args.center ?? true);
    this.scale = readFlag(where, "scale", args.scale ?? true);
    const given = AFFINE.map((name) => [name, args[name] ?? undefined]);
    this.#affine = layers.batchNormalization({ ...Object.fromEntries(given), name: "affine" });
  }

  protected addAffine(shape: number[], center = this.center, scale = this.scale): void {
    const own = this.#affine as unknown as Record<AffineName, never>;
    const add = (name: "gamma" | "beta") => {
      const initializer = own[`${name}Initializer`];
      const regularizer = own[`${name}Regularizer`];
      const constraint = own[`${name}Constraint`];
      return this.addWeight(name, shape, "float32", initializer, regularizer, true, constraint);
    };
    this.gamma = scale ? add("gamma") : null;
    this.beta = center ? add("beta") : null;
  }

  protected get parameters() {
    return { weight: this.gamma?.read(), bias: this.beta?.read(), eps: this.epsilon };
  }

  override getConfig(): Config {
    const { epsilon, center, scale } = this;
    const affine = this.#affine.getConfig();
    const named = AFFINE.map((name) => [name, affine[name]]);
    return { ...super.getConfig(), epsilon, center, scale, ...Object.fromEntries(named) };
  }
}

/**
 * Keras's `LayerNormalization`, and TensorFlow.js's: layer normalization over `axis`, with `gamma` and `beta`.
 *
 * https://keras.io/api/layers/normalization_layers/layer_normalization/
 */
export class LayerNormalization extends AffineNormalization {
  static className = "LayerNormalization";
  protected readonly axis: number | number[];
  protected readonly rmsScaling: boolean;

  constructor(args: LayerNormalizationArgs = {}) {
    super("LayerNormalization", args, ["axis", "rmsScaling"]);
    this.axis = readAxes(this.where, args.axis ?? -1);
    this.rmsScaling = readFlag(this.where, "rmsScaling", args.rmsScaling ?? false);
  }

  override build(inputShape: Shape | Shape[]): void {
    const shape = oneShape(this.where, inputShape);
    const sizes = [this.axis].flat().map((axis) => sizeOf(this.where, shape, axis));
    if (this.rmsScaling) this.addAffine(sizes, false, true);
    else this.addAffine(sizes);
    this.built = true;
  }

  protected override normalize(x: Tensor): Tensor {
    // Keras takes gamma and beta, whose dimensions are in the order of axis, for elements in the order of x's.
    const axes = [this.axis].flat().map((axis) => (axis < 0 ? axis + x.rank : axis));
    axes.sort((a, b) => a - b);
    const { weight, bias, eps } = this.parameters;
    if (this.rmsScaling) return composedRmsScaling(x, axes, weight!, eps);
    const sizes = axes.map((axis) => x.shape[axis]!);
    const inOrder = (parameter: Tensor | undefined) => parameter && reshape(parameter, sizes);
    if (sizes.length === 1) return layerNorm(x, { axes, weight, bias, eps });
    return layerNorm(x, { axes, weight: inOrder(weight), bias: inOrder(bias), eps });
  }

  override getConfig(): Config {
    const { axis, rmsScaling } = this;
    // TensorFlow.js's own layer does not know it.
    return { ...super.getConfig(), axis, ...(rmsScaling ? { rmsScaling } : {}) };
  }
}

/**
 * Keras's `GroupNormalization`: normalization of each group of channels of each item, with `gamma` and `beta` of the
 * channels.
 *
 * https://keras.io/api/layers/normalization_layers/group_normalization/
 */
export class GroupNormalization extends AffineNormalization {
  static className = "GroupNormalization";
  protected readonly groups: number;
  protected readonly axis: number;

  constructor(args: GroupNormalizationArgs = {}) {
    super(new.target.className, args, ["groups", "axis"]);
    const groups = args.groups ?? 32;
    if (!isInteger(groups) || groups === 0 || groups < -1) {
      throw wrongValue(this.where, "groups", "an integer >= 1, or -1", describe(groups));
    }
    this.groups = groups;
    this.axis = readAxis(this.where, args.axis ?? -1);
  }

  override build(inputShape: Shape | Shape[]): void {
    const shape = oneShape(this.where, inputShape);
    const channels = sizeOf(this.where, shape, this.axis);
    if (this.axis === 0 || this.axis === -shape.length) {
      throw wrongValue(this.where, "axis", "a dimension behind that of the batch", `${this.axis}`);
    }
    if (this.groups > 0 && channels % this.groups !== 0) {
      const expected = `a divisor of ${channels} channels`;
      throw wrongValue(this.where, "groups", expected, `${this.groups}`);
    }
    this.addAffine([channels]);
    this.built = true;
  }

  protected override normalize(x: Tensor): Tensor {
    const { rank } = x;
    const axis = this.axis < 0 ? this.axis + rank : this.axis;
    const numGroups = this.groups === -1 ? x.shape[axis]! : this.groups;
    const { parameters } = this;
    if (axis === 1) return groupNorm(x, { numGroups, ...parameters });
    const layout = "channels_last";
    if (axis === rank - 1) return groupNorm(x, { numGroups, layout, ...parameters });
    const others = x.shape.map((_, i) => i).filter((i) => i !== axis);
    const to = [...others, axis];
    const back = x.shape.map((_, i) => to.indexOf(i));
    return transpose(groupNorm(transpose(x, to), { numGroups, layout, ...parameters }), back);
  }

  override getConfig(): Config {
    return { ...super.getConfig(), groups: this.groups, axis: this.axis };
  }
}

/** GroupNormalization's arguments for an InstanceNormalization. What is no object it is to refuse. */
function withGroupPerChannel(args: InstanceNormalizationArgs): GroupNormalizationArgs {
  if (!isPlain(args)) return args;
  const where = "InstanceNormalization";
  const { axis, groups = -1 } = args;
  // keras_contrib's null normalizes over the channels too.
  if (axis === null) throw wrongType(where, "axis", "the dimension of the channels", "null");
  if (groups !== -1) throw wrongValue(where, "groups", "none, or -1", describe(groups));
  return { ...args, groups };
}

/**
 * Instance normalization: normalization of each channel of each item, with `gamma` and `beta` of the channels. It is Keras's
 * `GroupNormalization` with groups -1, and `InstanceNormalization` of TensorFlow Addons.
 *
 * https://www.tensorflow.org/addons/api_docs/python/tfa/layers/InstanceNormalization
 */
export class InstanceNormalization extends GroupNormalization {
  static override className = "InstanceNormalization";

  constructor(args: InstanceNormalizationArgs = {}) {
    super(withGroupPerChannel(args));
  }

  override getConfig(): Config {
    const { groups: _, ...config } = super.getConfig();
    return config;
  }
}

/**
 * Keras's `RMSNormalization`: root mean square normalization over `axis`, with a weight that is called `scale`.
 *
 * https://keras.io/api/layers/normalization_layers/rms_normalization/
 */
export class RMSNormalization extends Normalization {
  static className = "RMSNormalization";
  protected readonly axis: number | number[];
  protected scale: LayerVariable | null = null;

  constructor(args: RMSNormalizationArgs = {}) {
    super("RMSNormalization", args, ["axis"], 1e-6);
    const axis = readAxes(this.where, args.axis ?? -1);
    this.axis = Array.isArray(axis) ? axis.sort((a, b) => a - b) : axis;
  }

  override build(inputShape: Shape | Shape[]): void {
    const shape = oneShape(this.where, inputShape);
    const sizes = [this.axis].flat().map((axis) => sizeOf(this.where, shape, axis));
    this.scale = this.addWeight("scale", sizes, "float32", initializers.ones());
    this.built = true;
  }

  protected override normalize(x: Tensor): Tensor {
    const axes = [this.axis].flat();
    return rmsNorm(x, { axes, weight: this.scale!.read(), eps: this.epsilon });
  }

  override getConfig(): Config {
    return { ...super.getConfig(), axis: this.axis, epsilon: this.epsilon };
  }
}
