/** LayerNorm of values in memory: by wasm, and on a GPU with the way there and back, by size. For THRESHOLD_BYTES of bindings/auto.ts. */

import { median } from "./stats.js";

const FEATURES = 1024;
const MIB = 2 ** 20;
const SMALLEST = MIB;
const LARGEST = 256 * MIB;

/** @typedef {{ bytes: number, wasm: number, webgpu: number }} Step milliseconds of each */

/** @param {number} rounds @returns {Promise<Step[]>} */
export async function benchRoundTrips(rounds) {
  // A name in a variable: the types are those of the source.
  const name = "/dist/auto.js";
  const { layerNorm } = await import(name);
  const weight = Float32Array.from({ length: FEATURES }, (_, i) => 1 + 0.1 * Math.sin(i));
  const bias = weight.map((value) => 1 - value);
  /** @type {Step[]} */
  const steps = [];
  for (let bytes = SMALLEST; bytes <= LARGEST; bytes *= 4) {
    const rows = bytes / 4 / FEATURES;
    const x = Float32Array.from({ length: rows * FEATURES }, (_, i) => Math.sin(i * 1.7) + 0.1);
    const ways = ["wasm", "webgpu"].map((backend) => {
      const out = new Float32Array(x.length);
      const options = { shape: [rows, FEATURES], weight, bias, out, backend };
      return { out, times: /** @type {number[]} */ ([]), run: () => layerNorm(x, options) };
    });
    for (const { run } of ways) await run();
    const [ours, theirs] = ways.map(({ out }) => out);
    for (let i = 0; i < x.length; i += 97) {
      if (!(Math.abs(ours[i] - theirs[i]) < 1e-4)) {
        throw new Error(`${bytes} bytes: ${theirs[i]} at ${i} on the GPU, ${ours[i]} by wasm`);
      }
    }
    for (let round = 0; round < rounds; round++) {
      for (const { run, times } of ways) {
        const start = performance.now();
        await run();
        times.push(performance.now() - start);
      }
    }
    const [wasm, webgpu] = ways.map(({ times }) => median(times));
    steps.push({ bytes, wasm, webgpu });
  }
  return steps;
}
