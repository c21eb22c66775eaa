// Values in memory through the GPU: there, normalized, and back in the form that they came in.
import { count, type Dims } from "../dims.js";
import {
  type Elements,
  elementsIn,
  isBits,
  lengthOf,
  type OwnArray,
  typedArrayTag,
} from "../dtypes.js";
import { GRADIENTS } from "../gradients.js";
import { type Operand, readOperand } from "../operands.js";
import type { WebGpuNorm } from "../webgpu.js";

type Values = Record<string, unknown>;

/** The typed array, if there is one, of values that could go to the GPU. */
export function arrayOf(x: unknown): OwnArray | undefined {
  const data = typedArrayTag(x) === undefined ? (x as { data?: unknown } | null)?.data : x;
  return typedArrayTag(data) === undefined ? undefined : (data as OwnArray);
}

/**
 * Runs an operation there and back; null where the GPU has no form of what is asked for, undefined where an argument is
 * wrong, which wasm's checks put in words.
 */
export async function roundTrip(
  norm: WebGpuNorm,
  op: string,
  inputs: readonly unknown[],
  options: Values,
): Promise<{ readonly result: unknown } | null | undefined> {
  const operands = inputs.map((input) => readOperand(op, "x", input));
  const [x] = operands;
  if (x === undefined || options.training === true || !operands.every(isPlain)) return null;
  const dims = x.dims ?? dimsOf(options, lengthOf(x.own!));
  if (operands.some(({ own, dtype }) => lengthOf(own!) !== count(dims) || dtype !== x.dtype)) {
    return undefined;
  }
  const { out, sumOut, ...rest } = options;
  for (const each of [out, sumOut]) if (each !== undefined && !isLike(each, x)) return undefined;
  delete rest.shape;
  // Parameters are read by now or by the call: nothing that changes them later counts.
  const tensors = operands.map(({ own, dtype }) =>
    norm.tensor(own as Float32Array, dims, dtype as "float32"),
  );
  const made = new Set<{ dispose(): void }>(tensors);
  try {
    const functions = norm as unknown as Record<string, (...args: unknown[]) => unknown>;
    const given = functions[op]!(...tensors, rest);
    const isObject = options.returnStats === true || inputs.length > 1;
    const parts = (isObject ? given : { output: given }) as Record<string, (typeof tensors)[0]>;
    for (const tensor of Object.values(parts)) made.add(tensor);
    const elements = new Map<string, OwnArray>();
    for (const [name, tensor] of Object.entries(parts)) elements.set(name, await norm.read(tensor));
    // Now that all is here: what fails before leaves `out` as it was.
    const result: Values = {};
    for (const [name, { shape }] of Object.entries(parts)) {
      const target = name === "output" ? out : name === "sum" ? sumOut : undefined;
      result[name] = formed(x, name, elements.get(name)!, shape, target as OwnArray | undefined);
    }
    return { result: isObject ? result : result.output };
  } finally {
    for (const tensor of made) tensor.dispose();
  }
}

/** As `roundTrip`, for gradients: each comes back in the form of what it is the gradient of. */
export async function roundTripBackward(
  norm: WebGpuNorm,
  op: string,
  inputs: readonly unknown[],
  options: Values,
): Promise<{ readonly result: unknown } | null | undefined> {
  const [grad, x] = inputs.map((input) => readOperand(op, "x", input));
  if (x === undefined || !isPlain(x) || !isPlain(grad!)) return null;
  const likes: Record<string, Operand | number> = { gradInput: x };
  for (const [name, gradient] of Object.entries(GRADIENTS)) {
    const value = options[name] ?? null;
    if (value === null) continue;
    const like = typeof value === "number" ? value : readOperand(op, name, value);
    if (typeof like === "object" && !isPlain(like)) return null;
    likes[gradient] = like;
  }
  const dims = x.dims ?? dimsOf(options, lengthOf(x.own!));
  if ([grad!, x].some(({ own }) => lengthOf(own!) !== count(dims))) return undefined;
  const { shape: _, ...rest } = options;
  const tensors = [grad!, x].map(({ own, dtype }) =>
    norm.tensor(own as Float32Array, dims, dtype as "float32"),
  );
  const made = new Set<{ dispose(): void }>(tensors);
  try {
    const functions = norm as unknown as Record<string, (...args: unknown[]) => unknown>;
    const parts = functions[op]!(...tensors, rest) as Record<string, (typeof tensors)[0] | null>;
    const result: Values = {};
    for (const [name, tensor] of Object.entries(parts)) {
      result[name] = null;
      if (tensor === null) continue;
      made.add(tensor);
      const elements = await norm.read(tensor);
      const like = likes[name]!;
      result[name] =
        typeof like === "number"
          ? (elements as Float32Array)[0]
          : formed(like, name, elements, like.dims ?? tensor.shape, undefined);
    }
    return { result };
  } finally {
    for (const tensor of made) tensor.dispose();
  }
}

function isPlain({ kind, dtype }: Operand): boolean {
  return (kind === "flat" || kind === "like") && dtype !== "float64";
}

function isLike(value: unknown, { own }: Operand): boolean {
  return (
    typedArrayTag(value) === typedArrayTag(own) && lengthOf(value as OwnArray) === lengthOf(own!)
  );
}

/** The dimensions of a flat x. */
function dimsOf({ shape, normalizedShape }: Values, size: number): Dims {
  if (Array.isArray(shape)) return shape;
  if (normalizedShape === undefined) return [size];
  const own = [normalizedShape].flat() as number[];
  return [Math.floor(size / count(own)), ...own];
}

function formed(
  x: Operand,
  name: string,
  elements: OwnArray,
  dims: Dims,
  out: OwnArray | undefined,
): unknown {
  const isStatistic = name === "mean" || name === "rstd";
  let own: OwnArray = isStatistic ? Float64Array.from(elements as Float32Array) : elements;
  // float16 comes as a Float16Array; bits go where bits came from.
  if (!isStatistic && isBits(x.own)) own = elementsIn(elements, x.dtype);
  if (out !== undefined) {
    elementsIn(out, x.dtype).set(elementsIn(own, x.dtype) as Elements);
    return out;
  }
  if (x.kind === "flat") return own;
  const { dims: dimsField, type } = x.fields!;
  const result: Values = { data: own, [dimsField]: [...dims] };
  if (type !== undefined) result[type] = isStatistic ? "float64" : x.dtype;
  return result;
}
