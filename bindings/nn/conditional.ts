// Layer normalization whose scale and shift come from a condition.
import type { Dims } from "../dims.js";
import { count, show } from "../dims.js";
import { wrongValue } from "../errors.js";
import { newElements, type Operand, readOperand, settle } from "../operands.js";
import { readCount, readEps, readFlag } from "../option_readers.js";
import type { DType, Input, Like } from "../types.js";
import { COMMON, readArguments } from "./arguments.js";
import { elementsOf, Layer } from "./layer.js";
import { type ForwardOptions, type LayerOptions, readShape } from "./layers.js";
import { float64Of, type Parameter } from "./state.js";

const WHERE = "ConditionalLayerNorm";

/** Options of `new ConditionalLayerNorm`. */
export interface ConditionalLayerNormConfig<D extends DType = DType> extends LayerOptions<D> {
  /** Added to the variance inside the root: finite, >= 0. Default: 1e-5. */
  eps?: number | undefined;
  /** Whether there are a weight and a bias before the conditional scale and shift. Default: false. */
  elementwiseAffine?: boolean | undefined;
  /** Whether the linear maps, and the affine part, have biases. Default: true. */
  bias?: boolean | undefined;
}

/**
 * Conditional (adaptive) layer normalization over trailing dimensions: scale and shift are linear maps of a condition.
 *
 * `y = layerNorm(x) * (1 + scale) + shift` with `scale = scale.weight . condition + scale.bias` and
 * `shift = shift.weight . condition + shift.bias`. The maps are `torch.nn.Linear`'s, [size of normalizedShape,
 * conditionFeatures], and 0 at first, so that it begins as plain layer normalization (adaLN-Zero; Peebles, Xie 2022,
 * https://arxiv.org/abs/2212.09748).
 *
 * The condition is [N, conditionFeatures], one row for each item of x (..., dimension 0 of x = N), or [conditionFeatures] for
 * all. Nonlinearities on it are the caller's.
 *
 * State: `scale.weight`, `scale.bias`, `shift.weight`, `shift.bias`; with `elementwiseAffine` first `weight`, `bias`.
 *
 * @example
 * const norm = new ConditionalLayerNorm(2, 1, { eps: 0 });
 * norm.loadStateDict({
 *   "scale.weight": [[1], [0]],
 *   "scale.bias": [0, 0],
 *   "shift.weight": [[0], [0]],
 *   "shift.bias": [5, 5],
 * });
 * const y = norm.forward([[1, 3], [1, 3]], [[0], [1]]); // -> [[4, 6], [3, 6]]
 */
export class ConditionalLayerNorm<D extends DType = "float32"> extends Layer {
  readonly normalizedShape: readonly number[];
  readonly conditionFeatures: number;
  readonly eps: number;
  readonly weight: Parameter<D> | null;
  readonly bias: Parameter<D> | null;
  readonly scale: LinearParameters<D>;
  readonly shift: LinearParameters<D>;
  #condition: Condition | undefined;

  constructor(
    normalizedShape: number | readonly number[],
    conditionFeatures: number,
    options?: ConditionalLayerNormConfig<D>,
  );
  constructor(
    normalizedShape: number | readonly number[],
    conditionFeatures: number,
    ...rest: unknown[]
  ) {
    super(WHERE);
    this.normalizedShape = readShape(WHERE, normalizedShape);
    this.conditionFeatures = readCount(WHERE, "conditionFeatures", conditionFeatures);
    const {
      eps = 1e-5,
      elementwiseAffine = false,
      bias = true,
      dtype = "float32" as D,
    } = readArguments<ConditionalLayerNormConfig<D>>(
      WHERE,
      { eps: readEps, elementwiseAffine: readFlag, bias: readFlag, ...COMMON },
      rest,
    );
    this.eps = eps;
    const make = (name: string, value: 0 | 1) =>
      this.addParameter(name, this.normalizedShape, dtype, value);
    this.weight = elementwiseAffine ? make("weight", 1) : null;
    this.bias = elementwiseAffine && bias ? make("bias", 0) : null;
    const features = count(this.normalizedShape);
    const linear = (name: string): LinearParameters<D> => ({
      weight: this.addParameter(`${name}.weight`, [features, conditionFeatures], dtype, 0),
      bias: bias ? this.addParameter(`${name}.bias`, [features], dtype, 0) : null,
    });
    this.scale = linear("scale");
    this.shift = linear("shift");
  }

