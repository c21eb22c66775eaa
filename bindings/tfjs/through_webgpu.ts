// The operations on TensorFlow.js's webgpu backend: on its device, in its buffers, recorded where it records its own. Nothing is
// read back.
import { backend, engine, getBackend, type Tensor, type TensorInfo } from "@tensorflow/tfjs-core";
import type { GPUBufferLike, GPUCommandEncoderLike, GPUDeviceLike } from "../gpu/device_like.js";
import { WebGpuNorm } from "../webgpu.js";
import { isTensor, type Parameter, parameterShape } from "./composed.js";
import type { Call, Computer, Gradients } from "./computed.js";

/** What of the backend is used. */
interface WebGpuBackend {
  readonly device: GPUDeviceLike;
  readonly tensorMap: { get(dataId: object): { readonly resource?: unknown } };
  /** Tensors whose memory is not to be used again before the commands are submitted. */
  readonly commandQueueOwnedIds: { add(dataId: object): unknown };
  readonly commandEncoder: GPUCommandEncoderLike;
  ensureCommandEncoderReady(): void;
  endComputePassEncoder(): void;
  /** Makes sure that a tensor has a buffer, with its values if it has some. */
  uploadToGPU(dataId: object): void;
  makeTensorInfo(shape: number[], dtype: string): TensorInfo;
}

const USED = [
  "device",
  "tensorMap",
  "commandQueueOwnedIds",
  "ensureCommandEncoderReady",
  "endComputePassEncoder",
  "uploadToGPU",
  "makeTensorInfo",
];

/** The backend in use, if it is TensorFlow.js's webgpu and has what is used of it. */
function webGpuBackend(): WebGpuBackend | undefined {
  if (getBackend() !== "webgpu") return undefined;
  const found = backend() as Record<string, unknown>;
  return USED.every((name) => found[name] !== undefined)
    ? (found as unknown as WebGpuBackend)
    : undefined;
}

/** Whether the backend in use keeps tensors in buffers that this package's kernels can be run on. */
export function runsOnWebGpu(): boolean {
  return webGpuBackend() !== undefined;
}

const norms = new WeakMap<GPUDeviceLike, WebGpuNorm>();

function normOn(device: GPUDeviceLike): WebGpuNorm {
  let norm = norms.get(device);
  if (norm === undefined) {
    norm = new WebGpuNorm(device);
    norms.set(device, norm);
  }
  return norm;
}

/** One call: its tensors as the kernels take them, the results as tensors, in the backend's commands. */
class Recording {
  readonly #norm: WebGpuNorm;
  readonly #backend = webGpuBackend()!;
  readonly #results = new Map<string, TensorInfo>();
  readonly #shapes: Record<string, number[]>;

  /** `shapes` of the results, by name. */
  constructor(shapes: Record<string, number[]>) {
    this.#norm = normOn(this.#backend.device);
    this.#shapes = shapes;
  }

  /** A tensor where it stands. */
  at({ dataId, shape }: TensorInfo) {
    this.#backend.uploadToGPU(dataId);
    this.#backend.commandQueueOwnedIds.add(dataId);
    return { buffer: this.#backend.tensorMap.get(dataId).resource as GPUBufferLike, shape };
  }

  /** The options of a call, and where it is recorded. */
  options({ places, recipe, weight, bias }: Call) {
    const { eps, weightOffset } = recipe;
    const read = (parameter: Parameter) => (isTensor(parameter) ? this.at(parameter) : parameter);
    const affine = { weight: read(weight), bias: read(bias) };
    // The gradient of a number is nobody's.
    const allocate = (_bytes: number, name: string) => {
      if (this.#shapes[name] === undefined) return undefined;
      const info = this.#backend.makeTensorInfo(this.#shapes[name], "float32");
      this.#results.set(name, info);
      return this.at(info).buffer;
    };
    return { ...places, eps, weightOffset, ...affine, allocate };
  }

  /** Records an operation among the backend's own commands. Uploads are commands too: no more of them from here on. */
  run(name: string, inputs: object[], options: object): void {
    const commands = this.#backend;
    commands.ensureCommandEncoderReady();
    commands.endComputePassEncoder();
    const functions = this.#norm as unknown as Record<string, (...given: object[]) => unknown>;
    functions[name]!(...inputs, { ...options, encoder: commands.commandEncoder });
    // What WebGPU finds at fault later is told as the backend's own faults are: on the console.
    this.#norm.done().catch((error) => console.error(error));
  }

  tensor(name: string): Tensor {
    return engine().makeTensorFromTensorInfo(this.#results.get(name)!);
  }
}

export const throughWebGpu: Computer = {
  forward(made: Call): Tensor {
    const recording = new Recording({ output: made.x.shape });
    const x = recording.at(made.x);
    const options = recording.options(made);
    recording.run(made.name, [x], options);
    return recording.tensor("output");
  },

  backward(made: Call, dy: Tensor): Gradients {
    const { name, x, weight, bias } = made;
    const { geometry } = made.recipe;
    const shape = parameterShape(geometry);
    const shapes: Record<string, number[]> = { gradInput: x.shape };
    if (isTensor(weight)) shapes.gradWeight = shape;
    if (isTensor(bias)) shapes.gradBias = shape;
    const recording = new Recording(shapes);
    const inputs = [recording.at(dy), recording.at(x)];
    const options = recording.options(made);
    if (name === "instanceNorm") {
      // An instance is a group of one channel.
      const numGroups = geometry.dims[geometry.channel]!;
      recording.run("groupNormBackward", inputs, { ...options, numGroups });
    } else {
      recording.run(`${name}Backward`, inputs, options);
    }
    const tensor = (result: string) => () => recording.tensor(result);
    return {
      gradInput: tensor("gradInput"),
      gradWeight: isTensor(weight) ? tensor("gradWeight") : undefined,
      gradBias: isTensor(bias) ? tensor("gradBias") : undefined,
    };
  },
};
