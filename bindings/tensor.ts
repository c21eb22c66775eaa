// Resident tensors: elements that stay in wasm memory between calls.
import { count, type Dims, show } from "./dims.js";
import { DTYPES, type OwnArray, ownArray } from "./dtypes.js";
import { describe, outOfMemory, wrongType, wrongValue } from "./errors.js";
import { INSPECT, type Inspecting, inspected, nameClass } from "./names.js";
import type { DataOf, DType, WithDispose } from "./types.js";
import type { WasmBackend } from "./wasm_backend.js";

/**
 * Wasm memory with owners (tensors, plans); freed with the last of them.
 * @internal
 */
export class Block {
  #owners = 0;

  constructor(
    readonly backend: WasmBackend,
    readonly address: number,
  ) {}

  retain(): void {
    this.#owners++;
  }

  release(): void {
    this.#owners--;
    if (this.#owners === 0) this.backend.release(this.address);
  }
}

/**
 * One owner's hold on a block.
 * @internal
 */
export class Owner {
  /** Undefined once given up. */
  block: Block | undefined;

  constructor(block: Block) {
    block.retain();
    this.block = block;
  }

  release(): void {
    const { block } = this;
    this.block = undefined;
    block?.release();
  }
}

/**
 * Gives up what a forgotten tensor or plan held. Undefined where the engine has no such thing, as Cloudflare's Workers of
 * older compatibility dates: what is not disposed there stays.
 * @internal
 */
export const forgotten =
  typeof FinalizationRegistry === "undefined"
    ? undefined
    : new FinalizationRegistry<{ release(): void }>((held) => held.release());

/**
 * Lets `using` dispose of a class's objects, where the engine knows it.
 * @internal
 */
export function makeDisposable(prototype: { dispose(): void }): void {
  if (Symbol.dispose === undefined) return;
  const method = { value: prototype.dispose, configurable: true, writable: true };
  Object.defineProperty(prototype, Symbol.dispose, method);
}

// A view keeps its tensor: the collector must not free memory that is still looked at.
const viewed = new WeakMap<object, Tensor>();
// The Float16Array over each view of bits.
const owns = new WeakMap<object, OwnArray>();

/** @internal */
export interface TensorState {
  readonly owner: Owner;
  readonly address: number;
  readonly dims: Dims;
  readonly dtype: DType;
  readonly size: number;
}

/**
 * The inside of a tensor, or undefined for any other value.
 * @internal
 */
export let stateOf: (value: object) => TensorState | undefined;

/**
 * Whether a value is an object of named things: no array, typed array, Map or tensor.
 * @internal
 */
export function isPlain(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !ArrayBuffer.isView(value) &&
    !(value instanceof Map) &&
    stateOf(value) === undefined
  );
}

/**
 * Throws unless a value is an object of named things.
 * @internal
 */
export function requirePlain(
  where: string,
  name: string,
  value: unknown,
  expected = "an object",
): asserts value is Record<string, unknown> {
  if (isPlain(value)) return;
  const got = value instanceof Map ? "a Map" : value instanceof Tensor ? "a Tensor" : undefined;
  throw wrongType(where, name, expected, got ?? describe(value));
}

/**
 * A tensor over part of a block.
 * @internal
 */
export let tensorIn: <D extends DType>(
  block: Block,
  address: number,
  dims: Dims,
  dtype: D,
) => Tensor<D>;

/**
 * Why a tensor cannot be used, or undefined.
 * @internal
 */
export function fault(state: TensorState): string | undefined {
  const { block } = state.owner;
  if (block === undefined) return "a disposed tensor";
  return block.backend.lost ? "a tensor lost by dispose()" : undefined;
}

/**
 * Elements in wasm memory. Made by `tensor`, `zeros` and calls on resident tensors; freed by `dispose()`, or by the
 * collector once the event loop turns.
 */
export class Tensor<D extends DType = DType> {
  readonly #state: TensorState;

  private constructor(state: TensorState) {
    if (!(state?.owner instanceof Owner)) {
      throw new TypeError("Tensor: expected a call of tensor() or zeros(), got new Tensor");
    }
    this.#state = state;
    forgotten?.register(this, state.owner, state.owner);
  }

