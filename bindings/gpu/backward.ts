// Gradients, by the sums that they need: the moments of runs once more, wide, about the mean that the forward operation's
// kernels find; the means of the gradient of the normalized value; and the gradients of parameters, which are sums over
// the other way through x. All sums are taken in pieces, whose sums are merged in a fixed order.
import type { Descriptor, Placed } from "../descriptor.js";
import type { ParameterName } from "../parameters.js";
import type { Emitter } from "./emitter.js";
import { ALONE_FORM, formOf, mergeFormOf, spreadOverrides, THREADS, workgroupsOf } from "./form.js";
import { takeMoments } from "./moments.js";
import { cutRuns, pieceUse, recordUse } from "./pieces.js";
import type { Axis, Box } from "./slabs.js";
import type { Uniform } from "./uniform.js";
import {
  AFFINE,
  absentAffine,
  affineNumbers,
  affineUses,
  constantsOf,
  denseStrides,
  elementwise,
  items,
  type Memory,
  merged,
  momentOverrides,
  type Operands,
  product,
  runsIn,
  type Use,
} from "./uses.js";

/** Where the operands of a backward operation stand; y is the gradient of x. */
export interface BackwardOperands extends Operands {
  readonly gradOutput: Memory;
  /** What float32 leaves of statistics that are given as values in memory. */
  readonly low: ReadonlyMap<ParameterName, Memory>;
  /** Where the gradients of parameters go. */
  readonly gradients: ReadonlyMap<AffineName, Memory>;
}

type AffineName = (typeof AFFINE)[number];

export function backward(e: Emitter, d: Descriptor, at: BackwardOperands): void {
  // Small values count even far below eps: the gradient of the weight is made of them.
  const constants = constantsOf(d).lowerFloor();
  const records = at.parameters.has("givenRstd")
    ? takeGiven(e, d, at, constants)
    : takeWideMoments(e, d, at, constants);
  takeMeans(e, d, at, records, constants);
  writeGradient(e, d, at, records, constants);
  for (const names of parametersByPlace(d)) sumParameters(e, d, at, records, names, constants);
}

/** Records of runs whose statistics are given. */
function takeGiven(e: Emitter, d: Descriptor, at: BackwardOperands, constants: Uniform): Memory {
  const records = e.scratch("records", d.runs, "record");
  const given = [
    ["given_mean", at.parameters.get("givenMean")],
    ["given_mean_low", at.low.get("givenMean")],
    ["given_rstd", at.parameters.get("givenRstd")],
    ["given_rstd_low", at.low.get("givenRstd")],
  ] as const;
  const uses: Use[] = given.flatMap(([name, memory], slot) =>
    memory === undefined
      ? []
      : [{ name, memory, strides: [1], role: "vector", base: "parameters", slot }],
  );
  e.emit({
    kernel: "given_statistics_kernel",
    view: [{ size: d.runs, reduced: false }],
    x: [0],
    runs: [1],
    uses: [...uses, recordUse("records", records, [1], true)],
    constants,
    absent: given.flatMap(([name, memory]) => (memory === undefined ? [name] : [])),
    byRuns: false,
    canQuads: () => false,
    make: (box) => ({
      parts: ["moments"],
      overrides: {},
      workgroups: Math.ceil(box.size[0]! / THREADS),
      fill: (uniform) => uniform.set("runs", box.size[0]!),
    }),
  });
  return records;
}

function takeWideMoments(
  e: Emitter,
  d: Descriptor,
  at: BackwardOperands,
  constants: Uniform,
): Memory {
  const records = takeMoments(e, d, { ...at, mean: undefined, rstd: undefined }, at.x, constants);
  const view = merged(d.view);
  const runs = denseStrides(view, (axis) => !axis.reduced);
  sumOver(e, view, {
    uses: [xUse(at, view), recordUse("records", records, runs)],
    runs,
    numbers: runs,
    constants,
    parts: ["moments", "wide", "sum_moments", "grad_none"],
    overrides: {},
    count: d.runs,
    finish: {
      part: "finish_moments",
      uses: [recordUse("records", records, [1], true)],
      overrides: momentOverrides(d),
    },
  });
  return records;
}

/** The means of the gradient of the normalized value and of its product with that. */
function takeMeans(
  e: Emitter,
  d: Descriptor,
  at: BackwardOperands,
  records: Memory,
  constants: Uniform,
): void {
  const { view } = d;
  const runs = denseStrides(view, (axis) => !axis.reduced);
  sumOver(e, view, {
    uses: gradientUses(d, at, records),
    runs,
    numbers: runs,
    constants,
    ...gradientParts(d, ["sum_means"]),
    count: d.runs,
    finish: {
      part: "finish_means",
      uses: [recordUse("records", records, [1], true)],
      overrides: momentOverrides(d),
    },
  });
}

