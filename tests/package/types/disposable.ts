// `using`, with TypeScript's library of explicit resource management.
import { plan, zeros } from "layernorm";
import { LayerNorm } from "layernorm/nn";

export function once(values: ArrayLike<number>): number[] {
  using x = zeros([values.length]);
  using step = plan("layerNorm", x);
  x.data.set(values);
  return [...step.run().data];
}

export function layer(values: Float32Array): Float32Array {
  using norm = new LayerNorm(values.length);
  return norm.forward(values);
}
