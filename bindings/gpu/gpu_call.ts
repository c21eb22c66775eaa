// A call of an operation on the GPU: read, check, schedule, run.
import { checkCall, type Descriptor } from "../descriptor.js";
import type { Dims } from "../dims.js";
import { DTYPES } from "../dtypes.js";
import { describe, wrongType, wrongValue } from "../errors.js";
import { GRADIENTS } from "../gradients.js";
import { type Operand, readDestination, readParameter, readTensor } from "../operands.js";
import { OPS, type Op, type OpName, type Reader, withReaders } from "../ops.js";
import { readOptions } from "../options.js";
import type { ParameterName } from "../parameters.js";
import { stateOf } from "../tensor.js";
import { type BackwardOperands, backward } from "./backward.js";
import type { Device } from "./device.js";
import {
  type GPUBufferLike,
  type GPUCommandEncoderLike,
  type GPUComputePassLike,
  hasMethod,
  USAGE,
} from "./device_like.js";
import { Emitter } from "./emitter.js";
import { forward } from "./forward.js";
import {
  type GpuDType,
  GpuOperand,
  GpuTensor,
  readGpuOperand,
  readGpuParameter,
  readGpuTensor,
} from "./gpu_tensor.js";
import { toFloat32 } from "./halves.js";

import { AFFINE, type Memory, type Operands } from "./uses.js";

const readEncoder: Reader = (where, name, value) => {
  if (hasMethod(value, "beginComputePass") || hasMethod(value, "dispatchWorkgroups")) return value;
  throw wrongType(where, name, "a GPUCommandEncoder or GPUComputePassEncoder", describe(value));
};

const readAllocate: Reader = (where, name, value) => {
  if (typeof value === "function") return value;
  throw wrongType(where, name, "a function that makes a GPUBuffer of some bytes", describe(value));
};

// The same table, with readers that know tensors on the GPU.
const READERS = new Map<Reader, Reader>([
  [readParameter, readGpuParameter],
  [readTensor, readGpuTensor],
  [readDestination, readGpuOperand],
]);

export const GPU_OPS = Object.fromEntries(
  Object.values(OPS).map((op) => {
    const options = new Map(withReaders(op, READERS).options);
    options.set("allocate", readAllocate).set("encoder", readEncoder);
    return [op.name, { ...op, options }];
  }),
) as unknown as Readonly<Record<OpName, Op>>;

/** Makes the buffer of a result, which is named as in what the call gives. */
export type Allocate = (bytes: number, name: string) => GPUBufferLike | undefined;

/** What calls on the GPU have beside the options of their operations. */
interface Where {
  readonly encoder?: GPUCommandEncoderLike | GPUComputePassLike;
  readonly allocate?: Allocate;
}

/** New memory for a tensor. */
function newTensor(
  device: Device,
  { op, x, y, sum, placed, gradOutput }: Descriptor,
  dims: Dims,
  dtype: GpuDType,
  name: string,
  { allocate }: Where,
  made: readonly GpuTensor[],
): GpuTensor {
  const count = dims.reduce((product, dim) => product * dim, 1) * DTYPES[dtype].bytes;
  const bytes = Math.max(4, Math.ceil(count / 4) * 4);
  const buffer = allocate?.(bytes, name) ?? undefined;
  if (buffer === undefined) {
    const usage = USAGE.storage | USAGE.copySource | USAGE.copyTarget;
    return new GpuTensor(device.buffer(bytes, usage), dims, dtype);
  }
  const allocated = `allocate(${bytes}, "${name}")`;
  if (!hasMethod(buffer, "getMappedRange")) {
    throw wrongType(op.name, allocated, "a GPUBuffer or undefined", describe(buffer));
  }
  if (buffer.size < bytes) {
    throw wrongValue(op.name, allocated, `a buffer of ${bytes} bytes`, `${buffer.size}`);
  }
  const operands = [x, y, sum, gradOutput, ...placed.map(({ operand }) => operand)];
  if (
    operands.some((operand) => operand?.memory === buffer) ||
    made.some((tensor) => tensor.buffer === buffer)
  ) {
    throw wrongValue(op.name, allocated, "memory apart", "a buffer that the call uses already");
  }
  return new GpuTensor(buffer, dims, dtype);
}