function writeGradient(
  e: Emitter,
  d: Descriptor,
  at: BackwardOperands,
  records: Memory,
  constants: Uniform,
): void {
  const { view } = d;
  const { parts, overrides, affine, absent } = gradientParts(d, []);
  e.emit({
    ...elementwise(view),
    kernel: "gradient_kernel",
    uses: [
      ...gradientUses(d, at, records),
      { name: "y", memory: at.y, strides: denseStrides(view), role: "y", base: "y", written: true },
    ],
    constants,
    numbers: affine,
    absent,
    make: (box, quads) => {
      const reads = quads ? "grad_quads" : "grad_elements";
      const oneRun = +(quads && view.at(-1)!.reduced);
      return items(box, quads, [...parts, reads], { ...overrides, one_run: oneRun }, at.y);
    },
  });
}

/** The names of those parameters that are there, together where each element of x takes the same element of them. */
function parametersByPlace(d: Descriptor): AffineName[][] {
  const groups = new Map<string, AffineName[]>();
  for (const name of AFFINE) {
    if (d[name] === undefined) continue;
    const key = stridesOf(d, name).join();
    groups.set(key, [...(groups.get(key) ?? []), name]);
  }
  return [...groups.values()];
}

function stridesOf(d: Descriptor, name: AffineName): readonly number[] {
  const value = d[name];
  return typeof value === "object" ? value.strides : d.view.map(() => 0);
}

function sumParameters(
  e: Emitter,
  d: Descriptor,
  at: BackwardOperands,
  records: Memory,
  names: readonly AffineName[],
  constants: Uniform,
): void {
  const numbers = stridesOf(d, names[0]!);
  // Summed is what an element of the parameter is repeated along.
  const view: Axis[] = d.view.map(({ size }, i) => ({ size, reduced: numbers[i] === 0 }));
  const value = d[names[0]!];
  const count = typeof value === "object" ? (value as Placed).operand.size : 1;
  const flags = Object.fromEntries(names.map((name) => [`sums_${name}`, 1]));
  // Halves of words are not for one lane to write.
  const targets = new Map(
    names.map((name) => {
      const memory = at.gradients.get(name)!;
      const direct = memory.dtype === "float32";
      return [name, direct ? memory : e.scratch(`gradient of ${name}`, count, "float32")];
    }),
  );
  const slot = AFFINE.indexOf(names[0]!);
  const gradient = gradientParts(d, ["sum_parameters"]);
  sumOver(e, view, {
    uses: gradientUses(d, at, records),
    runs: denseStrides(d.view, (axis) => !axis.reduced),
    numbers,
    constants,
    ...gradient,
    overrides: { ...gradient.overrides, ...flags, slot },
    slot,
    count,
    finish: {
      part: "finish_parameters",
      uses: [...targets].map(([name, memory]) => ({
        name: `grad_${name}`,
        memory,
        strides: [1],
        role: "target",
        base: "parameters",
        slot: AFFINE.indexOf(name),
        written: true,
      })),
      overrides: {},
      absent: AFFINE.filter((name) => !targets.has(name)).map((name) => `grad_${name}`),
    },
  });
  for (const [name, memory] of targets) {
    const target = at.gradients.get(name)!;
    if (target === memory) continue;
    e.emit({
      ...elementwise([{ size: count, reduced: false }]),
      kernel: "copy_kernel",
      uses: [
        { name: "x", memory, strides: [1], role: "x", base: "x" },
        { name: "y", memory: target, strides: [1], role: "y", base: "y", written: true },
      ],
      constants,
      make: (box, quads) => items(box, quads, [], {}, target),
    });
  }
}

function xUse({ x: memory }: Operands, view: readonly Axis[]): Use {
  return { name: "x", memory, strides: denseStrides(view), role: "x", base: "x" };
}

function gradientUses(d: Descriptor, at: BackwardOperands, records: Memory): Use[] {
  const { view } = d;
  const strides = denseStrides(view);
  const runs = denseStrides(view, (axis) => !axis.reduced);
  return [
    xUse(at, view),
    { name: "grad", memory: at.gradOutput, strides, role: "x", base: "grad" },
    recordUse("records", records, runs),
    ...affineUses(d, at),
  ];
}

/** What leads from the gradient of the output to that of the normalized value. */
function gradientParts(d: Descriptor, more: readonly string[]) {
  const { activation } = d;
  const needsExponential = activation !== undefined && activation !== "relu";
  return {
    parts: [
      "moments",
      "wide",
      "wide_runs",
      ...(needsExponential ? ["exponential"] : []),
      `slope_${activation ?? "none"}`,
      "gradient",
      ...more,
    ],
    overrides: {
      ...Object.fromEntries(AFFINE.map((name) => [`has_${name}`, +(d[name] !== undefined)])),
      has_activation: +(activation !== undefined),
    } as Record<string, number>,
    affine: affineNumbers(d),
    absent: absentAffine(d),
  };
}

