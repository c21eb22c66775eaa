// The table of operations: what each takes, what its options are and who reads them, its defaults and presets. Checking,
// messages, functions and plans are driven from here.
import { readDims, readNumbers } from "./dims.js";
import {
  readDestination,
  readEps,
  readFinite,
  readFlag,
  readNumber,
  readParameter,
  readSize,
  readString,
} from "./option_readers.js";
import type { LayerNormOptions, RmsNormOptions } from "./types.js";

/** Checks one option's value by itself and returns it, copied where it is the caller's array. */
export type Reader = (where: string, name: string, value: unknown) => unknown;

export type OpName = "layerNorm" | "rmsNorm";

export interface Op {
  readonly name: OpName;
  /** The core's name of it. */
  readonly kernel: "layer_norm" | "rms_norm";
  /** The names of the tensors that come before the options. */
  readonly inputs: readonly string[];
  readonly statistics: readonly ("mean" | "rstd")[];
  readonly options: ReadonlyMap<string, Reader>;
  readonly eps: number;
  /** The column of PRESETS. */
  readonly family: "layer" | "rms";
}

/** What a preset sets. */
export interface Preset {
  /** `machine`: the distance from 1 to the next number of x's element type. */
  readonly eps: number | "machine";
  readonly weightOffset: number;
}

type PresetRow = Readonly<Record<Op["family"], Preset | undefined>>;

const eps = (value: Preset["eps"], weightOffset = 0): Preset => ({ eps: value, weightOffset });

export const PRESETS: ReadonlyMap<string, PresetRow> = new Map<string, PresetRow>([
  // torch.nn.LayerNorm; torch.nn.RMSNorm with eps=None takes torch.finfo(x.dtype).eps.
  ["pytorch", { layer: eps(1e-5), rms: eps("machine") }],
  // keras.layers.LayerNormalization and RMSNormalization of Keras 3.
  ["keras", { layer: eps(1e-3), rms: eps(1e-6) }],
  // The same under tf.keras.layers.
  ["tensorflow", { layer: eps(1e-3), rms: eps(1e-6) }],
  // flax.linen.LayerNorm and RMSNorm.
  ["flax", { layer: eps(1e-6), rms: eps(1e-6) }],
  // LayerNormalization 17 and RMSNormalization 23.
  ["onnx", { layer: eps(1e-5), rms: eps(1e-5) }],
  // layer_norm_eps of BertConfig.
  ["bert", { layer: eps(1e-12), rms: undefined }],
  // rms_norm_eps of LlamaConfig and layer_norm_epsilon of T5Config. Both round the normalized value to x's element type
  // before the weight, which float32 and float64 have anyway.
  ["llama", { layer: undefined, rms: eps(1e-6) }],
  ["t5", { layer: undefined, rms: eps(1e-6) }],
  // GemmaRMSNorm: (1 + weight), rounded last.
  ["gemma", { layer: undefined, rms: eps(1e-6, 1) }],
]);

const dimensions = {
  shape: readDims,
  normalizedShape: readSize,
  axis: readNumber,
  axes: readNumbers,
};
const affine = { weight: readParameter, bias: readParameter, weightOffset: readFinite };
const constants = { eps: readEps, preset: readString };
const output = { out: readDestination, returnStats: readFlag };

// The types of the options and the table name the same ones, or this does not compile.
const readers = <Options>(table: Record<keyof Options, Reader>): ReadonlyMap<string, Reader> =>
  new Map(Object.entries(table));

export const OPS: Readonly<Record<OpName, Op>> = {
  layerNorm: {
    name: "layerNorm",
    kernel: "layer_norm",
    inputs: ["x"],
    statistics: ["mean", "rstd"],
    options: readers<LayerNormOptions>({ ...dimensions, ...affine, ...constants, ...output }),
    eps: 1e-5,
    family: "layer",
  },
  rmsNorm: {
    name: "rmsNorm",
    kernel: "rms_norm",
    inputs: ["x"],
    statistics: ["rstd"],
    options: readers<RmsNormOptions>({ ...dimensions, ...affine, ...constants, ...output }),
    eps: 1e-5,
    family: "rms",
  },
};
