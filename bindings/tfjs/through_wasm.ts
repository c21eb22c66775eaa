// The operations on TensorFlow.js's wasm and cpu backends, whose memory this package's wasm can read: forward and gradient.
import {
  backend,
  customGrad,
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
import {
  gradBiasGradient,
  gradInputGradients,
  gradWeightGradients,
  isTensor,
  type Parameter,
  parameterShape,
  type Recipe,
} from "./composed.js";
import type { TfOp } from "./ops.js";

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

/** A call whose tensors may have been replaced by others of the same shapes. */
interface Call {
  readonly name: TfOp;
  /** The options that say which dimensions are normalized. */
  readonly places: Record<string, unknown>;
  readonly recipe: Recipe;
  readonly x: Tensor;
  readonly weight: Parameter;
  readonly bias: Parameter;
}

const tensorsOf = ({ x, weight, bias }: Call) => [x, ...[weight, bias].filter(isTensor)];

/** The operation's options. Elements are read where they stand: the call has to follow at once. */
function optionsOf({ places, recipe, weight, bias }: Call, memory: WasmMemory | undefined) {
  const read = (parameter: Parameter) =>
    isTensor(parameter) ? { data: elements(parameter, memory), shape: parameter.shape } : parameter;
  const { eps, weightOffset } = recipe;
  return { ...places, eps, weightOffset, weight: read(weight), bias: read(bias) };
}

export function throughWasm(made: Call): Tensor {
  return withGradient(
    tensorsOf(made),
    () => forward(made),
    (dy, [x, ...parameters]) => {
      // What TensorFlow.js has kept: the call's own tensors may be disposed by now.
      const weight = isTensor(made.weight) ? parameters.shift()! : made.weight;
      const bias = isTensor(made.bias) ? parameters.shift()! : made.bias;
      return backward({ ...made, x: x!, weight, bias }, dy);
    },
  );
}

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

/** The gradients of x and of those parameters that are tensors. */
function backward(made: Call, dy: Tensor): Tensor[] {
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

  const inputs = isTensor(weight) ? [dy, x, weight] : [dy, x];
  const results = [
    withGradient(inputs, make(gradInput, x.shape), (u, [dy, x, w]) =>
      gradInputGradients(recipe, [dy!, x!, w ?? weight], u),
    ),
  ];
  if (isTensor(weight)) {
    results.push(
      withGradient([dy, x], make(gradWeight!, shape), (q, [dy, x]) =>
        gradWeightGradients(recipe, dy!, x!, q),
      ),
    );
  }
  if (isTensor(bias)) {
    results.push(
      withGradient([dy], make(gradBias!, shape), (q, [dy]) => [gradBiasGradient(recipe, dy!, q)]),
    );
  }
  return results;
}

/** A value that was computed elsewhere, of some tensors, with its gradients for them. */
function withGradient(
  inputs: Tensor[],
  value: () => Tensor,
  gradient: (dy: Tensor, saved: Tensor[]) => Tensor[],
): Tensor {
  return customGrad((...args) => {
    const save = args[inputs.length] as (tensors: Tensor[]) => void;
    save(inputs);
    return { value: value(), gradFunc: gradient };
  })(...inputs);
}
