// The moments of all runs as records.
import type { Descriptor } from "../descriptor.js";
import type { Emitter } from "./emitter.js";
import { formOf, mergeFormOf, spreadOverrides, workgroupsOf } from "./form.js";
import { cutRuns, pieceUse, recordUse } from "./pieces.js";
import { canBlocks, tileParts } from "./runs.js";
import type { Uniform } from "./uniform.js";
import {
  absentStatistics,
  BLOCK,
  denseStrides,
  type Memory,
  merged,
  momentOverrides,
  type Operands,
  product,
  recordOverrides,
  runsIn,
  statisticUses,
  type Use,
} from "./uses.js";

export function takeMoments(
  e: Emitter,
  d: Descriptor,
  at: Operands,
  x: Memory,
  constants: Uniform,
): Memory {
  const view = merged(d.view);
  const strides = denseStrides(view);
  const runs = denseStrides(view, (axis) => !axis.reduced);
  const reduced = view.filter((axis) => axis.reduced);
  const contiguous =
    view.at(-1)!.reduced && view.slice(view.length - reduced.length).every((axis) => axis.reduced);
  const values = product(reduced.map(({ size }) => size));
  const form = formOf(view, values, d.runs, e.subgroups);
  const { lanes, piece } = form;
  const records = e.scratch("records", d.runs, "record");
  const xUse: Use = { name: "x", memory: x, strides, role: "x", base: "x" };
  const cut = cutRuns(e, view, piece, (all) => [xUse, pieceUse("records", records, runs, all)]);
  const whole = cut.all === 1;
  const pieces = whole ? records : e.scratch("pieces", d.runs * cut.all, "record");
  const target = whole
    ? recordUse("records", records, runs, true)
    : pieceUse("records", pieces, runs, cut.all, true);
  const canBeBlocks = contiguous && canBlocks(e, form, view, [xUse]);
  for (const box of cut.boxes) {
    const blocks = canBeBlocks && cut.count(box) % BLOCK === 0;
    const firstChunk = cut.first(box);
    e.emit(
      {
        blocks,
        kernel: "moments_kernel",
        view,
        x: strides,
        runs,
        uses: [xUse, target, ...(whole ? statisticUses(d, at, runs) : [])],
        constants,
        absent: whole ? absentStatistics(at) : ["mean", "rstd"],
        byRuns: true,
        canQuads: (part) => contiguous && cut.count(part) % 4 === 0,
        make: (part, quads) => {
          const runsHere = runsIn(view, part);
          const chunks = cut.chunks(part);
          return {
            parts: [
              "moments",
              form.reduce,
              ...tileParts(quads, blocks, form.values),
              "tile_moments",
              "record",
            ],
            overrides: {
              ...momentOverrides(d),
              ...recordOverrides(d),
              ...spreadOverrides(form),
              whole: +whole,
            },
            workgroups: workgroupsOf(form, runsHere * chunks),
            fill: (uniform) => {
              uniform.set("runs", runsHere).set("count", cut.count(part)).set("chunks", chunks);
              uniform.set("allChunks", cut.all).set("lanes", lanes).set("piece", piece);
              if (!whole) uniform.add("firstChunk", firstChunk);
            },
          };
        },
      },
      true,
      [box],
    );
  }
  if (!whole) merge(e, d, at, pieces, records, cut.all, constants);
  return records;
}

/** Joins the moments of the pieces of each run. */
function merge(
  e: Emitter,
  d: Descriptor,
  at: Operands,
  pieces: Memory,
  records: Memory,
  all: number,
  constants: Uniform,
): void {
  const form = mergeFormOf(all, e.subgroups);
  e.emit({
    kernel: "merge_kernel",
    view: [{ size: d.runs, reduced: false }],
    x: [0],
    runs: [1],
    uses: [
      pieceUse("pieces", pieces, [1], all),
      recordUse("records", records, [1], true),
      ...statisticUses(d, at, [1]),
    ],
    constants,
    absent: absentStatistics(at),
    byRuns: false,
    canQuads: () => false,
    make: (box) => ({
      parts: ["moments", form.reduce, "record"],
      overrides: { ...momentOverrides(d), ...recordOverrides(d), ...spreadOverrides(form) },
      workgroups: workgroupsOf(form, box.size[0]!),
      fill: (uniform) =>
        uniform.set("runs", box.size[0]!).set("allChunks", all).set("lanes", form.lanes),
    }),
  });
}
