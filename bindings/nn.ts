// The entry `layernorm/nn`: layers that own their parameters, and files to load these from. The wasm is that of `layernorm`.
import type { Dispose, Init, InitSync } from "./api.js";
import { inlined } from "./inlined.js";
import * as instance from "./instance.js";

export { ConditionalLayerNorm, type ConditionalLayerNormConfig } from "./nn/conditional.js";
export type { Layer } from "./nn/layer.js";
export {
  type ForwardOptions,
  GroupNorm,
  type GroupNormConfig,
  LayerNorm,
  type LayerNormConfig,
  type LayerOptions,
  RMSNorm,
  type RMSNormConfig,
} from "./nn/layers.js";
export { BatchNorm, InstanceNorm, type RunningNormConfig } from "./nn/running.js";
export {
  parseSafetensors,
  type SafetensorsArray,
  type SafetensorsTensor,
} from "./nn/safetensors.js";
export type {
  CountBuffer,
  FloatBuffer,
  LoadableStateDict,
  LoadableTensor,
  LoadOptions,
  LoadResult,
  Parameter,
  StateDict,
  StateTensor,
} from "./nn/state.js";

export const init: Init = (options) => instance.init(inlined, options);
export const initSync: InitSync = (source) => instance.initSync(inlined, source);
export const dispose: Dispose = instance.dispose;
