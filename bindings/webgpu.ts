// The entry `layernorm/webgpu`: the operations on GPU buffers.
import { readDims, requireSize } from "./dims.js";
import { DTYPES, isBits, type OwnArray, ownArray } from "./dtypes.js";
import { describe, wrongType, wrongValue } from "./errors.js";
import { Device } from "./gpu/device.js";
import {
  type GPUAdapterLike,
  type GPUBufferLike,
  type GPUCommandEncoderLike,
  type GPUComputePassLike,
  type GPUDeviceLike,
  type GPULike,
  hasMethod,
  MAP_READ,
  USAGE,
} from "./gpu/device_like.js";
import { callBackwardOnGpu, callOnGpu, GPU_OPS } from "./gpu/gpu_call.js";
import {
  type GpuDType,
  type GpuInput,
  type GpuParameter,
  GpuTensor,
  readGpuDType,
  readGpuOperand,
} from "./gpu/gpu_tensor.js";
import { toFloat32, toHalves } from "./gpu/halves.js";
import { flatOperand, readOperand, settle } from "./operands.js";
import type { Reader } from "./ops.js";
import { choice } from "./option_readers.js";
import { requirePlain, stateOf } from "./tensor.js";
import type {
  AddGroupNormOptions,
  AddLayerNormOptions,
  AddRmsNormOptions,
  BatchNormOptions,
  GroupNormBackwardOptions,
  GroupNormOptions,
  Input,
  InstanceNormOptions,
  L2NormalizeOptions,
  LayerNormBackwardOptions,
  LayerNormOptions,
  LocalResponseNormOptions,
  LpNormalizeOptions,
  MeanVarianceNormalizeOptions,
  RmsNormBackwardOptions,
  RmsNormOptions,
} from "./types.js";

export type {
  GPUAdapterLike,
  GPUBufferLike,
  GPUCommandEncoderLike,
  GPUComputePassLike,
  GPUDeviceLike,
  GPULike,
} from "./gpu/device_like.js";
export {
  type GpuDType,
  type GpuInput,
  type GpuParameter,
  GpuTensor,
  type GpuTensorLike,
  type OrtGpuTensorLike,
  type TfjsGpuDataLike,
} from "./gpu/gpu_tensor.js";

type ParameterOptions =
  | "weight"
  | "bias"
  | "scale"
  | "shift"
  | "gate"
  | "sumBias"
  | "runningMean"
  | "runningVar"
  | "mean"
  | "rstd";

/** An operation's options, with tensors on the GPU for results and, if wanted, for parameters. */
export type OnGpu<Options> = {
  [K in keyof Options]: K extends ParameterOptions
    ? GpuParameter | null | undefined
    : K extends "out" | "sumOut"
      ? GpuInput | undefined
      : Options[K];
} & {
  /** Where to record: a command encoder or compute pass of the caller's, who submits it. Default: submitted at once. */
  encoder?: GPUCommandEncoderLike | GPUComputePassLike | undefined;
  /**
   * Makes the buffers of results, from a pool say: given their bytes and the result's name; of storage, with what else the
   * caller needs, or undefined. Default: new ones, which can also be copied from and to.
   */
  allocate?: ((bytes: number, name: string) => GPUBufferLike | undefined) | undefined;
};

type Output<O> = O extends { out: infer Out extends object } ? Out : GpuTensor;
type Sum<O> = O extends { sumOut: infer Out extends object } ? Out : GpuTensor;
type Statistics<Names extends string> = { [N in Names]: GpuTensor };

/** What an operation gives: its output, with statistics where they are asked for. */
export type GpuResult<O, Names extends string> = O extends { returnStats: true }
  ? { output: Output<O> } & Statistics<Names>
  : Output<O>;

/** What an add form gives. */
export type GpuSums<O, Names extends string> = { output: Output<O>; sum: Sum<O> } & (O extends {
  returnStats: true;
}
  ? Statistics<Names>
  : unknown);

/** The gradient of a parameter: null where there is none. */
type GpuGradient<O, Name extends string> = O extends { [N in Name]: infer P }
  ? P extends null | undefined
    ? null
    : GpuTensor
  : null;

/**
 * The gradients that a backward operation gives, all on the GPU. Each of a parameter is null where that is absent, else of its
 * shape and element type; of a number, which a GPU cannot give at once, a float32 tensor of shape [1], and of values of
 * float64 one of float32.
 */
