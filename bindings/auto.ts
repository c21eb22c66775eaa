// The entry `layernorm/auto`: the same functions, async. Each call goes to WebGPU where x stands there, or where wasm would
// compute so long that a GPU pays for the way there and back; else to wasm.
import type { GPUAdapterInfoLike, GPUDeviceLike, GPULike } from "./gpu/device_like.js";
import { arrayOf, roundTrip, roundTripBackward } from "./gpu/round_trip.js";
import * as wasm from "./index.js";
import { choice } from "./option_readers.js";
import { requirePlain } from "./tensor.js";
import type {
  AddGroupNormBackwardOptions,
  AddGroupNormOptions,
  AddLayerNormBackwardOptions,
  AddLayerNormOptions,
  AddRmsNormBackwardOptions,
  AddRmsNormOptions,
  BatchNormBackwardOptions,
  BatchNormOptions,
  GradientLike,
  GroupNormBackwardOptions,
  GroupNormOptions,
  Input,
  InstanceNormBackwardOptions,
  InstanceNormOptions,
  L2NormalizeBackwardOptions,
  L2NormalizeOptions,
  LayerNormBackwardOptions,
  LayerNormOptions,
  Like,
  LocalResponseNormOptions,
  LpNormalizeOptions,
  MeanVarianceNormalizeOptions,
  Parameter,
  RmsNormBackwardOptions,
  RmsNormOptions,
  StatisticsLike,
} from "./types.js";
import type { GpuGradients, GpuInput, GpuResult, GpuSums, OnGpu, WebGpuNorm } from "./webgpu.js";

/** Of the wasm. What `webgpu` resolves to has a `dispose` of its own. */
export { dispose, init, initSync } from "./index.js";
export type * from "./types.js";
export type { GpuDType, GpuInput, GpuParameter, GpuTensor, OnGpu, WebGpuNorm } from "./webgpu.js";

/** What computes. */
export type Backend = "wasm" | "webgpu";

const readBackend = choice<Backend>(["wasm", "webgpu"]);

/** What wasm's time goes into: memory, as that of most calls, or arithmetic. */
export type Cost = "memory" | "arithmetic";

/**
 * Bytes of x from which on values in memory go to the GPU. By `npm run bench:webgpu`, whose figures stand in the README: the way
 * there and back alone, whatever the GPU, takes longer than wasm's whole call where memory bounds that, or more than half as long, at
 * every size from 1 to 256 MiB. Where arithmetic does, it takes at most half as long from 16 MiB on; and from there on a call by wasm
 * takes some 100 ms, so that the start of a GPU counts little at the first one.
 */
export const THRESHOLD_BYTES: Readonly<Record<Cost, number>> = {
  memory: Number.POSITIVE_INFINITY,
  arithmetic: 16 * 2 ** 20,
};

type Options<O> = (O | OnGpu<O>) & {
  /** Where to compute. Default: where x is; the GPU also for large values in memory that wasm would take long for. */
  backend?: Backend | undefined;
};
type Output<X, O> = O extends { out: infer Out extends object } ? Out : Like<X>;
type Sum<X, O> = O extends { sumOut: infer Out extends object } ? Out : Like<X>;
type Statistics<X, O, Names extends string> = O extends { returnStats: true }
  ? { [N in Names]: StatisticsLike<X> }
  : unknown;
type Result<X, O, Names extends string> = X extends GpuInput
  ? GpuResult<O, Names>
  : O extends { returnStats: true }
    ? { output: Output<X, O> } & Statistics<X, O, Names>
    : Output<X, O>;
type Sums<X, O, Names extends string> = X extends GpuInput
  ? GpuSums<O, Names>
  : { output: Output<X, O>; sum: Sum<X, O> } & Statistics<X, O, Names>;

type Any = Input | GpuInput;

/** As that of `layernorm`, but async, and x may stand on the GPU. */
export interface Auto<O, Names extends string> {
  <X extends Any, Given extends Options<O>>(
    x: X,
    options?: Given,
  ): Promise<Result<X, Given, Names>>;
}
/** The same for a sum. */
export interface AutoAdd<O, Names extends string> {
  <X extends Any, Given extends Options<O>>(
    x: X,
    residual: Any,
    options?: Given,
  ): Promise<Sums<X, Given, Names>>;
}

