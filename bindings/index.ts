// The entry `layernorm`: the wasm is inlined and instantiated at the first call.
import type {
  AddGroupNorm,
  AddLayerNorm,
  AddRmsNorm,
  BatchNorm,
  Dispose,
  GroupNorm,
  Init,
  InitSync,
  InstanceNorm,
  L2Normalize,
  LayerNorm,
  LocalResponseNorm,
  LpNormalize,
  MakePlan,
  MakeTensor,
  MeanVarianceNormalize,
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
export const groupNorm: GroupNorm = (x: unknown, options?: unknown) =>
  call(OPS.groupNorm, inlined, x, options);
export const instanceNorm: InstanceNorm = (x: unknown, options?: unknown) =>
  call(OPS.instanceNorm, inlined, x, options);
export const batchNorm: BatchNorm = (x: unknown, options?: unknown) =>
  call(OPS.batchNorm, inlined, x, options);
export const l2Normalize: L2Normalize = (x: unknown, options?: unknown) =>
  call(OPS.l2Normalize, inlined, x, options);
export const lpNormalize: LpNormalize = (x: unknown, options?: unknown) =>
  call(OPS.lpNormalize, inlined, x, options);
export const meanVarianceNormalize: MeanVarianceNormalize = (x: unknown, options?: unknown) =>
  call(OPS.meanVarianceNormalize, inlined, x, options);
export const localResponseNorm: LocalResponseNorm = (x: unknown, options?: unknown) =>
  call(OPS.localResponseNorm, inlined, x, options);
export const addLayerNorm: AddLayerNorm = (x: unknown, residual: unknown, options?: unknown) =>
  call(OPS.addLayerNorm, inlined, x, options, residual);
export const addRmsNorm: AddRmsNorm = (x: unknown, residual: unknown, options?: unknown) =>
  call(OPS.addRmsNorm, inlined, x, options, residual);
export const addGroupNorm: AddGroupNorm = (x: unknown, residual: unknown, options?: unknown) =>
  call(OPS.addGroupNorm, inlined, x, options, residual);

export const tensor: MakeTensor = (data: unknown, shape?: unknown, dtype?: unknown) =>
  create.tensor(inlined, data, shape, dtype);
export const zeros: Zeros = (shape, dtype) => create.zeros(inlined, shape, dtype);
export const plan: MakePlan = (op: unknown, ...args: unknown[]) => makePlan(inlined, op, args);

export const init: Init = (options) => instance.init(inlined, options);
export const initSync: InitSync = (source) => instance.initSync(inlined, source);
export const dispose: Dispose = instance.dispose;
