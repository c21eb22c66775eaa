// A call of an operation: read, check, run, form the result.
import { checkCall } from "./descriptor.js";
import { disposeSums, formGradients, makeGradients, roundGradients } from "./gradients.js";
import { backendFor, type Inlined } from "./instance.js";
import { readOperand } from "./operands.js";
import type { Op } from "./ops.js";
import { readOptions } from "./options.js";
import { formResult, makeResults } from "./results.js";
import type { Tensor } from "./tensor.js";

// The functions' types stand in api.ts.
// biome-ignore lint/suspicious/noExplicitAny: it is all of them
export function call(op: Op, inlined: Inlined, x: unknown, given: unknown, second?: unknown): any {
  const input = readOperand(op.name, "x", x);
  const residual = op.inputs.length > 1 ? readOperand(op.name, "residual", second) : undefined;
  const options = readOptions(op, given);
  // From here on no code of the caller's runs.
  const d = checkCall(op, input, residual, options);
  const backend = backendFor(inlined);
  const made = makeResults(d, backend, options.returnStats);
  // No closure here, which would cost a short row as much as its kernel.
  try {
    if (input.size !== 0) backend.run(d);
    return formResult(d, options.out, options.sumOut, options.returnStats);
  } catch (error) {
    giveUp(made);
    throw error;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: it is all of them
export function callBackward(op: Op, inlined: Inlined, tensors: unknown[], given: unknown): any {
  const [grad, x, residual] = op.inputs.map((name, i) => readOperand(op.name, name, tensors[i]));
  const options = readOptions(op, given);
  // From here on no code of the caller's runs.
  const d = checkCall(op, x!, residual, options, grad);
  const backend = backendFor(inlined);
  const made = makeGradients(d, backend, false);
  try {
    backend.run(d);
    roundGradients(d, backend);
    const result = formGradients(d, backend, x!);
    disposeSums(d);
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
