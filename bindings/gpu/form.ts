// How the values of runs are spread over lanes.
import type { Axis } from "./slabs.js";

/** The least and the most lanes of a subgroup, where there are subgroups. */
export interface Subgroups {
  readonly least: number;
  readonly most: number;
}

export interface Spread {
  /** How lanes sum up: those of a workgroup, those of a subgroup, or each for itself. */
  readonly reduce: "reduce" | "reduce_subgroups" | "reduce_alone";
  /** Lanes of a run, at most. */
  readonly lanes: number;
  /** Lanes of a workgroup. */
  readonly threads: number;
}

export interface Form extends Spread {
  /** Whether lanes keep their values or read them again. */
  readonly values: "held" | "streamed";
  /** Values of a run that are taken together; less than all of them means that moments are merged. */
  readonly piece: number;
  /** Whether lanes had better take 16 values at once: those of a CPU, to which each access is dear. */
  readonly blocks?: boolean;
}

export const THREADS = 256;
// Values that a lane holds: eight quads.
const HELD = 32;
// Values that one lane sums up by itself: more would add up its rounding errors.
const ALONE = 4096;
// Lanes that keep a GPU busy.
const BUSY = 4096;
// Below it, subgroups are those of a CPU: what was read once is in its cache, and barriers cost more than reading again.
const WIDE = 16;

// Subgroups of a CPU's workgroup, which one thread runs one after the other: few, so that all threads have some.
const FEW = 16;

/** Workgroups for so many runs, or pieces of runs. */
export const workgroupsOf = ({ threads, lanes }: Spread, runs: number) =>
  Math.ceil(runs / (threads / lanes));

/** What a kernel of that spread is told by overrides. */
export const spreadOverrides = ({ reduce, threads }: Spread): Record<string, number> =>
  reduce === "reduce_subgroups" ? { threads } : {};

/** A run, or piece of a run, for each lane. */
export const ALONE_FORM = { reduce: "reduce_alone", lanes: 1, threads: THREADS } as const;

const bySubgroups = ({ most }: Subgroups) =>
  ({
    reduce: "reduce_subgroups",
    lanes: most,
    threads: most < WIDE ? FEW * most : THREADS,
  }) as const;

export const ceilPowerOfTwo = (n: number) => 2 ** Math.ceil(Math.log2(Math.max(1, n)));

export function formOf(
  view: readonly Axis[],
  count: number,
  runs: number,
  subgroups: Subgroups | undefined,
): Form {
  if (!view.at(-1)!.reduced || count <= 16) {
    const pieces = Math.max(
      Math.ceil(count / ALONE),
      Math.min(Math.ceil(BUSY / runs), Math.ceil(count / 64)),
    );
    const piece = pieces === 1 ? count : Math.ceil(count / pieces / 4) * 4;
    return { ...ALONE_FORM, values: "streamed", piece };
  }
  if (subgroups !== undefined) {
    const form = bySubgroups(subgroups);
    if (subgroups.most < WIDE) {
      const whole = count <= ALONE || (count <= 4 * ALONE && runs >= 16);
      return { ...form, values: "streamed", piece: whole ? count : ALONE, blocks: true };
    }
    if (count <= HELD * subgroups.least) return { ...form, values: "held", piece: count };
  }
  const lanes = Math.min(THREADS, ceilPowerOfTwo(count / HELD));
  const piece = Math.min(count, HELD * lanes);
  return { reduce: "reduce", values: "held", lanes, threads: THREADS, piece };
}

/** How the pieces of a run are merged. */
export function mergeFormOf(pieces: number, subgroups: Subgroups | undefined): Spread {
  if (subgroups !== undefined) return bySubgroups(subgroups);
  const lanes = Math.min(THREADS, ceilPowerOfTwo(pieces / 4));
  return { reduce: "reduce", lanes, threads: THREADS };
}
