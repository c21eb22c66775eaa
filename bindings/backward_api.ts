// The signatures of the backward functions, with their documentation.
import type {
  AddGroupNormBackwardOptions,
  AddLayerNormBackwardOptions,
  AddRmsNormBackwardOptions,
  BatchNormBackwardOptions,
  GradientLike,
  GroupNormBackwardOptions,
  Input,
  InstanceNormBackwardOptions,
  L2NormalizeBackwardOptions,
  LayerNormBackwardOptions,
  Like,
  Parameter,
  RmsNormBackwardOptions,
} from "./types.js";

type Given = Parameter | null | undefined;

/** What follows normalization, by type. */
export interface Affine<W, B, S, H> {
  weight?: W;
  bias?: B;
  scale?: S;
  shift?: H;
}

/** What makes the sum, by type. */
export interface Summed<G, C> {
  gate?: G;
  sumBias?: C;
}

/** The gradients of an operation with a weight and what follows it. */
export interface AffineGradients<X, W, B, S, H> {
  gradInput: Like<X>;
  gradWeight: GradientLike<W>;
  gradBias: GradientLike<B>;
  gradScale: GradientLike<S>;
  gradShift: GradientLike<H>;
}

/** The gradients of an operation that normalizes a sum. */
export interface SumGradients<X, R, W, B, S, H, G, C> extends AffineGradients<X, W, B, S, H> {
  gradResidual: Like<R>;
  gradGate: GradientLike<G>;
  gradSumBias: GradientLike<C>;
}

export interface LayerNormBackward {
  /**
   * The gradients of layer normalization: of x, weight, bias, scale and shift.
   *
   * With `normalized = (x - mean) * rstd`, gw the gradient of the normalized values (`gradOutput * (weightOffset + weight)`, and
   * what an activation and `scale` make of it), the means over a run:
   * `gradInput = rstd * (gw - mean(gw) - normalized * mean(gw * normalized))`.
   * `gradWeight = sum(gradOutput * normalized)` and `gradBias = sum(gradOutput)` over all that share an element.
   *
   * gradOutput, the gradient of the result, is shaped as x and may be of any kind and element type; the options are those of
   * `layerNorm`, with the `mean` and `rstd` that it returned if they are at hand. gradInput has x's kind and element
   * type; each other gradient is null where its parameter is absent, else of the parameter's shape, kind and element type, a
   * number for a number. Sums are taken in higher precision, in an order that x's shape alone decides. A run whose rstd is
   * infinite has the gradient 0.
   *
   * Ba, Kiros, Hinton 2016, https://arxiv.org/abs/1607.06450; matches `torch.ops.aten.native_layer_norm_backward`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, or no memory
   * @example
   * const { gradInput, gradWeight } = layerNormBackward([1, 0, 2], [1, 2, 6], { weight: [1, 1, 2] });
   * console.log(gradWeight); // -> [-0.9258, 0, 2.7775]
   */
  <
    X extends Input,
    W extends Given = undefined,
    B extends Given = undefined,
    S extends Given = undefined,
    H extends Given = undefined,
  >(
    gradOutput: Input,
    x: X,
    options?: LayerNormBackwardOptions & Affine<W, B, S, H>,
  ): AffineGradients<X, W, B, S, H>;
}

export interface RmsNormBackward {
  /**
   * The gradients of root mean square normalization: of x, weight, bias, scale and shift.
   *
   * With `normalized = x * rstd` and gw the gradient of the normalized values, the mean over a run:
   * `gradInput = rstd * (gw - normalized * mean(gw * normalized))`.
   *
   * gradOutput, the gradient of the result, is shaped as x and may be of any kind and element type; the options are those of
   * `rmsNorm`, with the `rstd` that it returned if it is at hand. gradInput has x's kind and element
   * type; each other gradient is null where its parameter is absent, else of the parameter's shape, kind and element type, a
   * number for a number. Sums are taken in higher precision, in an order that x's shape alone decides. A run whose rstd is
   * infinite has the gradient 0.
   *
   * Zhang, Sennrich 2019, https://arxiv.org/abs/1910.07467; matches the gradients of `torch.nn.RMSNorm`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, or no memory
   * @example
   * const { gradInput, gradWeight } = rmsNormBackward([1, 0], [3, 4], { weight: 2, eps: 0 });
   * console.log(gradWeight); // -> 0.8485
   */
  <
    X extends Input,
    W extends Given = undefined,
    B extends Given = undefined,
    S extends Given = undefined,
    H extends Given = undefined,
  >(
    gradOutput: Input,
    x: X,
    options?: RmsNormBackwardOptions & Affine<W, B, S, H>,
  ): AffineGradients<X, W, B, S, H>;
}

