// A call of an operation: read, check, run, form the result.
import { disposeSums, formGradients, makeGradients, roundGradients } from "./gradients.js";
import { backendFor, type Inlined } from "./instance.js";
import { check } from "./last_call.js";
import type { Op } from "./ops.js";
import { formResult, makeResults } from "./results.js";
import type { Tensor } from "./tensor.js";

// The functions' types stand in api.ts.
// biome-ignore lint/suspicious/noExplicitAny: it is all of them
export function call(op: Op, inlined: Inlined, x: unknown, given: unknown, second?: unknown): any {
  const checked = check(op, given, x, second);
  const { d, options } = checked;
  const { returnStats } = options;
  const backend = backendFor(inlined);
  const made = makeResults(d, backend, returnStats);
  // No closure here, which would cost a short row as much as its kernel.
  try {
    if (d.x.size !== 0) backend.run(d, checked.isKept);
    const result = formResult(d, options.out, options.sumOut, returnStats);
    checked.keep();
    return result;
  } catch (error) {
    giveUp(made);
    throw error;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: it is all of them
export function callBackward(op: Op, inlined: Inlined, tensors: unknown[], given: unknown): any {
  const checked = check(op, given, tensors[0], tensors[1], tensors[2]);
  const { d } = checked;
  // As it was given.
  const { x } = d;
  const backend = backendFor(inlined);
  const made = makeGradients(d, backend, false);
  try {
    backend.run(d, checked.isKept);
    roundGradients(d, backend);
    const result = formGradients(d, backend, x);
    disposeSums(d);
    checked.keep();
    return result;
  } catch (error) {
    giveUp(made);
    throw error;
  }
}

/** The tensors that were made for a call that fails. */
function giveUp(made: readonly Tensor[]): void {
  for (const tensor of made) tensor.dispose();
}