export const layerNorm: Auto<LayerNormOptions, "mean" | "rstd"> = (x: unknown, options?: unknown) =>
  run("layerNorm", [x], options);
export const rmsNorm: Auto<RmsNormOptions, "rstd"> = (x: unknown, options?: unknown) =>
  run("rmsNorm", [x], options);
export const groupNorm: Auto<GroupNormOptions, "mean" | "rstd"> = (x: unknown, options?: unknown) =>
  run("groupNorm", [x], options);
export const instanceNorm: Auto<InstanceNormOptions, "mean" | "rstd"> = (
  x: unknown,
  options?: unknown,
) => run("instanceNorm", [x], options);
export const batchNorm: Auto<BatchNormOptions, "mean" | "rstd"> = (x: unknown, options?: unknown) =>
  run("batchNorm", [x], options);
export const l2Normalize: Auto<L2NormalizeOptions, never> = (x: unknown, options?: unknown) =>
  run("l2Normalize", [x], options);
export const lpNormalize: Auto<LpNormalizeOptions, never> = (x: unknown, options?: unknown) =>
  run("lpNormalize", [x], options);
export const meanVarianceNormalize: Auto<MeanVarianceNormalizeOptions, never> = (
  x: unknown,
  options?: unknown,
) => run("meanVarianceNormalize", [x], options);
export const localResponseNorm: Auto<LocalResponseNormOptions, never> = (
  x: unknown,
  options?: unknown,
) => run("localResponseNorm", [x], options);
export const addLayerNorm: AutoAdd<AddLayerNormOptions, "mean" | "rstd"> = (
  x: unknown,
  residual: unknown,
  options?: unknown,
) => run("addLayerNorm", [x, residual], options);
export const addRmsNorm: AutoAdd<AddRmsNormOptions, "rstd"> = (
  x: unknown,
  residual: unknown,
  options?: unknown,
) => run("addRmsNorm", [x, residual], options);
export const addGroupNorm: AutoAdd<AddGroupNormOptions, "mean" | "rstd"> = (
  x: unknown,
  residual: unknown,
  options?: unknown,
) => run("addGroupNorm", [x, residual], options);

/**
 * As that of `layernorm`, but async, and gradOutput and x may stand on the GPU, in the operations whose gradients
 * `layernorm/webgpu` has.
 */
export interface AutoBackward<O> {
  <X extends Any, Given extends Options<O>>(
    gradOutput: Any,
    x: X,
    options?: Given,
  ): Promise<AutoGradients<X, Given>>;
}
/** The same for a sum. */
export interface AutoAddBackward<O> {
  <X extends Input, R extends Input, Given extends Options<O>>(
    gradOutput: Input,
    x: X,
    residual: R,
    options?: Given,
  ): Promise<
    Gradients<X, Given> & {
      gradResidual: Like<R>;
      gradGate: GradientOf<Given, "gate">;
      gradSumBias: GradientOf<Given, "sumBias">;
    }
  >;
}

type GradientOf<O, Name extends string> = O extends { [N in Name]: infer P }
  ? GradientLike<P extends Parameter | null | undefined ? P : undefined>
  : null;
type Gradients<X, O> = {
  gradInput: Like<X>;
  gradWeight: GradientOf<O, "weight">;
  gradBias: GradientOf<O, "bias">;
  gradScale: GradientOf<O, "scale">;
  gradShift: GradientOf<O, "shift">;
};
type AutoGradients<X, O> = X extends GpuInput ? GpuGradients<O> : Gradients<X, O>;

