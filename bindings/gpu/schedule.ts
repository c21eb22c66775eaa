// From a descriptor to dispatches. Every operation is one of two ways: runs that a workgroup holds are read once; of others,
// and where 16-bit elements do not stand in whole words, moments come first, then all elements are normalized by them.
import type { Descriptor } from "../descriptor.js";
import { wrongValue } from "../errors.js";
import type { GPUBufferLike, GPULimitsLike } from "./device_like.js";
import { formOf, mergeFormOf, type Subgroups, THREADS } from "./form.js";
import type { GpuDType } from "./gpu_tensor.js";
import { type Access, bindingType } from "./shaders.js";
import { type Axis, type Box, reachIn, slabsOf } from "./slabs.js";
import { MOST_DIMS, Uniform } from "./uniform.js";
import {
  AFFINE,
  absentAffine,
  absentStatistics,
  accessOf,
  affineNumbers,
  affineOverrides,
  affineParts,
  BYTES,
  constantsOf,
  type Dispatch,
  denseStrides,
  dimsOf,
  elementwise,
  items,
  type Kernel,
  type Memory,
  merged,
  momentOverrides,
  type Operands,
  parameterUse,
  product,
  recordOverrides,
  reducedKey,
  runningUses,
  runsIn,
  sharesWithWritten,
  statisticUses,
  type Use,
} from "./uses.js";

export class Schedule {
  readonly dispatches: Dispatch[] = [];
  readonly #limits: GPULimitsLike;
  readonly #where: string;
  readonly #scratch: (name: string, bytes: number) => GPUBufferLike;

  constructor(
    where: string,
    limits: GPULimitsLike,
    readonly subgroups: Subgroups | undefined,
    /** Memory between the dispatches of one call. */
    scratch: (name: string, bytes: number) => GPUBufferLike,
  ) {
    this.#where = where;
    this.#limits = limits;
    this.#scratch = scratch;
  }

