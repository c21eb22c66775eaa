// The table of operations: what each takes, what its options are and who reads them, its defaults and presets. Checking,
// messages, functions and plans are driven from here.
import { readDims, readNumbers } from "./dims.js";
import {
  byAxes,
  byAxesOrImages,
  byBatch,
  byGroups,
  byInstances,
  byWindows,
  type ReadGeometry,
} from "./geometry.js";
import type { CheckedCall } from "./last_call.js";
import { readDestination, readParameter, readTensor } from "./operands.js";
import {
  choice,
  orNone,
  readCount,
  readEps,
  readFinite,
  readFlag,
  readFraction,
  readNumber,
  readOrder,
  readSize,
  readString,
} from "./option_readers.js";
import type { Options } from "./options.js";
import type {
  AddGroupNormOptions,
  AddLayerNormOptions,
  AddRmsNormOptions,
  BatchNormOptions,
  GroupNormOptions,
  InstanceNormOptions,
  L2NormalizeOptions,
  LayerNormOptions,
  LocalResponseNormOptions,
  LpNormalizeOptions,
  MeanVarianceNormalizeOptions,
  RmsNormOptions,
} from "./types.js";

/** Checks one option's value by itself and returns it, copied where it is the caller's array. */
export type Reader = (where: string, name: string, value: unknown) => unknown;

export type ForwardName =
  | "layerNorm"
  | "rmsNorm"
  | "groupNorm"
  | "instanceNorm"
  | "batchNorm"
  | "l2Normalize"
  | "lpNormalize"
  | "meanVarianceNormalize"
  | "localResponseNorm"
  | "addLayerNorm"
  | "addRmsNorm"
  | "addGroupNorm";

/** The operations that have a backward one. */
export type Differentiable = Exclude<
  ForwardName,
  "lpNormalize" | "meanVarianceNormalize" | "localResponseNorm"
>;

export type OpName = ForwardName | `${Differentiable}Backward`;

/** The core's names. */
export type KernelName =
  | "layer_norm"
  | "rms_norm"
  | "l2_normalize"
  | "l1_normalize"
  | "max_normalize"
  | "mean_variance_normalize"
  | "batch_norm"
  | "local_response_norm";

export type Family = "layer" | "rms" | "batch" | "norm" | "deviation";

/** Families in which a preset without a cell is one without a difference, not one that is refused. */
export const LENIENT: readonly (Family | undefined)[] = ["norm", "deviation"];

export type InputName = "gradOutput" | "x" | "residual";

export interface Op {
  name: OpName;
  readonly kernel: KernelName | ((options: Options) => KernelName);
  /** The names of the tensors that come before the options; with a residual, the sum is a result. */
  readonly inputs: readonly InputName[];
  readonly geometry: ReadGeometry;
  readonly statistics: readonly ("mean" | "rstd")[];
  readonly options: ReadonlyMap<string, Reader>;
  readonly eps: number;
  /** The column of PRESETS; undefined where no preset is taken. */
  readonly family: Family | undefined;
  /** Whether it is the gradient of the operation whose inputs are those from x on. */
  readonly backward?: boolean;
  /** What a call in a loop need not check again, and how many calls had something to check. */
  last?: CheckedCall | undefined;
  misses?: number;
}

type Row = Omit<Op, "name">;

/** What a preset sets. */
export interface Preset {
  /** `machine`: the distance from 1 to the next number of x's element type. */
  readonly eps?: number | "machine";
  readonly weightOffset?: number;
  /** Whether the normalized value is rounded to x's element type before the weight. */
  readonly rounds?: boolean;
  readonly momentum?: Momentum;
}

/** How running statistics follow those of batches. */
export interface Momentum {
  readonly value: number;
  /** Whether momentum weights the old value, not the new one. */
  readonly ofOld: boolean;
  /** Whether the running variance is the unbiased one. */
  readonly unbiased: boolean;
}

type PresetRow = Readonly<Partial<Record<Family, Preset>>>;

/** PyTorch's convention, and that of calls without a preset. */
export const MOMENTUM: Momentum = { value: 0.1, ofOld: false, unbiased: true };
const ofOld = (value: number, unbiased = false): Momentum => ({ value, ofOld: true, unbiased });

