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

export const layerNormBackward: LayerNormBackward = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => callBackward(OPS.layerNormBackward, inlined, [gradOutput, x], options);
export const rmsNormBackward: RmsNormBackward = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => callBackward(OPS.rmsNormBackward, inlined, [gradOutput, x], options);
export const groupNormBackward: GroupNormBackward = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => callBackward(OPS.groupNormBackward, inlined, [gradOutput, x], options);
export const instanceNormBackward: InstanceNormBackward = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => callBackward(OPS.instanceNormBackward, inlined, [gradOutput, x], options);
export const batchNormBackward: BatchNormBackward = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => callBackward(OPS.batchNormBackward, inlined, [gradOutput, x], options);
export const l2NormalizeBackward: L2NormalizeBackward = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => callBackward(OPS.l2NormalizeBackward, inlined, [gradOutput, x], options);
export const addLayerNormBackward: AddLayerNormBackward = (
  gradOutput: unknown,
  x: unknown,
  residual: unknown,
  options?: unknown,
) => callBackward(OPS.addLayerNormBackward, inlined, [gradOutput, x, residual], options);
export const addRmsNormBackward: AddRmsNormBackward = (
  gradOutput: unknown,
  x: unknown,
  residual: unknown,
  options?: unknown,
) => callBackward(OPS.addRmsNormBackward, inlined, [gradOutput, x, residual], options);
export const addGroupNormBackward: AddGroupNormBackward = (
  gradOutput: unknown,
  x: unknown,
  residual: unknown,
  options?: unknown,
) => callBackward(OPS.addGroupNormBackward, inlined, [gradOutput, x, residual], options);

export const tensor: MakeTensor = (data: unknown, shape?: unknown, dtype?: unknown) =>
  create.tensor(inlined, data, shape, dtype);
export const zeros: Zeros = (shape, dtype) => create.zeros(inlined, shape, dtype);
export const plan: MakePlan = (op: unknown, ...args: unknown[]) => makePlan(inlined, op, args);

export const init: Init = (options) => instance.init(inlined, options);
export const initSync: InitSync = (source) => instance.initSync(inlined, source);
export const dispose: Dispose = instance.dispose;
