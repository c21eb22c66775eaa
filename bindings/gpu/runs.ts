// Runs whose values lie side by side, or that workgroups hold.
import type { Descriptor } from "../descriptor.js";
import type { Emitter } from "./emitter.js";
import { type Form, formOf, spreadOverrides, workgroupsOf } from "./form.js";
import type { Axis } from "./slabs.js";
import type { Uniform } from "./uniform.js";
import {
  absentAffine,
  absentStatistics,
  affineNumbers,
  affineOverrides,
  affineParts,
  affineUses,
  BLOCK,
  BYTES,
  denseStrides,
  type Memory,
  momentOverrides,
  type Operands,
  product,
  recordOverrides,
  runsIn,
  statisticUses,
  type Use,
} from "./uses.js";

/** Normalizes runs that workgroups hold. False if there are others. */
export function normalizeRuns(
  e: Emitter,
  d: Descriptor,
  at: Operands,
  x: Memory,
  constants: Uniform,
): boolean {
  const { view } = d;
  const reduced = view.filter((axis) => axis.reduced);
  const count = product(reduced.map(({ size }) => size));
  const columns = !view.at(-1)!.reduced;
  const contiguous =
    !columns && view.slice(view.length - reduced.length).every((axis) => axis.reduced);
  const canQuads = contiguous && view.at(-1)!.size % 4 === 0;
  const form = formOf(view, count, d.runs, e.subgroups);
  const { reduce, values, lanes, piece } = form;
  if (piece < count) return false;
  const strides = denseStrides(view);
  const uses: Use[] = [
    { name: "x", memory: x, strides, role: "x", base: "x" },
    { name: "y", memory: at.y, strides, role: "y", base: "y", written: true },
    ...affineUses(d, at),
    ...statisticUses(d, at),
  ];
  // Words that two runs share have to be written by one lane.
  if (x.dtype !== "float32" && !(canQuads && e.areAligned(uses))) return false;
  const blocks = contiguous && canBlocks(e, form, view, uses);
  return e.emit(
    {
      blocks,
      kernel: "runs_kernel",
      view,
      x: strides,
      runs: denseStrides(view, (axis) => !axis.reduced),
      uses,
      constants,
      numbers: affineNumbers(d),
      absent: [...absentAffine(d), ...absentStatistics(at)],
      cuts: view.findIndex((axis) => axis.reduced),
      byRuns: true,
      canQuads: () => canQuads,
      make: (box, quads) => {
        const runs = runsIn(view, box);
        return {
          parts: [
            "moments",
            reduce,
            ...tileParts(quads, blocks, values),
            "tile_moments",
            "record",
            ...finishParts(d, quads, blocks),
          ],
          overrides: {
            ...momentOverrides(d),
            ...recordOverrides(d),
            ...affineOverrides(d),
            ...spreadOverrides(form),
            ...(quads ? alongOverrides(view) : {}),
          },
          workgroups: workgroupsOf(form, runs),
          fill: (uniform) => {
            uniform.set("runs", runs).set("count", count);
            uniform.set("lanes", lanes).set("piece", piece);
          },
        };
      },
    },
    false,
  );
}