/** Sums over the reduced dimensions of a view. */
interface Summing {
  readonly uses: readonly Use[];
  /** Strides of the number of the run that x is normalized in. */
  readonly runs: readonly number[];
  /** Strides of what the sums are numbered by, and how many there are. */
  readonly numbers: readonly number[];
  readonly count: number;
  /** Of a parameter whose elements are the numbers. */
  readonly slot?: number;
  readonly constants: Uniform;
  readonly parts: readonly string[];
  readonly overrides: Record<string, number>;
  /** Operands that are numbers, and those that are not there. */
  readonly affine?: Record<string, number>;
  readonly absent?: readonly string[];
  /** What becomes of the sums. */
  readonly finish: {
    readonly part: string;
    readonly uses: readonly Use[];
    readonly overrides: Record<string, number>;
    readonly absent?: readonly string[];
  };
}

function sumOver(e: Emitter, view: readonly Axis[], sum: Summing): void {
  const values = product(view.filter(({ reduced }) => reduced).map(({ size }) => size));
  const form = formOf(view, values, sum.count, e.subgroups);
  const { reduce, lanes, piece } = form;
  const piecesOf = (memory: Memory, all: number) =>
    pieceUse("pieces", memory, sum.numbers, all, true);
  const first = sum.uses[0]!.memory;
  const cut = cutRuns(e, view, piece, (all) => [
    ...sum.uses,
    piecesOf({ ...first, dtype: "record" }, all),
  ]);
  const pieces = e.scratch("sums", sum.count * cut.all, "record");
  const last = view.at(-1)!;
  const parts = [...sum.parts, "sums"];
  const takesRuns = parts.includes("wide_runs");
  const oneRun = (quads: boolean) =>
    takesRuns ? { one_run: +(quads && sum.runs.at(-1) === 0) } : {};
  for (const box of cut.boxes) {
    const fill = (part: Box, uniform: Uniform) => {
      uniform.set("runs", runsIn(view, part)).set("count", cut.count(part));
      uniform.set("chunks", cut.chunks(part)).set("allChunks", cut.all);
      uniform.set("lanes", lanes).set("piece", piece).add("firstChunk", cut.first(box));
    };
    const common = {
      view,
      x: denseStrides(view),
      runs: sum.runs,
      uses: [...sum.uses, piecesOf(pieces, cut.all)],
      constants: sum.constants,
      numbers: sum.affine ?? {},
      absent: sum.absent ?? [],
      byRuns: true,
    };
    const areQuads = last.size % 4 === 0 && box.size.at(-1)! % 4 === 0 && e.areAligned(sum.uses);
    const lanesOf = (part: Box) => runsIn(view, part) * cut.chunks(part);
    if (!last.reduced && areQuads) {
      e.emit(
        {
          ...common,
          kernel: "sums_columns_kernel",
          canQuads: () => true,
          make: (part, quads) => ({
            parts: [...parts, "summed_columns"],
            overrides: { ...sum.overrides, ...oneRun(quads) },
            workgroups: Math.ceil(lanesOf(part) / 4 / THREADS),
            fill: (uniform) => fill(part, uniform),
          }),
        },
        true,
        [box],
      );
      continue;
    }
    e.emit(
      {
        ...common,
        kernel: "sums_kernel",
        canQuads: () => last.reduced && areQuads && values > 16,
        make: (part, quads) => ({
          parts: [...parts, quads ? "summed_quads" : "summed_elements", reduce, `${reduce}_wide`],
          overrides: { ...sum.overrides, ...oneRun(quads), ...spreadOverrides(form) },
          workgroups: workgroupsOf(form, lanesOf(part)),
          fill: (uniform) => fill(part, uniform),
        }),
      },
      true,
      [box],
    );
  }
  const { finish } = sum;
  // Few pieces are for one lane: sums of parameters can be many.
  const merge = cut.all <= 8 ? ALONE_FORM : mergeFormOf(cut.all, e.subgroups);
  e.emit({
    kernel: "sums_merge_kernel",
    view: [{ size: sum.count, reduced: false }],
    x: [0],
    runs: [1],
    uses: [pieceUse("pieces", pieces, [1], cut.all), ...finish.uses],
    constants: sum.constants,
    absent: finish.absent ?? [],
    byRuns: false,
    canQuads: () => false,
    make: (box) => ({
      parts: ["moments", "wide", merge.reduce, `${merge.reduce}_wide`, finish.part],
      overrides: { ...finish.overrides, ...spreadOverrides(merge) },
      workgroups: workgroupsOf(merge, box.size[0]!),
      fill: (uniform) =>
        uniform.set("runs", box.size[0]!).set("allChunks", cut.all).set("lanes", merge.lanes),
    }),
  });
}
