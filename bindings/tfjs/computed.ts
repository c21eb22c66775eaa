// Operations that this package computes, with their gradients, for TensorFlow.js: whoever computes gives values, which are
// differentiable any number of times here.
import { customGrad, type Tensor } from "@tensorflow/tfjs-core";
import {
  gradBiasGradient,
  gradInputGradients,
  gradWeightGradients,
  isTensor,
  type Parameter,
  type Recipe,
} from "./composed.js";
import type { TfOp } from "./ops.js";

/** A call whose tensors may have been replaced by others of the same shapes. */
export interface Call {
  readonly name: TfOp;
  /** The options that say which dimensions are normalized. */
  readonly places: Record<string, unknown>;
  readonly recipe: Recipe;
  readonly x: Tensor;
  readonly weight: Parameter;
  readonly bias: Parameter;
}

/** The values of gradients: those of parameters where these are tensors. */
export interface Gradients {
  readonly gradInput: () => Tensor;
  readonly gradWeight: (() => Tensor) | undefined;
  readonly gradBias: (() => Tensor) | undefined;
}

/** What computes. */
export interface Computer {
  forward(made: Call): Tensor;
  backward(made: Call, dy: Tensor): Gradients;
}

export function computed(computer: Computer, made: Call): Tensor {
  const tensors = [made.x, ...[made.weight, made.bias].filter(isTensor)];
  return withGradient(
    tensors,
    () => computer.forward(made),
    (dy, [x, ...parameters]) => {
      // What TensorFlow.js has kept: the call's own tensors may be disposed by now.
      const weight = isTensor(made.weight) ? parameters.shift()! : made.weight;
      const bias = isTensor(made.bias) ? parameters.shift()! : made.bias;
      return gradients(computer, { ...made, x: x!, weight, bias }, dy);
    },
  );
}

/** The gradients of x and of those parameters that are tensors. */
function gradients(computer: Computer, made: Call, dy: Tensor): Tensor[] {
  const { recipe, x, weight } = made;
  const { gradInput, gradWeight, gradBias } = computer.backward(made, dy);
  const inputs = isTensor(weight) ? [dy, x, weight] : [dy, x];
  const results = [
    withGradient(inputs, gradInput, (u, [dy, x, w]) =>
      gradInputGradients(recipe, [dy!, x!, w ?? weight], u),
    ),
  ];
  if (gradWeight !== undefined) {
    results.push(
      withGradient([dy, x], gradWeight, (q, [dy, x]) => gradWeightGradients(recipe, dy!, x!, q)),
    );
  }
  if (gradBias !== undefined) {
    results.push(withGradient([dy], gradBias, (q, [dy]) => [gradBiasGradient(recipe, dy!, q)]));
  }
  return results;
}

/** A value that was computed elsewhere, of some tensors, with its gradients for them. */
function withGradient(
  inputs: Tensor[],
  value: () => Tensor,
  gradient: (dy: Tensor, saved: Tensor[]) => Tensor[],
): Tensor {
  return customGrad((...args) => {
    const save = args[inputs.length] as (tensors: Tensor[]) => void;
    save(inputs);
    return { value: value(), gradFunc: gradient };
  })(...inputs);
}
