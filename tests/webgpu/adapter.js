/** WebGPU where there is some: Dawn in Node. */
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
