// Dispatches from kernels: cut where bindings are too small for what a kernel sees, folded where workgroups are too many, and with
// those operands in one binding that share a buffer which is written.
import { wrongValue } from "../errors.js";
import type { GPUBufferLike, GPULimitsLike } from "./device_like.js";
import type { Subgroups } from "./form.js";
import type { GpuDType } from "./gpu_tensor.js";
import { type Access, bindingType, type StoredType } from "./shaders.js";
import { type Axis, type Box, reachIn, slabsOf } from "./slabs.js";
import { MOST_DIMS, Uniform } from "./uniform.js";
import {
  accessOf,
  BLOCK,
  BYTES,
  type Dispatch,
  dimsOf,
  type Kernel,
  type Memory,
  product,
  sharesWithWritten,
  type Use,
} from "./uses.js";

export class Emitter {
  readonly dispatches: Dispatch[] = [];
  readonly #where: string;
  readonly #limits: GPULimitsLike;
  readonly #scratch: (name: string, bytes: number) => GPUBufferLike;

  constructor(
    where: string,
    limits: GPULimitsLike,
    readonly subgroups: Subgroups | undefined,
    scratch: (name: string, bytes: number) => GPUBufferLike,
  ) {
    this.#where = where;
    this.#limits = limits;
    this.#scratch = scratch;
  }

