// What all layers have in common: parameters and buffers, the mode, and what backward needs of the last forward.
import type { Dims } from "../dims.js";
import { describe, wrongType, wrongValue } from "../errors.js";
import { inlined } from "../inlined.js";
import { INSPECT, type Inspecting, inspected } from "../names.js";
import { OPS } from "../ops.js";
import { shared } from "../shared.js";
import { makeDisposable } from "../tensor.js";
import type { DType, Input, Like, WithDispose } from "../types.js";
import { readForwardShape } from "./arguments.js";
import { type Gradients, gradientsOf, type Learned } from "./gradients.js";
import {
  floatBuffer,
  type LoadableStateDict,
  type LoadOptions,
  type LoadResult,
  loadState,
  Parameter,
  type State,
  type StateDict,
  saveState,
} from "./state.js";

/** What a forward call was, for its backward. */
interface Done {
  readonly op: Learned;
  readonly x: Input;
  /** All but the layer's parameters. */
  readonly options: Record<string, unknown>;
}

/** The parameters of all layers. */
interface Affine {
  readonly weight?: Parameter | null | undefined;
  readonly bias?: Parameter | null | undefined;
}

/** A layer: an operation with parameters of its own. */
export abstract class Layer {
  /** Whether the layer is in training mode, as it is at first. See `train` and `eval`. */
  training = true;
  readonly #name: string;
  #states: State[] | undefined = [];
  #done: Done | undefined;

  /** @internal */
  protected constructor(name: string) {
    this.#name = name;
  }

  /** @internal */
  get [Symbol.toStringTag](): string {
    return this.#name;
  }

