// The other entries that need no peers. What picks a GPU imports it by itself: a bundler has to find that, too.
import { rmsNorm } from "layernorm/auto";
import { LayerNorm } from "layernorm/nn";
import { WebGpuNorm } from "layernorm/webgpu";

const x = Float32Array.of(3, 5, 2, 8);

export const others = async () => ({
  layer: [...new LayerNorm(4).forward(x)],
  auto: [...(await rmsNorm(x))],
  webgpu: typeof WebGpuNorm.create,
});
