// Values in memory through the GPU: there, normalized, and back in the form that they came in.
import { checkCall, type Descriptor } from "../descriptor.js";
import type { Dims } from "../dims.js";
import { type Elements, elementsIn, isBits, type OwnArray, typedArrayTag } from "../dtypes.js";
import { GRADIENTS } from "../gradients.js";
import { type Operand, readOperand, readParameter, readTensor } from "../operands.js";
import { OPS, type OpName, withReaders } from "../ops.js";
import { readOptions } from "../options.js";
import type { WebGpuNorm } from "../webgpu.js";
import { readGpuParameter, readGpuTensor } from "./gpu_tensor.js";

type Values = Record<string, unknown>;
type OnGpu = ReturnType<WebGpuNorm["tensor"]>;

/** What an operation gave, in the form of its inputs; null where the GPU has no form of what is asked for. */
type Returned = { readonly result: unknown } | null;

/** The typed array, if there is one, of values that could go to the GPU. */
export function arrayOf(x: unknown): OwnArray | undefined {
  const data = typedArrayTag(x) === undefined ? (x as { data?: unknown } | null)?.data : x;
  return typedArrayTag(data) === undefined ? undefined : (data as OwnArray);
}

/** Runs an operation there and back, once all is checked as it is for wasm: x has dimensions, and `out` memory, of its own. */
export async function roundTrip(
  norm: WebGpuNorm,
  name: OpName,
  inputs: readonly unknown[],
  options: Values,
): Promise<Returned> {
  const operands = read(name, inputs);
  if (options.training === true || !operands.every(isPlain)) return null;
  const d = check(name, operands, options);
  const { x } = d;
  const { out, sumOut } = options;
  return onGpu(
    norm,
    name,
    d,
    operands,
    { ...options, out: undefined, sumOut: undefined },
    async (given) => {
      const isObject = options.returnStats === true || inputs.length > 1;
      const parts = (isObject ? given : { output: given }) as Record<string, OnGpu>;
      const elements = new Map<string, OwnArray>();
      try {
        for (const [part, tensor] of Object.entries(parts))
          elements.set(part, await norm.read(tensor));
      } finally {
        for (const tensor of Object.values(parts)) tensor.dispose();
      }
      // Now that all is here: what fails before leaves `out` as it was.
      const result: Values = {};
      for (const [part, { shape }] of Object.entries(parts)) {
        const target = part === "output" ? out : part === "sum" ? sumOut : undefined;
        result[part] = formed(x, part, elements.get(part)!, shape, target as OwnArray | undefined);
      }
      return isObject ? result : result.output;
    },
  );
}

/** As `roundTrip`, for gradients: each comes back in the form of what it is the gradient of. */
export async function roundTripBackward(
  norm: WebGpuNorm,
  name: OpName,
  inputs: readonly unknown[],
  options: Values,
): Promise<Returned> {
  const operands = read(name, inputs);
  if (!operands.every(isPlain)) return null;
  const d = check(name, operands, options);
  const likes: Record<string, Operand | undefined> = { gradInput: d.x };
  for (const { name: parameter, like } of d.gradients!) {
    if (like !== undefined && !isPlain(like)) return null;
    likes[GRADIENTS[parameter]] = like;
  }
  return onGpu(norm, name, d, operands, options, async (given) => {
    const parts = Object.entries(given as Record<string, OnGpu | null>);
    const result: Values = {};
    try {
      for (const [part, tensor] of parts) {
        result[part] = null;
        if (tensor === null) continue;
        const elements = await norm.read(tensor);
        const like = likes[part];
        result[part] =
          like === undefined
            ? (elements as Float32Array)[0]
            : formed(like, part, elements, like.dims ?? tensor.shape, undefined);
      }
    } finally {
      for (const [, tensor] of parts) tensor?.dispose();
    }
    return result;
  });
}

function read(name: OpName, inputs: readonly unknown[]): Operand[] {
  return OPS[name].inputs.map((input, i) => readOperand(name, input, inputs[i]));
}

// As for wasm, but for parameters, which may stand on the GPU.
const READERS = new Map([
  [readParameter, readGpuParameter],
  [readTensor, readGpuTensor],
]);

/** Checks all there is to a call with values in memory. */
function check(name: OpName, operands: readonly Operand[], given: Values): Descriptor {
  const op = withReaders(OPS[name], READERS);
  const options = readOptions(op, given);
  const [first, second] = operands;
  return op.backward
    ? checkCall(op, second!, undefined, options, first)
    : checkCall(op, first!, second, options);
}

/** Calls with the operands on the GPU; parameters are read by now or by the call: nothing that changes them later counts. */
async function onGpu(
  norm: WebGpuNorm,
  name: OpName,
  { dims, x }: Descriptor,
  operands: readonly Operand[],
  options: Values,
  back: (given: unknown) => Promise<unknown>,
): Promise<Returned> {
  const made: OnGpu[] = [];
  try {
    for (const { own, dims: ownDims, size, dtype } of operands) {
      const shape = ownDims ?? (size === x.size ? dims : [size]);
      made.push(norm.tensor(own as Float32Array, shape, dtype as "float32"));
    }
    const functions = norm as unknown as Record<string, (...args: unknown[]) => unknown>;
    const given = functions[name]!(...made, { ...options, shape: undefined });
    return { result: await back(given) };
  } finally {
    for (const tensor of made) tensor.dispose();
  }
}

function isPlain({ kind, dtype }: Operand): boolean {
  return (kind === "flat" || kind === "like") && dtype !== "float64";
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
