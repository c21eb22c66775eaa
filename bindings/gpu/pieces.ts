// Runs in pieces, over boxes that bindings can hold.
import type { Emitter } from "./emitter.js";
import type { Axis, Box } from "./slabs.js";
import { type Memory, product, reducedKey, type Use } from "./uses.js";

/** How the runs of a view are cut. Boxes that cut runs have pieces each, which stand one after the other. */
export interface Pieces {
  readonly boxes: readonly Box[];
  /** Pieces of a run, in all boxes. */
  readonly all: number;
  /** Values of a run in a box. */
  count(box: Box): number;
  /** Pieces of a run in a box. */
  chunks(box: Box): number;
  /** The number of the first of them. */
  first(box: Box): number;
}

/** Cuts runs into pieces of so many values at most; `uses` are the operands where a run has so many pieces. */
export function cutRuns(
  e: Emitter,
  view: readonly Axis[],
  piece: number,
  uses: (all: number) => Use[],
): Pieces {
  const count = (box: Box) => product(box.size.filter((_, i) => view[i]!.reduced));
  const chunks = (box: Box) => Math.ceil(count(box) / piece);
  // How runs are cut is the same for all. More boxes can mean more pieces, and more pieces more boxes.
  let boxes: readonly Box[] = [];
  let begins = new Map<string, number>();
  const values = product(view.filter(({ reduced }) => reduced).map(({ size }) => size));
  let all = Math.ceil(values / piece);
  for (let before = 0; before !== all; ) {
    before = all;
    boxes = e.slabs(view, uses(before))!;
    begins = new Map();
    all = 0;
    for (const box of boxes) {
      const key = reducedKey(view, box);
      if (begins.has(key)) continue;
      begins.set(key, all);
      all += chunks(box);
    }
  }
  return { boxes, all, count, chunks, first: (box) => begins.get(reducedKey(view, box))! };
}

/** Records of runs, by the strides of their numbers. */
export function recordUse(
  name: string,
  memory: Memory,
  strides: readonly number[],
  written = false,
): Use {
  return { name, memory, strides, role: "record", base: "firstRun", written };
}

/** So many records for each run, one for each piece. */
export function pieceUse(
  name: string,
  memory: Memory,
  strides: readonly number[],
  all: number,
  written = false,
): Use {
  return {
    name,
    memory,
    strides: strides.map((stride) => stride * all),
    tail: all - 1,
    role: "record",
    base: "firstChunk",
    written,
  };
}
