// What the entry uses of its peers, so that it compiles without them: users have their own types. tests/tfjs compiles the
// entry's declarations and its uses against the real ones.
declare module "@tensorflow/tfjs-core" {
  export interface TensorInfo {
    dataId: object;
    shape: number[];
    dtype: string;
  }

  export interface Tensor extends TensorInfo {
    readonly size: number;
    readonly rank: number;
    readonly isDisposed: boolean;
    dataSync(): Float32Array;
    dispose(): void;
  }

  type Save = (tensors: Tensor[]) => void;
  type Custom = { value: Tensor; gradFunc: (dy: Tensor, saved: Tensor[]) => Tensor[] };

  export function customGrad(
    f: (...args: (Tensor | Save)[]) => Custom,
  ): (...inputs: Tensor[]) => Tensor;
  export function tidy<T>(f: () => T): T;

  export function tensor(values: Float32Array, shape: number[], dtype: string): Tensor;
  export function zerosLike(x: Tensor): Tensor;
  export function add(a: Tensor, b: Tensor | number): Tensor;
  export function sub(a: Tensor | number, b: Tensor): Tensor;
  export function mul(a: Tensor, b: Tensor | number): Tensor;
  export function square(x: Tensor): Tensor;
  export function rsqrt(x: Tensor): Tensor;
  export function sigmoid(x: Tensor): Tensor;
  export function tanh(x: Tensor): Tensor;
  export function mean(x: Tensor, axis: number[], keepDims: boolean): Tensor;
  export function sum(x: Tensor, axis: number[], keepDims?: boolean): Tensor;
  export function matMul(a: Tensor, b: Tensor): Tensor;
  export function reshape(x: Tensor, shape: number[]): Tensor;
  export function transpose(x: Tensor, permutation: number[]): Tensor;
  export function split(x: Tensor, sizes: number[] | number, axis: number): Tensor[];
  export function concat(tensors: Tensor[], axis?: number): Tensor;

  export function getBackend(): string;
  export function backend(): unknown;
  export function engine(): { makeTensorFromTensorInfo(info: TensorInfo): Tensor };

  export namespace serialization {
    type ConfigDict = { [key: string]: unknown };
    function registerClass(cls: unknown): unknown;
  }
}

declare module "@tensorflow/tfjs-layers" {
  import type { serialization, Tensor } from "@tensorflow/tfjs-core";

  export type Shape = (number | null)[];

  export interface LayerVariable {
    read(): Tensor;
  }

  interface Initializer {
    apply(shape: number[], dtype?: string): Tensor;
  }

  export namespace layers {
    interface LayerArgs {
      [name: string]: unknown;
    }
    class Layer {
      constructor(args?: object);
      supportsMasking: boolean;
      built: boolean;
      addWeight(
        name: string,
        shape: number[],
        dtype: string,
        initializer: Initializer,
        regularizer?: unknown,
        trainable?: boolean,
        constraint?: unknown,
      ): LayerVariable;
      build(inputShape: Shape | Shape[]): void;
      call(inputs: Tensor | Tensor[], kwargs: object): Tensor | Tensor[];
      invokeCallHook(inputs: Tensor | Tensor[], kwargs: object): void;
      getClassName(): string;
      getConfig(): serialization.ConfigDict;
    }
    abstract class RNNCell extends Layer {
      stateSize: number | number[];
    }
    function batchNormalization(args: object): Layer;
    function lstmCell(args: object): Layer;
  }

  export namespace initializers {
    function ones(): Initializer;
    function zeros(): Initializer;
  }
}
