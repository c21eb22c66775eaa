// The plain descriptor that every call becomes once its arguments are read: what backends get.
import { type Dims, type Split, sameDims, show, splitTrailing } from "./dims.js";
import { wrongType, wrongValue } from "./errors.js";
import { expandTo } from "./expand.js";
import { describeOperand, type Extent, extentOf, Operand, settle } from "./operands.js";
import type { Op } from "./ops.js";
import { chooseEps, type Options, presetOf } from "./options.js";
import type { DType } from "./types.js";

/** A weight or bias: `channels` elements, or a number for all, or none. */
export type ParameterValue = Operand | number | undefined;

export interface Descriptor {
  readonly op: Op;
  readonly dtype: DType;
  readonly split: Split;
  readonly eps: number;
  readonly weightOffset: number;
  readonly x: Operand;
  weight: ParameterValue;
  bias: ParameterValue;
  /** Where results go. Checking leaves what the caller gave; the rest is made before the descriptor is run. */
  y: Operand | undefined;
  mean: Operand | undefined;
  rstd: Operand | undefined;
}

/** Checks everything that was read against each other. Runs no code of the caller's. */
export function checkCall(op: Op, x: Operand, options: Options): Descriptor {
  const where = op.name;
  settle(where, op.inputs[0]!, x);
  const split = splitTrailing(where, x.dims, x.size, options);
  const preset = options.preset === undefined ? undefined : presetOf(op, options.preset);
  const eps = chooseEps(op, options, preset, x.dtype);
  const weightOffset = options.weightOffset ?? preset?.weightOffset ?? 0;
  const weight = checkParameter(where, "weight", options.weight, split);
  const bias = checkParameter(where, "bias", options.bias, split);
  const y = options.out;
  if (y !== undefined) {
    checkOut(where, x, y);
    const extent = extentOf(y);
    if (y.array === undefined || y.array !== x.array) rejectOverlap(where, extent, "x", x);
    rejectOverlap(where, extent, "weight", options.weight);
    rejectOverlap(where, extent, "bias", options.bias);
  }
  const { dtype } = x;
  const mean = undefined;
  const rstd = undefined;
  return { op, dtype, split, eps, weightOffset, x, weight, bias, y, mean, rstd };
}

function checkOut(where: string, x: Operand, out: Operand): void {
  if (x.kind === "nested") {
    throw wrongType(where, "out", "no value for nested arrays", describeOperand(out));
  }
  if ((x.kind === "resident") !== (out.kind === "resident") || x.dtype !== out.dtype) {
    const expected = x.kind === "resident" ? "Tensor" : "typed array";
    throw wrongType(where, "out", `a ${x.dtype} ${expected}`, describeOperand(out));
  }
  settle(where, "out", out);
  if (out.size !== x.size) {
    throw wrongValue(where, "out", `${x.size} elements`, `${out.size}`);
  }
}

function rejectOverlap(where: string, out: Extent, name: string, other: ParameterValue): void {
  if (!(other instanceof Operand)) return;
  const { buffer, begin, end } = extentOf(other);
  if (buffer !== out.buffer || end <= out.begin || out.end <= begin) return;
  if (name === "x" && begin === out.begin && end === out.end) return;
  throw wrongValue(where, "out", "x itself or memory apart", `an overlap with "${name}"`);
}

// A tensor is matched in this order: exactly the normalized dimensions, a flat array of that length, and with dimensions
// of its own numpy's broadcasting against x.
function checkParameter(
  where: string,
  name: string,
  value: ParameterValue,
  split: Split,
): ParameterValue {
  if (!(value instanceof Operand)) return value;
  settle(where, name, value);
  const { channels } = split;
  const flat = value.kind === "flat" || (value.kind === "nested" && value.dims!.length === 1);
  if (flat && value.size === channels) return value;
  const own = value.dims;
  // One element against many is taken for a mistake, unless its dimensions say that it is meant.
  if (own !== undefined && !(flat && value.size === 1)) {
    const normalized = split.dims.slice(split.lead);
    if (sameDims(own, normalized)) return value;
    const inner = withoutLeadingOnes(own, normalized.length);
    if (inner.length <= normalized.length && own.length <= split.dims.length) {
      const expanded = expandTo(value, inner, normalized);
      if (expanded !== undefined) return expanded;
    }
  }
  const expected = `shape ${show(split.dims.slice(split.lead))}`;
  throw wrongValue(where, name, expected, show(own ?? [value.size]));
}

function withoutLeadingOnes(dims: Dims, rank: number): Dims {
  let first = 0;
  while (dims.length - first > rank && dims[first] === 1) first++;
  return dims.slice(first);
}
