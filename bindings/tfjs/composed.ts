// The operations made of TensorFlow.js's own, with its gradients: for backends that this package does not compute on. The
// mean is subtracted before anything is squared.
//
// With n the normalized x, g = gradOutput * weight and P(v) = v - mean(v) - n * mean(v * n), the gradient of x is
// rstd * P(g); rmsNorm has P(v) = v - n * mean(v * n). TensorFlow.js cannot differentiate within a gradient function, so the
// derivatives of gradients, which it needs for the second, are written out.
import {
  add,
  mean,
  mul,
  reshape,
  rsqrt,
  square,
  sub,
  sum,
  type Tensor,
  transpose,
  zerosLike,
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
  const y = times(recipe, new Runs(recipe, x).normalized, weight);
  return bias === null ? y : add(y, broadcast(recipe.geometry, bias));
}

/** A tensor times the weight. */
function times({ geometry, weightOffset }: Recipe, x: Tensor, weight: Parameter): Tensor {
  if (weight === null) return x;
  if (typeof weight === "number") return mul(x, weightOffset + weight);
  return mul(x, add(broadcast(geometry, weight), weightOffset));
}

/** The runs of x: what is normalized together. */
class Runs {
  readonly #shape: Dims;
  readonly #centered: boolean;
  readonly #split: Dims | undefined;
  readonly #axes: number[];
  // In the split dimensions.
  readonly #n: Tensor;
  readonly #rstd: Tensor;

  constructor({ geometry, centered, eps }: Recipe, x: Tensor) {
    const { split, axes } = partsOf(geometry);
    this.#shape = x.shape;
    this.#centered = centered;
    this.#split = split;
    this.#axes = axes;
    const parts = this.#parts(x);
    let deviation = parts;
    if (centered) {
      // Where the mean is far from 0, its rounding is more than the deviations': what is left of it goes in a second step.
      const near = sub(parts, this.#mean(parts));
      deviation = sub(near, this.#mean(near));
    }
    this.#rstd = rsqrt(add(this.#mean(square(deviation)), eps));
    this.#n = mul(deviation, this.#rstd);
  }

  /** `(x - mean) * rstd` */
  get normalized(): Tensor {
    return this.#whole(this.#n);
  }

  /** The gradient of x for that of the normalized x. */
  gradient(g: Tensor): Tensor {
    return this.#whole(mul(this.#rstd, this.#project(this.#parts(g))));
  }

  /** The gradient of x for one of `gradient(g)`, with g held fixed. */
  gradientOfGradient(g: Tensor, u: Tensor): Tensor {
    const [partsOfG, partsOfU] = [this.#parts(g), this.#parts(u)];
    const [projectedG, projectedU] = [this.#project(partsOfG), this.#project(partsOfU)];
    const n = this.#n;
    const sum = add(
      add(
        mul(n, this.#mean(mul(partsOfU, projectedG))),
        mul(projectedU, this.#mean(mul(partsOfG, n))),
      ),
      mul(projectedG, this.#mean(mul(partsOfU, n))),
    );
    return this.#whole(mul(sum, mul(square(this.#rstd), -1)));
  }

  /** What of a change of x changes the normalized x, over rstd; symmetric. */
  #project(v: Tensor): Tensor {
    const rest = sub(v, mul(this.#n, this.#mean(mul(v, this.#n))));
    return this.#centered ? sub(rest, this.#mean(v)) : rest;
  }

  #mean(parts: Tensor): Tensor {
    return mean(parts, this.#axes, true);
  }

  #parts(x: Tensor): Tensor {
    return this.#split === undefined ? x : reshape(x, [...this.#split]);
  }

  #whole(parts: Tensor): Tensor {
    return this.#split === undefined ? parts : reshape(parts, [...this.#shape]);
  }
}

/** The gradients of what `gradInput` is made of, for one of it: of gradOutput, x and weight. */
export function gradInputGradients(
  recipe: Recipe,
  [dy, x, weight]: readonly [Tensor, Tensor, Parameter],
  u: Tensor,
): Tensor[] {
  const runs = new Runs(recipe, x);
  const g = times(recipe, dy, weight);
  const gradG = runs.gradient(u);
  const gradients = [times(recipe, gradG, weight), runs.gradientOfGradient(g, u)];
  if (isTensor(weight)) gradients.push(sumToParameter(recipe.geometry, mul(dy, gradG)));
  return gradients;
}

/** The gradients of what `gradWeight` is made of, for one of it: of gradOutput and x. */
export function gradWeightGradients(recipe: Recipe, dy: Tensor, x: Tensor, q: Tensor): Tensor[] {
  const runs = new Runs(recipe, x);
  const u = broadcast(recipe.geometry, q);
  return [mul(runs.normalized, u), runs.gradient(mul(dy, u))];
}

/** The gradient of gradOutput for one of `gradBias`. */
export function gradBiasGradient({ geometry }: Recipe, dy: Tensor, q: Tensor): Tensor {
  return add(zerosLike(dy), broadcast(geometry, q));
}

/** What broadcasting a parameter against x is in reverse. */
function sumToParameter({ dims, lead, own }: Geometry, x: Tensor): Tensor {
  const axes = lead >= 0 ? dims.map((_, i) => i).slice(lead) : own;
  const summed = sum(
    x,
    dims.map((_, i) => i).filter((i) => !axes.includes(i)),
  );
  const inOrder = [...axes].sort((a, b) => a - b);
  const order = axes.map((axis) => inOrder.indexOf(axis));
  return order.every((axis, i) => axis === i) ? summed : transpose(summed, order);
}

export const isTensor = (parameter: Parameter): parameter is Tensor =>
  typeof parameter === "object" && parameter !== null;

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
