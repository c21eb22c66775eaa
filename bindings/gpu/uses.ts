// Operands as kernels see them, and what of a descriptor kernels are told.
import type { Descriptor, Placed, View } from "../descriptor.js";
import type { ParameterName } from "../parameters.js";
import type { GPUBufferLike } from "./device_like.js";
import { THREADS } from "./form.js";
import type { Access, Program, StoredType } from "./shaders.js";
import type { Axis, Box } from "./slabs.js";
import { type Dim, Uniform } from "./uniform.js";

/** Elements in a buffer, from a byte offset on. */
export interface Memory {
  readonly buffer: GPUBufferLike;
  readonly offset: number;
  readonly dtype: StoredType;
}

export interface Dispatch {
  readonly program: Program;
  readonly uniform: Uniform;
  readonly bindings: readonly { buffer: GPUBufferLike; offset: number; size: number }[];
  readonly workgroups: readonly [number, number];
}

/** Where the operands of a descriptor stand. */
export interface Operands {
  readonly x: Memory;
  readonly y: Memory;
  readonly sum: Memory | undefined;
  readonly mean: Memory | undefined;
  readonly rstd: Memory | undefined;
  readonly parameters: ReadonlyMap<ParameterName, Memory>;
}

/** Elements of an access on a CPU. */
export const BLOCK = 16;

export const BYTES = { float32: 4, float16: 2, bfloat16: 2, record: 32 } as const;

/** An operand of a kernel: what it does there, and how it advances along the view. */
export interface Use {
  readonly name: string;
  readonly memory: Memory;
  readonly strides: readonly number[];
  readonly role: "x" | "y" | "parameter" | "vector" | "updated" | "record" | "statistic" | "target";
  /** Where its beginning stands in the uniform. */
  readonly base: "x" | "y" | "grad" | "parameters" | "firstRun" | "firstChunk" | "firstStatistic";
  /** Of a parameter, its place among them. */
  readonly slot?: number;
  readonly written?: boolean;
  /** Elements beyond the one of an index that belong to it too. */
  readonly tail?: number;
}

export interface Kernel {
  readonly kernel: string;
  readonly view: readonly Axis[];
  readonly x: readonly number[];
  readonly runs: readonly number[];
  readonly uses: readonly Use[];
  readonly constants: Uniform;
  readonly numbers?: Readonly<Record<string, number>>;
  readonly absent?: readonly string[];
  /** Whether x and y are accessed in blocks where they could be in quads. */
  readonly blocks?: boolean;
  /** How many dimensions from the outermost on may be cut where bindings are too small. */
  readonly cuts?: number;
  /** Whether a lane's four elements can lie side by side in a box, alignment aside. */
  canQuads(box: Box): boolean;
  make(
    box: Box,
    quads: boolean,
  ): {
    parts: readonly string[];
    overrides: Record<string, number>;
    workgroups: number;
    fill(uniform: Uniform): unknown;
  };
  /** Whether kept dimensions come before reduced ones, as kernels that hold runs want it. */
  readonly byRuns: boolean;
}

export const product = (sizes: readonly number[]) => sizes.reduce((a, b) => a * b, 1);

/** Strides of what lies densely in the order of a view; of runs those along kept dimensions alone. */
export function denseStrides(
  view: readonly Axis[],
  of: (axis: Axis) => boolean = () => true,
): number[] {
  const strides = new Array<number>(view.length).fill(0);
  let stride = 1;
  for (let d = view.length - 1; d >= 0; d--) {
    if (!of(view[d]!)) continue;
    strides[d] = stride;
    stride *= view[d]!.size;
  }
  return strides;
}

/** A view without regard to parameters: neighbours that are both kept or both reduced are one. */
export function merged(view: View): Axis[] {
  const axes: Axis[] = [];
  for (const { size, reduced } of view) {
    const last = axes.at(-1);
    if (last?.reduced === reduced) axes[axes.length - 1] = { size: last.size * size, reduced };
    else axes.push({ size, reduced });
  }
  return axes;
}

