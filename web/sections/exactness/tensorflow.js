// TensorFlow.js's own layer of layer normalization, on its backends for the processor. Loaded when it is asked for.

import { tensor2d, version_core } from "@tensorflow/tfjs-core";
import { layers } from "@tensorflow/tfjs-layers";
import { useBackend } from "../../tensorflow_backend.js";

export const VERSION = version_core;

/**
 * @param {"wasm" | "cpu"} backend
 * @returns {Promise<(row: import("./inputs.js").Row) => Promise<ArrayLike<number>>>}
 */
export async function openLayerNorm(backend) {
  await useBackend(backend);
  return async ({ x, eps }) => {
    const input = tensor2d(x, [1, x.length]);
    const layer = layers.layerNormalization({ epsilon: eps });
    const output = /** @type {any} */ (layer.apply(input));
    try {
      return await output.data();
    } finally {
      input.dispose();
      output.dispose();
      layer.dispose();
    }
  };
}
