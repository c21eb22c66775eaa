// Which of x's dimensions are normalized together, and which of them parameters have.
import { count, type Dims, requireSize, sameDims, show } from "./dims.js";
import { describe, wrongType, wrongValue } from "./errors.js";

export class Geometry {
  constructor(
    /** x's. */
    readonly dims: Dims,
    /** Dimensions from this one on are normalized, and parameters have them; -1 where that does not say it all. */
    readonly lead: number,
    /** The dimensions that parameters have, in their order; not read where lead does. */
    readonly own: Dims,
    /** Whether a dimension is normalized; not read where lead does. */
    readonly reduced: readonly boolean[],
    /** The number of elements of a parameter. */
    readonly count: number,
    /** Group, instance and batch norms: the dimension of the channels, else -1. */
    readonly channel: number,
    /** How many groups the channels are in: of kept groups, channels within them are normalized. 0: no groups. */
    readonly groups: number,
  ) {}
}

const NONE: readonly never[] = [];

/** The options that say what x's dimensions are and which of them are normalized, by their numbers. */
export interface AxesOptions {
  readonly shape?: Dims | undefined;
  readonly normalizedShape?: Dims | undefined;
  readonly axis?: number | undefined;
  readonly axes?: Dims | undefined;
}

/** The same, also by what they are. */
export interface GeometryOptions extends AxesOptions {
  readonly layout: string | undefined;
  readonly numGroups: number | undefined;
}

/** Reads a geometry from x, which has `size` elements and, unless it is flat, dimensions of its own. */
export type ReadGeometry = (
  where: string,
  own: Dims | undefined,
  size: number,
  options: GeometryOptions,
) => Geometry;

/** The normalized dimensions by normalizedShape, axis or axes; the last one without them. */
export const byAxes = (
  where: string,
  own: Dims | undefined,
  size: number,
  options: AxesOptions,
): Geometry => {
  const { normalizedShape, axis, axes } = options;
  if (+(normalizedShape !== undefined) + +(axis !== undefined) + +(axes !== undefined) > 1) {
    throw clash(where, options);
  }
  const dims = own ?? options.shape ?? impliedDims(where, size, normalizedShape);
  checkOwnDims(where, dims, own, size, options.shape);
  if (dims.length === 0) throw wrongValue(where, "x", "at least one dimension", "shape []");

  let lead = dims.length - 1;
  if (normalizedShape !== undefined) {
    lead = leadOfShape(where, dims, normalizedShape);
  } else if (axis !== undefined) {
    lead = readAxis(where, "axis", dims, axis);
  } else if (axes !== undefined) {
    const found = readAxes(where, dims, axes);
    const first = dims.length - found.length;
    if (found.some((at, i) => at !== first + i)) {
      const reduced = dims.map((_, i) => found.includes(i));
      const channels = countReduced(where, dims, reduced);
      return new Geometry(dims, -1, found, reduced, channels, -1, 0);
    }
    lead = first;
  }
  const channels = checkCount(where, dims, count(dims, lead));
  return new Geometry(dims, lead, NONE, NONE, channels, -1, 0);
};

/** As byAxes, but for four dimensions all except the channels: ONNX's MeanVarianceNormalization. */
export const byAxesOrImages: ReadGeometry = (where, own, size, options) => {
  const isImages = options.axes === undefined && (own ?? options.shape)?.length === 4;
  return byAxes(where, own, size, isImages ? { ...options, axes: [0, 2, 3] } : options);
};

/** In each of the N, each channel by itself; or by groups of them, where their number is given. */
export const byInstances = byChannels((i, channel) => i !== 0 && i !== channel);

/** In each of the N: channels by groups, with all that follows. */
export const byGroups: ReadGeometry = (where, own, size, options) => {
  if (options.numGroups === undefined) {
    throw wrongType(where, "numGroups", "a number of groups", "undefined");
  }
  return byInstances(where, own, size, options);
};

/** Each channel by itself, over all of the N. */
export const byBatch = byChannels((i, channel) => i !== channel);

/** Each position by itself, over the channels near each: no set is normalized together. */
export const byWindows = byChannels((i, channel) => i === channel);

