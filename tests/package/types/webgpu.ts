// Uses that have to compile with WebGPU's own types, and calls that must not.
import * as auto from "layernorm/auto";
import { type GpuTensor, WebGpuNorm } from "layernorm/webgpu";

export async function onRealDevice(): Promise<void> {
  const adapter = await navigator.gpu.requestAdapter();
  if (adapter === null) return;
  const device: GPUDevice = await adapter.requestDevice();
  const gpu = new WebGpuNorm(device);
  await WebGpuNorm.create({ gpu: navigator.gpu, powerPreference: "low-power" });
  await WebGpuNorm.create({ adapter });

  const buffer: GPUBuffer = device.createBuffer({ size: 32, usage: 0x80 });
  const x = { buffer, offset: 0, shape: [2, 4], dtype: "float32" };
  const encoder: GPUCommandEncoder = device.createCommandEncoder();
  const y: GpuTensor = gpu.layerNorm(x, { encoder, weight: { buffer, shape: [4] } });
  const pass: GPUComputePassEncoder = encoder.beginComputePass();
  gpu.rmsNorm({ gpuBuffer: buffer, dims: [2, 4], type: "float32" }, { encoder: pass, out: x });
  (await auto.webgpu(device)).dispose();
  await auto.layerNorm(y);

  // @ts-expect-error a device, not an adapter
  new WebGpuNorm(adapter);
  // @ts-expect-error an encoder, not its queue
  gpu.layerNorm(x, { encoder: device.queue });
  // @ts-expect-error a buffer without dimensions
  gpu.layerNorm({ buffer });
}
