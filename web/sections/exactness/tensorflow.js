// TensorFlow.js's own layer normalization, on its backend for the processor. Loaded when it is asked for.

import "@tensorflow/tfjs-backend-cpu";
import { ready, setBackend, tensor2d, version_core } from "@tensorflow/tfjs-core";
import { layers } from "@tensorflow/tfjs-layers";

/**
 * @returns {Promise<{ name: string, layerNorm(row: import("./inputs.js").Row): Promise<ArrayLike<number>> }>}
 */
export async function open() {
  await setBackend("cpu");
  await ready();
  return {
    name: `TensorFlow.js ${version_core}, cpu`,
    async layerNorm({ x, eps }) {
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
    },
  };
}