  /** Everything that a forward operation does. */
  forward(d: Descriptor, at: Operands): void {
    if (d.window !== undefined) {
      this.#respond(d, at);
      return;
    }
    if (at.sum !== undefined) this.#add(d, at, at.sum);
    const x = at.sum ?? at.x;
    const constants = constantsOf(d);
    if (d.kernel === "batch_norm") {
      const records = this.#given(d, at, constants);
      this.#normalize(d, at, x, records, constants);
      return;
    }
    const updates = at.parameters.has("runningMean") || at.parameters.has("runningVar");
    if (!updates && this.#runs(d, at, x, constants)) return;
    const records = this.#moments(d, at, x, constants);
    if (updates) this.#running(d, at, records, constants);
    if (this.#pieces(d, at, x, records, constants)) return;
    this.#normalize(d, at, x, records, constants);
  }

  /** Normalizes runs whose values lie side by side by their records, in pieces. False if there are others. */
  #pieces(d: Descriptor, at: Operands, x: Memory, records: Memory, constants: Uniform): boolean {
    const { view } = d;
    const reduced = view.filter((axis) => axis.reduced);
    const count = product(reduced.map(({ size }) => size));
    const { reduce, lanes, piece: most } = formOf(view, count, d.runs, this.subgroups);
    const contiguous = view.slice(view.length - reduced.length).every((axis) => axis.reduced);
    const strides = denseStrides(view);
    const uses: Use[] = [
      { name: "x", memory: x, strides, role: "x", base: "x" },
      { name: "y", memory: at.y, strides, role: "y", base: "y", written: true },
      {
        name: "records",
        memory: records,
        strides: denseStrides(view, (axis) => !axis.reduced),
        role: "record",
        base: "firstRun",
      },
      ...this.#affineUses(d, at),
    ];
    if (!contiguous || view.at(-1)!.size % 4 !== 0 || !this.#areAligned(uses)) return false;
    const boxes = this.#slabs(view, uses);
    // A cut within the last dimension would leave quads there only where it is a multiple of four.
    if (boxes!.some(({ size }) => size.at(-1)! % 4 !== 0)) return false;
    const piece = Math.ceil(Math.min(most, 4096) / 4) * 4;
    return this.#emit(
      {
        kernel: "pieces_kernel",
        view,
        x: strides,
        runs: denseStrides(view, (axis) => !axis.reduced),
        uses,
        constants,
        numbers: affineNumbers(d),
        absent: absentAffine(d),
        byRuns: true,
        canQuads: () => true,
        make: (box) => {
          const runs = runsIn(view, box);
          const here = product(box.size) / runs;
          const chunks = Math.ceil(here / piece);
          return {
            parts: ["moments", reduce, "tile_quads", "streamed", ...affineParts(d), "finish_quads"],
            overrides: affineOverrides(d),
            workgroups: Math.ceil((runs * chunks) / (THREADS / lanes)),
            fill: (uniform) =>
              uniform
                .set("runs", runs)
                .set("count", here)
                .set("chunks", chunks)
                .set("lanes", lanes)
                .set("piece", piece),
          };
        },
      },
      true,
      boxes,
    );
  }

  /** Normalizes runs that workgroups hold. False if there are others. */
  #runs(d: Descriptor, at: Operands, x: Memory, constants: Uniform): boolean {
    const { view } = d;
    const reduced = view.filter((axis) => axis.reduced);
    const count = product(reduced.map(({ size }) => size));
    const columns = !view.at(-1)!.reduced;
    const contiguous =
      !columns && view.slice(view.length - reduced.length).every((axis) => axis.reduced);
    const canQuads = contiguous && view.at(-1)!.size % 4 === 0;
    const { reduce, values, lanes, piece } = formOf(view, count, d.runs, this.subgroups);
    if (piece < count) return false;
    const strides = denseStrides(view);
    const uses: Use[] = [
      { name: "x", memory: x, strides, role: "x", base: "x" },
      { name: "y", memory: at.y, strides, role: "y", base: "y", written: true },
      ...this.#affineUses(d, at),
      ...statisticUses(d, at),
    ];
    // Words that two runs share have to be written by one lane.
    if (x.dtype !== "float32" && !(canQuads && this.#areAligned(uses))) return false;
    return this.#emit(
      {
        kernel: "runs_kernel",
        view,
        x: strides,
        runs: denseStrides(view, (axis) => !axis.reduced),
        uses,
        constants,
        numbers: affineNumbers(d),
        absent: [...absentAffine(d), ...absentStatistics(at)],
        cuts: view.findIndex((axis) => axis.reduced),
        byRuns: true,
        canQuads: () => canQuads,
        make: (box, quads) => {
          const runs = runsIn(view, box);
          const form = quads ? "quads" : "elements";
          return {
            parts: [
              "moments",
              reduce,
              `tile_${form}`,
              values,
              "tile_moments",
              "record",
              ...affineParts(d),
              `finish_${form}`,
            ],
            overrides: {
              ...momentOverrides(d),
              ...recordOverrides(d),
              ...affineOverrides(d),
            },
            workgroups: Math.ceil(runs / (THREADS / lanes)),
            fill: (uniform) => {
              uniform.set("runs", runs).set("count", count);
              uniform.set("lanes", lanes).set("piece", piece);
            },
          };
        },
      },
      false,
    );
  }

  /** The moments of all runs as records. */
  #moments(d: Descriptor, at: Operands, x: Memory, constants: Uniform): Memory {
    const view = merged(d.view);
    const strides = denseStrides(view);
    const runs = denseStrides(view, (axis) => !axis.reduced);
    const columns = !view.at(-1)!.reduced;
    const reduced = view.filter((axis) => axis.reduced);
    const contiguous =
      !columns && view.slice(view.length - reduced.length).every((axis) => axis.reduced);
    const count = product(reduced.map(({ size }) => size));
    const { reduce, values, lanes, piece } = formOf(view, count, d.runs, this.subgroups);
    const records = this.#records("records", d.runs);
    const xUse: Use = { name: "x", memory: x, strides, role: "x", base: "x" };
    const countIn = (box: Box) => product(box.size.filter((_, i) => view[i]!.reduced));
    const chunksIn = (box: Box) => Math.ceil(countIn(box) / piece);
    const recordUse = (memory: Memory, chunks: number): Use => ({
      name: "records",
      memory,
      strides: runs.map((stride) => stride * chunks),
      tail: chunks - 1,
      role: "record",
      base: "firstRun",
      written: true,
    });
    // Boxes that cut runs have pieces each, which stand one after the other; how runs are cut is the same for all. More boxes
    // can mean more pieces, and more pieces more boxes.
    let boxes: readonly Box[] = [];
    let begins = new Map<string, number>();
    let allChunks = Math.ceil(count / piece);
    for (let before = 0; before !== allChunks; ) {
      before = allChunks;
      boxes = this.#slabs(view, [xUse, recordUse(records, before)])!;
      begins = new Map();
      allChunks = 0;
      for (const box of boxes) {
        const key = reducedKey(view, box);
        if (begins.has(key)) continue;
        begins.set(key, allChunks);
        allChunks += chunksIn(box);
      }
    }
    const whole = allChunks === 1;
    const pieces = whole ? records : this.#records("pieces", d.runs * allChunks);
    const target: Use = whole
      ? recordUse(records, 1)
      : { ...recordUse(pieces, allChunks), base: "firstChunk" };
    for (const box of boxes) {
      const firstChunk = begins.get(reducedKey(view, box))!;
      this.#emit(
        {
          kernel: "moments_kernel",
          view,
          x: strides,
          runs,
          uses: [xUse, target, ...(whole ? statisticUses(d, at, runs) : [])],
          constants,
          absent: whole ? absentStatistics(at) : ["mean", "rstd"],
          byRuns: true,
          canQuads: (part) => contiguous && countIn(part) % 4 === 0,
          make: (part, quads) => {
            const runsHere = runsIn(view, part);
            const chunks = chunksIn(part);
            return {
              parts: [
                "moments",
                reduce,
                quads ? "tile_quads" : "tile_elements",
                values,
                "tile_moments",
                "record",
              ],
              overrides: {
                ...momentOverrides(d),
                ...(whole ? recordOverrides(d) : {}),
                whole: +whole,
              },
              workgroups: Math.ceil((runsHere * chunks) / (THREADS / lanes)),
              fill: (uniform) => {
                uniform.set("runs", runsHere).set("count", countIn(part)).set("chunks", chunks);
                uniform.set("allChunks", allChunks).set("lanes", lanes).set("piece", piece);
                if (!whole) uniform.words[4]! += firstChunk;
              },
            };
          },
        },
        true,
        [box],
      );
    }
    if (!whole) this.#merge(d, at, pieces, records, allChunks, constants);
    return records;
  }

  #merge(
    d: Descriptor,
    at: Operands,
    pieces: Memory,
    records: Memory,
    allChunks: number,
    constants: Uniform,
  ): void {
    const view: Axis[] = [{ size: d.runs, reduced: false }];
    const { reduce, lanes } = mergeFormOf(allChunks, this.subgroups);
    this.#emit({
      kernel: "merge_kernel",
      view,
      x: [0],
      runs: [1],
      uses: [
        {
          name: "pieces",
          memory: pieces,
          strides: [allChunks],
          tail: allChunks - 1,
          role: "record",
          base: "firstChunk",
        },
        {
          name: "records",
          memory: records,
          strides: [1],
          role: "record",
          base: "firstRun",
          written: true,
        },
        ...statisticUses(d, at, [1]),
      ],
      constants,
      absent: absentStatistics(at),
      byRuns: false,
      canQuads: () => false,
      make: (box) => ({
        parts: ["moments", reduce, "record"],
        overrides: { ...momentOverrides(d), ...recordOverrides(d) },
        workgroups: Math.ceil(box.size[0]! / (THREADS / lanes)),
        fill: (uniform) =>
          uniform.set("runs", box.size[0]!).set("allChunks", allChunks).set("lanes", lanes),
      }),
    });
  }

  /** Records of runs whose statistics are given. */
  #given(d: Descriptor, at: Operands, constants: Uniform): Memory {
    const records = this.#records("records", d.runs);
    this.#emit({
      kernel: "given_kernel",
      view: [{ size: d.runs, reduced: false }],
      x: [0],
      runs: [1],
      uses: [
        ...runningUses(at, "vector"),
        {
          name: "records",
          memory: records,
          strides: [1],
          role: "record",
          base: "firstRun",
          written: true,
        },
        ...statisticUses(d, at, [1]),
      ],
      constants,
      absent: absentStatistics(at),
      cuts: 0,
      byRuns: false,
      canQuads: () => false,
      make: () => ({
        parts: ["moments", "record"],
        overrides: recordOverrides(d),
        workgroups: Math.ceil(d.runs / THREADS),
        fill: (uniform) => uniform.set("runs", d.runs),
      }),
    });
    return records;
  }

  /** Moves running statistics towards those of the batch. */
  #running(d: Descriptor, at: Operands, records: Memory, constants: Uniform): void {
    const uses = runningUses(at, "updated");
    for (const use of uses) {
      const isMean = use.name === "running_mean";
      this.#emit({
        kernel: isMean ? "running_mean_kernel" : "running_var_kernel",
        view: [{ size: d.runs, reduced: false }],
        x: [0],
        runs: [1],
        uses: [
          use,
          { name: "records", memory: records, strides: [1], role: "record", base: "firstRun" },
        ],
        constants,
        cuts: 0,
        byRuns: false,
        canQuads: () => false,
        make: () => ({
          parts: ["moments", "running"],
          overrides: {},
          workgroups: Math.ceil(d.runs / 4 / THREADS),
          fill: (uniform) => uniform.set("runs", d.runs),
        }),
      });
    }
  }

  /** Normalizes all elements by the records of their runs. */
  #normalize(d: Descriptor, at: Operands, x: Memory, records: Memory, constants: Uniform): void {
    const { view } = d;
    const strides = denseStrides(view);
    const runs = denseStrides(view, (axis) => !axis.reduced);
    const last = view.at(-1)!;
    this.#emit({
      ...elementwise(view),
      kernel: "normalize_kernel",
      uses: [
        { name: "x", memory: x, strides, role: "x", base: "x" },
        { name: "y", memory: at.y, strides, role: "y", base: "y", written: true },
        { name: "records", memory: records, strides: runs, role: "record", base: "firstRun" },
        ...this.#affineUses(d, at),
      ],
      constants,
      numbers: affineNumbers(d),
      absent: absentAffine(d),
      make: (box, quads) =>
        items(
          box,
          quads,
          ["moments", ...affineParts(d)],
          { ...affineOverrides(d), one_run: +(quads && last.reduced) },
          at.y,
        ),
    });
  }

  /** sum = (residual + gate * x) + sumBias */
  #add(d: Descriptor, at: Operands, sum: Memory): void {
    const { view } = d;
    const strides = denseStrides(view);
    const names = ["residual", "gate", "sumBias"] as const;
    const uses: Use[] = [
      { name: "x", memory: at.x, strides, role: "x", base: "x" },
      { name: "y", memory: sum, strides, role: "y", base: "y", written: true },
    ];
    const numbers: Record<string, number> = {};
    const constants = new Uniform(undefined, []);
    for (const [slot, name] of names.entries()) {
      const inKernel = name === "sumBias" ? "sum_bias" : name;
      const value = d[name];
      if (typeof value === "object") {
        uses.push(parameterUse(inKernel, at.parameters.get(name)!, value, slot));
      } else {
        numbers[inKernel] = slot;
        constants.setFloat("numbers", value ?? (name === "gate" ? 1 : 0), slot);
      }
    }
    this.#emit({
      ...elementwise(view),
      kernel: "sum_kernel",
      uses,
      constants,
      numbers,
      make: (box, quads) => items(box, quads, [], {}, sum),
    });
  }

  #respond(d: Descriptor, at: Operands): void {
    const { view } = d;
    const { size, alpha, beta, k } = d.window!;
    const strides = denseStrides(view);
    // A value is read again for its neighbours: in place it would be gone.
    const inPlace = at.x.buffer === at.y.buffer;
    const target: Memory = inPlace
      ? {
          buffer: this.#scratch("response", product(view.map((axis) => axis.size)) * 4),
          offset: 0,
          dtype: at.y.dtype,
        }
      : at.y;
    const constants = new Uniform(undefined, []);
    const high = Math.fround(Math.round(-beta * 2048) / 2048);
    constants.setFloat("window", alpha / size, 0).setFloat("window", k, 1);
    constants.setFloat("window", high, 2).setFloat("window", -beta - high, 3);
    const channels = view[1]!.size;
    const below = Math.floor((size - 1) / 2);
    constants
      .set("below", Math.min(below, channels))
      .set("above", Math.min(size - 1 - below, channels));
    constants.set("channels", channels).set("inner", view[2]!.size);
    this.#emit({
      ...elementwise(view),
      kernel: "local_response_kernel",
      cuts: 1,
      uses: [
        { name: "x", memory: at.x, strides, role: "x", base: "x" },
        { name: "y", memory: target, strides, role: "y", base: "y", written: true },
      ],
      constants,
      make: (box, quads) => items(box, quads, ["moments"], {}, target),
    });
    if (!inPlace) return;
    const whole: Axis[] = [{ size: product(view.map((axis) => axis.size)), reduced: false }];
    this.#emit({
      ...elementwise(whole),
      kernel: "copy_kernel",
      uses: [
        { name: "x", memory: target, strides: [1], role: "x", base: "x" },
        { name: "y", memory: at.y, strides: [1], role: "y", base: "y", written: true },
      ],
      constants,
      make: (box, quads) => items(box, quads, [], {}, at.y),
    });
  }

  #affineUses(d: Descriptor, at: Operands): Use[] {
    return AFFINE.flatMap((name, slot) => {
      const value = d[name];
      if (typeof value !== "object") return [];
      return [parameterUse(name, at.parameters.get(name)!, value, slot)];
    });
  }

  #records(name: string, count: number): Memory {
    return { buffer: this.#scratch(name, count * BYTES.record), offset: 0, dtype: "record" };
  }

  #slabs(
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

  #areAligned(uses: readonly Use[]): boolean {
    return (
      uses.every(
        ({ role, memory }) =>
          (role !== "x" && role !== "y") || memory.offset % (4 * BYTES[memory.dtype]) === 0,
      ) && !sharesWithWritten(uses)
    );
  }

  /** Adds the dispatches of a kernel: one for each box that bindings can hold. */
  #emit(kernel: Kernel, must = true, given?: readonly Box[]): boolean {
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
    const boxes = given ?? this.#slabs(view, uses, kernel.cuts, must);
    if (boxes === undefined) return false;
    for (const box of boxes) {
      const x = uses.filter(({ role }) => role === "x" || role === "y");
      const quads =
        kernel.canQuads(box) &&
        !sharesWithWritten(uses) &&
        x.every(({ memory, strides }) => {
          const bytes = BYTES[memory.dtype];
          const [first] = reachIn({ bytes, strides }, box);
          return (memory.offset / bytes + first) % 4 === 0;
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
          overrides: made.overrides,
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
        type = bindingType(access.dtype, access.quads);
      }
      types.push({ written, type });
    }
    return { bindings, accesses, types, bases };
  }
}
