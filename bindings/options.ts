// From the caller's options object to checked values, by the table of operations.
import { type Dims, readNumbers } from "./dims.js";
import { DTYPES } from "./dtypes.js";
import { describe, quotedList, wrongType, wrongValue } from "./errors.js";
import { type CheckedCall, isSame } from "./last_call.js";
import type { Operand } from "./operands.js";
import { type Family, LENIENT, OPS, type Op, PRESETS, type Preset } from "./ops.js";
import { requirePlain } from "./tensor.js";
import type { ActivationName, DType } from "./types.js";

// Within for-in, engines answer this without a look-up; Object.hasOwn costs 5 ns a name.
const hasOwn = Object.prototype.hasOwnProperty;

type Given = Operand | number | undefined;

/** The options that were given, each checked by itself. */
export class Options {
  shape: Dims | undefined = undefined;
  normalizedShape: Dims | undefined = undefined;
  axis: number | undefined = undefined;
  axes: Dims | undefined = undefined;
  layout: string | undefined = undefined;
  numGroups: number | undefined = undefined;
  weight: Given = undefined;
  bias: Given = undefined;
  weightOffset: number | undefined = undefined;
  scale: Given = undefined;
  shift: Given = undefined;
  gate: Given = undefined;
  sumBias: Given = undefined;
  activation: ActivationName | undefined = undefined;
  eps: number | undefined = undefined;
  preset: string | undefined = undefined;
  runningMean: Operand | undefined = undefined;
  runningVar: Operand | undefined = undefined;
  training = false;
  momentum: number | undefined = undefined;
  p: number | undefined = undefined;
  size: number | undefined = undefined;
  alpha: number | undefined = undefined;
  beta: number | undefined = undefined;
  k: number | undefined = undefined;
  mean: Operand | undefined = undefined;
  rstd: Operand | undefined = undefined;
  gradSum: Operand | undefined = undefined;
  out: Operand | undefined = undefined;
  sumOut: Operand | undefined = undefined;
  returnStats = false;
}

/**
 * Reads the options of an operation: own properties, each once; undefined counts as absent. If they are those of `last`, which
 * then has not changed otherwise either, returns its options. Names and values go to `seen`.
 */
export function readOptions(op: Op, given: unknown, last?: CheckedCall, seen?: unknown[]): Options {
  if (given !== undefined) requirePlain(op.name, "options", given);
  const before = last?.seen ?? NONE;
  // Those read so far, unless they are those of the last call: then as many as `at` says.
  let options = last === undefined ? new Options() : undefined;
  let at = 0;
  for (const name in given as object | undefined) {
    if (!hasOwn.call(given, name)) continue;
    let value = (given as Record<string, unknown>)[name];
    if (value === undefined) continue;
    if (options === undefined) {
      if (name === before[at]) {
        const known = before[at + 1];
        // Read once, also if it then is another.
        if (Array.isArray(known) && Array.isArray(value)) value = readNumbers(op.name, name, value);
        if (isSame(value, known)) {
          at += 2;
          continue;
        }
      }
      options = readAgain(op, before, at);
    }
    readOption(op, options, name, value, seen);
  }
  if (options !== undefined) return options;
  return at === before.length && last!.isThere() ? last!.options : readAgain(op, before, at);
}

const NONE: readonly never[] = [];

// The first options of the last call, of which was kept what runs no code when it is read.
function readAgain(op: Op, seen: readonly unknown[], end: number): Options {
  const options = new Options();
  for (let i = 0; i < end; i += 2) readOption(op, options, seen[i] as string, seen[i + 1]);
  return options;
}

function readOption(
  op: Op,
  options: Options,
  name: string,
  value: unknown,
  seen?: unknown[],
): void {
  const read = op.options.get(name);
  if (read === undefined) {
    const known = [...op.options.keys()].join(", ");
    throw wrongType(op.name, "options", `only ${known}`, describe(name));
  }
  const result = read(op.name, name, value);
  (options as unknown as Record<string, unknown>)[name] = result;
  // An array of numbers as it was read.
  seen?.push(name, Array.isArray(value) ? result : value);
}

/** What a preset sets for an operation. */
export function presetOf(op: Op, name: string): Preset {
  const row = PRESETS.get(name);
  const { family } = op;
  const cell = (column: Family | undefined, cells = row) => column && cells?.[column];
  const preset = cell(family) ?? (row && LENIENT.includes(family) ? {} : undefined);
  if (preset !== undefined) return preset;
  const known = [...PRESETS].filter(([, cells]) => LENIENT.includes(family) || cell(family, cells));
  const others = Object.values(OPS).filter(
    (o) => o.backward === op.backward && !LENIENT.includes(o.family) && cell(o.family),
  );
  const hint = row === undefined ? "" : `, which is for ${others.map((o) => o.name).join(", ")}`;
  throw wrongValue(
    op.name,
    "preset",
    `one of ${quotedList(known.map(([key]) => key))}`,
    describe(name) + hint,
  );
}

/** eps: given, or the preset's, or the operation's default. */
export function chooseEps(op: Op, given: Options, preset: Preset | undefined, x: DType): number {
  const eps = given.eps ?? preset?.eps ?? op.eps;
  return eps === "machine" ? DTYPES[x].epsilon : eps;
}
