// What is used of WebGPU, by structure: a project's own typings of it, whichever they are, fit. What methods take of WebGPU's own
// objects is `never` here, since these typings know more of them.

/** A GPUBuffer. */
export interface GPUBufferLike {
  readonly size: number;
  readonly usage: number;
  mapAsync(mode: number): Promise<unknown>;
  getMappedRange(): ArrayBuffer;
  unmap(): void;
  destroy(): void;
}

/** A GPUComputePassEncoder. */
export interface GPUComputePassLike {
  setPipeline(pipeline: never): void;
  setBindGroup(index: number, group: never): void;
  dispatchWorkgroups(x: number, y?: number, z?: number): void;
  end(): void;
}

/** A GPUCommandEncoder. */
export interface GPUCommandEncoderLike {
  beginComputePass(): GPUComputePassLike;
  copyBufferToBuffer(
    source: never,
    sourceOffset: number,
    target: never,
    targetOffset: number,
    size: number,
  ): void;
  finish(): object;
}

export interface GPUCompilationInfoLike {
  readonly messages: readonly {
    readonly type: string;
    readonly message: string;
    readonly lineNum: number;
    readonly linePos: number;
  }[];
}

export interface GPULimitsLike {
  readonly maxStorageBufferBindingSize: number;
  readonly maxBufferSize: number;
  readonly maxStorageBuffersPerShaderStage: number;
  readonly maxComputeWorkgroupsPerDimension: number;
  readonly minStorageBufferOffsetAlignment: number;
}

/** A GPUAdapterInfo. */
export interface GPUAdapterInfoLike {
  readonly vendor?: string | undefined;
  readonly architecture?: string | undefined;
  readonly device?: string | undefined;
  readonly description?: string | undefined;
  readonly isFallbackAdapter?: boolean | undefined;
  readonly subgroupMinSize?: number | undefined;
  readonly subgroupMaxSize?: number | undefined;
}

/** A GPUDevice. */
export interface GPUDeviceLike {
  readonly adapterInfo?: GPUAdapterInfoLike | undefined;
  readonly features: { has(name: string): boolean };
  readonly limits: GPULimitsLike;
  readonly lost: Promise<{ readonly reason?: string | undefined; readonly message: string }>;
  readonly queue: {
    submit(buffers: never[]): void;
    writeBuffer(buffer: never, offset: number, data: never): void;
    onSubmittedWorkDone(): Promise<unknown>;
  };
  createBuffer(descriptor: never): GPUBufferLike;
  createShaderModule(descriptor: never): {
    getCompilationInfo(): Promise<GPUCompilationInfoLike>;
  };
  createComputePipeline(descriptor: never): { getBindGroupLayout(index: number): object };
  createBindGroup(descriptor: never): object;
  createCommandEncoder(): GPUCommandEncoderLike;
  pushErrorScope(filter: never): void;
  popErrorScope(): Promise<{ readonly message: string } | null>;
  destroy(): void;
}

/** A GPUAdapter. */
export interface GPUAdapterLike {
  readonly features: { has(name: string): boolean };
  readonly limits: GPULimitsLike;
  readonly info?: GPUAdapterInfoLike | undefined;
  requestDevice(descriptor?: never): Promise<GPUDeviceLike>;
}

/** A GPU, as `navigator.gpu`. */
export interface GPULike {
  requestAdapter(options?: never): Promise<GPUAdapterLike | null>;
}

/** Flags of GPUBufferUsage and GPUMapMode, which stand in the specification. */
export const USAGE = {
  mapRead: 0x1,
  copySource: 0x4,
  copyTarget: 0x8,
  uniform: 0x40,
  storage: 0x80,
} as const;
export const MAP_READ = 0x1;

/** Whether a value, which may be of any kind, is an object with a method of that name. */
export function hasMethod(value: unknown, name: string): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as Record<string, unknown>)[name] === "function"
  );
}
