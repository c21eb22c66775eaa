// The entry `layernorm/slim`: `layernorm` without inlined wasm, which `init` or `initSync` bring.
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
import * as instance from "./instance.js";
import { OPS } from "./ops.js";
import { plan as makePlan } from "./plan.js";

export type { Plan } from "./api.js";
export { Tensor } from "./tensor.js";
export type * from "./types.js";

export const layerNorm: LayerNorm = (x: unknown, options?: unknown) =>
  call(OPS.layerNorm, undefined, x, options);
export const rmsNorm: RmsNorm = (x: unknown, options?: unknown) =>
  call(OPS.rmsNorm, undefined, x, options);

export const tensor: MakeTensor = (data: unknown, shape?: unknown, dtype?: unknown) =>
  create.tensor(undefined, data, shape, dtype);
export const zeros: Zeros = (shape, dtype) => create.zeros(undefined, shape, dtype);
export const plan: MakePlan = (op: unknown, ...args: unknown[]) => makePlan(undefined, op, args);

export const init: Init = (options) => instance.init(undefined, options);
export const initSync: InitSync = (source) => instance.initSync(undefined, source);
export const dispose: Dispose = instance.dispose;
