// The operations made of TensorFlow.js's own: for backends that this package does not compute on, and for derivatives beyond
// the first. Their gradients are TensorFlow.js's. The mean is subtracted before anything is squared.
import {
  add,
  mean,
  mul,
  reshape,
  rsqrt,
  square,
  sub,
  type Tensor,
  transpose,
} from "@tensorflow/tfjs-core";
import type { Dims } from "../dims.js";
import type { Geometry } from "../geometry.js";

/** What a call normalizes, and how. */
export interface Recipe {
  readonly geometry: Geometry;
  /** Whether the mean is subtracted. */
  readonly centered: boolean;
  readonly eps: number;
  readonly weightOffset: number;
}

export type Parameter = Tensor | number | null;

export function composed(recipe: Recipe, x: Tensor, weight: Parameter, bias: Parameter): Tensor {
  const { geometry, centered, eps, weightOffset } = recipe;
  const { split, axes } = partsOf(geometry);
  const parts = split === undefined ? x : reshape(x, [...split]);
  const deviation = centered ? sub(parts, mean(parts, axes, true)) : parts;
  const variance = mean(square(deviation), axes, true);
  let y = mul(deviation, rsqrt(add(variance, eps)));
  if (split !== undefined) y = reshape(y, x.shape);
  if (weight !== null) {
    const factor = broadcast(geometry, weight);
    y =
      typeof factor === "number"
        ? mul(y, weightOffset + factor)
        : mul(y, add(factor, weightOffset));
  }
  return bias === null ? y : add(y, broadcast(geometry, bias));
}

/** The dimensions that x is split into, and which of them are normalized together. */
function partsOf({ dims, lead, reduced, channel, groups }: Geometry): {
  split: Dims | undefined;
  axes: number[];
} {
  const all = dims.map((_, i) => i);
  if (groups === 0) {
    return { split: undefined, axes: all.filter((i) => (lead < 0 ? reduced[i] : i >= lead)) };
  }
  const split = [
    ...dims.slice(0, channel),
    groups,
    dims[channel]! / groups,
    ...dims.slice(channel + 1),
  ];
  return { split, axes: split.map((_, i) => i).filter((i) => i !== 0 && i !== channel) };
}

/** A parameter of the normalized dimensions, or of the channels, with dimensions that broadcast against x. */
export function broadcast<P extends Tensor | number>(geometry: Geometry, parameter: P): P | Tensor {
  const { dims, lead, own } = geometry;
  if (typeof parameter === "number" || lead >= 0) return parameter;
  const inOrder = [...own].sort((a, b) => a - b);
  const isInOrder = own.every((axis, i) => axis === inOrder[i]);
  const order = inOrder.map((axis) => own.indexOf(axis));
  const ordered: Tensor = isInOrder ? (parameter as Tensor) : transpose(parameter as Tensor, order);
  return alongAxes(dims, own, ordered);
}

/** A parameter of some dimensions of x in their order, with dimensions that broadcast against x. */
function alongAxes(dims: Dims, axes: Dims, parameter: Tensor): Tensor {
  return reshape(
    parameter,
    dims.map((dim, i) => (axes.includes(i) ? dim : 1)),
  );
}

/** The dimensions of a weight or bias. */
export function parameterShape({ dims, lead, own }: Geometry): number[] {
  return lead >= 0 ? dims.slice(lead) : own.map((axis) => dims[axis]!);
}

/** `x * rstd * weight` with the rstd of layer normalization: Keras's LayerNormalization with rms_scaling. */
export function composedRmsScaling(x: Tensor, axes: number[], weight: Tensor, eps: number): Tensor {
  const deviation = sub(x, mean(x, axes, true));
  const rstd = rsqrt(add(mean(square(deviation), axes, true), eps));
  return mul(mul(x, rstd), alongAxes(x.shape, axes, weight));
}
