/** The sweep in Deno: node tests/webgpu/wgpu.test.js starts it with a time in milliseconds. */
import { WebGpuNorm } from "../../dist/webgpu.js";
import { sweep } from "./sweep.js";

const adapter = await /** @type {any} */ (navigator).gpu?.requestAdapter();
if (!adapter) {
  console.log(JSON.stringify({ reason: "Deno finds no adapter" }));
} else {
  const norm = await WebGpuNorm.create({ adapter });
  const { vendor, architecture, device, description } = adapter.info;
  const features = [...adapter.features].filter((/** @type {string} */ name) =>
    /subgroup|f16/.test(name),
  );
  const name = [vendor, architecture, device, description, ...features].filter(Boolean).join(" ");
  console.log(
    JSON.stringify({
      ...(await sweep(norm, Number(/** @type {any} */ (globalThis).Deno.args[0]))),
      name,
    }),
  );
  norm.dispose();
}
