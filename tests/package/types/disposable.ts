// `using`, with TypeScript's library of explicit resource management.
import { plan, zeros } from "layernorm";

export function once(values: ArrayLike<number>): number[] {
  using x = zeros([values.length]);
  using step = plan("layerNorm", x);
  x.data.set(values);
  return [...step.run().data];
}
