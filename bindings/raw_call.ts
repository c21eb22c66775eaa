// A descriptor in wasm memory. It remembers what it holds, so that only what changes costs a call into wasm: for short rows
// those calls take longer than the kernel.
import type { Descriptor, View } from "./descriptor.js";
import type { Dims } from "./dims.js";
import { outOfMemory } from "./errors.js";
import type { MainModule, Operand as Role } from "./generated/raw.js";
import type { DType } from "./types.js";

/** The raw module, as the glue gives it. */
export type Raw = MainModule & {
  readonly wasmMemory: { readonly buffer: ArrayBuffer };
  /** Serve the operands that are set as remote: n elements from `begin` on, to or from an address. */
  read?: (role: Role, begin: number, n: number, address: number) => void;
  write?: (role: Role, begin: number, n: number, address: number) => void;
};

export type { Role };

/**
 * The same by its prototype. The glue fills its objects name by name, which makes hash tables of them; an engine that makes
 * prototypes quick to read spares each call some fifteen look-ups, as long as a short row takes.
 */
export function quick(raw: Raw): Raw {
  const { Operand, DType } = raw;
  const copy: Raw = Object.create(raw);
  return Object.assign(copy, { Operand: Object.create(Operand), DType: Object.create(DType) });
}

// What an operand is set to; -1 as an address stands for a number, or for nothing.
class Slot {
  address = -1;
  dtype: DType = "float32";
  size = 0;
  number: number | undefined = undefined;
  remote = false;
  readonly strides: number[] = [];
}

const NOWHERE: Dims = [];

export class RawCall {
  readonly #raw: Raw;
  readonly handle: number;
  readonly #slots: readonly Slot[];

  // What is set, by the descriptor it came from.
  #op: string | undefined;
  #backward = false;
  #dtype: DType | undefined;
  #activation: string | undefined;
  #roundNormalized = false;
  #unbiased = true;
  #eps = Number.NaN;
  #weightOffset = Number.NaN;
  #momentum = Number.NaN;
  #rank = 0;
  readonly #sizes: number[] = [];
  readonly #reduced: boolean[] = [];

  constructor(raw: Raw, where: string) {
    this.#raw = raw;
    this.handle = raw.create_call() >>> 0;
    if (this.handle === 0) throw outOfMemory(where);
    const slots: Slot[] = [];
    for (const name in raw.Operand) slots[raw.Operand[name as keyof Raw["Operand"]]] = new Slot();
    this.#slots = slots;
  }

  /** Sets everything but the operands. */
  describe(d: Descriptor): void {
    const raw = this.#raw;
    const { kernel, dtype, activation, roundNormalized, unbiased, window } = d;
    const backward = d.gradients !== undefined;
    if (
      kernel !== this.#op ||
      backward !== this.#backward ||
      dtype !== this.#dtype ||
      activation !== this.#activation ||
      roundNormalized !== this.#roundNormalized ||
      unbiased !== this.#unbiased
    ) {
      // What calls of the other kind alone have must not stay remote: where anything is, the core stages values in the arena, in
      // which those of forward calls may stand already.
      if (backward !== this.#backward) {
        for (const [role, slot] of this.#slots.entries())
          this.#setRemote(role as Role, slot, false);
      }
      this.#op = kernel;
      this.#backward = backward;
      this.#dtype = dtype;
      this.#activation = activation;
      this.#roundNormalized = roundNormalized;
      this.#unbiased = unbiased;
      raw.set_op(
        this.handle,
        raw.Op[kernel],
        backward,
        raw.DType[dtype],
        raw.Activation[activation ?? "none"],
        roundNormalized,
        unbiased,
      );
    }
    const { eps, weightOffset, momentum } = d;
    if (eps !== this.#eps || weightOffset !== this.#weightOffset || momentum !== this.#momentum) {
      this.#eps = eps;
      this.#weightOffset = weightOffset;
      this.#momentum = momentum;
      raw.set_scalars(this.handle, eps, weightOffset, momentum);
    }
    if (window !== undefined) {
      raw.set_window(this.handle, window.size, window.alpha, window.beta, window.k);
    }
    this.#setView(d.view);
  }

  #setView(view: View): void {
    if (view.length !== this.#rank) {
      this.#rank = view.length;
      this.#raw.set_rank(this.handle, view.length);
    }
    for (let i = 0; i < view.length; i++) this.setDim(i, view[i]!.size, view[i]!.reduced);
  }

  setDim(dim: number, size: number, reduced: boolean): void {
    if (size === this.#sizes[dim] && reduced === this.#reduced[dim]) return;
    this.#sizes[dim] = size;
    this.#reduced[dim] = reduced;
    this.#raw.set_dim(this.handle, dim, size, reduced);
  }

  /** Sets an operand to what stands at an address; a parameter also has strides. */
  setTensor(
    role: Role,
    address: number,
    dtype: DType,
    size: number,
    strides: Dims = NOWHERE,
    remote = false,
  ): void {
    const slot = this.#slots[role]!;
    if (address !== slot.address || dtype !== slot.dtype || size !== slot.size) {
      slot.address = address;
      slot.dtype = dtype;
      slot.size = size;
      this.#raw.set_tensor(this.handle, role, address, this.#raw.DType[dtype], size);
    }
    this.#setRemote(role, slot, remote);
    for (let i = 0; i < strides.length; i++) {
      const stride = strides[i]!;
      if (stride === (slot.strides[i] ?? 0)) continue;
      slot.strides[i] = stride;
      this.#raw.set_stride(this.handle, role, i, stride);
    }
  }

  /** Sets a parameter to a number for all elements, or to none. */
  setNumber(role: Role, number: number | undefined): void {
    const slot = this.#slots[role]!;
    if (slot.address === -1 && Object.is(number, slot.number)) return;
    slot.address = -1;
    slot.number = number;
    slot.strides.length = 0;
    this.#setRemote(role, slot, false);
    if (number === undefined) this.#raw.set_none(this.handle, role);
    else this.#raw.set_number(this.handle, role, number);
  }

  /** Sets where the gradient of an operand goes, or that none is wanted. */
  setGradient(
    of: Role,
    role: Role,
    wanted: boolean,
    sums: number,
    data: number,
    dtype: DType,
    size: number,
    remote: boolean,
  ): void {
    const raw = this.#raw;
    raw.set_gradient(this.handle, of, wanted, sums, data, raw.DType[dtype], size);
    this.#setRemote(role, this.#slots[role]!, remote);
  }

  #setRemote(role: Role, slot: Slot, remote: boolean): void {
    if (remote === slot.remote) return;
    slot.remote = remote;
    this.#raw.set_remote(this.handle, role, remote);
  }

  run(): void {
    this.#raw.run(this.handle);
  }
}
