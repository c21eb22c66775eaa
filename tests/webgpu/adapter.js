/** WebGPU where there is some: Dawn in Node. */
import { existsSync } from "node:fs";

/** SwiftShader as Debian's chromium installs it, for machines without a GPU. */
const SWIFTSHADER = "/usr/lib/chromium/vk_swiftshader_icd.json";

/**
 * What a process needs in its environment from its start on to find SwiftShader, unless a Vulkan driver is chosen already.
 * @returns {Record<string, string>}
 */
export function environment() {
  const { VK_ICD_FILENAMES, LD_LIBRARY_PATH = "" } = process.env;
  if (VK_ICD_FILENAMES !== undefined || !existsSync(SWIFTSHADER)) return {};
  const folders = [...LD_LIBRARY_PATH.split(":"), "/usr/lib/chromium"].filter(Boolean);
  return { VK_ICD_FILENAMES: SWIFTSHADER, LD_LIBRARY_PATH: folders.join(":") };
}

/** @returns {Promise<{ gpu: any, adapter: any } | { reason: string }>} */
export async function findAdapter() {
  let dawn;
  try {
    dawn = await import("webgpu");
  } catch (error) {
    return { reason: `npm's webgpu is not there: ${String(error).slice(0, 200)}` };
  }
  Object.assign(globalThis, dawn.globals);
  const gpu = dawn.create([]);
  const adapter = await gpu.requestAdapter();
  if (adapter === null) return { reason: "Dawn finds no adapter: no Vulkan driver" };
  return { gpu, adapter };
}

const found = await findAdapter();
/** Why tests are skipped, or false. */
export const skip = "reason" in found ? found.reason : false;
/** @type {{ gpu: any, adapter: any }} */
export const { gpu, adapter } = /** @type {any} */ ("reason" in found ? {} : found);
if (skip) console.log(`Skipped: ${skip}`);
