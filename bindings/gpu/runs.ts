// Runs whose values lie side by side, or that workgroups hold.
import type { Descriptor } from "../descriptor.js";
import type { Emitter } from "./emitter.js";
import { formOf, THREADS } from "./form.js";
import type { Uniform } from "./uniform.js";
import {
  absentAffine,
  absentStatistics,
  affineNumbers,
  affineOverrides,
  affineParts,
  affineUses,
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
  const { reduce, values, lanes, piece } = formOf(view, count, d.runs, e.subgroups);
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
  return e.emit(
    {
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
        const form = quads ? "quads" : "elements";
        return {
          parts: [
            "moments",
            reduce,
            `tile_${form}`,
            values,
            "tile_moments",
            "record",
            ...affineParts(d),
            `finish_${form}`,
          ],
          overrides: {
            ...momentOverrides(d),
            ...recordOverrides(d),
            ...affineOverrides(d),
          },
          workgroups: Math.ceil(runs / (THREADS / lanes)),
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
  const { reduce, lanes, piece: most } = formOf(view, count, d.runs, e.subgroups);
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
  const piece = Math.ceil(Math.min(most, 4096) / 4) * 4;
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
        const chunks = Math.ceil(here / piece);
        return {
          parts: ["moments", reduce, "tile_quads", "streamed", ...affineParts(d), "finish_quads"],
          overrides: affineOverrides(d),
          workgroups: Math.ceil((runs * chunks) / (THREADS / lanes)),
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