export const AFFINE = ["weight", "bias", "scale", "shift"] as const;

export function sharesWithWritten(uses: readonly Use[]): boolean {
  // In place is no sharing: x and y are the same elements.
  return uses.some(
    (use) =>
      use.written &&
      uses.some(
        (other) =>
          other !== use &&
          other.memory.buffer === use.memory.buffer &&
          (other.memory.offset !== use.memory.offset || other.role === "parameter"),
      ),
  );
}

export function accessOf(
  use: Use,
  binding: number,
  { view, blocks: wants = false }: Kernel,
  box: Box,
  quads: boolean,
  base: number,
): Access {
  const { name, memory, strides, role } = use;
  const { dtype } = memory;
  const blocks = wants && quads;
  switch (role) {
    case "x":
      return { name, binding, dtype, quads, blocks, does: ["load"] };
    case "y":
      return { name, binding, dtype, quads, blocks, does: ["store"] };
    case "target":
      return { name, binding, dtype, quads: false, does: ["store"] };
    case "vector":
      return { name, binding, dtype, quads: false, does: ["load"] };
    case "updated":
      return { name, binding, dtype, quads: false, does: ["load", "store"] };
    case "record":
      return { name, binding, dtype, quads: false, does: ["record"] };
    case "statistic":
      return { name, binding, dtype, quads: false, does: ["statistic"] };
    case "parameter": {
      const last = view.length - 1;
      const moves = (d: number) => box.size[d]! > 1 && strides[d] !== 0;
      if (!quads) {
        const same = view.every((_, d) => !moves(d));
        return { name, binding, dtype, quads: false, does: ["load", same ? "same" : "each"] };
      }
      if (!moves(last)) return { name, binding, dtype, quads: false, does: ["load", "same"] };
      if (blocks) return { name, binding, dtype, quads, blocks, does: ["load"] };
      const aligned =
        strides[last] === 1 &&
        base % 4 === 0 &&
        strides.every((stride, d) => d === last || stride % 4 === 0 || !moves(d));
      return { name, binding, dtype, quads: aligned, does: ["load", aligned ? "quad" : "each"] };
    }
  }
}

export function dimsOf({ view, x, runs, uses, byRuns }: Kernel, box: Box): Dim[] {
  const dims = view.map(({ reduced }, d) => {
    const parameters = [0, 0, 0, 0];
    for (const { slot, strides, role } of uses) {
      if (role === "parameter") parameters[slot!] = strides[d]!;
    }
    return { size: box.size[d]!, x: x[d]!, run: runs[d]!, parameters, reduced };
  });
  if (!byRuns) return dims;
  return [...dims.filter(({ reduced }) => !reduced), ...dims.filter(({ reduced }) => reduced)];
}

export function elementwise(view: readonly Axis[]) {
  return {
    view,
    x: denseStrides(view),
    runs: denseStrides(view, (axis) => !axis.reduced),
    byRuns: false,
    canQuads: (box: Box) => box.size.at(-1)! % 4 === 0,
  };
}

/** A kernel that goes over elements, four for each lane. */
export function items(
  box: Box,
  quads: boolean,
  parts: readonly string[],
  overrides: Record<string, number>,
  _y: Memory,
) {
  // Elements before the first, in its word, are counted too.
  const lanes = Math.ceil((product(box.size) + (quads ? 0 : 1)) / 4);
  return {
    parts: [quads ? "items_quads" : "items_elements", ...parts, "items"],
    overrides,
    // A lane has eight items where they are quads.
    workgroups: Math.ceil(lanes / THREADS / (quads ? 8 : 1)),
    fill: () => {},
  };
}

export function runsIn(view: readonly Axis[], box: Box): number {
  return product(box.size.filter((_, i) => !view[i]!.reduced));
}

