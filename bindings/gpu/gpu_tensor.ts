// Tensors in GPU buffers: those made here, the caller's own, onnxruntime's, TensorFlow.js's.
import { type Dims, readDims } from "../dims.js";
import { DTYPES } from "../dtypes.js";
import { describe, quotedList, wrongType, wrongValue } from "../errors.js";
import { nameClass } from "../names.js";
import { Operand, readOperand } from "../operands.js";
import { choice } from "../option_readers.js";
import { makeDisposable } from "../tensor.js";
import type { Parameter, WithDispose } from "../types.js";
import { type GPUBufferLike, hasMethod } from "./device_like.js";

/** Element types on the GPU, which has no float64. */
export type GpuDType = "float32" | "float16" | "bfloat16";

/** A tensor of the caller's own in a GPU buffer; offset counts bytes and is a multiple of 4. Default: 0 and float32. */
export interface GpuTensorLike {
  readonly buffer: GPUBufferLike;
  readonly offset?: number | undefined;
  readonly shape: readonly number[];
  readonly dtype?: string | undefined;
}

/** onnxruntime's tensor on the GPU. */
export interface OrtGpuTensorLike {
  readonly gpuBuffer: GPUBufferLike;
  readonly dims: readonly number[];
  readonly type: string;
}

/** What TensorFlow.js's `tensor.dataToGPU()` gives where its backend is webgpu. */
export interface TfjsGpuDataLike {
  readonly buffer?: GPUBufferLike;
  readonly tensorRef: { readonly shape: readonly number[]; readonly dtype: string };
}

/** What can be normalized on the GPU. */
export type GpuInput = GpuTensor | GpuTensorLike | OrtGpuTensorLike | TfjsGpuDataLike;

/** A parameter: a number, a tensor on the GPU, or values that are uploaded for the call. */
export type GpuParameter = GpuInput | Parameter;

let isDisposed: (tensor: GpuTensor) => boolean;

/**
 * Elements in a GPU buffer: float32, or two of 16 bits in each word. Made by `gpu.tensor` and by operations without `out`;
 * freed by `dispose()`.
 */
export class GpuTensor {
  readonly buffer: GPUBufferLike;
  /** In bytes. */
  readonly offset: number;
  readonly shape: readonly number[];
  readonly dtype: GpuDType;
  #disposed = false;

  /** @internal */
  constructor(buffer: GPUBufferLike, shape: Dims, dtype: GpuDType) {
    if (shape === undefined) {
      throw new TypeError("GpuTensor: expected a call of gpu.tensor(), got new GpuTensor");
    }
    this.buffer = buffer;
    this.offset = 0;
    this.shape = Object.freeze([...shape]);
    this.dtype = dtype;
  }

  static {
    nameClass(GpuTensor, "GpuTensor");
    makeDisposable(GpuTensor.prototype);
    isDisposed = (tensor) => tensor.#disposed;
  }

  /**
   * Frees the buffer. Harmless when done twice. What was submitted before still sees it; what was recorded into an encoder of the
   * caller's has to be submitted first.
   */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.buffer.destroy();
  }
}

// The static block defines it where the engine knows the symbol.
export interface GpuTensor extends WithDispose {}

/** An operand in a GPU buffer; `address` is its offset in bytes. */
export class GpuOperand extends Operand {
  constructor(
    dtype: GpuDType,
    dims: Dims,
    readonly buffer: GPUBufferLike,
    offset: number,
    /** What the caller gave. */
    readonly given: object,
  ) {
    super("gpu", dtype, dims, undefined, offset, undefined, undefined);
    this.memory = buffer;
  }

  /** Counts the elements and makes sure that they are there. */
  override settle(where: string, name: string): void {
    const { given, dims, buffer, address, dtype } = this;
    if (given instanceof GpuTensor && isDisposed(given)) {
      throw wrongType(where, name, "a live tensor", "a disposed tensor");
    }
    const size = dims!.reduce((product, dim) => product * dim, 1);
    const bytes = Math.ceil((size * DTYPES[dtype].bytes) / 4) * 4;
    if (address + bytes > buffer.size) {
      const expected = `a buffer of ${address + bytes} bytes for shape [${dims!.join(", ")}]`;
      throw wrongValue(where, name, expected, `${buffer.size}`);
    }
    this.size = size;
  }
}

