// One device: its pipelines, uniforms and scratch memory, and what went wrong on it.
import { outOfMemory } from "../errors.js";
import {
  type GPUBufferLike,
  type GPUCommandEncoderLike,
  type GPUComputePassLike,
  type GPUDeviceLike,
  USAGE,
} from "./device_like.js";
import type { Subgroups } from "./form.js";
import { describeMessage, keyOf, type Program, textOf } from "./shaders.js";
import type { Dispatch } from "./uses.js";

type Pipeline = ReturnType<GPUDeviceLike["createComputePipeline"]>;

// Uniforms are small, and evicting one only means making it again.
const MOST_UNIFORMS = 512;
const MOST_PIPELINES = 256;

/** A map of bounded size that forgets what was used longest ago. What it forgets may still be in use. */
class Cache<T> {
  readonly #entries = new Map<string, T>();

  constructor(readonly most: number) {}

  get(key: string, make: () => T): T {
    let value = this.#entries.get(key);
    if (value === undefined) {
      value = make();
      if (this.#entries.size >= this.most) {
        this.#entries.delete(this.#entries.keys().next().value!);
      }
    } else {
      this.#entries.delete(key);
    }
    this.#entries.set(key, value);
    return value;
  }

  clear(): void {
    this.#entries.clear();
  }
}

export class Device {
  /** Why nothing more can be done, once that is so. */
  lost: string | undefined = undefined;
  readonly #pipelines = new Cache<Pipeline>(MOST_PIPELINES);
  readonly #uniforms = new Cache<GPUBufferLike>(MOST_UNIFORMS);
  readonly #scratch = new Map<string, GPUBufferLike>();
  /** The first fault that no one has been told of. */
  #fault: Error | undefined = undefined;
  readonly #pending = new Set<Promise<unknown>>();
  /** Rejects when the device is lost. */
  readonly #loss: Promise<never>;

  readonly subgroups: Subgroups | undefined;

