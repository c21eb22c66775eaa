// Runs descriptors in wasm. What is resident is read and written where it stands; typed arrays of any length go through one
// arena of a fixed size: many short runs at a time in one piece each, anything else by pieces that the core asks for.
import type { Descriptor, Placed } from "./descriptor.js";
import { bufferOf, byteOffsetOf, copyInto, DTYPES, type Elements, part } from "./dtypes.js";
import { outOfMemory } from "./errors.js";
import { DIFFERENTIABLE, GRADIENTS } from "./gradients.js";
import { Operand } from "./operands.js";
import { quick, type Raw, RawCall, type Role } from "./raw_call.js";
import type { TensorState } from "./tensor.js";
import type { DType } from "./types.js";

// Bytes of rows at a time: 64 KB to 128 KB measured best, it stays in the second-level cache with its parameters.
const CHUNK_BYTES = 128 * 1024;
// Bytes of other runs at a time, which then are read once where they fit.
const STAGE_BYTES = 256 * 1024;
// Bytes of all parameters together that are copied once per call; what does not fit is read in pieces.
const PARAMETER_BYTES = 256 * 1024;
// Elements that are copied one by one: to make a view of so few costs more.
const FEW = 32;
// Runs whose statistics are kept at a time.
const STATISTICS_RUNS = 2048;
const ARENA_BYTES = STAGE_BYTES + PARAMETER_BYTES + 2 * STATISTICS_RUNS * 8;

const RESULTS = ["y", "sum", "mean", "rstd"] as const;

export class WasmBackend {
  #lost = false;
  #raw: Raw;
  /** Serves all calls but plans. */
  #call: RawCall;
  readonly #chunk: number;
  readonly #parameters: number;
  readonly #mean: number;
  readonly #rstd: number;

  /** The arrays that the core reads and writes piece by piece in the call under way, by role. */
  readonly #remote: (Operand | undefined)[] = [];
  /** Their memory, once a piece of it was asked for: to ask an array for it is a call out of compiled code. */
  readonly #buffers: (ArrayBufferLike | undefined)[] = [];
  // Views of all memory, which is kept for the same reason; they lose their length when it grows.
  #memory = new ArrayBuffer(0) as ArrayBufferLike;
  #float32 = new Float32Array();
  #float64 = new Float64Array();
  #uint16 = new Uint16Array();
  // What the call is set to, if that is rows in arrays and may be run again: others are not kept alive.
  #rows: Descriptor | undefined;
  // The part of the chunk that the last call wrote.
  #results: Elements = this.#float32;
  #views = new WeakMap<TensorState, Elements>();