/** Normalizes runs whose values lie side by side by their records, in pieces. False if there are others. */
export function normalizePieces(
  e: Emitter,
  d: Descriptor,
  at: Operands,
  x: Memory,
  records: Memory,
  constants: Uniform,
): boolean {
  const { view } = d;
  const reduced = view.filter((axis) => axis.reduced);
  const count = product(reduced.map(({ size }) => size));
  const form = formOf(view, count, d.runs, e.subgroups);
  const { reduce, lanes, piece: most } = form;
  const contiguous = view.slice(view.length - reduced.length).every((axis) => axis.reduced);
  const strides = denseStrides(view);
  const uses: Use[] = [
    { name: "x", memory: x, strides, role: "x", base: "x" },
    { name: "y", memory: at.y, strides, role: "y", base: "y", written: true },
    {
      name: "records",
      memory: records,
      strides: denseStrides(view, (axis) => !axis.reduced),
      role: "record",
      base: "firstRun",
    },
    ...affineUses(d, at),
  ];
  if (!contiguous || view.at(-1)!.size % 4 !== 0 || !e.areAligned(uses)) return false;
  const boxes = e.slabs(view, uses);
  // A cut within the last dimension would leave quads there only where it is a multiple of four.
  if (boxes!.some(({ size }) => size.at(-1)! % 4 !== 0)) return false;
  return e.emit(
    {
      kernel: "pieces_kernel",
      view,
      x: strides,
      runs: denseStrides(view, (axis) => !axis.reduced),
      uses,
      constants,
      numbers: affineNumbers(d),
      absent: absentAffine(d),
      byRuns: true,
      canQuads: () => true,
      make: (box) => {
        const runs = runsIn(view, box);
        const here = product(box.size) / runs;
        const together = form.blocks ? runsTogether(view, uses, runs) : 1;
        // Shorter pieces of more runs: as many workgroups as without.
        const piece = Math.ceil(Math.min(most, 4096) / together / 4) * 4;
        const chunks = Math.ceil(here / piece);
        return {
          parts: ["moments", reduce, ...affineParts(d), "along"],
          overrides: {
            ...affineOverrides(d),
            ...alongOverrides(view),
            ...spreadOverrides(form),
            together,
          },
          workgroups: workgroupsOf(form, (runs / together) * chunks),
          fill: (uniform) =>
            uniform
              .set("runs", runs)
              .set("count", here)
              .set("chunks", chunks)
              .set("lanes", lanes)
              .set("piece", piece),
        };
      },
    },
    true,
    boxes,
  );
}

/** How many neighbouring runs, a divisor of all, a lane of a CPU takes: those along one dimension that have the same parameters. */
function runsTogether(view: readonly Axis[], uses: readonly Use[], runs: number): number {
  const kept = view.flatMap(({ reduced }, d) => (reduced ? [] : [d]));
  const parameters = uses.filter(({ role }) => role === "parameter");
  const same = parameters.every(({ strides }) => strides[kept[0]!] === 0);
  if (kept.length !== 1 || parameters.length === 0 || !same) return 1;
  return [4, 3, 2].find((many) => runs % many === 0) ?? 1;
}

/** Whether lanes take blocks: what is stored as float32 and stands in whole ones, or does not advance along a run. */
export function canBlocks(
  e: Emitter,
  { blocks = false }: Form,
  view: readonly Axis[],
  uses: readonly Use[],
): boolean {
  const last = view.length - 1;
  return (
    blocks &&
    view[last]!.reduced &&
    view[last]!.size % BLOCK === 0 &&
    e.areAligned(uses, BLOCK) &&
    uses.every(({ role, memory, strides }) => {
      if (role !== "x" && role !== "y" && role !== "parameter") return true;
      if (role === "parameter" && strides[last] === 0) return true;
      const inBlocks = strides.every((stride, d) => d === last || stride % BLOCK === 0);
      const isAligned = memory.offset % (BLOCK * BYTES[memory.dtype]) === 0;
      return memory.dtype === "float32" && strides[last] === 1 && inBlocks && isAligned;
    })
  );
}

/** How lanes take the values of runs. */
export function tileParts(quads: boolean, blocks: boolean, values: Form["values"]): string[] {
  if (quads && blocks) return ["tile_blocks"];
  return [quads ? "tile_quads" : "tile_elements", values, "tile_sums"];
}

function finishParts(d: Descriptor, quads: boolean, blocks: boolean): string[] {
  const parts = affineParts(d);
  if (quads && blocks) return [...parts, "along", "finish_blocks"];
  if (quads) return [...parts, "affine_at", "along", "finish_quads", "finish"];
  return [...parts, "affine_at", "finish_elements", "finish"];
}

function alongOverrides(view: readonly Axis[]) {
  return { several: +(view.filter(({ reduced }) => reduced).length > 1) };
}
