// Making resident tensors from values of the caller's.
import { type Dims, readDims, requireSize } from "./dims.js";
import { DTYPES, isBits } from "./dtypes.js";
import { backendFor, type Inlined } from "./instance.js";
import { flatOperand, type Operand, readOperand, residentOperand, settle } from "./operands.js";
import { readDType } from "./option_readers.js";
import { allocateTensor, type Tensor } from "./tensor.js";
import type { DType } from "./types.js";
import type { WasmBackend } from "./wasm_backend.js";

// The results' types stand in api.ts; a Tensor<never> passes for all of them.

export function zeros(inlined: Inlined, shape: unknown, dtype: unknown): Tensor<never> {
  const dims = readDims("zeros", "shape", shape);
  const type = dtype === undefined ? "float32" : readDType("zeros", "dtype", dtype);
  const result = allocateTensor("zeros", backendFor(inlined), dims, type);
  result.data.fill(0);
  return result as Tensor<never>;
}

export function tensor(
  inlined: Inlined,
  data: unknown,
  shape: unknown,
  dtype: unknown,
): Tensor<never> {
  const type = dtype === undefined ? undefined : readDType("tensor", "dtype", dtype);
  // Bits of the type that is named.
  const isOfBits = type !== undefined && DTYPES[type].bytes === 2 && isBits(data);
  const source = isOfBits ? flatOperand(type, data) : readOperand("tensor", "data", data);
  const given = shape === undefined ? undefined : readDims("tensor", "shape", shape);
  const own = source.kind === "nested" ? "float32" : source.dtype;
  settle("tensor", "data", source);
  const dims = given ?? source.dims ?? [source.size];
  requireSize("tensor", "data", dims, source.size);
  return copyToTensor("tensor", backendFor(inlined), source, dims, type ?? own) as Tensor<never>;
}

/** A new tensor with the elements of a settled operand. */
export function copyToTensor(
  where: string,
  backend: WasmBackend,
  source: Operand,
  dims: Dims,
  dtype: DType,
): Tensor {
  const pinned = backend.pin(source);
  const result = allocateTensor(where, backend, dims, dtype);
  const target = residentOperand(result);
  target.size = source.size;
  backend.convert(pinned, target);
  return result;
}
