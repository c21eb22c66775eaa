// Runs descriptors in wasm. Results and typed arrays of any length stream through one arena of a fixed size; what is
// resident is read and written where it stands.
import type { Descriptor, ParameterValue } from "./descriptor.js";
import { bufferOf, byteOffsetOf, copyInto, DTYPES, part } from "./dtypes.js";
import { outOfMemory } from "./errors.js";
import { Operand } from "./operands.js";
import { type Raw, RawCall, type Role } from "./raw_call.js";
import type { TensorState } from "./tensor.js";
import type { DType, FloatArray } from "./types.js";

// Bytes of x at a time: 64 KB to 128 KB measured best, it stays in the second-level cache with its parameters.
const CHUNK_BYTES = 128 * 1024;
// Bytes of each of weight and bias. Longer ones are copied piece by piece, so this must hold the 8192 elements of any type
// that the core looks at before a run begins (RunStream::kWeighed).
const PARAMETER_BYTES = 64 * 1024;
// Rows whose statistics are kept at a time.
const STATISTICS_ROWS = 2048;
const ARENA_BYTES = CHUNK_BYTES + 2 * PARAMETER_BYTES + 2 * STATISTICS_ROWS * 8;
// Pieces of a run are multiples of this, but for the last (RunStream::kPiece).
const PIECE = 64;

export class WasmBackend {
  #lost = false;
  #raw: Raw;
  /** Serves all calls but plans. */
  #call: RawCall;
  readonly #chunk: number;
  readonly #weight: number;
  readonly #bias: number;
  readonly #mean: number;
  readonly #rstd: number;

  // Views of all memory; they lose their length when it grows.
  #float32 = new Float32Array();
  #float64 = new Float64Array();
  // The part of the chunk that the last call wrote, by element type.
  #results: Record<DType, FloatArray> = { float32: this.#float32, float64: this.#float64 };
  #views = new WeakMap<TensorState, FloatArray>();

