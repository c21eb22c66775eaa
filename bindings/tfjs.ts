// The entry `layernorm/tfjs`: operations, layers and cells for TensorFlow.js, a peer dependency. The wasm is that of
// `layernorm`.
import { serialization } from "@tensorflow/tfjs-core";
import type { Dispose, Init, InitSync } from "./api.js";
import { inlined } from "./inlined.js";
import * as instance from "./instance.js";
import { LayerNormGRUCell, LayerNormLSTMCell } from "./tfjs/cells.js";
import {
  GroupNormalization,
  type GroupNormalizationArgs,
  InstanceNormalization,
  LayerNormalization,
  RMSNormalization,
} from "./tfjs/norms.js";

export {
  type CellDefinition,
  type LayerNormCellArgs,
  LayerNormGRUCell,
  LayerNormLSTMCell,
  type LayerNormLSTMCellArgs,
} from "./tfjs/cells.js";
export {
  type AffineArgs,
  GroupNormalization,
  type GroupNormalizationArgs,
  InstanceNormalization,
  type InstanceNormalizationArgs,
  type LayerArgs,
  LayerNormalization,
  type LayerNormalizationArgs,
  type NormalizationArgs,
  RMSNormalization,
  type RMSNormalizationArgs,
} from "./tfjs/norms.js";
export {
  type GroupNormOptions,
  groupNorm,
  type InstanceNormOptions,
  instanceNorm,
  type LayerNormOptions,
  layerNorm,
  type RmsNormOptions,
  rmsNorm,
} from "./tfjs/ops.js";

/**
 * Registers the layers and cells with TensorFlow.js, so that saved models which have them load: those of Keras 3
 * (`GroupNormalization`, `RMSNormalization`), of TensorFlow Addons (`Addons>GroupNormalization`,
 * `Addons>InstanceNormalization`) and of this package. From then on models are also loaded with this package's
 * `LayerNormalization` in place of TensorFlow.js's own, whose configuration and weights are the same.
 */
export function registerLayers(): void {
  for (const layer of [
    LayerNormalization,
    GroupNormalization,
    InstanceNormalization,
    RMSNormalization,
    LayerNormLSTMCell,
    LayerNormGRUCell,
    class extends GroupNormalization {
      static override className = "Addons>GroupNormalization";
    },
    class extends InstanceNormalization {
      static override className = "Addons>InstanceNormalization";
      // It saves how many channels it was built for.
      constructor({ groups: _, ...args }: GroupNormalizationArgs) {
        super(args);
      }
    },
  ]) {
    serialization.registerClass(layer);
  }
}

export const init: Init = (options) => instance.init(inlined, options);
export const initSync: InitSync = (source) => instance.initSync(inlined, source);
export const dispose: Dispose = instance.dispose;