  constructor(readonly gpu: GPUDeviceLike) {
    const { subgroupMinSize: least, subgroupMaxSize: most } = gpu.adapterInfo ?? {};
    // Sizes from 1 to 256 that divide a workgroup; what is not told cannot be planned for.
    const known = least !== undefined && most !== undefined && least >= 1 && most <= 128;
    this.subgroups = known && gpu.features.has("subgroups") ? { least, most } : undefined;
    this.#loss = gpu.lost.then(({ reason, message }) => {
      const why = reason === undefined ? "" : ` (${reason})`;
      this.lost ??= `the GPU device was lost${why}: ${message}`;
      throw new Error(this.lost);
    });
    this.#loss.catch(() => {});
  }

  /** Throws where nothing can be done any more. */
  requireLive(where: string): void {
    if (this.lost !== undefined) throw new Error(`${where}: ${this.lost}`);
  }

  /** Runs what may be at fault; what WebGPU finds later is kept for `settled`. */
  watch<T>(where: string, action: () => T): T {
    const { gpu } = this;
    for (const filter of ["internal", "out-of-memory", "validation"]) {
      gpu.pushErrorScope(filter as never);
    }
    try {
      return action();
    } finally {
      const [validation, memory, internal] = ["validation", "out-of-memory", "internal"].map(() =>
        gpu.popErrorScope(),
      );
      this.#track(
        Promise.all([validation!, memory!, internal!]).then(([invalid, full, other]) => {
          // A buffer that there was no memory for is invalid wherever it is used.
          if (full !== null) this.#fail(outOfMemory(`${where} on the GPU`));
          const error = invalid ?? other;
          if (error !== null) this.#fail(new Error(`${where}: ${error.message}`));
        }),
      );
    }
  }

  #track(promise: Promise<unknown>): void {
    // A lost device's scopes may reject; the loss is told by itself.
    const settled = promise.catch(() => {}).finally(() => this.#pending.delete(settled));
    this.#pending.add(settled);
  }

  #fail(error: Error): void {
    this.#fault ??= error;
  }

  /** Waits for what is pending; rejects with the first fault since the last time, or with the device's loss. */
  async settled(where: string, promise: Promise<unknown>): Promise<void> {
    this.requireLive(where);
    let failure: unknown;
    try {
      await Promise.race([Promise.all([promise, ...this.#pending]), this.#loss]);
    } catch (error) {
      failure = error;
    }
    this.requireLive(where);
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault !== undefined) throw fault;
    if (failure !== undefined) throw failure;
  }

  buffer(bytes: number, usage: number): GPUBufferLike {
    const size = Math.max(4, Math.ceil(bytes / 4) * 4);
    return this.gpu.createBuffer({ size, usage } as never);
  }

  /**
   * A buffer with a copy of some words. Through the queue: in a browser a buffer that is mapped to be filled takes more than
   * twice the time (measured).
   */
  upload(words: ArrayBufferView, usage: number): GPUBufferLike {
    const buffer = this.buffer(words.byteLength, usage | USAGE.copyTarget);
    const { queue } = this.gpu;
    let bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
    // Not every engine takes shared memory here.
    if (Object.prototype.toString.call(words.buffer) === "[object SharedArrayBuffer]") {
      bytes = bytes.slice();
    }
    const whole = bytes.length - (bytes.length % 4);
    queue.writeBuffer(buffer as never, 0, bytes.subarray(0, whole) as never);
    if (whole < bytes.length) {
      const last = new Uint8Array(4);
      last.set(bytes.subarray(whole));
      queue.writeBuffer(buffer as never, whole, last as never);
    }
    return buffer;
  }

  /** Memory by name that calls use one after the other, as the queue has them. It grows and is never rewritten from here. */
  scratch(name: string, bytes: number): GPUBufferLike {
    let buffer = this.#scratch.get(name);
    if (buffer === undefined || buffer.size < bytes) {
      // An older one may be part of what was recorded and not submitted yet: it is dropped, not destroyed.
      const size = 2 ** Math.ceil(Math.log2(Math.max(bytes, 4096)));
      const most = Math.max(bytes, Math.min(size, this.gpu.limits.maxBufferSize));
      buffer = this.buffer(most, USAGE.storage);
      this.#scratch.set(name, buffer);
    }
    return buffer;
  }

  /** Records dispatches in a pass. */
  record(pass: GPUComputePassLike, dispatches: readonly Dispatch[]): void {
    const { gpu } = this;
    for (const { program, uniform, bindings, workgroups } of dispatches) {
      const pipeline = this.#pipelines.get(keyOf(program), () => this.#compile(program));
      const constants = this.#uniforms.get(uniform.key, () =>
        this.upload(uniform.words, USAGE.uniform),
      );
      const entries = [
        { binding: 0, resource: { buffer: constants } },
        ...bindings.map((resource, i) => ({ binding: i + 1, resource })),
      ];
      const layout = pipeline.getBindGroupLayout(0);
      pass.setPipeline(pipeline as never);
      pass.setBindGroup(0, gpu.createBindGroup({ layout, entries } as never) as never);
      pass.dispatchWorkgroups(...workgroups);
    }
  }

  /** Records in the caller's encoder or pass, or in an encoder that is submitted at once. */
  run(
    dispatches: readonly Dispatch[],
    encoder: GPUCommandEncoderLike | GPUComputePassLike | undefined,
  ): void {
    if (encoder !== undefined && "dispatchWorkgroups" in encoder) {
      this.record(encoder, dispatches);
      return;
    }
    const commands = encoder ?? this.gpu.createCommandEncoder();
    const pass = commands.beginComputePass();
    this.record(pass, dispatches);
    pass.end();
    if (encoder === undefined) this.gpu.queue.submit([commands.finish()] as never[]);
  }

  #compile(program: Program): Pipeline {
    const { gpu } = this;
    const text = textOf(program);
    const module = gpu.createShaderModule({ label: program.kernel, code: text } as never);
    this.#track(
      module.getCompilationInfo().then(({ messages }) => {
        const error = messages.find(({ type }) => type === "error");
        // It says more than the pipeline's own message, so it comes first.
        if (error !== undefined) {
          this.#fault = new Error(`layernorm: ${describeMessage(program.kernel, text, error)}`);
        }
      }),
    );
    return gpu.createComputePipeline({
      label: program.kernel,
      layout: "auto",
      compute: { module, entryPoint: "main", constants: program.overrides },
    } as never);
  }

  /** Frees what only this holds. */
  dispose(): void {
    this.#pipelines.clear();
    this.#uniforms.clear();
    for (const buffer of this.#scratch.values()) buffer.destroy();
    this.#scratch.clear();
  }
}
