// A call of an operation on the GPU: read, check, schedule, run.
import { checkCall, type Descriptor } from "../descriptor.js";
import type { Dims } from "../dims.js";
import { DTYPES } from "../dtypes.js";
import { describe, wrongType } from "../errors.js";
import { type Operand, readDestination, readParameter, readTensor } from "../operands.js";
import { OPS, type Op, type OpName, type Reader } from "../ops.js";
import { readOptions } from "../options.js";
import type { ParameterName } from "../parameters.js";
import { stateOf } from "../tensor.js";
import type { Device } from "./device.js";
import {
  type GPUBufferLike,
  type GPUCommandEncoderLike,
  type GPUComputePassLike,
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

import type { Memory, Operands } from "./uses.js";

type Encoder = GPUCommandEncoderLike | GPUComputePassLike;

const readEncoder: Reader = (where, name, value) => {
  if (
    typeof value === "object" &&
    value !== null &&
    ("beginComputePass" in value || "dispatchWorkgroups" in value)
  ) {
    return value;
  }
  throw wrongType(where, name, "a GPUCommandEncoder or GPUComputePassEncoder", describe(value));
};

// The same table, with readers that know tensors on the GPU.
const READERS = new Map<Reader, Reader>([
  [readParameter, readGpuParameter],
  [readTensor, readGpuTensor],
  [readDestination, readGpuOperand],
]);

export const GPU_OPS = Object.fromEntries(
  Object.values(OPS).map((op) => {
    const options = new Map<string, Reader>();
    for (const [name, read] of op.options) options.set(name, READERS.get(read) ?? read);
    options.set("encoder", readEncoder);
    return [op.name, { ...op, options }];
  }),
) as unknown as Readonly<Record<OpName, Op>>;

/** New memory for a tensor. */
export function newTensor(device: Device, dims: Dims, dtype: GpuDType): GpuTensor {
  const bytes = dims.reduce((product, dim) => product * dim, 1) * DTYPES[dtype].bytes;
  const usage = USAGE.storage | USAGE.copySource | USAGE.copyTarget;
  return new GpuTensor(device.buffer(bytes, usage), dims, dtype);
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
  const { encoder } = options as { encoder?: Encoder };
  if (options.training) {
    requireOnGpu(op, "runningMean", options.runningMean);
    requireOnGpu(op, "runningVar", options.runningVar);
  }
  // From here on no code of the caller's runs.
  const d = checkCall(op, input, residual, options);
  return device.watch(op.name, () => {
    const made = new Results(device, d, options.returnStats);
    const { at, upload } = made;
    try {
      if (d.x.size !== 0) {
        const emitter = new Emitter(op.name, device.gpu.limits, device.subgroups, (name, bytes) =>
          device.scratch(name, bytes),
        );
        forward(emitter, d, at);
        device.run(emitter.dispatches, encoder);
        // What was submitted still sees it; what the caller has yet to submit must find it there.
        if (encoder === undefined) upload?.destroy();
      }
    } catch (error) {
      upload?.destroy();
      made.dispose();
      throw error;
    }
    return made.form();
  });
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

  constructor(device: Device, d: Descriptor, withStatistics: boolean) {
    const dtype = d.dtype as GpuDType;
    const take = (name: string, out: Operand | undefined, dims: Dims, type: GpuDType): Memory => {
      if (out !== undefined) {
        this.#result[name] = (out as GpuOperand).given;
        return memoryOf(out as GpuOperand);
      }
      const tensor = newTensor(device, dims, type);
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
      const tensor = new GpuTensor(
        device.buffer(values.byteLength, usage, values),
        d.statDims,
        "float32",
      );
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

function memoryOf({ buffer, address, dtype }: GpuOperand): Memory {
  return { buffer, offset: address, dtype: dtype as GpuDType };
}

/** Parameters where they stand, or all those in memory in one upload, as float32. */
function placeParameters(device: Device, d: Descriptor) {
  const parameters = new Map<ParameterName, Memory>();
  const values: { name: ParameterName; data: Float32Array; begin: number }[] = [];
  let size = 0;
  for (const { name, operand } of d.placed) {
    if (operand instanceof GpuOperand) {
      parameters.set(name, memoryOf(operand));
      continue;
    }
    const { array, tensor, dtype } = operand;
    const elements = array ?? stateOf(tensor!)!.owner.block!.backend.elementsOf(operand);
    values.push({ name, data: toFloat32(elements, dtype), begin: size });
    size += Math.ceil(operand.size / 64) * 64;
  }
  if (size === 0) return { upload: undefined, parameters };
  const all = new Float32Array(size);
  for (const { data, begin } of values) all.set(data, begin);
  const upload = device.buffer(all.byteLength, USAGE.storage, all);
  for (const { name, begin } of values) {
    parameters.set(name, { buffer: upload, offset: begin * 4, dtype: "float32" });
  }
  return { upload, parameters };
}
