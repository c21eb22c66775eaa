// The entry `layernorm`: the wasm is inlined and instantiated at the first call.
import type {
  Dispose,
  Init,
  InitSync,
  LayerNorm,
  MakePlan,
  MakeTensor,
  RmsNorm,
  Zeros,
} from "./api.js";
import { call } from "./call.js";
import * as create from "./create.js";
import { inlined } from "./inlined.js";
import * as instance from "./instance.js";
import { OPS } from "./ops.js";
import { plan as makePlan } from "./plan.js";

export type { Plan } from "./api.js";
export { Tensor } from "./tensor.js";
export type * from "./types.js";

export const layerNorm: LayerNorm = (x: unknown, options?: unknown) =>
  call(OPS.layerNorm, inlined, x, options);
export const rmsNorm: RmsNorm = (x: unknown, options?: unknown) =>
  call(OPS.rmsNorm, inlined, x, options);

export const tensor: MakeTensor = (data: unknown, shape?: unknown, dtype?: unknown) =>
  create.tensor(inlined, data, shape, dtype);
export const zeros: Zeros = (shape, dtype) => create.zeros(inlined, shape, dtype);
export const plan: MakePlan = (op: unknown, ...args: unknown[]) => makePlan(inlined, op, args);

export const init: Init = (options) => instance.init(inlined, options);
export const initSync: InitSync = (source) => instance.initSync(inlined, source);
export const dispose: Dispose = instance.dispose;
