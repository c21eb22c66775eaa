// The plain descriptor that every call becomes once its arguments are read: what backends get.
import { type Dims, show } from "./dims.js";
import { DTYPES, isBits } from "./dtypes.js";
import { wrongType, wrongValue } from "./errors.js";
import type { Geometry } from "./geometry.js";
import {
  checkGradient,
  type ParameterGradient,
  parameterGradients,
  placeStatistics,
} from "./gradients.js";
import { describeOperand, type Kind, type Operand, settle } from "./operands.js";
import { type KernelName, MOMENTUM, type Op } from "./ops.js";
import { chooseEps, type Options, presetOf } from "./options.js";
import { memoryOf, rejectOverlap } from "./overlap.js";
import {
  type Matching,
  matchParameter,
  type ParameterName,
  type ParameterValue,
  type Placed,
} from "./parameters.js";
import { stateOf } from "./tensor.js";
import type { ActivationName, DType } from "./types.js";
import { makeView, type View, windowView } from "./view.js";

export type { ParameterValue, Placed } from "./parameters.js";
export type { View, ViewDim } from "./view.js";

/** The window of localResponseNorm. */
export interface Window {
  readonly size: number;
  readonly alpha: number;
  readonly beta: number;
  readonly k: number;
}

export interface Descriptor {
  readonly op: Op;
  readonly kernel: KernelName;
  /** Of x, y and the sum. */
  readonly dtype: DType;
  /** x's dimensions. */
  readonly dims: Dims;
  /**
   * x as kernels see it: dimensions in row-major order over its elements. Neighbours that are both kept or both reduced are
   * one where the strides of all operands allow it, and dimensions of size 1 are gone, but for one if there were no others.
   */
  readonly view: View;
  /** The number of runs: the product of the kept dimensions. */
  readonly runs: number;
  /** The dimensions of the statistics, if they are asked for. */
  readonly statDims: Dims;
  readonly eps: number;
  readonly weightOffset: number;
  readonly activation: ActivationName | undefined;
  /** Whether the normalized value is rounded to x's element type before the weight. */
  readonly roundNormalized: boolean;
  /** The weight of the new value in the running statistics. */
  readonly momentum: number;
  /** Whether the running variance is the unbiased one. */
  readonly unbiased: boolean;
  /** Of localResponseNorm; the view is then [outer, channels, inner]. */
  readonly window: Window | undefined;
  x: Operand;
  /** Those of the following that are tensors. */
  readonly placed: readonly Placed[];
  readonly residual: ParameterValue;
  readonly gate: ParameterValue;
  readonly sumBias: ParameterValue;
  readonly weight: ParameterValue;
  readonly bias: ParameterValue;
  readonly scale: ParameterValue;
  readonly shift: ParameterValue;
  runningMean: ParameterValue;
  runningVar: ParameterValue;
  /** Where results go. Checking leaves what the caller gave; the rest is made before the descriptor is run. */
  y: Operand | undefined;
  sum: Operand | undefined;
  mean: Operand | undefined;
  rstd: Operand | undefined;
  /** Of a backward operation, whose y is the gradient of x. */
  gradOutput: Operand | undefined;
  gradSum: Operand | undefined;
  /** Of a backward operation: those of the parameters. */
  gradients: readonly ParameterGradient[] | undefined;
}

const NOTHING: readonly never[] = [];
// As in the core.
const LONGEST_WINDOW = 8192;