export const layerNormBackward: AutoBackward<LayerNormBackwardOptions> = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => run("layerNormBackward", [gradOutput, x], options);
export const rmsNormBackward: AutoBackward<RmsNormBackwardOptions> = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => run("rmsNormBackward", [gradOutput, x], options);
export const groupNormBackward: AutoBackward<GroupNormBackwardOptions> = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => run("groupNormBackward", [gradOutput, x], options);
export const instanceNormBackward: AutoBackward<InstanceNormBackwardOptions> = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => run("instanceNormBackward", [gradOutput, x], options);
export const batchNormBackward: AutoBackward<BatchNormBackwardOptions> = (
  gradOutput: unknown,
  x: unknown,
  options?: unknown,
) => run("batchNormBackward", [gradOutput, x], options);
export const l2NormalizeBackward: <X extends Input>(
  gradOutput: Input,
  x: X,
  options?: Options<L2NormalizeBackwardOptions>,
) => Promise<{ gradInput: Like<X> }> = (gradOutput: unknown, x: unknown, options?: unknown) =>
  run("l2NormalizeBackward", [gradOutput, x], options);
export const addLayerNormBackward: AutoAddBackward<AddLayerNormBackwardOptions> = (
  gradOutput: unknown,
  x: unknown,
  residual: unknown,
  options?: unknown,
) => run("addLayerNormBackward", [gradOutput, x, residual], options);
export const addRmsNormBackward: AutoAddBackward<AddRmsNormBackwardOptions> = (
  gradOutput: unknown,
  x: unknown,
  residual: unknown,
  options?: unknown,
) => run("addRmsNormBackward", [gradOutput, x, residual], options);
export const addGroupNormBackward: AutoAddBackward<AddGroupNormBackwardOptions> = (
  gradOutput: unknown,
  x: unknown,
  residual: unknown,
  options?: unknown,
) => run("addGroupNormBackward", [gradOutput, x, residual], options);

type OpName = Exclude<
  keyof typeof wasm,
  "Tensor" | "tensor" | "zeros" | "plan" | "init" | "initSync" | "dispose"
>;
const ON_GPU: readonly OpName[] = ["layerNormBackward", "rmsNormBackward", "groupNormBackward"];

interface Found {
  readonly norm: WebGpuNorm;
  readonly isSoftware: boolean;
}

// The GPU in use, looked for once. A promise: concurrent calls wait for the same.
let found: Promise<Found> | undefined;

/**
 * The GPU that calls go to, found now if it was not yet; or from now on the caller's device, on which x that stands on the GPU
 * has to be.
 *
 * @throws {Error} (the promise rejects) if there is none
 */
export async function webgpu(device?: GPUDeviceLike): Promise<WebGpuNorm> {
  if (device !== undefined) {
    const { WebGpuNorm } = await import("./webgpu.js");
    const norm = new WebGpuNorm(device);
    found = Promise.resolve({ norm, isSoftware: isSoftware(device.adapterInfo) });
  }
  return (await find()).norm;
}

function find(): Promise<Found> {
  if (found === undefined) {
    const search = create();
    found = search;
    // What failed may succeed later: a driver may have come back.
    const forget = () => {
      if (found === search) found = undefined;
    };
    search.then(({ norm }) => norm.device.lost.then(forget), forget);
  }
  return found;
}

async function create(): Promise<Found> {
  const { gpu } = (globalThis as { navigator?: { gpu?: GPULike } }).navigator ?? {};
  const { WebGpuNorm } = await import("./webgpu.js");
  const adapter = await gpu?.requestAdapter();
  if (!adapter) throw new Error("layernorm/auto: there is no WebGPU, or it has no adapter here");
  const norm = await WebGpuNorm.create({ adapter });
  return { norm, isSoftware: isSoftware(adapter.info) };
}

/** Whether an adapter is a CPU in disguise. */
function isSoftware(info: GPUAdapterInfoLike = {}): boolean {
  const { vendor, architecture, device, description, isFallbackAdapter } = info;
  const names = [vendor, architecture, device, description].join(" ");
  return isFallbackAdapter === true || /swiftshader|llvmpipe|lavapipe|basic render/i.test(names);
}