export interface GroupNormBackward {
  /**
   * The gradients of group normalization: of x, weight, bias, scale and shift.
   *
   * With `normalized = (x - mean) * rstd`, gw the gradient of the normalized values (`gradOutput * (weightOffset + weight)`, and
   * what an activation and `scale` make of it), the means over a run:
   * `gradInput = rstd * (gw - mean(gw) - normalized * mean(gw * normalized))`.
   * gradWeight and gradBias are [C], sums over all that is in a channel.
   *
   * gradOutput, the gradient of the result, is shaped as x and may be of any kind and element type; the options are those of
   * `groupNorm`, with the `mean` and `rstd` that it returned if they are at hand. gradInput has x's kind and element
   * type; each other gradient is null where its parameter is absent, else of the parameter's shape, kind and element type, a
   * number for a number. Sums are taken in higher precision, in an order that x's shape alone decides. A run whose rstd is
   * infinite has the gradient 0.
   *
   * Wu, He 2018, https://arxiv.org/abs/1803.08494; matches `torch.ops.aten.native_group_norm_backward`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, or no memory
   * @example
   * const x = [[1, 2], [3, 5]]; // two items of two channels
   * const { gradBias } = groupNormBackward([[1, 0], [2, 1]], x, { numGroups: 1, bias: [0, 0] });
   * console.log(gradBias); // -> [3, 1]
   */
  <
    X extends Input,
    W extends Given = undefined,
    B extends Given = undefined,
    S extends Given = undefined,
    H extends Given = undefined,
  >(
    gradOutput: Input,
    x: X,
    options: GroupNormBackwardOptions & Affine<W, B, S, H>,
  ): AffineGradients<X, W, B, S, H>;
}

export interface InstanceNormBackward {
  /**
   * The gradients of instance normalization: of x, weight, bias, scale and shift.
   *
   * With `normalized = (x - mean) * rstd`, gw the gradient of the normalized values (`gradOutput * (weightOffset + weight)`, and
   * what an activation and `scale` make of it), the means over a run:
   * `gradInput = rstd * (gw - mean(gw) - normalized * mean(gw * normalized))`.
   *
   * gradOutput, the gradient of the result, is shaped as x and may be of any kind and element type; the options are those of
   * `instanceNorm`, with the `mean` and `rstd` that it returned if they are at hand. gradInput has x's kind and element
   * type; each other gradient is null where its parameter is absent, else of the parameter's shape, kind and element type, a
   * number for a number. Sums are taken in higher precision, in an order that x's shape alone decides. A run whose rstd is
   * infinite has the gradient 0.
   *
   * Ulyanov, Vedaldi, Lempitsky 2016, https://arxiv.org/abs/1607.08022; matches the gradients of `torch.nn.InstanceNorm2d`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, or no memory
   * @example
   * const { gradInput } = instanceNormBackward([[[1, 0, 0]]], [[[1, 2, 3]]], { eps: 0 });
   * console.log(gradInput); // -> [[[0.2041, -0.4082, 0.2041]]]
   */
  <
    X extends Input,
    W extends Given = undefined,
    B extends Given = undefined,
    S extends Given = undefined,
    H extends Given = undefined,
  >(
    gradOutput: Input,
    x: X,
    options?: InstanceNormBackwardOptions & Affine<W, B, S, H>,
  ): AffineGradients<X, W, B, S, H>;
}