/** Checks everything that was read against each other. Runs no code of the caller's. */
export function checkCall(
  op: Op,
  x: Operand,
  residual: Operand | undefined,
  options: Options,
  gradOutput?: Operand,
): Descriptor {
  const where = op.name;
  settle(where, "x", x);
  const geometry = op.geometry(where, x.dims, x.size, options);
  const preset = options.preset === undefined ? undefined : presetOf(op, options.preset);
  const placed: Placed[] = [];
  const residualValue = place(placed, where, geometry, "residual", residual, "whole");
  const gate = place(placed, where, geometry, "gate", options.gate, "conditional");
  const sumBias = place(placed, where, geometry, "sumBias", options.sumBias, "affine");
  const weight = place(placed, where, geometry, "weight", options.weight, "affine");
  const bias = place(placed, where, geometry, "bias", options.bias, "affine");
  const scale = place(placed, where, geometry, "scale", options.scale, "conditional");
  const shift = place(placed, where, geometry, "shift", options.shift, "conditional");
  const { kernel } = op;
  const { training, returnStats } = options;
  // Those of a training call are results, of which nothing goes back: they are only checked.
  const unused = training && op.backward;
  const running = unused ? [] : placed;
  const runningMean = place(running, where, geometry, "runningMean", options.runningMean, "exact");
  const runningVar = place(running, where, geometry, "runningVar", options.runningVar, "exact");
  const momentum = preset?.momentum ?? MOMENTUM;
  const newWeight = options.momentum ?? momentum.value;
  const window =
    op.name === "localResponseNorm"
      ? checkWindow(where, options, geometry.dims[geometry.channel]!)
      : undefined;
  const view = window === undefined ? makeView(geometry, x.size, placed) : windowView(geometry);
  const d: Descriptor = {
    op,
    kernel: typeof kernel === "string" ? kernel : kernel(options),
    dtype: x.dtype,
    dims: geometry.dims,
    view,
    runs: countRuns(view),
    statDims: returnStats ? statisticsDims(geometry) : NOTHING,
    eps: chooseEps(op, options, preset, x.dtype),
    weightOffset: options.weightOffset ?? preset?.weightOffset ?? 0,
    activation: options.activation,
    roundNormalized: preset?.rounds ?? false,
    momentum: momentum.ofOld ? 1 - newWeight : newWeight,
    unbiased: momentum.unbiased,
    window,
    x,
    placed,
    residual: residualValue,
    gate,
    sumBias,
    weight,
    bias,
    scale,
    shift,
    runningMean,
    runningVar,
    y: options.out,
    sum: options.sumOut,
    mean: undefined,
    rstd: undefined,
    gradOutput,
    gradSum: options.gradSum,
    gradients: undefined,
  };
  if (op.family === "batch") checkRunning(d, training);
  if (unused) d.runningMean = d.runningVar = undefined;
  if (gradOutput !== undefined) {
    checkGradient(d, "gradOutput", gradOutput);
    if (options.gradSum !== undefined) checkGradient(d, "gradSum", options.gradSum);
    placeStatistics(d, options, statisticsDims(geometry), placed);
    d.gradients = parameterGradients(d);
  }
  if (d.y !== undefined) checkOut(d, "out", d.y, placed);
  if (d.sum !== undefined) {
    checkOut(d, "sumOut", d.sum, placed);
    if (d.y !== undefined) {
      rejectOverlap(where, "sumOut", d.sum, memoryOf(d.sum), "out", d.y, NOTHING);
    }
  }
  if (training) {
    for (const { name, operand } of placed) {
      if (name === "runningMean" || name === "runningVar") {
        keepApart(d, name, operand, placed, NOTHING);
      }
    }
  }
  return d;
}

// A parameter as it stands in a descriptor; a tensor is matched, and added to those that are placed. Not a closure, which
// calls of short rows would feel.
function place(
  placed: Placed[],
  where: string,
  geometry: Geometry,
  name: ParameterName,
  value: Operand | number | undefined,
  matching: Matching,
): ParameterValue {
  if (typeof value !== "object") return value;
  const parameter = matchParameter(where, name, value, matching, geometry);
  placed.push(parameter);
  return parameter;
}

function countRuns(view: View): number {
  let runs = 1;
  for (const { size, reduced } of view) if (!reduced) runs *= size;
  return runs;
}

// The normalized dimensions stay as 1; of group, instance and batch norms there are only those of the statistics.
function statisticsDims({ dims, lead, reduced, channel, groups }: Geometry): Dims {
  if (channel < 0) return dims.map((dim, i) => ((lead < 0 ? reduced[i] : i >= lead) ? 1 : dim));
  const channels = groups === 0 ? dims[channel]! : groups;
  return reduced[0] ? [channels] : [dims[0]!, channels];
}