  constructor(raw: Raw) {
    this.#raw = quick(raw);
    raw.read = (role, begin, n, address) => this.#read(role, begin, n >>> 0, address >>> 0);
    raw.write = (role, begin, n, address) => this.#write(role, begin, n >>> 0, address >>> 0);
    this.#chunk = this.allocate(ARENA_BYTES);
    this.#parameters = this.#chunk + STAGE_BYTES;
    this.#mean = this.#parameters + PARAMETER_BYTES;
    this.#rstd = this.#mean + STATISTICS_RUNS * 8;
    if (this.#chunk === 0) throw outOfMemory("layernorm", ARENA_BYTES);
    raw.set_stage(this.#chunk, STAGE_BYTES);
    this.#call = new RawCall(this.#raw, "layernorm");
  }

  /** Whether the package's dispose() has given this backend up. */
  get lost(): boolean {
    return this.#lost;
  }

  /** Gives the instance and its memory to the collector, also where tensors still point here. */
  lose(): void {
    this.#lost = true;
    this.#raw = undefined as never;
    this.#call = undefined as never;
    this.#memory = new ArrayBuffer(0);
    this.#float32 = new Float32Array();
    this.#float64 = new Float64Array();
    this.#uint16 = new Uint16Array();
    this.#results = this.#float32;
    this.#views = new WeakMap();
  }

  /** All of wasm memory. */
  get buffer(): ArrayBufferLike {
    this.#heap("float32");
    return this.#memory;
  }

  /** The address of fresh memory, or 0 when there is none. Views of memory that were handed out may be detached by it. */
  allocate(bytes: number): number {
    // Addresses have 32 bits; more would wrap around.
    const address = bytes < 2 ** 32 ? this.#raw.allocate(bytes) >>> 0 : 0;
    this.#look();
    return address;
  }

  release(address: number): void {
    if (!this.#lost) this.#raw.release(address);
  }

  view(dtype: DType, address: number, size: number): Elements {
    return new DTYPES[dtype].array(this.buffer, address, size);
  }

  /** A tensor's elements: the same view until memory grows. */
  viewOf(state: TensorState): Elements {
    let view = this.#views.get(state);
    if (view === undefined || view.buffer !== this.buffer) {
      view = this.view(state.dtype, state.address, state.size);
      this.#views.set(state, view);
    }
    return view;
  }

  /** An operand as it is, or by its address if its array is a view of wasm memory, which growth would detach. */
  pin(operand: Operand): Operand {
    const { array, kind, dtype, dims, size } = operand;
    if (array === undefined || bufferOf(array) !== this.buffer) return operand;
    const address = byteOffsetOf(array);
    const pinned = new Operand(kind, dtype, dims, undefined, address);
    pinned.size = size;
    return pinned;
  }

  elementsOf({ array, dtype, address, size }: Operand): Elements {
    return array ?? this.view(dtype, address, size);
  }

  /** The address of some bytes of the arena that no backward call uses, behind those used already; 0 where there are none. */
  scratch(used: number, bytes: number): number {
    return used + bytes <= CHUNK_BYTES ? this.#chunk + used : 0;
  }

  /** Copies as many elements as an operand has to it from another, each rounded once where types differ. */
  convert(from: Operand, to: Operand): void {
    const { array, dtype } = from;
    const { size } = to;
    if (dtype === to.dtype) {
      const source = this.elementsOf(from);
      copyInto(this.elementsOf(to), part(source, bufferOf(source), dtype, 0, size), 0);
      return;
    }
    const { DType } = this.#raw;
    // Where they are not in wasm memory, they go through the part of the arena that is the parameters'.
    const rooms = [this.#parameters, this.#parameters + PARAMETER_BYTES / 2] as const;
    const most = array === undefined && to.array === undefined ? size : PARAMETER_BYTES / 16;
    for (let begin = 0; begin < size; begin += most) {
      const n = Math.min(most, size - begin);
      const source = array === undefined ? from.address + begin * DTYPES[dtype].bytes : rooms[0];
      const target =
        to.array === undefined ? to.address + begin * DTYPES[to.dtype].bytes : rooms[1];
      if (array !== undefined) this.#enter(from, begin, n, source);
      this.#raw.convert(DType[dtype], source, DType[to.dtype], target, n);
      if (to.array !== undefined) this.#leave(to, begin, n, target);
    }
  }

  /** Runs a complete descriptor, which then may be the same again. Allocates nothing in wasm memory. */
  run(d: Descriptor, isKept: boolean): void {
    if (d.x.size === 0 && d.gradients === undefined) return;
    const call = this.#call;
    let whole = d === this.#rows;
    if (whole) {
      this.#enterAgain(d);
    } else {
      this.#rows = undefined;
      call.describe(d);
      whole =
        this.#placeParameters(call, d) &&
        d.gradients === undefined &&
        d.x.array !== undefined &&
        isRows(d);
    }
    if (whole) {
      this.#batch(call, d);
      if (isKept) this.#rows = d;
      return;
    }
    this.#place(call, d);
    call.run();
    if (this.#remote.length !== 0) this.#forget();
  }

  /** The handle of a descriptor in wasm memory of its own, all of whose operands are resident. */
  prepare(d: Descriptor): number {
    const call = new RawCall(this.#raw, d.op.name);
    this.#look();
    call.describe(d);
    this.#placeParameters(call, d);
    this.#place(call, d);
    return call.handle;
  }

  runPrepared(handle: number): void {
    this.#raw.run(handle);
  }

  destroyPrepared(handle: number): void {
    if (!this.#lost) this.#raw.destroy_call(handle);
  }

  /**
   * Sets the parameters, copied to the arena if they do not stand in wasm memory, or as remote. Whether none is remote, the
   * residual aside.
   */
  #placeParameters(call: RawCall, d: Descriptor): boolean {
    const roles = this.#raw.Operand;
    // Numbers and absent ones first: plain fields, since looking names up costs more than the kernel of a short row.
    if (typeof d.residual !== "object") call.setNumber(roles.residual, d.residual);
    if (typeof d.gate !== "object") call.setNumber(roles.gate, d.gate);
    if (typeof d.sumBias !== "object") call.setNumber(roles.sumBias, d.sumBias);
    if (typeof d.weight !== "object") call.setNumber(roles.weight, d.weight);
    if (typeof d.bias !== "object") call.setNumber(roles.bias, d.bias);
    if (typeof d.scale !== "object") call.setNumber(roles.scale, d.scale);
    if (typeof d.shift !== "object") call.setNumber(roles.shift, d.shift);
    if (typeof d.runningMean !== "object") call.setNumber(roles.runningMean, d.runningMean);
    if (typeof d.runningVar !== "object") call.setNumber(roles.runningVar, d.runningVar);
    if (d.gradients !== undefined) {
      call.setNumber(roles.givenMean, undefined);
      call.setNumber(roles.givenRstd, undefined);
    }
    let free = this.#parameters;
    let whole = true;
    for (const { name, operand, strides } of d.placed) {
      const role = roles[name];
      const { array, dtype, size, address } = operand;
      const bytes = paddedBytes(operand);
      const updated =
        d.kernel !== "batch_norm" && (name === "runningMean" || name === "runningVar");
      if (array === undefined) {
        call.setTensor(role, address, dtype, size, strides);
      } else if (name === "residual" || updated || free + bytes > this.#mean) {
        this.#serve(role, operand);
        call.setTensor(role, 0, dtype, size, strides, true);
        whole &&= name === "residual";
      } else {
        this.#enter(operand, 0, size, free);
        call.setTensor(role, free, dtype, size, strides);
        free += bytes;
      }
    }
    return whole;
  }

  /** Sets x and the results to where they stand, or as remote. */
  #place(call: RawCall, d: Descriptor): void {
    const roles = this.#raw.Operand;
    this.#placeOne(call, roles.x, d.x);
    for (const name of RESULTS) this.#placeOne(call, roles[name], d[name]);
    if (d.gradients === undefined) return;
    this.#placeOne(call, roles.gradOutput, d.gradOutput);
    this.#placeOne(call, roles.gradSum, d.gradSum);
    for (const name of DIFFERENTIABLE) this.#placeGradient(call, d, name);
  }

  #placeGradient(
    call: RawCall,
    { gradients }: Descriptor,
    name: (typeof DIFFERENTIABLE)[number],
  ): void {
    const of = this.#raw.Operand[name];
    const role = this.#raw.Operand[GRADIENTS[name]];
    const gradient = gradients!.find((each) => each.name === name);
    const { sums, target, size = 0, whole } = gradient ?? {};
    // What the core reads and writes: the sums, or the gradient itself where there are none.
    const served = whole ? target : sums;
    const isRemote = served?.array !== undefined;
    if (isRemote) this.#serve(role, served);
    const data = target?.array === undefined ? target?.address : 0;
    call.setGradient(
      of,
      role,
      gradient !== undefined,
      sums?.address ?? 0,
      data ?? 0,
      target?.dtype ?? "float64",
      size,
      isRemote,
    );
  }

  #placeOne(call: RawCall, role: Role, operand: Operand | undefined): void {
    const isRemote = operand?.array !== undefined;
    if (isRemote) this.#serve(role, operand);
    const address = operand === undefined || isRemote ? 0 : operand.address;
    call.setTensor(
      role,
      address,
      operand?.dtype ?? "float64",
      operand?.size ?? 0,
      undefined,
      isRemote,
    );
  }

  /** Copies the parameters of a descriptor to where they were copied when it was set. */
  #enterAgain(d: Descriptor): void {
    let free = this.#parameters;
    for (const { name, operand } of d.placed) {
      if (operand.array === undefined || name === "residual") continue;
      this.#enter(operand, 0, operand.size, free);
      free += paddedBytes(operand);
    }
  }

  /** As many whole rows at a time as the chunk holds, normalized in place there. */
  #batch(call: RawCall, d: Descriptor): void {
    const roles = this.#raw.Operand;
    const { dtype, view, x, y, sum, mean, rstd } = d;
    const residual = typeof d.residual === "object" ? d.residual.operand : undefined;
    const { bytes } = DTYPES[dtype];
    const last = view.length - 1;
    const n = view[last]!.size;
    const runs = last === 0 ? 1 : view[0]!.size;
    // With a residual, the sum takes its place in the second half of the chunk.
    const room = residual === undefined ? CHUNK_BYTES : CHUNK_BYTES / 2;
    const second = this.#chunk + room;
    let rows = Math.min(runs, Math.floor(room / bytes / n));
    if (rstd !== undefined) rows = Math.min(rows, STATISTICS_RUNS);
    call.setTensor(roles.x, this.#chunk, dtype, 0);
    call.setTensor(roles.y, this.#chunk, dtype, 0);
    call.setTensor(roles.sum, residual === undefined ? 0 : second, dtype, 0);
    call.setTensor(roles.mean, mean === undefined ? 0 : this.#mean, "float64", 0);
    call.setTensor(roles.rstd, rstd === undefined ? 0 : this.#rstd, "float64", 0);
    for (let row = 0; row < runs; row += rows) {
      const count = Math.min(rows, runs - row);
      if (last > 0) call.setDim(0, count, false);
      this.#enter(x, row * n, count * n, this.#chunk);
      if (residual !== undefined) {
        this.#enter(residual, row * n, count * n, second);
        const { strides } = d.residual as Placed;
        call.setTensor(roles.residual, second, dtype, count * n, strides);
      }
      call.run();
      this.#leave(y!, row * n, count * n, this.#chunk);
      if (sum !== undefined) this.#leave(sum, row * n, count * n, second);
      if (mean !== undefined) this.#leave(mean, row, count, this.#mean);
      if (rstd !== undefined) this.#leave(rstd, row, count, this.#rstd);
    }
    if (this.#remote.length !== 0) this.#forget();
  }

  /** Copies n elements of an array to an address. */
  #enter(
    { array, dtype, size }: Operand,
    begin: number,
    n: number,
    address: number,
    buffer?: ArrayBufferLike,
  ): void {
    const heap = this.#heap(dtype);
    const at = address / DTYPES[dtype].bytes;
    if (n <= FEW) {
      for (let i = 0; i < n; i++) heap[at + i] = array![begin + i]!;
      return;
    }
    const source = n === size ? array! : part(array!, buffer ?? bufferOf(array!), dtype, begin, n);
    copyInto(heap, source, at);
  }

  /** Copies n elements from an address to an array. */
  #leave({ array, dtype }: Operand, begin: number, n: number, address: number): void {
    if (n <= FEW) {
      const heap = this.#heap(dtype);
      const at = address / DTYPES[dtype].bytes;
      for (let i = 0; i < n; i++) array![begin + i] = heap[at + i]!;
      return;
    }
    let view = this.#results;
    // A view that growth has detached has no length. To ask for its buffer would take longer than to copy a short row.
    if (
      view.length !== n ||
      view.byteOffset !== address ||
      !(view instanceof DTYPES[dtype].array)
    ) {
      view = this.view(dtype, address, n);
      this.#results = view;
    }
    copyInto(array!, view, begin);
  }

  // A call that was broken off has left what it knew.
  #serve(role: Role, operand: Operand | undefined): void {
    this.#remote[role] = operand;
    this.#buffers[role] = undefined;
  }

  #forget(): void {
    this.#remote.length = this.#buffers.length = 0;
  }

  // The core asks for pieces of what is remote.
  #read(role: Role, begin: number, n: number, address: number): void {
    const operand = this.#remote[role]!;
    this.#buffers[role] ??= bufferOf(operand.array!);
    this.#enter(operand, begin, n, address, this.#buffers[role]);
  }

  #write(role: Role, begin: number, n: number, address: number): void {
    this.#leave(this.#remote[role]!, begin, n, address);
  }

