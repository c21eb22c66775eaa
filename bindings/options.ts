// From the caller's options object to checked values, by the table of operations.
import type { Dims } from "./dims.js";
import { DTYPES } from "./dtypes.js";
import { describe, quotedList, wrongType, wrongValue } from "./errors.js";
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

/** Reads the options of an operation: own properties, each once; undefined counts as absent. */
export function readOptions(op: Op, given: unknown): Options {
  const options = new Options();
  if (given === undefined) return options;
  requirePlain(op.name, "options", given);
  for (const name in given) {
    if (!hasOwn.call(given, name)) continue;
    const value: unknown = given[name as keyof typeof given];
    if (value === undefined) continue;
    const read = op.options.get(name);
    if (read === undefined) {
      const known = [...op.options.keys()].join(", ");
      throw wrongType(op.name, "options", `only ${known}`, describe(name));
    }
    (options as unknown as Record<string, unknown>)[name] = read(op.name, name, value);
  }
  return options;
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