export interface BatchNormBackward {
  /**
   * The gradients of batch normalization: of x, weight, bias, scale and shift.
   *
   * With `training` those of `batchNorm` with the statistics of the batch, the means over a channel; the running statistics
   * are checked, but neither used nor updated:
   * `gradInput = rstd * (gw - mean(gw) - normalized * mean(gw * normalized))`, gw the gradient of the normalized values.
   * Without it the statistics are constants, `gradInput = rstd * gw`, and `runningMean` and `runningVar` are needed.
   *
   * gradOutput, the gradient of the result, is shaped as x and may be of any kind and element type; the options are those of
   * `batchNorm`, with the `mean` and `rstd` that it returned if they are at hand. gradInput has x's kind and element
   * type; each other gradient is null where its parameter is absent, else of the parameter's shape, kind and element type, a
   * number for a number. Sums are taken in higher precision, in an order that x's shape alone decides. A run whose rstd is
   * infinite has the gradient 0.
   *
   * Ioffe, Szegedy 2015, https://arxiv.org/abs/1502.03167; matches `torch.ops.aten.native_batch_norm_backward`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, or no memory
   * @example
   * const { gradInput } = batchNormBackward([[1], [0], [0]], [[1], [2], [3]], { training: true, eps: 0 });
   * console.log(gradInput); // -> [[0.2041], [-0.4082], [0.2041]]
   */
  <
    X extends Input,
    W extends Given = undefined,
    B extends Given = undefined,
    S extends Given = undefined,
    H extends Given = undefined,
  >(
    gradOutput: Input,
    x: X,
    options: BatchNormBackwardOptions & Affine<W, B, S, H>,
  ): AffineGradients<X, W, B, S, H>;
}

export interface L2NormalizeBackward {
  /**
   * The gradient of `l2Normalize`.
   *
   * With `y = x / norm`: `gradInput = (gradOutput - y * sum(gradOutput * y)) / norm`, and `gradOutput / eps` where the norm is
   * below eps. A run of zeros with eps 0 has the gradient 0. gradOutput is shaped as x and may be of any kind and element type;
   * gradInput has x's kind and element type. Sums are taken in higher precision.
   *
   * Matches the gradient of `torch.nn.functional.normalize`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, or no memory
   * @example
   * const { gradInput } = l2NormalizeBackward([1, 0], [3, 4]);
   * console.log(gradInput); // -> [0.128, -0.096]
   */
  <X extends Input>(
    gradOutput: Input,
    x: X,
    options?: L2NormalizeBackwardOptions,
  ): { gradInput: Like<X> };
}

export interface AddLayerNormBackward {
  /**
   * The gradients of layer normalization of a sum: of x, residual, gate, sumBias, weight, bias, scale and shift.
   *
   * The sum is made again from x and residual, as the forward call made it. With gs the gradient of the sum, that of the
   * normalization plus `gradSum` where the sum itself went on: gradInput is `gate * gs`, gradResidual gs summed over what
   * residual repeats, gradGate `sum(x * gs)` and gradSumBias `sum(gs)`; the others are those of `layerNormBackward` at the sum.
   *
   * gradOutput, the gradient of the result, is shaped as x and may be of any kind and element type; the options are those of
   * `addLayerNorm`, with the `mean` and `rstd` that it returned if they are at hand. gradInput has x's kind and element
   * type; each other gradient is null where its parameter is absent, else of the parameter's shape, kind and element type, a
   * number for a number. Sums are taken in higher precision, in an order that x's shape alone decides. A run whose rstd is
   * infinite has the gradient 0.
   *
   * The chain rule through `addLayerNorm`; its norm as `layerNormBackward`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, or no memory
   * @example
   * const { gradResidual } = addLayerNormBackward([1, 0, 0], [1, 1, 1], [0, 1, 2], { eps: 0 });
   * console.log(gradResidual); // -> [0.2041, -0.4082, 0.2041]
   */
  <
    X extends Input,
    R extends Input,
    W extends Given = undefined,
    B extends Given = undefined,
    S extends Given = undefined,
    H extends Given = undefined,
    G extends Given = undefined,
    C extends Given = undefined,
  >(
    gradOutput: Input,
    x: X,
    residual: R,
    options?: AddLayerNormBackwardOptions & Affine<W, B, S, H> & Summed<G, C>,
  ): SumGradients<X, R, W, B, S, H, G, C>;
}

