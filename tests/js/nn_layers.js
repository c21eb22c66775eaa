/** What the tests of layers share. */
import assert from "node:assert/strict";
import {
  BatchNorm,
  ConditionalLayerNorm,
  GroupNorm,
  InstanceNorm,
  LayerNorm,
  RMSNorm,
} from "../../dist/nn.js";
import { Random } from "./data.js";

/** @param {number} n @param {number} [seed] @returns {Float32Array} */
export function normals(n, seed = 1) {
  const random = new Random(seed);
  return Float32Array.from({ length: n }, () => random.normal());
}

/** @param {any} actual @param {any} expected @param {number} tolerance */
export function assertClose(actual, expected, tolerance) {
  assert.equal(actual.length, expected.length);
  for (let i = 0; i < expected.length; i++) {
    assert.ok(
      Math.abs(actual[i] - expected[i]) <= tolerance * Math.max(1, Math.abs(expected[i])),
      `${i}: ${actual[i]}, expected ${expected[i]}`,
    );
  }
}

/** Every layer with all of its state, for 4 features. @type {Record<string, () => any>} */
export const LAYERS = {
  LayerNorm: () => new LayerNorm(4),
  RMSNorm: () => new RMSNorm(4),
  GroupNorm: () => new GroupNorm(2, 4),
  InstanceNorm: () => new InstanceNorm(4, { affine: true, trackRunningStats: true }),
  BatchNorm: () => new BatchNorm(4),
  ConditionalLayerNorm: () => new ConditionalLayerNorm(4, 3, { elementwiseAffine: true }),
};

/** @type {Record<string, string[]>} */
export const STATE = {
  LayerNorm: ["weight", "bias"],
  RMSNorm: ["weight"],
  GroupNorm: ["weight", "bias"],
  InstanceNorm: ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"],
  BatchNorm: ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"],
  ConditionalLayerNorm: [
    ...["weight", "bias", "scale.weight", "scale.bias", "shift.weight", "shift.bias"],
  ],
};

/** @param {ArrayBufferView} array */
export const detach = ({ buffer }) =>
  structuredClone(buffer, { transfer: [/** @type {any} */ (buffer)] });
