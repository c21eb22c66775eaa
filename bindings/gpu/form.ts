// How the values of runs are spread over lanes.
import type { Axis } from "./slabs.js";

/** The least and the most lanes of a subgroup, where there are subgroups. */
export interface Subgroups {
  readonly least: number;
  readonly most: number;
}

export interface Form {
  /** How lanes sum up: those of a workgroup, those of a subgroup, or each for itself. */
  readonly reduce: "reduce" | "reduce_subgroups" | "reduce_alone";
  /** Whether lanes keep their values or read them again. */
  readonly values: "held" | "streamed";
  /** Lanes of a run, at most. */
  readonly lanes: number;
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
    return { reduce: "reduce_alone", values: "streamed", lanes: 1, piece };
  }
  if (subgroups !== undefined) {
    const { least, most } = subgroups;
    const form = { reduce: "reduce_subgroups", lanes: most } as const;
    if (most < WIDE) {
      const whole = count <= ALONE || (count <= 4 * ALONE && runs >= 16);
      return { ...form, values: "streamed", piece: whole ? count : 2048, blocks: true };
    }
    if (count <= HELD * least) return { ...form, values: "held", piece: count };
  }
  const lanes = Math.min(THREADS, ceilPowerOfTwo(count / HELD));
  return { reduce: "reduce", values: "held", lanes, piece: Math.min(count, HELD * lanes) };
}

/** How the pieces of a run are merged. */
export function mergeFormOf(pieces: number, subgroups: Subgroups | undefined) {
  if (subgroups !== undefined)
    return { reduce: "reduce_subgroups", lanes: subgroups.most } as const;
  return { reduce: "reduce", lanes: Math.min(THREADS, ceilPowerOfTwo(pieces / 4)) } as const;
}