  /** Memory by name between the dispatches of one call. */
  scratch(name: string, count: number, dtype: StoredType): Memory {
    const bytes = count * BYTES[dtype];
    const { maxBufferSize: most } = this.#limits;
    if (bytes > most) {
      const expected = `what needs at most ${most} bytes in between (the device's maxBufferSize)`;
      throw wrongValue(this.#where, "x", expected, `${bytes}`);
    }
    return { buffer: this.#scratch(name, bytes), offset: 0, dtype };
  }

  slabs(
    view: readonly Axis[],
    uses: readonly Use[],
    cuts = view.length,
    must = true,
  ): Box[] | undefined {
    // Bindings begin at multiples of the alignment.
    const most =
      this.#limits.maxStorageBufferBindingSize - this.#limits.minStorageBufferOffsetAlignment;
    const outer = view.slice(0, cuts);
    const inner = view.slice(cuts).map(({ size }) => size);
    const reaches = uses.map(({ memory, strides, tail: own = 0 }) => {
      let tail = own;
      for (const [i, size] of inner.entries()) tail += (size - 1) * strides[cuts + i]!;
      return { bytes: BYTES[memory.dtype], strides: strides.slice(0, cuts), tail };
    });
    const boxes = slabsOf(outer, reaches, most);
    if (boxes !== undefined) {
      return boxes.map(({ begin, size }) => ({
        begin: [...begin, ...inner.map(() => 0)],
        size: [...size, ...inner],
      }));
    }
    if (!must) return undefined;
    const need = Math.max(...reaches.map((reach) => reach.bytes * (1 + reach.tail)));
    throw wrongValue(
      this.#where,
      "x",
      `at most ${most} bytes in one binding (the device's maxStorageBufferBindingSize)`,
      `${need}`,
    );
  }

  /** Whether x and y begin where so many elements side by side may be accessed at once. */
  areAligned(uses: readonly Use[], many = 4): boolean {
    return (
      uses.every(
        ({ role, memory }) =>
          (role !== "x" && role !== "y") || memory.offset % (many * BYTES[memory.dtype]) === 0,
      ) && !sharesWithWritten(uses)
    );
  }

  /** Adds the dispatches of a kernel: one for each box that bindings can hold. */
  emit(kernel: Kernel, must = true, given?: readonly Box[]): boolean {
    const { view, uses } = kernel;
    if (view.length > MOST_DIMS) {
      throw wrongValue(
        this.#where,
        "x",
        `at most ${MOST_DIMS} dimensions that cannot be joined`,
        `${view.length}`,
      );
    }
    const { maxStorageBuffersPerShaderStage: most } = this.#limits;
    const boxes = given ?? this.slabs(view, uses, kernel.cuts, must);
    if (boxes === undefined) return false;
    for (const box of boxes) {
      const x = uses.filter(({ role }) => role === "x" || role === "y");
      const quads =
        kernel.canQuads(box) &&
        !sharesWithWritten(uses) &&
        x.every(({ memory, strides }) => {
          const bytes = BYTES[memory.dtype];
          const [first] = reachIn({ bytes, strides }, box);
          return (memory.offset / bytes + first) % (kernel.blocks ? BLOCK : 4) === 0;
        });
      const made = kernel.make(box, quads);
      const { bindings, accesses, types, bases } = this.#bind(kernel, box, quads);
      if (bindings.length > most) {
        if (!must) return false;
        throw wrongValue(
          this.#where,
          "options",
          `at most ${most} tensors in one dispatch (the device's maxStorageBuffersPerShaderStage)`,
          `${bindings.length}`,
        );
      }
      const uniform = new Uniform(kernel.constants, dimsOf(kernel, box));
      const kept = kernel.byRuns ? view.filter((axis) => !axis.reduced).length : view.length;
      uniform.set("kept", kept).set("reduced", view.length - kept);
      uniform.set("total", product(box.size));
      for (const { use, base } of bases) uniform.set(use.base, base, use.slot ?? 0);
      made.fill(uniform);
      this.dispatches.push({
        program: {
          kernel: kernel.kernel,
          parts: made.parts,
          dtype: (x[0]?.memory.dtype ?? "float32") as GpuDType,
          accesses,
          numbers: kernel.numbers ?? {},
          absent: kernel.absent ?? [],
          bindings: types,
          overrides: made.parts.includes("moments")
            ? { subnormals: +uniform.subnormals, ...made.overrides }
            : made.overrides,
        },
        uniform,
        bindings,
        workgroups: this.#fold(made.workgroups),
      });
    }
    return true;
  }

  #fold(workgroups: number): [number, number] {
    const most = this.#limits.maxComputeWorkgroupsPerDimension;
    if (workgroups <= most) return [workgroups, 1];
    const y = Math.ceil(workgroups / most);
    if (y > most) {
      throw wrongValue(
        this.#where,
        "x",
        `at most ${most ** 2} workgroups (the square of the device's maxComputeWorkgroupsPerDimension)`,
        `${workgroups}`,
      );
    }
    return [Math.ceil(workgroups / y), y];
  }

  /** The bindings of a box. Operands that share a buffer which is written stand in one: two would alias. */
  #bind(kernel: Kernel, box: Box, quads: boolean) {
    const align = this.#limits.minStorageBufferOffsetAlignment;
    const groups: { buffer: GPUBufferLike; uses: Use[]; written: boolean }[] = [];
    for (const use of kernel.uses) {
      const { buffer } = use.memory;
      const shared = kernel.uses.some((other) => other.written && other.memory.buffer === buffer);
      const group = shared ? groups.find((each) => each.buffer === buffer) : undefined;
      if (group === undefined) groups.push({ buffer, uses: [use], written: use.written ?? false });
      else {
        group.uses.push(use);
        group.written ||= use.written ?? false;
      }
    }
    const bindings: { buffer: GPUBufferLike; offset: number; size: number }[] = [];
    const accesses: Access[] = [];
    const types: { written: boolean; type: string }[] = [];
    const bases: { use: Use; base: number }[] = [];
    for (const [binding, { buffer, uses, written }] of groups.entries()) {
      const ends = uses.map((use) => {
        const { memory, strides, tail = 0 } = use;
        const bytes = BYTES[memory.dtype];
        const [first, last] = reachIn({ bytes, strides, tail }, box);
        return {
          use,
          bytes,
          begin: memory.offset + first * bytes,
          end: memory.offset + last * bytes,
        };
      });
      const begin = Math.min(...ends.map((each) => each.begin));
      const offset = begin - (begin % align);
      const size = Math.ceil((Math.max(...ends.map(({ end }) => end)) - offset) / 4) * 4;
      if (size > this.#limits.maxStorageBufferBindingSize) {
        throw wrongValue(
          this.#where,
          "out",
          `what shares a buffer with it within ${this.#limits.maxStorageBufferBindingSize} bytes (the device's maxStorageBufferBindingSize)`,
          `${size}`,
        );
      }
      bindings.push({ buffer, offset, size });
      let type = "";
      for (const { use, bytes, begin: at } of ends) {
        const base = (at - offset) / bytes;
        bases.push({ use, base });
        const access = accessOf(use, binding, kernel, box, quads, base);
        accesses.push(access);
        type = bindingType(access);
      }
      types.push({ written, type });
    }
    return { bindings, accesses, types, bases };
  }
}