export const PRESETS: ReadonlyMap<string, PresetRow> = new Map<string, PresetRow>([
  // torch.nn.LayerNorm, GroupNorm, InstanceNorm2d, BatchNorm2d; torch.nn.RMSNorm with eps=None takes
  // torch.finfo(x.dtype).eps; torch.nn.functional.normalize.
  [
    "pytorch",
    {
      layer: { eps: 1e-5 },
      rms: { eps: "machine" },
      batch: { eps: 1e-5, momentum: MOMENTUM },
    },
  ],
  // keras.layers.LayerNormalization, GroupNormalization, RMSNormalization and BatchNormalization of Keras 3.
  [
    "keras",
    {
      layer: { eps: 1e-3 },
      rms: { eps: 1e-6 },
      batch: { eps: 1e-3, momentum: ofOld(0.99) },
    },
  ],
  // The same under tf.keras.layers, whose fused BatchNormalization (rank 4) keeps the unbiased variance.
  [
    "tensorflow",
    {
      layer: { eps: 1e-3 },
      rms: { eps: 1e-6 },
      batch: { eps: 1e-3, momentum: ofOld(0.99, true) },
    },
  ],
  // flax.linen.LayerNorm, GroupNorm, InstanceNorm, RMSNorm and BatchNorm.
  [
    "flax",
    {
      layer: { eps: 1e-6 },
      rms: { eps: 1e-6 },
      batch: { eps: 1e-5, momentum: ofOld(0.99) },
    },
  ],
  // LayerNormalization 17, GroupNormalization 21, InstanceNormalization 6, RMSNormalization 23, BatchNormalization 15;
  // LpNormalization divides by the norm alone.
  [
    "onnx",
    {
      layer: { eps: 1e-5 },
      rms: { eps: 1e-5 },
      batch: { eps: 1e-5, momentum: ofOld(0.9) },
      norm: { eps: 0 },
    },
  ],
  // layer_norm_eps of BertConfig.
  ["bert", { layer: { eps: 1e-12 } }],
  // rms_norm_eps of LlamaConfig and layer_norm_epsilon of T5Config; both round before the weight.
  ["llama", { rms: { eps: 1e-6, rounds: true } }],
  ["t5", { rms: { eps: 1e-6, rounds: true } }],
  // GemmaRMSNorm: (1 + weight), rounded last.
  ["gemma", { rms: { eps: 1e-6, weightOffset: 1 } }],
]);

const readLayout = choice(["channels_first", "channels_last"]);
const shape = { shape: readDims };
const trailing = { ...shape, normalizedShape: readSize, axis: readNumber, axes: readNumbers };
const axes = { ...shape, axes: readNumbers };
const channels = { ...shape, layout: readLayout };
const groups = { ...channels, numGroups: readCount };
const epilogue = {
  weight: readParameter,
  bias: readParameter,
  weightOffset: readFinite,
  scale: readParameter,
  shift: readParameter,
  activation: orNone(choice(["relu", "silu", "gelu", "gelu_tanh", "sigmoid", "tanh"])),
};
const constants = { eps: readEps, preset: orNone(readString) };
const out = { out: readDestination };
const output = { ...constants, ...out, returnStats: readFlag };
const add = { gate: readParameter, sumBias: readParameter, ...output, sumOut: readDestination };

// The types of the options and the table name the same ones, or this does not compile.
const readers = <Options>(table: Record<keyof Options, Reader>): ReadonlyMap<string, Reader> =>
  new Map(Object.entries(table));

const X = ["x"] as const;
const X_RESIDUAL = ["x", "residual"] as const;
const MEAN_RSTD = ["mean", "rstd"] as const;
const RSTD = ["rstd"] as const;

const LAYER = {
  kernel: "layer_norm",
  inputs: X,
  geometry: byAxes,
  statistics: MEAN_RSTD,
  eps: 1e-5,
  family: "layer",
} as const;
const RMS = { ...LAYER, kernel: "rms_norm", statistics: RSTD, family: "rms" } as const;
const NORM = { ...LAYER, statistics: [], eps: 1e-12, family: "norm" } as const;
const ADD = { inputs: X_RESIDUAL } as const;