const EXPECTED =
  "a tensor on the GPU: one of gpu.tensor(), { buffer, offset, shape, dtype }, onnxruntime's, or dataToGPU()'s";

/** Reads a tensor on the GPU. */
export function readGpuOperand(where: string, name: string, value: unknown): GpuOperand {
  const operand = tryGpuOperand(where, name, value);
  if (operand === undefined) throw wrongType(where, name, EXPECTED, describe(value));
  return operand;
}

function tryGpuOperand(where: string, name: string, value: unknown): GpuOperand | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if ("tensorRef" in value) {
    const { buffer, tensorRef } = value as TfjsGpuDataLike;
    if (typeof tensorRef !== "object" || tensorRef === null) {
      throw wrongType(where, `${name}.tensorRef`, "a tensor", describe(tensorRef));
    }
    const { shape, dtype } = tensorRef;
    const fields = ["tensorRef.shape", "tensorRef.dtype"] as const;
    return makeOperand(where, name, value, buffer, 0, shape, dtype, ...fields);
  }
  if ("buffer" in value && !ArrayBuffer.isView(value)) {
    const { buffer, offset, shape, dtype } = value as GpuTensorLike;
    return makeOperand(
      where,
      name,
      value,
      buffer,
      offset ?? 0,
      shape,
      dtype ?? "float32",
      "shape",
      "dtype",
    );
  }
  if ("location" in value && value.location !== "gpu-buffer") return undefined;
  if ("gpuBuffer" in value) {
    const { gpuBuffer, dims, type } = value as OrtGpuTensorLike;
    return makeOperand(where, name, value, gpuBuffer, 0, dims, type, "dims", "type");
  }
  return undefined;
}

function makeOperand(
  where: string,
  name: string,
  given: object,
  buffer: unknown,
  offset: unknown,
  shape: unknown,
  dtype: unknown,
  dimsField: string,
  typeField: string,
): GpuOperand {
  if (!hasMethod(buffer, "getMappedRange")) {
    throw wrongType(where, `${name}.buffer`, "a GPUBuffer", describe(buffer));
  }
  if (typeof offset !== "number") {
    throw wrongType(where, `${name}.offset`, "a number of bytes", describe(offset));
  }
  if (!Number.isSafeInteger(offset) || offset < 0 || offset % 4 !== 0) {
    throw wrongValue(where, `${name}.offset`, "a multiple of 4 bytes", describe(offset));
  }
  const dims = readDims(where, `${name}.${dimsField}`, shape);
  const type = readGpuDType(where, `${name}.${typeField}`, dtype);
  return new GpuOperand(type, dims, buffer as GPUBufferLike, offset, given);
}

const GPU_DTYPES: readonly GpuDType[] = ["float32", "float16", "bfloat16"];
const readOneOf = choice(GPU_DTYPES);

/** The name of an element type that the GPU has. */
export function readGpuDType(where: string, name: string, value: unknown): GpuDType {
  if (value !== "float64") return readOneOf(where, name, value);
  const expected = `one of ${quotedList(GPU_DTYPES)}: a GPU has no float64`;
  throw wrongType(where, name, expected, '"float64"');
}

/** Reads a number, a tensor on the GPU or in memory, or null for none. */
export function readGpuParameter(
  where: string,
  name: string,
  value: unknown,
): Operand | number | undefined {
  if (value === null) return undefined;
  if (typeof value === "number") return value;
  return (
    tryGpuOperand(where, name, value) ??
    readOperand(where, name, value, `null, a number, ${EXPECTED}, or values`)
  );
}

export function readGpuTensor(where: string, name: string, value: unknown): Operand | undefined {
  if (value === null) return undefined;
  return (
    tryGpuOperand(where, name, value) ??
    readOperand(where, name, value, `null, ${EXPECTED}, or values`)
  );
}
