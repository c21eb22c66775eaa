// Results: the memory that they are written to, and their form, which is that of x.
import type { Descriptor } from "./descriptor.js";
import type { Dims } from "./dims.js";
import { type Elements, isBits, ownArray } from "./dtypes.js";
import { flatOperand, newElements, type Operand, residentOperand } from "./operands.js";
import { allocateTensor, type Tensor } from "./tensor.js";
import type { DType } from "./types.js";
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
    for (const each of d.placed) each.operand = backend.pin(each.operand);
  }
  const owner = x.kind === "resident" ? backend : undefined;
  const make = (dtype: DType, dims: Dims, size: number): Operand =>
    makeOperand(op.name, owner, made, dtype, dims, size, isBits(x.own));
  try {
    d.y ??= make(d.dtype, d.dims, x.size);
    if (op.inputs.length > 1) d.sum ??= make(d.dtype, d.dims, x.size);
    if (withStatistics) {
      for (const name of op.statistics) {
        const statistic = make("float64", d.statDims, d.runs);
        d[name] = statistic;
        // A batch without values has none to give.
        if (x.size === 0) backend.elementsOf(statistic).fill(Number.NaN);
      }
    }
  } catch (error) {
    for (const tensor of made) tensor.dispose();
    throw error;
  }
  return made;
}

/** What is written to: a tensor, which is added to those made, or without a backend an array. */
export function makeOperand(
  where: string,
  backend: WasmBackend | undefined,
  made: Tensor[],
  dtype: DType,
  dims: Dims,
  size: number,
  asBits = false,
): Operand {
  let operand: Operand;
  if (backend === undefined) {
    const array = newElements(where, dtype, size);
    operand = flatOperand(dtype, ownArray(array, dtype, asBits));
    operand.array = array;
  } else {
    const tensor = allocateTensor(where, backend, dims, dtype);
    made.push(tensor);
    operand = residentOperand(tensor);
  }
  operand.size = size;
  return operand;
}

/** What the caller gets: y, or an object of y, the sum and the statistics. */
export function formResult(
  d: Descriptor,
  out: Operand | undefined,
  sumOut: Operand | undefined,
  withStatistics: boolean,
): unknown {
  const { x, y, sum, dims, op } = d;
  const output = out === undefined ? likeX(x, y!, dims) : (out.tensor ?? out.own);
  if (sum === undefined && !withStatistics) return output;
  const result: Record<string, unknown> = { output };
  if (sum !== undefined) {
    result.sum = sumOut === undefined ? likeX(x, sum, dims) : (sumOut.tensor ?? sumOut.own);
  }
  if (withStatistics) {
    for (const name of op.statistics) result[name] = likeX(x, d[name]!, d.statDims);
  }
  return result;
}

/** An operand in the form of x. */
export function likeX(x: Operand, { dtype, array, own, tensor }: Operand, dims: Dims): unknown {
  switch (x.kind) {
    case "flat":
      return own;
    case "resident":
    case "gpu":
      return tensor;
    case "nested":
      return nest(array!, dims);
    case "like": {
      const { dims: dimsField, type } = x.fields!;
      const result: Record<string, unknown> = { data: own, [dimsField]: [...dims] };
      if (type !== undefined) result[type] = dtype;
      return result;
    }
  }
}

function nest(values: Elements, dims: Dims): unknown[] {
  let at = 0;
  const build = (depth: number): unknown[] => {
    const length = dims[depth]!;
    if (depth < dims.length - 1) return Array.from({ length }, () => build(depth + 1));
    at += length;
    return Array.from(values.subarray(at - length, at));
  };
  return build(0);
}