// biome-ignore lint/suspicious/noExplicitAny: the functions' types say what comes out
async function run(op: OpName, inputs: readonly unknown[], given: unknown): Promise<any> {
  if (given !== undefined) requirePlain(op, "options", given);
  // An object's own properties: what it inherits was not given.
  const { backend, ...options }: Record<string, unknown> = { __proto__: null, ...(given ?? {}) };
  if (backend !== undefined) readBackend(op, "backend", backend);
  const isBackward = op.endsWith("Backward");
  const x = inputs[isBackward ? 1 : 0];
  // Of gradients WebGPU has some.
  const hasGpu = !isBackward || ON_GPU.includes(op);
  if (isOnGpu(x)) {
    if (backend === "wasm") {
      throw new TypeError(`${op}: "backend" expected "webgpu" for x on the GPU, got "wasm"`);
    }
    if (!hasGpu)
      throw new TypeError(`${op}: "x" expected values in memory, got a tensor on the GPU`);
    return callOn((await find()).norm, op, inputs, options);
  }
  const isAsked = backend === "webgpu";
  if (isAsked && !hasGpu) throw new TypeError(`${op}: "backend" expected "wasm", got "webgpu"`);
  if (hasGpu && backend !== "wasm" && (isAsked || pays(op, x, options))) {
    const gpu = isAsked ? await find() : await find().catch(() => undefined);
    if (gpu !== undefined && (isAsked || !gpu.isSoftware)) {
      const values = [...inputs, options.out, options.sumOut];
      const resident = values.some((value) => value instanceof wasm.Tensor);
      const roundTrips = isBackward ? roundTripBackward : roundTrip;
      const there = resident
        ? null
        : await roundTrips(gpu.norm, op, inputs, options).catch((error: unknown) => {
            // What a GPU has no room for is wasm's, and all when it is gone, unless it was asked for.
            const isWasms = error instanceof RangeError || gpu.norm.lost !== undefined;
            if (isAsked || !isWasms) throw withBackend(error);
            return undefined;
          });
      if (there) return there.result;
      if (there === null && isAsked) {
        throw new TypeError(
          `${op}: "backend" expected "wasm" for float64, nested or resident values and for training, got "webgpu"`,
        );
      }
    }
  }
  return callOn(wasm, op, inputs, options);
}

// Activations whose arithmetic takes wasm so long that memory hardly counts: in gradients, and of 16-bit values that are not summed.
const DEAR_BACKWARD: readonly unknown[] = ["silu", "gelu", "gelu_tanh", "sigmoid", "tanh"];
const DEAR_HALVES: readonly unknown[] = ["gelu", "tanh"];

function costOf(op: OpName, bytesOfElement: number, activation: unknown): Cost {
  const backward = op.endsWith("Backward");
  const dear = backward ? DEAR_BACKWARD : bytesOfElement === 2 ? DEAR_HALVES : [];
  const isDear = dear.includes(activation) && !op.startsWith("add");
  return isDear || op === "localResponseNorm" ? "arithmetic" : "memory";
}

/** Whether a call with values in memory is worth the way to a GPU and back. */
function pays(op: OpName, x: unknown, { activation }: Record<string, unknown>): boolean {
  const array = arrayOf(x);
  if (array === undefined) return false;
  return array.byteLength >= THRESHOLD_BYTES[costOf(op, array.BYTES_PER_ELEMENT, activation)];
}

function callOn(where: object, op: OpName, inputs: readonly unknown[], options: unknown): unknown {
  const functions = where as Record<OpName, (...args: unknown[]) => unknown>;
  try {
    return functions[op](...inputs, options);
  } catch (error) {
    throw withBackend(error);
  }
}

/** What lists the known options knows nothing of this one. */
function withBackend(error: unknown): unknown {
  if (error instanceof TypeError) {
    error.message = error.message.replace('"options" expected only ', "$&backend, ");
  }
  return error;
}

function isOnGpu(x: unknown): boolean {
  if (typeof x !== "object" || x === null || ArrayBuffer.isView(x)) return false;
  if ("location" in x) return x.location === "gpu-buffer";
  return "gpuBuffer" in x || "tensorRef" in x || ("buffer" in x && "shape" in x);
}