export interface AddRmsNormBackward {
  /**
   * The gradients of root mean square normalization of a sum: of x, residual, gate, sumBias, weight, bias, scale and shift.
   *
   * The sum is made again from x and residual, as the forward call made it. With gs the gradient of the sum, that of the
   * normalization plus `gradSum` where the sum itself went on: gradInput is `gate * gs`, gradResidual gs summed over what
   * residual repeats, gradGate `sum(x * gs)` and gradSumBias `sum(gs)`; the others are those of `rmsNormBackward` at the sum.
   *
   * gradOutput, the gradient of the result, is shaped as x and may be of any kind and element type; the options are those of
   * `addRmsNorm`, with the `rstd` that it returned if it is at hand. gradInput has x's kind and element
   * type; each other gradient is null where its parameter is absent, else of the parameter's shape, kind and element type, a
   * number for a number. Sums are taken in higher precision, in an order that x's shape alone decides. A run whose rstd is
   * infinite has the gradient 0.
   *
   * The chain rule through `addRmsNorm`; its norm as `rmsNormBackward`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, or no memory
   * @example
   * const { gradSumBias } = addRmsNormBackward([1, 0], [2, 2], [1, 2], { sumBias: [0, 0], eps: 0 });
   * console.log(gradSumBias); // -> [0.181, -0.1358]
   */
  <
    X extends Input,
    R extends Input,
    W extends Given = undefined,
    B extends Given = undefined,
    S extends Given = undefined,
    H extends Given = undefined,
    G extends Given = undefined,
    C extends Given = undefined,
  >(
    gradOutput: Input,
    x: X,
    residual: R,
    options?: AddRmsNormBackwardOptions & Affine<W, B, S, H> & Summed<G, C>,
  ): SumGradients<X, R, W, B, S, H, G, C>;
}

export interface AddGroupNormBackward {
  /**
   * The gradients of group normalization of a sum: of x, residual, gate, sumBias, weight, bias, scale and shift.
   *
   * The sum is made again from x and residual, as the forward call made it. With gs the gradient of the sum, that of the
   * normalization plus `gradSum` where the sum itself went on: gradInput is `gate * gs`, gradResidual gs summed over what
   * residual repeats, gradGate `sum(x * gs)` and gradSumBias `sum(gs)`; the others are those of `groupNormBackward` at the sum.
   *
   * gradOutput, the gradient of the result, is shaped as x and may be of any kind and element type; the options are those of
   * `addGroupNorm`, with the `mean` and `rstd` that it returned if they are at hand. gradInput has x's kind and element
   * type; each other gradient is null where its parameter is absent, else of the parameter's shape, kind and element type, a
   * number for a number. Sums are taken in higher precision, in an order that x's shape alone decides. A run whose rstd is
   * infinite has the gradient 0.
   *
   * The chain rule through `addGroupNorm`; its norm as `groupNormBackward`.
   *
   * @throws {TypeError} for a wrong kind, an unknown, missing or clashing option, a detached array, a disposed or lost tensor
   * @throws {RangeError} for a wrong value or shape, an unknown string, or no memory
   * @example
   * const { gradInput } = addGroupNormBackward([[1, 0, 0]], [[0, 1, 2]], [[1, 1, 1]], {
   *   numGroups: 1,
   *   gate: 2,
   *   eps: 0,
   * });
   */
  <
    X extends Input,
    R extends Input,
    W extends Given = undefined,
    B extends Given = undefined,
    S extends Given = undefined,
    H extends Given = undefined,
    G extends Given = undefined,
    C extends Given = undefined,
  >(
    gradOutput: Input,
    x: X,
    residual: R,
    options: AddGroupNormBackwardOptions & Affine<W, B, S, H> & Summed<G, C>,
  ): SumGradients<X, R, W, B, S, H, G, C>;
}
