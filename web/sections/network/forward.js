// The English document's network on a random batch: plain matrix products, and the package's LayerNorm between them.

import { layerNorm } from "layernorm";
import { Random } from "../../../tests/js/random.js";

export const ITEMS = 10;
export const INPUTS = 64;
export const HIDDEN = 128;
export const OUTPUTS = 10;

/** @typedef {"input" | "linear1" | "norm" | "relu" | "linear2"} LayerName */
/** @typedef {{ name: LayerName, values: Float32Array, width: number }} Activations of [ITEMS, width] */
/** @typedef {{ weight: Float32Array, bias: Float32Array, inputs: number, outputs: number }} Linear */

/**
 * Random inputs, and parameters as PyTorch's nn.Linear draws them: uniform within 1 / sqrt(inputs).
 *
 * @param {number} seed
 */
export function makeProblem(seed) {
  const random = new Random(seed);
  const x = Float32Array.from({ length: ITEMS * INPUTS }, () => random.normal());
  const linear = (/** @type {number} */ inputs, /** @type {number} */ outputs) => {
    const bound = 1 / Math.sqrt(inputs);
    const draw = () => bound * (2 * random.uniform() - 1);
    const weight = Float32Array.from({ length: inputs * outputs }, draw);
    return { weight, bias: Float32Array.from({ length: outputs }, draw), inputs, outputs };
  };
  return { x, first: linear(INPUTS, HIDDEN), second: linear(HIDDEN, OUTPUTS) };
}

/**
 * @param {ReturnType<typeof makeProblem>} problem
 * @param {{ scale: number, eps: number, isNormalized: boolean }} options scale: what the inputs are multiplied by
 * @returns {Activations[]} of each layer in turn
 */
export function forward({ x, first, second }, { scale, eps, isNormalized }) {
  const input = x.map((value) => scale * value);
  const hidden = apply(first, input);
  // A fresh layer's weight is 1 and its bias 0.
  const normed = isNormalized ? layerNorm(hidden, { shape: [ITEMS, HIDDEN], eps }) : hidden;
  const positive = normed.map((value) => Math.max(value, 0));
  return [
    { name: "input", values: input, width: INPUTS },
    { name: "linear1", values: hidden, width: HIDDEN },
    ...(isNormalized
      ? [{ name: /** @type {LayerName} */ ("norm"), values: normed, width: HIDDEN }]
      : []),
    { name: "relu", values: positive, width: HIDDEN },
    { name: "linear2", values: apply(second, positive), width: OUTPUTS },
  ];
}

/** @param {Linear} linear @param {Float32Array} x [ITEMS, inputs] @returns {Float32Array} */
function apply({ weight, bias, inputs, outputs }, x) {
  const y = new Float32Array(ITEMS * outputs);
  for (let item = 0; item < ITEMS; item++) {
    for (let out = 0; out < outputs; out++) {
      let sum = bias[out];
      for (let i = 0; i < inputs; i++) sum += weight[out * inputs + i] * x[item * inputs + i];
      y[item * outputs + out] = sum;
    }
  }
  return y;
}
