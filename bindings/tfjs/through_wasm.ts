// The operations on TensorFlow.js's wasm and cpu backends, whose memory this package's wasm can read: forward and gradient.
import {
  backend,
  engine,
  getBackend,
  type Tensor,
  type TensorInfo,
  tensor,
} from "@tensorflow/tfjs-core";
import { inlined } from "../inlined.js";
import { gradientsOf } from "../nn/gradients.js";
import { OPS } from "../ops.js";
import { shared } from "../shared.js";
import { isTensor, type Parameter, parameterShape } from "./composed.js";
import type { Call, Computer, Gradients } from "./computed.js";

/** Whether the backend in use keeps tensors where this package's wasm can read them. */
export function runsOnWasm(): boolean {
  return ["wasm", "cpu"].includes(getBackend());
}

/** What TensorFlow.js's wasm backend offers to kernels. */
interface WasmMemory {
  readonly dataIdMap: { has(dataId: object): boolean };
  /** A view; other calls can detach it. */
  typedArrayFromHeap(tensor: TensorInfo): Float32Array;
  makeOutput(shape: number[], dtype: string): TensorInfo;
  disposeData(dataId: object): unknown;
}

function wasmMemory(): WasmMemory | undefined {
  if (getBackend() !== "wasm") return undefined;
  const memory = backend() as Partial<WasmMemory>;
  const isThere = memory.typedArrayFromHeap && memory.makeOutput && memory.dataIdMap;
  return isThere ? (memory as WasmMemory) : undefined;
}

/** A tensor's elements where they stand, or a copy. */
function elements(x: Tensor, memory: WasmMemory | undefined): Float32Array {
  return memory?.dataIdMap.has(x.dataId) ? memory.typedArrayFromHeap(x) : x.dataSync();
}

type Like = { data: Float32Array; shape: number[] };

/** The operation's options. Elements are read where they stand: the call has to follow at once. */
function optionsOf({ places, recipe, weight, bias }: Call, memory: WasmMemory | undefined) {
  const read = (parameter: Parameter) =>
    isTensor(parameter) ? { data: elements(parameter, memory), shape: parameter.shape } : parameter;
  const { eps, weightOffset } = recipe;
  return { ...places, eps, weightOffset, weight: read(weight), bias: read(bias) };
}

export const throughWasm: Computer = { forward, backward };

function forward(made: Call): Tensor {
  const { name, x } = made;
  const memory = wasmMemory();
  if (memory === undefined) {
    const input = { data: x.dataSync(), shape: x.shape };
    const { data } = shared.call(OPS[name], inlined, input, optionsOf(made, undefined)) as Like;
    return tensor(data, x.shape, "float32");
  }
  // Before any view is taken, since this can detach them.
  const y = memory.makeOutput(x.shape, "float32");
  try {
    const out = memory.typedArrayFromHeap(y);
    const input = { data: elements(x, memory), shape: x.shape };
    shared.call(OPS[name], inlined, input, { ...optionsOf(made, memory), out });
  } catch (error) {
    memory.disposeData(y.dataId);
    throw error;
  }
  return engine().makeTensorFromTensorInfo(y);
}

function backward(made: Call, dy: Tensor): Gradients {
  const { name, recipe, x, weight, bias } = made;
  const memory = wasmMemory();
  const { gradInput, gradWeight, gradBias } = gradientsOf(
    name,
    { data: elements(dy, memory), shape: dy.shape },
    { data: elements(x, memory), shape: x.shape },
    optionsOf(made, memory),
  ) as { gradInput: Like; gradWeight: Like | null; gradBias: Like | null };
  const shape = parameterShape(recipe.geometry);
  const make =
    ({ data }: Like, shape: number[]) =>
    () =>
      tensor(data, shape, "float32");
  return {
    gradInput: make(gradInput, x.shape),
    gradWeight: isTensor(weight) ? make(gradWeight!, shape) : undefined,
    gradBias: isTensor(bias) ? make(gradBias!, shape) : undefined,
  };
}