  /** Forgets the views of memory that has grown: those of shared memory keep their length. */
  #look(): void {
    if (this.#memory !== this.#raw.wasmMemory.buffer) this.#float32 = new Float32Array();
  }

  #heap(dtype: DType): Elements {
    if (this.#float32.length === 0) {
      const { buffer } = this.#raw.wasmMemory;
      this.#memory = buffer;
      this.#float32 = new Float32Array(buffer);
      this.#float64 = new Float64Array(buffer);
      this.#uint16 = new Uint16Array(buffer);
    }
    return dtype === "float32" ? this.#float32 : dtype === "float64" ? this.#float64 : this.#uint16;
  }
}

function paddedBytes({ size, dtype }: Operand): number {
  return (size * DTYPES[dtype].bytes + 15) & -16;
}

// Whether runs are whole rows of which the chunk holds some, and parameters the same for all.
function isRows(d: Descriptor): boolean {
  const { view, dtype, x, residual } = d;
  const last = view.length - 1;
  const { size, reduced } = view[last]!;
  if (!reduced || last > 1 || (last === 1 && view[0]!.reduced)) return false;
  const halves = residual === undefined ? 1 : 2;
  if (size * DTYPES[dtype].bytes * halves > CHUNK_BYTES) return false;
  if (typeof residual === "object") {
    const { operand } = residual;
    if (operand.array === undefined || operand.dtype !== dtype || operand.size !== x.size)
      return false;
  }
  if (last === 1) {
    for (const { name, strides } of d.placed) {
      if (name !== "residual" && strides[0] !== 0) return false;
    }
  }
  return true;
}
