// The backward operations as layers call them.

import { inlined } from "../inlined.js";
import { OPS } from "../ops.js";
import { shared } from "../shared.js";

/** The operations of layers. */
export type Learned = "layerNorm" | "rmsNorm" | "groupNorm" | "instanceNorm" | "batchNorm";

/** What a backward operation returns: null where a parameter is absent. */
export interface Gradients {
  readonly gradInput: unknown;
  readonly gradWeight: unknown;
  readonly gradBias: unknown;
  readonly gradScale: unknown;
  readonly gradShift: unknown;
}

export function gradientsOf(
  op: Learned,
  gradOutput: unknown,
  x: unknown,
  options: Record<string, unknown>,
): Gradients {
  return shared.callBackward(OPS[`${op}Backward`], inlined, [gradOutput, x], options);
}
