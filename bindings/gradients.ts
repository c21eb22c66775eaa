// Gradients: what a backward call reads and makes beside what its forward operation has.
import type { Descriptor } from "./descriptor.js";
import { type Dims, sameDims, show } from "./dims.js";
import { isBits } from "./dtypes.js";
import { wrongType, wrongValue } from "./errors.js";
import { flatOperand, newElements, Operand, settle } from "./operands.js";
import type { Options } from "./options.js";
import { Placed } from "./parameters.js";
import { likeX, makeOperand } from "./results.js";
import type { Tensor } from "./tensor.js";
import type { WasmBackend } from "./wasm_backend.js";

/** Parameters that have gradients. */
export const DIFFERENTIABLE = [
  "residual",
  "gate",
  "sumBias",
  "weight",
  "bias",
  "scale",
  "shift",
] as const;

/** The names of their gradients, as results and as the core's operands. */
export const GRADIENTS = {
  residual: "gradResidual",
  gate: "gradGate",
  sumBias: "gradSumBias",
  weight: "gradWeight",
  bias: "gradBias",
  scale: "gradScale",
  shift: "gradShift",
} as const;

/** The gradient of a parameter that was given. */
export interface ParameterGradient {
  readonly name: (typeof DIFFERENTIABLE)[number];
  /** The parameter as the caller gave it; undefined for a number. */
  readonly like: Operand | undefined;
  readonly size: number;
  /** Whether the parameter has an element for each of x, so that nothing is summed. */
  readonly whole: boolean;
  /** Where it goes; undefined for the number of a call that is no plan. */
  target: Operand | undefined;
  /** What is summed, in float64: in the arena, in a tensor, or in an array. Beside float64 second parts follow all first ones. */
  sums: Operand | undefined;
}

/** Whether an operand has the dimensions, or is flat with as many elements. */
function fits({ kind, dims, size }: Operand, wanted: Dims, count: number): boolean {
  if (dims !== undefined && sameDims(dims, wanted)) return true;
  return size === count && (kind === "flat" || (kind === "nested" && dims!.length === 1));
}

/** Checks the gradient of a result. */
export function checkGradient(d: Descriptor, name: string, gradient: Operand): void {
  settle(d.op.name, name, gradient);
  if (fits(gradient, d.dims, d.x.size)) return;
  const got = show(gradient.dims ?? [gradient.size]);
  throw wrongValue(d.op.name, name, `shape ${show(d.dims)}`, got);
}

/** Checks the statistics that were given and places them. */
export function placeStatistics(
  { op, view, runs }: Descriptor,
  { mean, rstd }: Options,
  dims: Dims,
  placed: Placed[],
): void {
  const where = op.name;
  const given = { mean, rstd };
  const missing = op.statistics.find((name) => given[name] === undefined);
  for (const name of op.statistics) {
    const statistic = given[name];
    if (statistic === undefined) continue;
    if (missing !== undefined) {
      throw wrongType(where, missing, `a tensor beside "${name}"`, "none");
    }
    settle(where, name, statistic);
    if (!fits(statistic, dims, runs)) {
      const got = show(statistic.dims ?? [statistic.size]);
      throw wrongValue(where, name, `shape ${show(dims)}`, got);
    }
    const strides: number[] = [];
    let stride = 1;
    for (let i = view.length - 1; i >= 0; i--) {
      strides[i] = view[i]!.reduced ? 0 : stride;
      if (!view[i]!.reduced) stride *= view[i]!.size;
    }
    placed.push(new Placed(name === "mean" ? "givenMean" : "givenRstd", statistic, strides));
  }
}

/** The gradients of those parameters that were given. */
export function parameterGradients(d: Descriptor): ParameterGradient[] {
  const found: ParameterGradient[] = [];
  for (const name of DIFFERENTIABLE) {
    const value = d[name];
    if (value === undefined) continue;
    const like = typeof value === "object" ? value.operand : undefined;
    const size = like === undefined ? 1 : like.size;
    const whole = like !== undefined && size === d.x.size;
    found.push({ name, like, size, whole, target: undefined, sums: undefined });
  }
  return found;
}

/** Makes what a checked backward call writes to. Returns the tensors that were made. */
export function makeGradients(d: Descriptor, backend: WasmBackend, planned: boolean): Tensor[] {
  const where = d.op.name;
  const made: Tensor[] = [];
  // Memory may grow, which would detach arrays that are views of it.
  const like = d.x;
  d.x = backend.pin(d.x);
  d.gradOutput = backend.pin(d.gradOutput!);
  if (d.gradSum !== undefined) d.gradSum = backend.pin(d.gradSum);
  for (const each of d.placed) each.operand = backend.pin(each.operand);

  const resident = (of: Operand["dtype"], dims: Dims, size: number): Operand =>
    makeOperand(where, backend, made, of, dims, size);
  const likeOf = ({ kind, dtype, size, own }: Operand, dims: Dims): Operand => {
    const owner = planned || kind === "resident" ? backend : undefined;
    return makeOperand(where, owner, made, dtype, dims, size, isBits(own));
  };
  try {
    d.y = likeOf(like, d.dims);
    let used = 0;
    for (const gradient of d.gradients!) {
      const { like: parameter, size } = gradient;
      if (parameter !== undefined) {
        gradient.target = likeOf(parameter, parameter.dims ?? [size]);
      } else if (planned) {
        gradient.target = resident("float64", [1], 1);
      }
      if (gradient.whole) continue;
      const length = d.dtype === "float64" ? 2 * size : size;
      const address = backend.scratch(used, length * 8);
      if (address !== 0) {
        gradient.sums = new Operand("flat", "float64", undefined, undefined, address);
        used += length * 8;
      } else if (gradient.target !== undefined && gradient.target.array === undefined) {
        gradient.sums = resident("float64", [length], length);
      } else {
        gradient.sums = flatOperand("float64", newElements(where, "float64", length));
      }
      gradient.sums.size = length;
    }
  } catch (error) {
    for (const tensor of made) tensor.dispose();
    throw error;
  }
  return made;
}

/** Rounds the sums of a call that is no plan to the arrays that they are for. */
export function roundGradients(d: Descriptor, backend: WasmBackend): void {
  for (const { whole, sums, target } of d.gradients!) {
    if (!whole && target?.array !== undefined) backend.convert(sums!, target);
  }
}

/** What the caller gets; `like` is x as it was given. */
export function formGradients(
  d: Descriptor,
  backend: WasmBackend,
  like: Operand,
): Record<string, unknown> {
  const result: Record<string, unknown> = { gradInput: likeX(like, d.y!, d.dims) };
  const { options, inputs } = d.op;
  for (const name of DIFFERENTIABLE) {
    if (options.has(name) || (inputs as readonly string[]).includes(name)) {
      result[GRADIENTS[name]] = null;
    }
  }
  for (const { name, like: parameter, size, target, sums } of d.gradients!) {
    const key = GRADIENTS[name];
    if (parameter !== undefined) {
      result[key] = target!.tensor ?? likeX(parameter, target!, parameter.dims ?? [size]);
    } else if (target === undefined) {
      result[key] = backend.elementsOf(sums!)[0];
    } else {
      // Of a plan: what the last run has found.
      const tensor = target.tensor!;
      Object.defineProperty(result, key, {
        get: () => tensor.data[0],
        enumerable: true,
      });
    }
  }
  return result;
}

/** Gives up those tensors that only held sums. */
export function disposeSums(d: Descriptor): void {
  for (const { sums } of d.gradients!) sums?.tensor?.dispose();
}