export interface GpuGradients<O> {
  gradInput: GpuTensor;
  gradWeight: GpuGradient<O, "weight">;
  gradBias: GpuGradient<O, "bias">;
  gradScale: GpuGradient<O, "scale">;
  gradShift: GpuGradient<O, "shift">;
}

/** Options of `WebGpuNorm.create`. */
export interface CreateOptions {
  /** Default: `navigator.gpu`. */
  gpu?: GPULike | undefined;
  /** Default: what `requestAdapter` gives. */
  adapter?: GPUAdapterLike | undefined;
  /** Passed to `requestAdapter`. */
  powerPreference?: "low-power" | "high-performance" | undefined;
}

/**
 * Normalization of tensors that stand in GPU buffers. The operations are those of `layernorm`, with the same options; x,
 * out and statistics are tensors on the GPU, float32, float16 or bfloat16; parameters too, or values that are uploaded for
 * the call. Statistics are float32 whatever the element type. Nothing is read back unless `read` asks for it.
 *
 * On the adapters that are tested results are within 8 eps of the largest term, 16 eps after an activation, for finite
 * normal inputs of any mean and magnitude.
 *
 * Errors in arguments are thrown as in `layernorm`. What WebGPU finds later (out of memory, a destroyed buffer) rejects the
 * next `read()` or `done()`, as the loss of the device does; with an encoder of the caller's it goes to the device.
 */
export class WebGpuNorm {
  readonly #device: Device;
  readonly #owns: boolean;

  /** Normalization on the caller's device. */
  constructor(device: GPUDeviceLike) {
    if (!hasMethod(device, "createComputePipeline")) {
      throw wrongType("WebGpuNorm", "device", "a GPUDevice", describe(device));
    }
    this.#device = new Device(device);
    this.#owns = owned.delete(device);
  }

  /**
   * Normalization on a device of its own, with the adapter's limits.
   *
   * @throws {TypeError} (the promise rejects) for unknown options
   * @throws {Error} (the promise rejects) if there is no WebGPU, no adapter or no device
   */
  static async create(options: CreateOptions = {}): Promise<WebGpuNorm> {
    checkCreateOptions(options);
    const adapter = options.adapter ?? (await requestAdapter(options));
    const limits: Record<string, number> = {};
    for (const name of ["maxStorageBufferBindingSize", "maxBufferSize"] as const) {
      limits[name] = adapter.limits[name];
    }
    const features = ["subgroups"].filter((name) => adapter.features.has(name));
    const wanted = { requiredLimits: limits, requiredFeatures: features };
    const device = await adapter.requestDevice(wanted as never);
    owned.add(device);
    return new WebGpuNorm(device);
  }

  /** @internal Why nothing more can be done, once that is so. */
  get lost(): string | undefined {
    return this.#device.lost;
  }

  /** The device that everything runs on. */
  get device(): GPUDeviceLike {
    return this.#device.gpu;
  }