  /** @internal */
  [INSPECT](_depth: unknown, ...how: Inspecting): string {
    return inspected(this.#name, { ...this }, ...how);
  }

  /** @internal */
  protected addParameter<D extends DType>(
    name: string,
    shape: Dims,
    dtype: D,
    value: 0 | 1,
  ): Parameter<D> {
    return this.addState(new Parameter(this.#name, name, shape, dtype, value));
  }

  /** @internal */
  protected addBuffer<D extends DType>(name: string, shape: Dims, dtype: D, value: 0 | 1) {
    return this.addState(floatBuffer(this.#name, name, shape, dtype, value));
  }

  /** @internal */
  protected addState<S extends State>(state: S): S {
    this.#states!.push(state);
    return state;
  }

  /**
   * The options of a forward call: x's dimensions, if it is flat.
   * @internal
   */
  protected readForward(options: unknown): Dims | undefined {
    this.live("forward");
    return readForwardShape(this.#name, options);
  }

  /**
   * Runs an operation, and keeps what backward needs of it; `once` are options for the forward alone.
   * @internal
   */
  protected run<X extends Input>(
    op: Learned,
    x: X,
    { weight, bias }: Affine,
    options: Record<string, unknown>,
    once: Record<string, unknown> = {},
  ): Like<X> {
    this.#requireOwn({ weight, bias });
    const y = shared.call(OPS[op], inlined, x, { ...options, ...once, weight, bias });
    this.#done = { op, x, options };
    return y;
  }

  /**
   * Checks the number of channels of x, and returns whether it has any elements.
   * @internal
   */
  protected checkChannels(
    x: unknown,
    shape: Dims | undefined,
    layout: string,
    channels: number,
  ): boolean {
    const dims = dimsOf(x, shape);
    if (dims === undefined || dims.length < 2) return true;
    const got = dims.at(layout === "channels_last" ? -1 : 1);
    if (got !== channels) throw wrongValue(this.#name, "x", `${channels} channels`, `${got}`);
    return !dims.includes(0);
  }

  /**
   * The gradients of the last forward, each used once.
   * @internal
   */
  protected runBackward(gradOutput: Input, { weight, bias }: Affine): Gradients {
    this.live("backward");
    if (this.#done === undefined) {
      throw wrongType(this.#name, "backward", "a forward call before each of its calls", "none");
    }
    this.#requireOwn({ weight, bias });
    const { op, x, options } = this.#done;
    for (const parameter of this.parameters()) parameter.requireGrad();
    const gradients = gradientsOf(op, gradOutput, x, {
      ...options,
      weight: weight?.exact,
      bias: bias?.exact,
    });
    this.#done = undefined;
    if (weight) weight.accumulate(elementsOf(gradients.gradWeight));
    if (bias) bias.accumulate(elementsOf(gradients.gradBias));
    return gradients;
  }

  // JavaScript lets what is read-only in TypeScript be set.
  #requireOwn(affine: Affine): void {
    for (const [name, parameter] of Object.entries(affine)) {
      if (parameter == null || this.#states!.includes(parameter)) continue;
      const wanted = "the layer's own parameter, whose data can be written";
      throw wrongType(this.#name, name, wanted, describe(parameter));
    }
  }

  /** @internal */
  protected live(name: string): State[] {
    if (this.#states === undefined) {
      throw wrongType(this.#name, name, "a live layer", "a disposed one");
    }
    return this.#states;
  }

  /** The parameters, in PyTorch's order: each a tensor-like object with `name`, `data`, `shape`, `dtype` and `grad`. */
  parameters(): Parameter[] {
    return this.live("parameters").filter((state) => state instanceof Parameter);
  }

  /** Sets all gradients to 0. */
  zeroGrad(): void {
    const parameters = this.parameters();
    for (const parameter of parameters) parameter.requireGrad();
    for (const parameter of parameters) parameter.zeroGrad();
  }

  /** A copy of all parameters and buffers, by PyTorch's names. */
  stateDict(): StateDict {
    return saveState(this.#name, this.live("stateDict"));
  }

  /**
   * Loads parameters and buffers, converted to the layer's element type, from tensors of any kind by name, such as those of
   * `parseSafetensors`. With `prefix` only the entries below it count, so that a whole model's file can be given. A missing
   * `num_batches_tracked` is left as it is, as PyTorch does. Returns PyTorch's `missingKeys` and `unexpectedKeys`.
   *
   * @throws {TypeError} if the dict or the options are of the wrong kind, or the layer's own memory was detached
   * @throws {RangeError} for missing, unknown (unless `strict` is false), wrongly shaped or unreadable entries: one error
   *   names all, and nothing is loaded
   */
  loadStateDict(stateDict: LoadableStateDict, options?: LoadOptions): LoadResult {
    return loadState(this.#name, this.live("loadStateDict"), stateDict, options);
  }

  /** Training mode, or with `false` that of `eval`: of meaning to layers with running statistics alone. */
  train(mode = true): this {
    this.live("train");
    if (typeof mode !== "boolean") {
      throw wrongType(this.#name, "mode", "a boolean", describe(mode));
    }
    this.training = mode;
    return this;
  }

  /** Inference mode: layers with running statistics normalize with these. */
  eval(): this {
    return this.train(false);
  }

  /** Gives up parameters and what is kept for `backward`. Other calls then throw a TypeError. Harmless when done twice. */
  dispose(): void {
    this.#states = undefined;
    this.#done = undefined;
  }

  static {
    makeDisposable(Layer.prototype);
  }
}

// The static block defines it where the engine knows the symbol.
export interface Layer extends WithDispose {}

/**
 * A gradient's elements: parameters are tensor-like objects, and so are their gradients.
 * @internal
 */
export function elementsOf(gradient: unknown): ArrayLike<number> {
  return (gradient as { data: ArrayLike<number> }).data;
}

/** x's dimensions, as far as they can be seen; undefined for what the operation refuses. */
function dimsOf(x: unknown, shape: unknown): readonly unknown[] | undefined {
  if (typeof x !== "object" || x === null) return undefined;
  const { dims, shape: own } = x as { dims?: unknown; shape?: unknown };
  const given = dims ?? own ?? shape;
  if (Array.isArray(given)) return given;
  const nested: unknown[] = [];
  for (let at: unknown = x; Array.isArray(at); at = at[0]) nested.push(at.length);
  return nested.length > 0 ? nested : undefined;
}