  constructor(raw: Raw) {
    this.#raw = raw;
    this.#chunk = this.allocate(ARENA_BYTES);
    this.#weight = this.#chunk + CHUNK_BYTES;
    this.#bias = this.#weight + PARAMETER_BYTES;
    this.#mean = this.#bias + PARAMETER_BYTES;
    this.#rstd = this.#mean + STATISTICS_ROWS * 8;
    if (this.#chunk === 0) throw outOfMemory("layernorm", ARENA_BYTES);
    this.#call = new RawCall(raw, "layernorm");
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
    this.#float32 = new Float32Array();
    this.#float64 = new Float64Array();
    this.#results = { float32: this.#float32, float64: this.#float64 };
    this.#views = new WeakMap();
  }

  /** All of wasm memory. */
  get buffer(): ArrayBufferLike {
    return this.#heap("float32").buffer;
  }

  /** The address of fresh memory, or 0 when there is none. Views of memory that were handed out may be detached by it. */
  allocate(bytes: number): number {
    // Addresses have 32 bits; more would wrap around.
    return bytes < 2 ** 32 ? this.#raw.allocate(bytes) >>> 0 : 0;
  }

  release(address: number): void {
    if (!this.#lost) this.#raw.release(address);
  }

  view(dtype: DType, address: number, size: number): FloatArray {
    return new DTYPES[dtype].array(this.buffer, address, size);
  }

  /** A tensor's elements: the same view until memory grows. */
  viewOf(state: TensorState): FloatArray {
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
    const pinned = new Operand(kind, dtype, dims, undefined, address, undefined, undefined);
    pinned.size = size;
    return pinned;
  }

  elementsOf({ array, dtype, address, size }: Operand): FloatArray {
    return array ?? this.view(dtype, address, size);
  }

  /** Runs a complete descriptor. Allocates nothing in wasm memory. */
  run(d: Descriptor): void {
    if (d.split.outer === 0) return;
    const call = this.#call;
    const { weight, bias } = this.#raw.Operand;
    this.#describe(call, d);
    const weightFits = this.#place(call, weight, d.weight, this.#weight);
    const biasFits = this.#place(call, bias, d.bias, this.#bias);
    if (!weightFits || !biasFits) {
      this.#stream(call, d);
    } else if (d.x.array === undefined) {
      this.#point(call, d);
      call.run();
    } else if (d.split.channels * DTYPES[d.dtype].bytes > CHUNK_BYTES) {
      this.#stream(call, d);
    } else {
      this.#batch(call, d);
    }
  }

  /** The handle of a descriptor in wasm memory of its own, all of whose operands are resident. */
  prepare(d: Descriptor): number {
    const call = new RawCall(this.#raw, d.op.name);
    const { weight, bias } = this.#raw.Operand;
    this.#describe(call, d);
    this.#place(call, weight, d.weight, 0);
    this.#place(call, bias, d.bias, 0);
    this.#point(call, d);
    return call.handle;
  }

  runPrepared(handle: number): void {
    this.#raw.run(handle);
  }

  destroyPrepared(handle: number): void {
    if (!this.#lost) this.#raw.destroy_call(handle);
  }

  #describe(call: RawCall, { op, dtype, split, eps, weightOffset }: Descriptor): void {
    call.setDims(this.#raw.Op[op.kernel], dtype, split.outer, split.channels);
    call.setScalars(eps, weightOffset);
  }

  /** Sets a parameter, copied to an area of the arena if it does not stand in wasm memory. False if it does not fit. */
  #place(call: RawCall, role: Role, value: ParameterValue, area: number): boolean {
    if (typeof value !== "object") {
      call.setNumber(role, value);
      return true;
    }
    const { array, size, dtype } = value;
    if (array !== undefined && size * DTYPES[dtype].bytes > PARAMETER_BYTES) return false;
    this.#enter(call, role, value, 0, size, area);
    return true;
  }

  /** Sets n elements of an operand, copied to an area of the arena if they do not stand in wasm memory. */
  #enter(call: RawCall, role: Role, o: Operand, begin: number, n: number, area: number): void {
    const { array, dtype, size } = o;
    const { bytes } = DTYPES[dtype];
    if (array === undefined) {
      call.setTensor(role, o.address + begin * bytes, dtype, n);
      return;
    }
    copyInto(this.#heap(dtype), n === size ? array : part(array, dtype, begin, n), area / bytes);
    call.setTensor(role, area, dtype, n);
  }

  /** Sets everything but the parameters to where it stands in wasm memory. */
  #point(call: RawCall, { x, y, mean, rstd }: Descriptor): void {
    const roles = this.#raw.Operand;
    call.setTensor(roles.x, x.address, x.dtype, x.size);
    call.setTensor(roles.y, y!.address, x.dtype, x.size);
    call.setTensor(roles.mean, mean?.address ?? 0, "float64", 0);
    call.setTensor(roles.rstd, rstd?.address ?? 0, "float64", 0);
  }

  /** As many whole rows at a time as the chunk holds, normalized in place there. */
  #batch(call: RawCall, d: Descriptor): void {
    const roles = this.#raw.Operand;
    const { dtype, x, mean, rstd } = d;
    const { outer, channels } = d.split;
    const fitting = Math.floor(CHUNK_BYTES / DTYPES[dtype].bytes / channels);
    const rows = Math.min(outer, rstd === undefined ? fitting : Math.min(fitting, STATISTICS_ROWS));
    call.setTensor(roles.y, this.#chunk, dtype, 0);
    call.setTensor(roles.mean, mean === undefined ? 0 : this.#mean, "float64", 0);
    call.setTensor(roles.rstd, rstd === undefined ? 0 : this.#rstd, "float64", 0);
    for (let row = 0; row < outer; row += rows) {
      const n = Math.min(rows, outer - row);
      call.setDims(this.#raw.Op[d.op.kernel], dtype, n, channels);
      this.#enter(call, roles.x, x, row * channels, n * channels, this.#chunk);
      call.run();
      this.#leave(d, row * channels, n * channels);
      if (mean !== undefined) copyInto(mean.array!, this.view("float64", this.#mean, n), row);
      if (rstd !== undefined) copyInto(rstd.array!, this.view("float64", this.#rstd, n), row);
    }
  }

  /** Run by run, each in pieces. */
  #stream(call: RawCall, d: Descriptor): void {
    const roles = this.#raw.Operand;
    const { dtype, x, weight, bias, mean, rstd } = d;
    const y = d.y!;
    const { outer, channels } = d.split;
    const { bytes } = DTYPES[dtype];
    const size = pieceSize(d);
    for (let row = 0; row < outer; row++) {
      const first = row * channels;
      call.begin();
      do {
        for (let at = 0; at < channels; at += size) {
          const n = Math.min(size, channels - at);
          this.#enter(call, roles.x, x, first + at, n, this.#chunk);
          call.add(n);
        }
      } while (call.nextPass());
      for (let at = 0; at < channels; at += size) {
        const n = Math.min(size, channels - at);
        const target = y.array === undefined ? y.address + (first + at) * bytes : this.#chunk;
        this.#enter(call, roles.x, x, first + at, n, this.#chunk);
        call.setTensor(roles.y, target, dtype, n);
        if (typeof weight === "object") {
          this.#enter(call, roles.weight, weight, at, n, this.#weight);
        }
        if (typeof bias === "object") this.#enter(call, roles.bias, bias, at, n, this.#bias);
        call.write(n);
        if (y.array !== undefined) this.#leave(d, first + at, n);
      }
      if (mean !== undefined) this.#keep(mean, row, call.mean);
      if (rstd !== undefined) this.#keep(rstd, row, call.rstd);
    }
  }

  /** Copies n elements from the chunk to y. */
  #leave({ dtype, y }: Descriptor, begin: number, n: number): void {
    let view = this.#results[dtype];
    if (view.length !== n) {
      view = this.view(dtype, this.#chunk, n);
      this.#results[dtype] = view;
    }
    copyInto(y!.array!, view, begin);
  }

  /** Writes one row's statistic. */
  #keep({ array, address }: Operand, row: number, value: number): void {
    if (array === undefined) this.#heap("float64")[address / 8 + row] = value;
    else array[row] = value;
  }

  #heap(dtype: DType): FloatArray {
    if (this.#float32.length === 0) {
      const { buffer } = this.#raw.wasmMemory;
      this.#float32 = new Float32Array(buffer);
      this.#float64 = new Float64Array(buffer);
    }
    return dtype === "float32" ? this.#float32 : this.#float64;
  }
}

// The largest piece for which the arena has room.
function pieceSize({ x, weight, bias }: Descriptor): number {
  let size = x.array === undefined ? Infinity : CHUNK_BYTES / DTYPES[x.dtype].bytes;
  for (const value of [weight, bias]) {
    if (typeof value === "object" && value.array !== undefined) {
      size = Math.min(size, PARAMETER_BYTES / DTYPES[value.dtype].bytes);
    }
  }
  return size - (size % PIECE);
}
