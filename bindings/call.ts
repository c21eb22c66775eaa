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
  return using(makeResults(d, backend, options.returnStats), () => {
    if (input.size !== 0) backend.run(d);
    return formResult(d, options.out, options.sumOut, options.returnStats);
  });
}

// biome-ignore lint/suspicious/noExplicitAny: it is all of them
export function callBackward(op: Op, inlined: Inlined, tensors: unknown[], given: unknown): any {
  const [grad, x, residual] = op.inputs.map((name, i) => readOperand(op.name, name, tensors[i]));
  const options = readOptions(op, given);
  // From here on no code of the caller's runs.
  const d = checkCall(op, x!, residual, options, grad);
  const backend = backendFor(inlined);
  return using(makeGradients(d, backend, false), () => {
    backend.run(d);
    roundGradients(d, backend);
    const result = formGradients(d, backend, x!);
    disposeSums(d);
    return result;
  });
}

/** Gives up the tensors that were made for a call that fails. */
function using<Result>(made: readonly Tensor[], run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    for (const tensor of made) tensor.dispose();
    throw error;
  }
}
