// The backward operations as layers call them.
import type { Input } from "../types.js";

/** The operations of layers. */
export type Learned = "layerNorm" | "rmsNorm" | "groupNorm" | "instanceNorm" | "batchNorm";

export interface Gradients {
  readonly gradInput: unknown;
  readonly gradWeight?: unknown;
  readonly gradBias?: unknown;
  readonly gradScale?: unknown;
  readonly gradShift?: unknown;
}

export function gradientsOf(
  op: Learned,
  gradOutput: Input,
  x: Input,
  options: Record<string, unknown>,
): Gradients {
  throw new Error(`${op} ${gradOutput} ${x} ${options}`);
}