export function reducedKey(view: readonly Axis[], box: Box): string {
  return box.begin.filter((_, i) => view[i]!.reduced).join();
}

export function parameterUse(name: string, memory: Memory, { strides }: Placed, slot: number): Use {
  return { name, memory, strides, role: "parameter", base: "parameters", slot };
}

export function runningUses(at: Operands, role: "vector" | "updated"): Use[] {
  const uses: Use[] = [];
  for (const [slot, name] of (["runningMean", "runningVar"] as const).entries()) {
    const memory = at.parameters.get(name);
    if (memory === undefined) continue;
    uses.push({
      name: slot === 0 ? "running_mean" : "running_var",
      memory,
      strides: [1],
      role,
      base: "parameters",
      slot,
      written: role === "updated",
    });
  }
  return uses;
}

export function statisticUses(d: Descriptor, at: Operands, runs?: readonly number[]): Use[] {
  const strides = runs ?? denseStrides(d.view, (axis) => !axis.reduced);
  const uses: Use[] = [];
  for (const name of ["mean", "rstd"] as const) {
    const memory = at[name];
    if (memory === undefined) continue;
    uses.push({ name, memory, strides, role: "statistic", base: "firstStatistic", written: true });
  }
  return uses;
}

export function absentStatistics(at: Operands): string[] {
  return (["mean", "rstd"] as const).filter((name) => at[name] === undefined);
}

export function affineUses(d: Descriptor, at: Operands): Use[] {
  return AFFINE.flatMap((name, slot) => {
    const value = d[name];
    if (typeof value !== "object") return [];
    return [parameterUse(name, at.parameters.get(name)!, value, slot)];
  });
}

export function affineNumbers(d: Descriptor): Record<string, number> {
  const numbers: Record<string, number> = {};
  for (const [slot, name] of AFFINE.entries())
    if (typeof d[name] === "number") numbers[name] = slot;
  return numbers;
}

export function absentAffine(d: Descriptor): string[] {
  return AFFINE.filter((name) => d[name] === undefined);
}

export function affineParts({ activation }: Descriptor): string[] {
  return [`activation_${activation ?? "none"}`, "affine"];
}

export function affineOverrides(d: Descriptor): Record<string, number> {
  return {
    round_normalized: +(d.roundNormalized && d.dtype !== "float32"),
    has_weight: +(d.weight !== undefined),
    has_bias: +(d.bias !== undefined),
    has_scale: +(d.scale !== undefined),
    has_shift: +(d.shift !== undefined),
  };
}

export function momentOverrides({ kernel }: Descriptor): Record<string, number> {
  return {
    centered: +(kernel === "layer_norm" || kernel === "mean_variance_normalize"),
    magnitudes: +(kernel === "l1_normalize"),
  };
}

export function recordOverrides({ kernel }: Descriptor): Record<string, number> {
  const norms = ["l2_normalize", "l1_normalize", "max_normalize"];
  const norm = norms.indexOf(kernel);
  return {
    divisor: norm >= 0 ? 1 : kernel === "mean_variance_normalize" ? 2 : 0,
    norm: Math.max(0, norm),
  };
}

export function constantsOf(d: Descriptor): Uniform {
  const constants = new Uniform(undefined, []);
  constants.setEps(d.eps, recordOverrides(d).divisor === 0);
  const size = d.x.size / d.runs;
  constants.setFloat("size", size).setFloat("weightOffset", d.weightOffset);
  const part = Math.fround(1 / size);
  constants.setFloat("part", part, 0).setFloat("part", 1 / size - part, 1);
  constants.setFloat("momentum", d.momentum);
  constants.setFloat("unbias", d.unbiased ? size / (size - 1) : 1);
  for (const [slot, name] of AFFINE.entries()) {
    const value = d[name];
    if (typeof value === "number") constants.setFloat("numbers", value, slot);
  }
  return constants;
}