  /**
   * A tensor on the GPU with a copy of some values: typed arrays, tensor-like objects, nested arrays of numbers or a resident
   * `Tensor`. Without a dtype that of the values, float32 for float64 and plain numbers.
   *
   * @throws {TypeError} if the values are of another kind
   * @throws {RangeError} if the shape does not fit
   */
  tensor(data: Input | Uint16Array, shape?: readonly number[], dtype?: GpuDType): GpuTensor {
    this.#device.requireLive("tensor");
    const type = dtype === undefined ? undefined : readGpuDType("tensor", "dtype", dtype);
    const ofBits = type !== undefined && DTYPES[type].bytes === 2 && isBits(data);
    const source = ofBits
      ? flatOperand(type, data as Uint16Array)
      : readOperand("tensor", "data", data);
    const given = shape === undefined ? undefined : readDims("tensor", "shape", shape);
    settle("tensor", "data", source);
    const dims = given ?? source.dims ?? [source.size];
    requireSize("tensor", "data", dims, source.size);
    const own = source.dtype === "float64" ? "float32" : source.dtype;
    const target = type ?? own;
    const elements =
      source.array ?? stateOf(source.tensor!)!.owner.block!.backend.elementsOf(source);
    const stored = convert(elements, source.dtype, target);
    const { maxBufferSize: most } = this.device.limits;
    if (stored.byteLength > most) {
      const expected = `at most ${most} bytes in one buffer (the device's maxBufferSize)`;
      throw wrongValue("tensor", "data", expected, `${stored.byteLength}`);
    }
    const usage = USAGE.storage | USAGE.copySource;
    return this.#device.watch("tensor", () => {
      return new GpuTensor(this.#device.upload(stored, usage), dims, target);
    });
  }

  /**
   * The elements of a tensor on the GPU, once all that was submitted before is done: a Float32Array; a Float16Array where the
   * engine has it, else its bits as a Uint16Array; the bits of bfloat16.
   *
   * @throws {TypeError} (the promise rejects) if it is no tensor on the GPU
   * @throws {Error} (the promise rejects) for what WebGPU found at fault since the last `read` or `done`
   */
  async read(tensor: GpuInput): Promise<OwnArray> {
    const device = this.#device;
    device.requireLive("read");
    const operand = readGpuOperand("read", "tensor", tensor);
    settle("read", "tensor", operand);
    const { size, dtype, buffer, address } = operand;
    const { bytes, array: ArrayType } = DTYPES[dtype];
    const wordBytes = Math.max(4, Math.ceil((size * bytes) / 4) * 4);
    const staging = device.watch("read", () => {
      const target = device.buffer(wordBytes, USAGE.mapRead | USAGE.copyTarget);
      if (size === 0) return target;
      const encoder = device.gpu.createCommandEncoder();
      encoder.copyBufferToBuffer(buffer as never, address, target as never, 0, wordBytes);
      device.gpu.queue.submit([encoder.finish()] as never[]);
      return target;
    });
    try {
      await device.settled("read", staging.mapAsync(MAP_READ));
      const elements = new ArrayType(size);
      const mapped = new Uint8Array(staging.getMappedRange());
      new Uint8Array(elements.buffer).set(mapped.subarray(0, size * bytes));
      staging.unmap();
      return ownArray(elements, dtype);
    } finally {
      staging.destroy();
    }
  }

  /**
   * Resolves once all that was submitted is done.
   *
   * @throws {Error} (the promise rejects) for what WebGPU found at fault since the last `read` or `done`
   */
  async done(): Promise<void> {
    this.#device.requireLive("done");
    await this.#device.settled("done", this.#device.gpu.queue.onSubmittedWorkDone());
  }

  /** Frees the caches, and the device if it is this object's own. Tensors that it made are lost with the device. */
  dispose(): void {
    this.#device.lost ??= "this WebGpuNorm was disposed";
    this.#device.dispose();
    if (this.#owns) this.#device.gpu.destroy();
  }

  layerNorm<O extends OnGpu<LayerNormOptions>>(
    x: GpuInput,
    options?: O,
  ): GpuResult<O, "mean" | "rstd"> {
    return callOnGpu(this.#device, GPU_OPS.layerNorm, x, options);
  }

  rmsNorm<O extends OnGpu<RmsNormOptions>>(x: GpuInput, options?: O): GpuResult<O, "rstd"> {
    return callOnGpu(this.#device, GPU_OPS.rmsNorm, x, options);
  }

  groupNorm<O extends OnGpu<GroupNormOptions>>(
    x: GpuInput,
    options: O,
  ): GpuResult<O, "mean" | "rstd"> {
    return callOnGpu(this.#device, GPU_OPS.groupNorm, x, options);
  }

  instanceNorm<O extends OnGpu<InstanceNormOptions>>(
    x: GpuInput,
    options?: O,
  ): GpuResult<O, "mean" | "rstd"> {
    return callOnGpu(this.#device, GPU_OPS.instanceNorm, x, options);
  }

  batchNorm<O extends OnGpu<BatchNormOptions>>(
    x: GpuInput,
    options: O,
  ): GpuResult<O, "mean" | "rstd"> {
    return callOnGpu(this.#device, GPU_OPS.batchNorm, x, options);
  }

  l2Normalize<O extends OnGpu<L2NormalizeOptions>>(x: GpuInput, options?: O): Output<O> {
    return callOnGpu(this.#device, GPU_OPS.l2Normalize, x, options);
  }

  lpNormalize<O extends OnGpu<LpNormalizeOptions>>(x: GpuInput, options?: O): Output<O> {
    return callOnGpu(this.#device, GPU_OPS.lpNormalize, x, options);
  }

  meanVarianceNormalize<O extends OnGpu<MeanVarianceNormalizeOptions>>(
    x: GpuInput,
    options?: O,
  ): Output<O> {
    return callOnGpu(this.#device, GPU_OPS.meanVarianceNormalize, x, options);
  }

  localResponseNorm<O extends OnGpu<LocalResponseNormOptions>>(x: GpuInput, options: O): Output<O> {
    return callOnGpu(this.#device, GPU_OPS.localResponseNorm, x, options);
  }

  addLayerNorm<O extends OnGpu<AddLayerNormOptions>>(
    x: GpuInput,
    residual: GpuInput,
    options?: O,
  ): GpuSums<O, "mean" | "rstd"> {
    return callOnGpu(this.#device, GPU_OPS.addLayerNorm, x, options, residual);
  }

  addRmsNorm<O extends OnGpu<AddRmsNormOptions>>(
    x: GpuInput,
    residual: GpuInput,
    options?: O,
  ): GpuSums<O, "rstd"> {
    return callOnGpu(this.#device, GPU_OPS.addRmsNorm, x, options, residual);
  }

  /** The gradients of `layerNorm`, as `layernorm`'s function of this name has them, on the GPU: see `GpuGradients`. */
  layerNormBackward<O extends OnGpu<LayerNormBackwardOptions>>(
    gradOutput: GpuInput,
    x: GpuInput,
    options?: O,
  ): GpuGradients<O> {
    return callBackwardOnGpu(this.#device, GPU_OPS.layerNormBackward, gradOutput, x, options);
  }

  /** The gradients of `rmsNorm`. */
  rmsNormBackward<O extends OnGpu<RmsNormBackwardOptions>>(
    gradOutput: GpuInput,
    x: GpuInput,
    options?: O,
  ): GpuGradients<O> {
    return callBackwardOnGpu(this.#device, GPU_OPS.rmsNormBackward, gradOutput, x, options);
  }

  /** The gradients of `groupNorm`. */
  groupNormBackward<O extends OnGpu<GroupNormBackwardOptions>>(
    gradOutput: GpuInput,
    x: GpuInput,
    options: O,
  ): GpuGradients<O> {
    return callBackwardOnGpu(this.#device, GPU_OPS.groupNormBackward, gradOutput, x, options);
  }

  addGroupNorm<O extends OnGpu<AddGroupNormOptions>>(
    x: GpuInput,
    residual: GpuInput,
    options: O,
  ): GpuSums<O, "mean" | "rstd"> {
    return callOnGpu(this.#device, GPU_OPS.addGroupNorm, x, options, residual);
  }
}

// An object with a method that is called.
const having =
  (method: string, expected: string): Reader =>
  (where, name, value) => {
    if (!hasMethod(value, method)) throw wrongType(where, name, expected, describe(value));
  };

const CREATE_OPTIONS: Readonly<Record<string, Reader>> = {
  __proto__: null as never,
  gpu: having("requestAdapter", "a GPU, as navigator.gpu is"),
  adapter: having("requestDevice", "a GPUAdapter"),
  powerPreference: choice(["low-power", "high-performance"]),
};

function checkCreateOptions(options: unknown): void {
  const where = "WebGpuNorm.create";
  requirePlain(where, "options", options);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const read = CREATE_OPTIONS[name];
    if (read === undefined) {
      const known = Object.keys(CREATE_OPTIONS).join(", ");
      throw wrongType(where, "options", `only ${known}`, describe(name));
    }
    read(where, name, value);
  }
}

// Devices that `create` requested, until their object takes them over.
const owned = new WeakSet<object>();

async function requestAdapter({ gpu, powerPreference }: CreateOptions): Promise<GPUAdapterLike> {
  const entry = gpu ?? (globalThis as { navigator?: { gpu?: GPULike } }).navigator?.gpu;
  if (entry === undefined) {
    throw new Error("WebGpuNorm.create: there is no WebGPU here, navigator.gpu is missing");
  }
  const options = powerPreference === undefined ? {} : { powerPreference };
  const adapter = await entry.requestAdapter(options as never);
  if (adapter === null) {
    throw new Error("WebGpuNorm.create: WebGPU has no adapter here, requestAdapter() gave null");
  }
  return adapter;
}

function convert(elements: ArrayLike<number> & ArrayBufferView, from: string, to: GpuDType) {
  if (from === to) return elements;
  const values =
    from === "float32" || from === "float64" ? elements : toFloat32(elements, from as GpuDType);
  return to === "float32" ? Float32Array.from(values) : toHalves(values, to);
}