// The functions' types stand in webgpu.ts.
export function callOnGpu(
  device: Device,
  op: Op,
  x: unknown,
  given: unknown,
  second?: unknown,
  // biome-ignore lint/suspicious/noExplicitAny: it is all of them
): any {
  device.requireLive(op.name);
  const input = readGpuOperand(op.name, "x", x);
  const residual = op.inputs.length > 1 ? readGpuOperand(op.name, "residual", second) : undefined;
  const options = readOptions(op, given);
  const where: Where = options as object;
  if (options.training) {
    requireOnGpu(op, "runningMean", options.runningMean);
    requireOnGpu(op, "runningVar", options.runningVar);
  }
  // From here on no code of the caller's runs.
  const d = checkCall(op, input, residual, options);
  return device.watch(op.name, () => {
    const made = new Results(device, d, options.returnStats, where);
    schedule(device, d, where, made, (emitter) => forward(emitter, d, made.at));
    return made.form();
  });
}

export function callBackwardOnGpu(
  device: Device,
  op: Op,
  gradOutput: unknown,
  x: unknown,
  given: unknown,
  // biome-ignore lint/suspicious/noExplicitAny: as above
): any {
  device.requireLive(op.name);
  const gradient = readGpuOperand(op.name, "gradOutput", gradOutput);
  const input = readGpuOperand(op.name, "x", x);
  const options = readOptions(op, given);
  const where: Where = options as object;
  // From here on no code of the caller's runs.
  const d = checkCall(op, input, undefined, options, gradient);
  return device.watch(op.name, () => {
    const made = new Gradients(device, d, where);
    schedule(device, d, where, made, (emitter) => backward(emitter, d, made.at));
    return made.result;
  });
}

/** Records the dispatches of a call, and submits them where the caller gave no encoder. */
function schedule(
  device: Device,
  d: Descriptor,
  { encoder }: Where,
  made: { readonly upload: GPUBufferLike | undefined; dispose(): void },
  emit: (emitter: Emitter) => void,
): void {
  try {
    if (d.x.size === 0) return;
    const emitter = new Emitter(d.op.name, device.gpu.limits, device.subgroups, (name, bytes) =>
      device.scratch(name, bytes),
    );
    emit(emitter);
    device.run(emitter.dispatches, encoder);
    // What was submitted still sees it; what the caller has yet to submit must find it there.
    if (encoder === undefined) made.upload?.destroy();
  } catch (error) {
    made.upload?.destroy();
    made.dispose();
    throw error;
  }
}

function requireOnGpu(op: Op, name: string, operand: Operand | undefined): void {
  if (operand !== undefined && operand.kind !== "gpu") {
    throw wrongType(
      op.name,
      name,
      "a tensor on the GPU, to be updated in place",
      "values in memory",
    );
  }
}

/** The operands' memory, made where the caller gave none. */
class Results {
  readonly at: Operands;
  readonly upload: GPUBufferLike | undefined;
  readonly #made: GpuTensor[] = [];
  readonly #result: Record<string, unknown> = {};
  readonly #plain: boolean;

