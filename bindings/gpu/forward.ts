// Forward operations. Every one is one of two ways: runs that a workgroup holds are read once; of others, and where 16-bit elements
// do not stand in whole words, moments come first, then all elements are normalized by them.
import type { Descriptor } from "../descriptor.js";
import type { Emitter } from "./emitter.js";
import { THREADS } from "./form.js";
import { takeMoments } from "./moments.js";
import { respond } from "./response.js";
import { normalizePieces, normalizeRuns } from "./runs.js";
import { Uniform } from "./uniform.js";
import {
  absentAffine,
  absentStatistics,
  affineNumbers,
  affineOverrides,
  affineParts,
  affineUses,
  constantsOf,
  denseStrides,
  elementwise,
  items,
  type Memory,
  type Operands,
  parameterUse,
  recordOverrides,
  runningUses,
  statisticUses,
  type Use,
} from "./uses.js";

/** Everything that a forward operation does. */
export function forward(e: Emitter, d: Descriptor, at: Operands): void {
  if (d.window !== undefined) {
    respond(e, d, at);
    return;
  }
  if (at.sum !== undefined) addUp(e, d, at, at.sum);
  const x = at.sum ?? at.x;
  const constants = constantsOf(d);
  if (d.kernel === "batch_norm") {
    const records = takeGiven(e, d, at, constants);
    normalizeElements(e, d, at, x, records, constants);
    return;
  }
  const updates = at.parameters.has("runningMean") || at.parameters.has("runningVar");
  if (!updates && normalizeRuns(e, d, at, x, constants)) return;
  const records = takeMoments(e, d, at, x, constants);
  if (updates) moveRunning(e, d, at, records, constants);
  if (normalizePieces(e, d, at, x, records, constants)) return;
  normalizeElements(e, d, at, x, records, constants);
}

/** Records of runs whose statistics are given. */
function takeGiven(e: Emitter, d: Descriptor, at: Operands, constants: Uniform): Memory {
  const records = e.scratch("records", d.runs, "record");
  e.emit({
    kernel: "given_kernel",
    view: [{ size: d.runs, reduced: false }],
    x: [0],
    runs: [1],
    uses: [
      ...runningUses(at, "vector"),
      {
        name: "records",
        memory: records,
        strides: [1],
        role: "record",
        base: "firstRun",
        written: true,
      },
      ...statisticUses(d, at, [1]),
    ],
    constants,
    absent: absentStatistics(at),
    cuts: 0,
    byRuns: false,
    canQuads: () => false,
    make: () => ({
      parts: ["moments", "record"],
      overrides: recordOverrides(d),
      workgroups: Math.ceil(d.runs / THREADS),
      fill: (uniform) => uniform.set("runs", d.runs),
    }),
  });
  return records;
}

/** Moves running statistics towards those of the batch. */
function moveRunning(
  e: Emitter,
  d: Descriptor,
  at: Operands,
  records: Memory,
  constants: Uniform,
): void {
  const uses = runningUses(at, "updated");
  for (const use of uses) {
    const isMean = use.name === "running_mean";
    e.emit({
      kernel: isMean ? "running_mean_kernel" : "running_var_kernel",
      view: [{ size: d.runs, reduced: false }],
      x: [0],
      runs: [1],
      uses: [
        use,
        { name: "records", memory: records, strides: [1], role: "record", base: "firstRun" },
      ],
      constants,
      cuts: 0,
      byRuns: false,
      canQuads: () => false,
      make: () => ({
        parts: ["moments", "running"],
        overrides: {},
        workgroups: Math.ceil(d.runs / 4 / THREADS),
        fill: (uniform) => uniform.set("runs", d.runs),
      }),
    });
  }
}

/** Normalizes all elements by the records of their runs. */
function normalizeElements(
  e: Emitter,
  d: Descriptor,
  at: Operands,
  x: Memory,
  records: Memory,
  constants: Uniform,
): void {
  const { view } = d;
  const strides = denseStrides(view);
  const runs = denseStrides(view, (axis) => !axis.reduced);
  const last = view.at(-1)!;
  e.emit({
    ...elementwise(view),
    kernel: "normalize_kernel",
    uses: [
      { name: "x", memory: x, strides, role: "x", base: "x" },
      { name: "y", memory: at.y, strides, role: "y", base: "y", written: true },
      { name: "records", memory: records, strides: runs, role: "record", base: "firstRun" },
      ...affineUses(d, at),
    ],
    constants,
    numbers: affineNumbers(d),
    absent: absentAffine(d),
    make: (box, quads) =>
      items(
        box,
        quads,
        ["moments", ...affineParts(d), "affine_at"],
        { ...affineOverrides(d), one_run: +(quads && last.reduced) },
        at.y,
      ),
  });
}

/** sum = (residual + gate * x) + sumBias */
function addUp(e: Emitter, d: Descriptor, at: Operands, sum: Memory): void {
  const { view } = d;
  const strides = denseStrides(view);
  const names = ["residual", "gate", "sumBias"] as const;
  const uses: Use[] = [
    { name: "x", memory: at.x, strides, role: "x", base: "x" },
    { name: "y", memory: sum, strides, role: "y", base: "y", written: true },
  ];
  const numbers: Record<string, number> = {};
  const constants = new Uniform(undefined, []);
  for (const [slot, name] of names.entries()) {
    const inKernel = name === "sumBias" ? "sum_bias" : name;
    const value = d[name];
    if (typeof value === "object") {
      uses.push(parameterUse(inKernel, at.parameters.get(name)!, value, slot));
    } else {
      numbers[inKernel] = slot;
      constants.setFloat("numbers", value ?? (name === "gate" ? 1 : 0), slot);
    }
  }
  e.emit({
    ...elementwise(view),
    kernel: "sum_kernel",
    uses,
    constants,
    numbers,
    make: (box, quads) => items(box, quads, [], {}, sum),
  });
}
