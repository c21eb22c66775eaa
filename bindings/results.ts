// Results: the memory that they are written to, and their form, which is that of x.
import type { Descriptor, ParameterValue } from "./descriptor.js";
import type { Dims } from "./dims.js";
import { DTYPES } from "./dtypes.js";
import { outOfMemory } from "./errors.js";
import { flatOperand, type Operand, residentOperand } from "./operands.js";
import { allocateTensor, type Tensor } from "./tensor.js";
import type { DType, FloatArray } from "./types.js";
import type { WasmBackend } from "./wasm_backend.js";

/** Makes what a checked call writes to, where the caller gave nothing. Returns the tensors that were made. */
export function makeResults(
  d: Descriptor,
  backend: WasmBackend,
  withStatistics: boolean,
): Tensor[] {
  const { op, x } = d;
  const made: Tensor[] = [];
  if (x.kind === "resident") {
    // Memory may grow, which would detach arrays that are views of it.
    d.weight = pinned(d.weight, backend);
    d.bias = pinned(d.bias, backend);
  }
  const make = (dtype: DType, dims: Dims, size: number): Operand => {
    if (x.kind !== "resident")
      return settled(flatOperand(dtype, newArray(op.name, dtype, size)), size);
    const tensor = allocateTensor(op.name, backend, dims, dtype);
    made.push(tensor);
    return settled(residentOperand(tensor), size);
  };
  try {
    d.y ??= make(d.dtype, d.split.dims, x.size);
    if (withStatistics) {
      for (const name of op.statistics) d[name] = make("float64", keptDims(d), d.split.outer);
    }
  } catch (error) {
    for (const tensor of made) tensor.dispose();
    throw error;
  }
  return made;
}

/** What the caller gets: y, or an object of y and the statistics. */
export function formResult(d: Descriptor, hasOut: boolean, withStatistics: boolean): unknown {
  const { x, y, op } = d;
  const output = hasOut ? (y!.tensor ?? y!.array) : likeX(x, y!, d.split.dims);
  if (!withStatistics) return output;
  const result: Record<string, unknown> = { output };
  for (const name of op.statistics) result[name] = likeX(x, d[name]!, keptDims(d));
  return result;
}

function likeX(x: Operand, { dtype, array, tensor }: Operand, dims: Dims): unknown {
  switch (x.kind) {
    case "flat":
      return array;
    case "resident":
      return tensor;
    case "nested":
      return nest(array!, dims);
    case "like": {
      const { dims: dimsField, type } = x.fields!;
      const result: Record<string, unknown> = { data: array, [dimsField]: [...dims] };
      if (type !== undefined) result[type] = dtype;
      return result;
    }
  }
}

function nest(values: FloatArray, dims: Dims): unknown[] {
  let at = 0;
  const build = (depth: number): unknown[] => {
    const length = dims[depth]!;
    if (depth < dims.length - 1) return Array.from({ length }, () => build(depth + 1));
    at += length;
    return Array.from(values.subarray(at - length, at));
  };
  return build(0);
}

// The normalized dimensions stay as 1.
function keptDims({ split: { dims, lead } }: Descriptor): Dims {
  return dims.map((dim, i) => (i < lead ? dim : 1));
}

function newArray(where: string, dtype: DType, size: number): FloatArray {
  try {
    return DTYPES[dtype].create(size);
  } catch {
    throw outOfMemory(where, size * DTYPES[dtype].bytes);
  }
}

function settled(operand: Operand, size: number): Operand {
  operand.size = size;
  return operand;
}

function pinned(value: ParameterValue, backend: WasmBackend): ParameterValue {
  return typeof value === "object" ? backend.pin(value) : value;
}