const FORWARD: Readonly<Record<ForwardName, Row>> = {
  layerNorm: {
    ...LAYER,
    options: readers<LayerNormOptions>({ ...trailing, ...epilogue, ...output }),
  },
  rmsNorm: {
    ...RMS,
    options: readers<RmsNormOptions>({ ...trailing, ...epilogue, ...output }),
  },
  groupNorm: {
    ...LAYER,
    geometry: byGroups,
    options: readers<GroupNormOptions>({ ...groups, ...epilogue, ...output }),
  },
  instanceNorm: {
    ...LAYER,
    geometry: byInstances,
    options: readers<InstanceNormOptions>({ ...channels, ...epilogue, ...output }),
  },
  batchNorm: {
    ...LAYER,
    kernel: ({ training }) => (training ? "layer_norm" : "batch_norm"),
    geometry: byBatch,
    options: readers<BatchNormOptions>({
      ...channels,
      runningMean: readTensor,
      runningVar: readTensor,
      training: readFlag,
      momentum: readFraction,
      ...epilogue,
      ...output,
    }),
    family: "batch",
  },
  l2Normalize: {
    ...NORM,
    kernel: "l2_normalize",
    options: readers<L2NormalizeOptions>({ ...axes, ...constants, ...out }),
  },
  lpNormalize: {
    ...NORM,
    kernel: ({ p }) =>
      p === 1 ? "l1_normalize" : p === Infinity ? "max_normalize" : "l2_normalize",
    options: readers<LpNormalizeOptions>({ ...axes, p: readOrder, ...constants, ...out }),
  },
  meanVarianceNormalize: {
    ...NORM,
    kernel: "mean_variance_normalize",
    geometry: byAxesOrImages,
    options: readers<MeanVarianceNormalizeOptions>({ ...axes, ...constants, ...out }),
    eps: 1e-9,
    family: "deviation",
  },
  localResponseNorm: {
    ...NORM,
    kernel: "local_response_norm",
    geometry: byWindows,
    options: readers<LocalResponseNormOptions>({
      size: readCount,
      alpha: readFinite,
      beta: readFinite,
      k: readFinite,
      ...channels,
      ...out,
    }),
    family: undefined,
  },
  addLayerNorm: {
    ...LAYER,
    ...ADD,
    options: readers<AddLayerNormOptions>({ ...trailing, ...epilogue, ...add }),
  },
  addRmsNorm: {
    ...RMS,
    ...ADD,
    options: readers<AddRmsNormOptions>({ ...trailing, ...epilogue, ...add }),
  },
  addGroupNorm: {
    ...LAYER,
    ...ADD,
    geometry: byGroups,
    options: readers<AddGroupNormOptions>({ ...groups, ...epilogue, ...add }),
  },
};

// Options of a forward operation that its backward one lacks.
const RESULT_OPTIONS = ["out", "sumOut", "returnStats"];

function backwardOf(forward: Row): Row {
  const options = new Map(forward.options);
  for (const name of RESULT_OPTIONS) options.delete(name);
  for (const name of forward.statistics) options.set(name, readTensor);
  if (forward.inputs.length > 1) options.set("gradSum", readTensor);
  return { ...forward, inputs: ["gradOutput", ...forward.inputs], options, backward: true };
}

// Operations go by their names in the table.
function named(rows: Record<OpName, Row>): Readonly<Record<OpName, Op>> {
  for (const name in rows) (rows[name as OpName] as Op).name = name as OpName;
  return rows as Record<OpName, Op>;
}

export const OPS = named({
  ...FORWARD,
  layerNormBackward: backwardOf(FORWARD.layerNorm),
  rmsNormBackward: backwardOf(FORWARD.rmsNorm),
  groupNormBackward: backwardOf(FORWARD.groupNorm),
  instanceNormBackward: backwardOf(FORWARD.instanceNorm),
  batchNormBackward: backwardOf(FORWARD.batchNorm),
  l2NormalizeBackward: backwardOf(FORWARD.l2Normalize),
  addLayerNormBackward: backwardOf(FORWARD.addLayerNorm),
  addRmsNormBackward: backwardOf(FORWARD.addRmsNorm),
  addGroupNormBackward: backwardOf(FORWARD.addGroupNorm),
});

/** An operation whose options are read by others than `OPS` names. */
export function withReaders(op: Op, readers: ReadonlyMap<Reader, Reader>): Op {
  const options = new Map<string, Reader>();
  for (const [name, read] of op.options) options.set(name, readers.get(read) ?? read);
  return { ...op, options };
}