function checkWindow(where: string, { size, alpha, beta, k }: Options, channels: number): Window {
  if (size === undefined) throw wrongType(where, "size", "a number of channels", "undefined");
  // What a window reaches is kept while the channels go by.
  const reached = Math.min(size, channels);
  if (reached > LONGEST_WINDOW) {
    throw wrongValue(where, "size", `at most ${LONGEST_WINDOW} channels in a window`, `${reached}`);
  }
  return { size, alpha: alpha ?? 1e-4, beta: beta ?? 0.75, k: k ?? 1 };
}

function checkRunning(d: Descriptor, training: boolean): void {
  const where = d.op.name;
  for (const name of ["runningMean", "runningVar"] as const) {
    const value = d[name];
    if (typeof value !== "object") {
      if (training) continue;
      throw wrongType(where, name, "a tensor, unless training", "none");
    }
    if (training && !d.op.backward && value.operand.kind === "nested") {
      throw wrongType(where, name, "elements to update in place", "nested arrays");
    }
  }
  if (typeof d.runningVar !== "object") return;
  const { operand } = d.runningVar;
  checkVariances(where, operand);
  if (training && !d.op.backward && d.unbiased && d.x.size === operand.size && d.x.size !== 0) {
    const expected = "more than one value per channel for the unbiased running variance";
    throw wrongValue(where, "x", expected, `shape ${show(d.dims)}`);
  }
}

/** Throws where a running variance has an element below 0. */
export function checkVariances(where: string, operand: Operand | undefined): void {
  if (operand === undefined || operand.kind === "gpu") return;
  const negative = findNegative(operand);
  if (negative < 0) return;
  throw wrongValue(where, "runningVar", "variances >= 0", `a negative one at ${negative}`);
}

/** The index of the first element below 0, or -1. */
function findNegative(operand: Operand): number {
  const { dtype, tensor } = operand;
  const elements = operand.array ?? stateOf(tensor!)!.owner.block!.backend.elementsOf(operand);
  // The bits of -0, and those of -Infinity, beyond which there are NaN.
  const least = { float16: 0xfc00, bfloat16: 0xff80, float32: 0, float64: 0 }[dtype];
  return (elements as Float64Array).findIndex((v) =>
    least === 0 ? v < 0 : v > 0x8000 && v <= least,
  );
}

// Checks a destination that is to hold as many elements as x.
function checkOut(d: Descriptor, name: string, out: Operand, placed: readonly Placed[]): void {
  const { x, op } = d;
  const where = op.name;
  if (x.kind === "nested") {
    throw wrongType(where, name, "no value for nested arrays", describeOperand(out));
  }
  if (isBits(out.own) && DTYPES[x.dtype].bytes === 2) out.dtype = x.dtype;
  if ((x.kind === "resident") !== (out.kind === "resident") || x.dtype !== out.dtype) {
    const kinds = { resident: "Tensor", gpu: "tensor on the GPU" } as Partial<Record<Kind, string>>;
    const expected = kinds[x.kind] ?? "typed array";
    throw wrongType(where, name, `a ${x.dtype} ${expected}`, describeOperand(out));
  }
  settle(where, name, out);
  if (out.size !== x.size) throw wrongValue(where, name, `${x.size} elements`, `${out.size}`);
  keepApart(d, name, out, placed, op.inputs);
}

function keepApart(
  { op, x }: Descriptor,
  name: string,
  written: Operand,
  placed: readonly Placed[],
  inPlace: readonly string[],
): void {
  const memory = memoryOf(written);
  rejectOverlap(op.name, name, written, memory, "x", x, inPlace);
  for (const other of placed) {
    if (other.operand === written) continue;
    rejectOverlap(op.name, name, written, memory, other.name, other.operand, inPlace);
  }
}
