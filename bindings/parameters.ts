// Parameters: how a tensor is matched with x.
import { count, type Dims, sameDims, show } from "./dims.js";
import { wrongValue } from "./errors.js";
import type { Geometry } from "./geometry.js";
import { type Operand, settle } from "./operands.js";

/** The operands beside x that are read; running statistics are also written to in training. The last two are of backward calls. */
export const PARAMETERS = [
  "residual",
  "gate",
  "sumBias",
  "weight",
  "bias",
  "scale",
  "shift",
  "runningMean",
  "runningVar",
  "givenMean",
  "givenRstd",
] as const;

export type ParameterName = (typeof PARAMETERS)[number];

/** A tensor operand with, for each dimension of the view, the step in its elements from one index to the next (0: repeats). */
export class Placed {
  constructor(
    readonly name: ParameterName,
    public operand: Operand,
    public strides: Dims,
  ) {}
}

/** A number stands for all elements; undefined for none. */
export type ParameterValue = Placed | number | undefined;

// Strides that are worked out only where the view is not the plain one of trailing dimensions.
/** The elements of a run, for all runs. */
export const RUN: Dims = [];
/** The elements of x. */
export const WHOLE: Dims = [];

/** How a parameter is matched. */
export type Matching =
  /** Exactly the dimensions that parameters have, a flat array of that length, or broadcast. */
  | "affine"
  /** Those for all, behind N for each item, behind x's leading dimensions for each row, all behind N, or broadcast. */
  | "conditional"
  /** Exactly those. */
  | "exact"
  /** x's dimensions, or broadcast. */
  | "whole";

/** A value as it was read, matched with x: its strides are those along x's dimensions. */
export function matchParameter(
  where: string,
  name: ParameterName,
  value: Operand,
  matching: Matching,
  g: Geometry,
): Placed {
  settle(where, name, value);
  const flat = value.kind === "flat" && matching !== "whole";
  if (flat && g.lead >= 0 && value.size === g.count) return new Placed(name, value, RUN);
  return new Placed(name, value, findStrides(where, name, value, matching, g));
}

function findStrides(
  where: string,
  name: ParameterName,
  value: Operand,
  matching: Matching,
  g: Geometry,
): Dims {
  const { dims, size, kind } = value;
  const { lead } = g;
  const own = lead >= 0 ? range(lead, g.dims.length) : g.own;
  // Plain numbers in a row have dimensions, but are mostly meant as flat.
  const flat = kind === "flat" || (kind === "nested" && dims!.length === 1);
  const fits = (axes: Dims): boolean => {
    const wanted = dimsAt(g.dims, axes);
    return (dims !== undefined && sameDims(dims, wanted)) || (flat && size === count(wanted));
  };
  if (matching === "whole") {
    if (fits(range(0, g.dims.length))) return WHOLE;
  } else {
    if (fits(own)) return lead >= 0 ? RUN : stridesAlong(g.dims, own);
    if (matching === "conditional") {
      const first = Math.min(...own);
      for (const leading of first === 0 ? [] : [1, first]) {
        const axes = [...range(0, leading), ...own];
        if (fits(axes)) return leading === lead ? WHOLE : stridesAlong(g.dims, axes);
      }
      const position = range(1, g.dims.length);
      if (flat && fits(position)) return stridesAlong(g.dims, position);
    }
  }
  const strides = matching === "exact" ? undefined : broadcastStrides(value, flat, matching, g);
  if (strides !== undefined) return strides;
  throw wrongValue(where, name, `shape ${shapesFor(matching, own, g)}`, show(dims ?? [size]));
}

/** The dimensions that a tensor may have, for messages, but for those that broadcast. */
function shapesFor(matching: Matching, own: Dims, { dims }: Geometry): string {
  if (matching === "whole") return show(dims);
  const shapes = [show(dimsAt(dims, own))];
  if (matching === "conditional") {
    const first = Math.min(...own);
    for (const leading of first === 0 ? [] : [1, first]) {
      shapes.push(show(dimsAt(dims, [...range(0, leading), ...own])));
    }
  }
  return [...new Set(shapes)].join(" or ");
}

/** The strides of what is shaped as the given dimensions of x, in that order; 0 along the others. */
export function stridesAlong(dims: Dims, axes: Dims): number[] {
  const strides = new Array<number>(dims.length).fill(0);
  let stride = 1;
  for (let i = axes.length - 1; i >= 0; i--) {
    strides[axes[i]!] = stride;
    stride *= dims[axes[i]!]!;
  }
  return strides;
}

// numpy's rules, against x.
function broadcastStrides(
  { dims, size }: Operand,
  flat: boolean,
  matching: Matching,
  g: Geometry,
): number[] | undefined {
  // One element against many is taken for a mistake, unless its dimensions say that it is meant.
  if (flat && size === 1) return undefined;
  if (matching === "whole") dims ??= [size];
  else if (dims === undefined || (g.channel >= 0 && dims.length < 2)) return undefined;
  const shift = g.dims.length - dims.length;
  if (shift < 0 || dims.some((dim, i) => dim !== 1 && dim !== g.dims[shift + i])) return undefined;
  const own = range(shift, g.dims.length).filter((axis) => dims[axis - shift] !== 1);
  return stridesAlong(g.dims, own);
}

export function range(begin: number, end: number): number[] {
  const numbers: number[] = [];
  for (let i = begin; i < end; i++) numbers.push(i);
  return numbers;
}

function dimsAt(dims: Dims, axes: Dims): number[] {
  return axes.map((axis) => dims[axis]!);
}