  /** The formula above; `backward` remembers x and the condition's values: leave x's elements as they are until then. */
  forward<X extends Input>(x: X, condition: Input, options?: ForwardOptions): Like<X> {
    const shape = this.readForward(options);
    const read = readCondition(condition, this.conditionFeatures);
    const { normalizedShape, eps, scale, shift } = this;
    const mapped = [...read.items, ...normalizedShape];
    const apply = (map: LinearParameters) => ({ data: linear(map, read), shape: mapped });
    const y = this.run("layerNorm", x, this, {
      normalizedShape,
      eps,
      shape,
      scale: apply(scale),
      shift: apply(shift),
    });
    this.#condition = read;
    return y;
  }

  /**
   * The gradients of the last forward's x and condition (as float64, in its dimensions); the parameters' are added to theirs.
   * gradOutput is as x.
   */
  backward<X extends Input>(
    gradOutput: X,
  ): { gradInput: Like<X>; gradCondition: { data: Float64Array; shape: number[] } } {
    const { gradInput, gradScale, gradShift } = this.runBackward(gradOutput, this);
    const condition = this.#condition!;
    this.#condition = undefined;
    const data = new Float64Array(condition.values.length);
    linearBackward(this.scale, condition, elementsOf(gradScale), data);
    linearBackward(this.shift, condition, elementsOf(gradShift), data);
    const shape = [...condition.items, this.conditionFeatures];
    return { gradInput: gradInput as Like<X>, gradCondition: { data, shape } };
  }

  override dispose(): void {
    super.dispose();
    this.#condition = undefined;
  }
}

/** The parameters of a linear map. */
export interface LinearParameters<D extends DType = DType> {
  readonly weight: Parameter<D>;
  readonly bias: Parameter<D> | null;
}

interface Condition {
  /** [N], or [] where there is one for all. */
  readonly items: Dims;
  readonly values: Float64Array;
}

function readCondition(value: unknown, features: number): Condition {
  const operand: Operand = readOperand(WHERE, "condition", value);
  settle(WHERE, "condition", operand);
  const { size } = operand;
  const dims = operand.dims ?? (size === features ? [features] : [size / features, features]);
  if (dims.length > 2 || dims.at(-1) !== features || !Number.isInteger(dims[0])) {
    const expected = `shape [N, ${features}] or [${features}]`;
    throw wrongValue(WHERE, "condition", expected, show(operand.dims ?? [size]));
  }
  return { items: dims.slice(0, -1), values: float64Of(WHERE, operand, dims) };
}

/** `weight . condition + bias` for each item, in float64. */
function linear({ weight, bias }: LinearParameters, { values }: Condition): Float64Array {
  const [features, inputs] = weight.shape as [number, number];
  const w = weight.float64;
  const b = bias?.float64;
  const items = values.length / inputs;
  const y = newElements(WHERE, "float64", items * features) as Float64Array;
  for (let item = 0; item < items; item++) {
    for (let f = 0; f < features; f++) {
      let sum = b === undefined ? 0 : b[f]!;
      for (let i = 0; i < inputs; i++) sum += w[f * inputs + i]! * values[item * inputs + i]!;
      y[item * features + f] = sum;
    }
  }
  return y;
}

/** Adds the parameters' gradients to theirs, and the condition's to `gradCondition`. */
function linearBackward(
  { weight, bias }: LinearParameters,
  { values }: Condition,
  gradOutput: ArrayLike<number>,
  gradCondition: Float64Array,
): void {
  const [features, inputs] = weight.shape as [number, number];
  const w = weight.float64;
  const gradWeight = newElements(WHERE, "float64", w.length) as Float64Array;
  const gradBias = new Float64Array(features);
  const items = values.length / inputs;
  for (let item = 0; item < items; item++) {
    for (let f = 0; f < features; f++) {
      const g = gradOutput[item * features + f]!;
      gradBias[f]! += g;
      for (let i = 0; i < inputs; i++) {
        const at = item * inputs + i;
        gradWeight[f * inputs + i]! += g * values[at]!;
        gradCondition[at]! += g * w[f * inputs + i]!;
      }
    }
  }
  weight.accumulate(gradWeight);
  bias?.accumulate(gradBias);
}
