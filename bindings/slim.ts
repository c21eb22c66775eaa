// The entry `layernorm/slim`: `layernorm` without inlined wasm, which `init` or `initSync` bring.
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
import type {
  AddGroupNormBackward,
  AddLayerNormBackward,
  AddRmsNormBackward,
  BatchNormBackward,
  GroupNormBackward,
  InstanceNormBackward,
  L2NormalizeBackward,
  LayerNormBackward,
  RmsNormBackward,
} from "./backward_api.js";
import { call, callBackward } from "./call.js";
import * as create from "./create.js";
import { fetchModule } from "./fetching.js";
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
export const groupNorm: GroupNorm = (x: unknown, options?: unknown) =>
  call(OPS.groupNorm, undefined, x, options);
export const instanceNorm: InstanceNorm = (x: unknown, options?: unknown) =>
  call(OPS.instanceNorm, undefined, x, options);
export const batchNorm: BatchNorm = (x: unknown, options?: unknown) =>
  call(OPS.batchNorm, undefined, x, options);
export const l2Normalize: L2Normalize = (x: unknown, options?: unknown) =>
  call(OPS.l2Normalize, undefined, x, options);
export const lpNormalize: LpNormalize = (x: unknown, options?: unknown) =>
  call(OPS.lpNormalize, undefined, x, options);
export const meanVarianceNormalize: MeanVarianceNormalize = (x: unknown, options?: unknown) =>
  call(OPS.meanVarianceNormalize, undefined, x, options);
export const localResponseNorm: LocalResponseNorm = (x: unknown, options?: unknown) =>
  call(OPS.localResponseNorm, undefined, x, options);
export const addLayerNorm: AddLayerNorm = (x: unknown, residual: unknown, options?: unknown) =>
  call(OPS.addLayerNorm, undefined, x, options, residual);
export const addRmsNorm: AddRmsNorm = (x: unknown, residual: unknown, options?: unknown) =>
  call(OPS.addRmsNorm, undefined, x, options, residual);
export const addGroupNorm: AddGroupNorm = (x: unknown, residual: unknown, options?: unknown) =>
  call(OPS.addGroupNorm, undefined, x, options, residual);

export const layerNormBackward: LayerNormBackward = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => callBackward(OPS.layerNormBackward, undefined, [gradOutput, x], options);
export const rmsNormBackward: RmsNormBackward = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => callBackward(OPS.rmsNormBackward, undefined, [gradOutput, x], options);
export const groupNormBackward: GroupNormBackward = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => callBackward(OPS.groupNormBackward, undefined, [gradOutput, x], options);
export const instanceNormBackward: InstanceNormBackward = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => callBackward(OPS.instanceNormBackward, undefined, [gradOutput, x], options);
export const batchNormBackward: BatchNormBackward = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => callBackward(OPS.batchNormBackward, undefined, [gradOutput, x], options);
export const l2NormalizeBackward: L2NormalizeBackward = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => callBackward(OPS.l2NormalizeBackward, undefined, [gradOutput, x], options);
export const addLayerNormBackward: AddLayerNormBackward = (
  gradOutput: unknown,
  x: unknown,
  residual: unknown,
  options?: unknown,
) => callBackward(OPS.addLayerNormBackward, undefined, [gradOutput, x, residual], options);
export const addRmsNormBackward: AddRmsNormBackward = (
  gradOutput: unknown,
  x: unknown,
  residual: unknown,
  options?: unknown,
) => callBackward(OPS.addRmsNormBackward, undefined, [gradOutput, x, residual], options);
export const addGroupNormBackward: AddGroupNormBackward = (
  gradOutput: unknown,
  x: unknown,
  residual: unknown,
  options?: unknown,
) => callBackward(OPS.addGroupNormBackward, undefined, [gradOutput, x, residual], options);

export const tensor: MakeTensor = (data: unknown, shape?: unknown, dtype?: unknown) =>
  create.tensor(undefined, data, shape, dtype);
export const zeros: Zeros = (shape, dtype) => create.zeros(undefined, shape, dtype);
export const plan: MakePlan = (op: unknown, ...args: unknown[]) => makePlan(undefined, op, args);

export const init: Init = (options) => instance.init(undefined, options, fetchModule);
export const initSync: InitSync = (source) => instance.initSync(undefined, source);
export const dispose: Dispose = instance.dispose;
