// A descriptor in wasm memory. It remembers what it holds, so that only what changes costs a call into wasm: for short rows
// those calls take longer than the kernel.
import { outOfMemory } from "./errors.js";
import type { MainModule, Op as RawOp, Operand as Role } from "./generated/raw.js";
import type { DType } from "./types.js";

/** The raw module, as the glue gives it. */
export type Raw = MainModule & { readonly wasmMemory: { readonly buffer: ArrayBuffer } };

export type { Role };

// What an operand is set to; -1 as an address stands for a number, or for nothing.
class Slot {
  address = -1;
  dtype: DType = "float32";
  size = 0;
  number: number | undefined = undefined;
}

export class RawCall {
  readonly #raw: Raw;
  readonly handle: number;
  readonly #slots: readonly Slot[];

  #op: RawOp | -1 = -1;
  #dtype: DType = "float32";
  #outer = 0;
  #channels = 0;
  #eps = Number.NaN;
  #weightOffset = Number.NaN;

  constructor(raw: Raw, where: string) {
    this.#raw = raw;
    this.handle = raw.create_call() >>> 0;
    if (this.handle === 0) throw outOfMemory(where);
    this.#slots = Object.values(raw.Operand).map(() => new Slot());
  }

  setDims(op: RawOp, dtype: DType, outer: number, channels: number): void {
    if (
      op === this.#op &&
      dtype === this.#dtype &&
      outer === this.#outer &&
      channels === this.#channels
    ) {
      return;
    }
    this.#op = op;
    this.#dtype = dtype;
    this.#outer = outer;
    this.#channels = channels;
    this.#raw.set_dims(this.handle, op, this.#raw.DType[dtype], outer, channels);
  }

  setScalars(eps: number, weightOffset: number): void {
    if (eps === this.#eps && weightOffset === this.#weightOffset) return;
    this.#eps = eps;
    this.#weightOffset = weightOffset;
    this.#raw.set_scalars(this.handle, eps, weightOffset);
  }

  setTensor(role: Role, address: number, dtype: DType, size: number): void {
    const slot = this.#slots[role]!;
    if (address === slot.address && dtype === slot.dtype && size === slot.size) return;
    slot.address = address;
    slot.dtype = dtype;
    slot.size = size;
    this.#raw.set_tensor(this.handle, role, address, this.#raw.DType[dtype], size);
  }

  /** Sets a parameter to a number for all elements, or to none. */
  setNumber(role: Role, number: number | undefined): void {
    const slot = this.#slots[role]!;
    if (slot.address === -1 && Object.is(number, slot.number)) return;
    slot.address = -1;
    slot.number = number;
    if (number === undefined) this.#raw.set_none(this.handle, role);
    else this.#raw.set_number(this.handle, role, number);
  }

  run(): void {
    this.#raw.run(this.handle);
  }

  /** Begins the statistics of one run. */
  begin(): void {
    this.#raw.stream_begin(this.handle);
  }

  add(n: number): void {
    this.#raw.stream_add(this.handle, n);
  }

  /** Whether the values must be added once more. */
  nextPass(): boolean {
    return this.#raw.stream_next_pass(this.handle);
  }

  write(n: number): void {
    this.#raw.stream_write(this.handle, n);
  }

  get mean(): number {
    return this.#raw.stream_mean(this.handle);
  }

  get rstd(): number {
    return this.#raw.stream_rstd(this.handle);
  }
}