function byChannels(isReduced: (i: number, channel: number) => boolean): ReadGeometry {
  return (where, own, size, options) => {
    const dims = own ?? options.shape;
    if (dims === undefined) {
      throw wrongType(where, "shape", "the dimensions of a flat x", "undefined");
    }
    checkOwnDims(where, dims, own, size, options.shape);
    if (dims.length < 2) {
      throw wrongValue(where, "x", "at least two dimensions", `shape ${show(dims)}`);
    }
    const channel = options.layout === "channels_last" ? dims.length - 1 : 1;
    const channels = dims[channel]!;
    const groups = options.numGroups ?? 0;
    if (groups !== 0 && channels % groups !== 0) {
      throw wrongValue(where, "numGroups", `a divisor of ${channels} channels`, `${groups}`);
    }
    const reduced = dims.map((_, i) => isReduced(i, channel));
    // Batches and windows may be empty; of the others only the N.
    if (!reduced[0] && !(reduced[channel] && groups === 0)) {
      countReduced(where, dims, groups === 0 ? reduced : dims.map((_, i) => i !== 0));
    }
    return new Geometry(dims, -1, [channel], reduced, channels, channel, groups);
  };
}

function checkOwnDims(
  where: string,
  dims: Dims,
  own: Dims | undefined,
  size: number,
  shape: Dims | undefined,
): void {
  if (shape === undefined) return;
  if (own !== undefined) {
    if (!sameDims(own, shape)) throw wrongValue(where, "shape", show(own), show(shape));
  } else {
    requireSize(where, "x", dims, size);
  }
}

function countReduced(where: string, dims: Dims, reduced: readonly boolean[]): number {
  return checkCount(where, dims, count(dims.filter((_, i) => reduced[i])));
}

function checkCount(where: string, dims: Dims, channels: number): number {
  if (channels === 0) {
    throw wrongValue(where, "x", "at least one element to normalize", `shape ${show(dims)}`);
  }
  if (!Number.isSafeInteger(channels)) {
    throw wrongValue(where, "shape", "fewer than 2^53 elements", show(dims));
  }
  return channels;
}

function clash(where: string, { normalizedShape, axis, axes }: AxesOptions): TypeError {
  const all = { normalizedShape, axis, axes };
  const given = Object.entries(all).filter(([, value]) => value !== undefined);
  const names = given.map(([name]) => name);
  const expected = `at most one of ${Object.keys(all).join(", ")}`;
  return wrongType(where, names[1]!, expected, names.join(" and "));
}

// A flat x without `shape`: normalizedShape with the leading dimension implied, else one row.
function impliedDims(where: string, size: number, normalizedShape: Dims | undefined): Dims {
  if (normalizedShape === undefined) return [size];
  const channels = count(normalizedShape);
  if (channels !== 0 && size % channels !== 0) {
    throw wrongValue(where, "x", `a multiple of ${channels} elements`, `${size}`);
  }
  return [channels === 0 ? 0 : size / channels, ...normalizedShape];
}

function leadOfShape(where: string, dims: Dims, normalizedShape: Dims): number {
  if (normalizedShape.length === 0) {
    throw wrongValue(where, "normalizedShape", "at least one dimension", "[]");
  }
  const lead = dims.length - normalizedShape.length;
  if (lead < 0 || normalizedShape.some((dim, i) => dim !== dims[lead + i])) {
    const expected = `trailing dimensions of ${show(dims)}`;
    throw wrongValue(where, "normalizedShape", expected, show(normalizedShape));
  }
  return lead;
}

function readAxis(where: string, name: string, dims: Dims, axis: number): number {
  const rank = dims.length;
  if (!Number.isInteger(axis) || axis < -rank || axis >= rank) {
    const expected = `an integer from ${-rank} to ${rank - 1} for shape ${show(dims)}`;
    throw wrongValue(where, name, expected, describe(axis));
  }
  return axis < 0 ? axis + rank : axis + 0;
}

function readAxes(where: string, dims: Dims, axes: Dims): number[] {
  const found = axes.map((axis) => readAxis(where, "axes", dims, axis));
  if (found.length === 0 || new Set(found).size !== found.length) {
    const expected = found.length === 0 ? "at least one dimension" : "distinct dimensions";
    throw wrongValue(where, "axes", expected, show(axes));
  }
  return found;
}