  constructor(device: Device, d: Descriptor, withStatistics: boolean, where: Where) {
    const dtype = d.dtype as GpuDType;
    const take = (name: string, out: Operand | undefined, dims: Dims, type: GpuDType): Memory => {
      if (out !== undefined) {
        this.#result[name] = (out as GpuOperand).given;
        return memoryOf(out as GpuOperand);
      }
      const tensor = newTensor(device, d, dims, type, name, where, this.#made);
      this.#made.push(tensor);
      this.#result[name] = tensor;
      return { buffer: tensor.buffer, offset: 0, dtype: type };
    };
    const y = take("output", d.y, d.dims, dtype);
    const adds = d.op.inputs.length > 1;
    const sum = adds ? take("sum", d.sum, d.dims, dtype) : undefined;
    const statistic = (name: "mean" | "rstd") => {
      if (!withStatistics || !d.op.statistics.includes(name)) return undefined;
      if (d.x.size !== 0) return take(name, undefined, d.statDims, "float32");
      // A batch without values has none to give.
      const values = new Float32Array(d.runs).fill(Number.NaN);
      const usage = USAGE.storage | USAGE.copySource | USAGE.copyTarget;
      const tensor = new GpuTensor(device.upload(values, usage), d.statDims, "float32");
      this.#result[name] = tensor;
      return undefined;
    };
    const mean = statistic("mean");
    const rstd = statistic("rstd");
    this.#plain = !adds && !withStatistics;
    const { upload, parameters } = placeParameters(device, d);
    this.upload = upload;
    this.at = { x: memoryOf(d.x as GpuOperand), y, sum, mean, rstd, parameters };
  }

  form(): unknown {
    return this.#plain ? this.#result.output : this.#result;
  }

  dispose(): void {
    for (const tensor of this.#made) tensor.dispose();
  }
}

/** The operands' memory of a backward call, and what it gives. */
class Gradients {
  readonly at: BackwardOperands;
  readonly upload: GPUBufferLike | undefined;
  readonly result: Record<string, GpuTensor | null> = {};

  constructor(device: Device, d: Descriptor, where: Where) {
    const make = (name: string, dims: Dims, dtype: GpuDType): Memory => {
      const made = Object.values(this.result).filter((tensor) => tensor !== null);
      const tensor = newTensor(device, d, dims, dtype, name, where, made);
      this.result[name] = tensor;
      return { buffer: tensor.buffer, offset: 0, dtype };
    };
    const y = make("gradInput", d.dims, d.dtype as GpuDType);
    for (const name of AFFINE) this.result[GRADIENTS[name]] = null;
    const gradients = new Map<(typeof AFFINE)[number], Memory>();
    for (const { name, like, size } of d.gradients!) {
      const dtype = like === undefined || like.dtype === "float64" ? "float32" : like.dtype;
      const affine = name as (typeof AFFINE)[number];
      gradients.set(affine, make(GRADIENTS[name], like?.dims ?? [size], dtype));
    }
    const { upload, parameters, low } = placeParameters(device, d);
    this.upload = upload;
    this.at = {
      x: memoryOf(d.x as GpuOperand),
      y,
      sum: undefined,
      mean: undefined,
      rstd: undefined,
      parameters,
      gradOutput: memoryOf(d.gradOutput as GpuOperand),
      low,
      gradients,
    };
  }

  dispose(): void {
    for (const tensor of Object.values(this.result)) tensor?.dispose();
  }
}

function memoryOf({ buffer, address, dtype }: GpuOperand): Memory {
  return { buffer, offset: address, dtype: dtype as GpuDType };
}

interface Upload {
  readonly to: Map<ParameterName, Memory>;
  readonly name: ParameterName;
  readonly data: Float32Array;
  readonly begin: number;
}

function all(values: readonly Upload[], size: number): Float32Array {
  const words = new Float32Array(size);
  for (const { data, begin } of values) words.set(data, begin);
  return words;
}

/** Parameters where they stand, or all those in memory in one upload, as float32; statistics with what that leaves of float64. */
function placeParameters(device: Device, d: Descriptor) {
  const parameters = new Map<ParameterName, Memory>();
  const low = new Map<ParameterName, Memory>();
  const values: Upload[] = [];
  let size = 0;
  const add = (to: Map<ParameterName, Memory>, name: ParameterName, data: Float32Array) => {
    values.push({ to, name, data, begin: size });
    size += Math.ceil(data.length / 64) * 64;
  };
  for (const { name, operand } of d.placed) {
    if (operand instanceof GpuOperand) {
      parameters.set(name, memoryOf(operand));
      continue;
    }
    const { array, tensor, dtype } = operand;
    const elements = array ?? stateOf(tensor!)!.owner.block!.backend.elementsOf(operand);
    add(parameters, name, toFloat32(elements, dtype));
    if (dtype === "float64" && (name === "givenMean" || name === "givenRstd")) {
      const rest = (elements as Float64Array).map((v) => v - Math.fround(v) || 0);
      add(low, name, Float32Array.from(rest));
    }
  }
  if (size === 0) return { upload: undefined, parameters, low };
  const upload = device.upload(all(values, size), USAGE.storage);
  for (const { to, name, begin } of values) {
    to.set(name, { buffer: upload, offset: begin * 4, dtype: "float32" });
  }
  return { upload, parameters, low };
}