  static {
    stateOf = (value) => (#state in value ? value.#state : undefined);
    tensorIn = (block, address, dims, dtype) => {
      const own = Object.freeze([...dims]);
      const owner = new Owner(block);
      return new Tensor({ owner, address, dims: own, dtype, size: count(own) });
    };
    nameClass(Tensor, "Tensor");
    makeDisposable(Tensor.prototype);
  }

  /** The dimensions. */
  get shape(): readonly number[] {
    return this.#state.dims;
  }

  /** The element type. */
  get dtype(): D {
    return this.#state.dtype as D;
  }

  /**
   * The elements, as a live view of wasm memory: what is written there, the next call reads. Read `data` anew after other
   * calls of this package; a view that is kept can be detached by them. With `init({ threads })` its buffer is a
   * SharedArrayBuffer.
   *
   * @throws {TypeError} if the tensor was disposed, or lost by `dispose()`
   */
  get data(): DataOf<D> {
    const elements = this.#live("data").backend.viewOf(this.#state);
    let view = owns.get(elements);
    if (view === undefined) {
      view = ownArray(elements, this.dtype);
      owns.set(elements, view);
      viewed.set(view, this);
    }
    return view as DataOf<D>;
  }

  /**
   * Rows `begin` to `end` (not included) of the first dimension: a tensor over the same memory, which it keeps alive.
   *
   * @throws {TypeError} if the tensor was disposed or lost, or an argument is no number
   * @throws {RangeError} if there are no such rows
   * @example
   * const x = zeros([8, 768]);
   * x.rows(2, 4).data.fill(1); // rows 2 and 3 of x
   */
  rows(begin = 0, end: number | undefined = this.#state.dims[0]): Tensor<D> {
    const block = this.#live("rows");
    const { dims, dtype, size, address } = this.#state;
    const [length, ...rest] = dims;
    if (length === undefined) {
      throw wrongValue("rows", "shape", "at least one dimension", show(dims));
    }
    const last = readRow("end", end, length);
    const first = readRow("begin", begin, last);
    const bytes = length === 0 ? 0 : (size / length) * DTYPES[dtype].bytes;
    return tensorIn(block, address + first * bytes, [last - first, ...rest], dtype as D);
  }

  /** Gives the memory up. Harmless when done twice. */
  dispose(): void {
    const { owner } = this.#state;
    forgotten?.unregister(owner);
    owner.release();
  }

  /** @internal */
  [INSPECT](_depth: unknown, ...how: Inspecting): string {
    const { shape, dtype } = this;
    const gone = fault(this.#state);
    const shown = gone === undefined ? { shape, dtype, data: this.data } : { shape, dtype, gone };
    return inspected("Tensor", shown, ...how);
  }

  #live(name: string): Block {
    const got = fault(this.#state);
    if (got !== undefined) throw wrongType("Tensor", name, "a live tensor", got);
    return this.#state.owner.block!;
  }
}

// The static block defines it where the engine knows the symbol.
// biome-ignore lint/correctness/noUnusedVariables: merging takes the same parameters
export interface Tensor<D extends DType = DType> extends WithDispose {}

function readRow(name: string, value: unknown, most: number): number {
  if (typeof value !== "number") throw wrongType("rows", name, "an integer", describe(value));
  if (!Number.isInteger(value) || value < 0 || value > most) {
    throw wrongValue("rows", name, `an integer from 0 to ${most}`, describe(value));
  }
  return value;
}

/**
 * A tensor in memory of its own, with whatever was there before.
 * @internal
 */
export function allocateTensor<D extends DType>(
  where: string,
  backend: WasmBackend,
  dims: Dims,
  dtype: D,
): Tensor<D> {
  const bytes = count(dims) * DTYPES[dtype].bytes;
  const address = backend.allocate(bytes);
  if (address === 0) throw outOfMemory(where, bytes);
  return tensorIn(new Block(backend, address), address, dims, dtype);
}
