// Plans: a call on resident tensors that is checked once and run many times.
import { copyToTensor } from "./create.js";
import { checkCall, type Descriptor } from "./descriptor.js";
import { wrongType } from "./errors.js";
import { formGradients, makeGradients } from "./gradients.js";
import { backendFor, type Inlined } from "./instance.js";
import { nameClass } from "./names.js";
import { describeOperand, type Operand, readOperand, residentOperand } from "./operands.js";
import { type InputName, OPS, type Op, type OpName } from "./ops.js";
import { choice } from "./option_readers.js";
import { readOptions } from "./options.js";
import { formResult, makeResults } from "./results.js";
import { forgotten, makeDisposable, Owner, stateOf, type Tensor } from "./tensor.js";
import type { WithDispose } from "./types.js";
import type { WasmBackend } from "./wasm_backend.js";

const readOpName = choice(Object.keys(OPS) as OpName[]);

/** What a plan holds in wasm memory. */
class PlanMemory {
  #owners: readonly Owner[];

  constructor(
    readonly backend: WasmBackend,
    /** Undefined where there is nothing to do. */
    readonly call: number | undefined,
    tensors: readonly Tensor[],
  ) {
    this.#owners = tensors.map((tensor) => new Owner(stateOf(tensor)!.owner.block!));
  }

  /** Undefined until released. */
  get fault(): string | undefined {
    if (this.#owners.length === 0) return "a disposed plan";
    return this.backend.lost ? "a plan lost by dispose()" : undefined;
  }

  release(): void {
    if (this.#owners.length === 0) return;
    if (this.call !== undefined) this.backend.destroyPrepared(this.call);
    for (const owner of this.#owners) owner.release();
    this.#owners = [];
  }
}

/** A call that was checked once: `run()` repeats it. */
export class Step<Result> {
  readonly #memory: PlanMemory;
  readonly #result: Result;
  readonly #made: readonly Tensor[];

  /** @internal */
  constructor(memory: PlanMemory, result: Result, made: readonly Tensor[]) {
    this.#memory = memory;
    this.#result = result;
    this.#made = made;
    forgotten?.register(this, memory, memory);
  }

  static {
    nameClass(Step, "Step");
    makeDisposable(Step.prototype);
  }

  /**
   * Runs the call on what its tensors hold now. Returns what the function returns, the same object each time; allocates,
   * copies and checks nothing.
   *
   * @throws {TypeError} if the plan was disposed, or lost by the package's `dispose()`; for arguments, since a plan reads what
   *   its tensors hold
   */
  run(): Result {
    // biome-ignore lint/complexity/noArguments: a rest parameter would make an array
    const given = arguments.length;
    if (given !== 0) throw wrongType("plan", "run", "no arguments: write to x.data", `${given}`);
    const memory = this.#memory;
    const got = memory.fault;
    if (got !== undefined) throw wrongType("plan", "run", "a live plan", got);
    if (memory.call !== undefined) memory.backend.runPrepared(memory.call);
    return this.#result;
  }

  /** Gives up the plan's hold on its tensors, and the results that it made. Harmless when done twice. */
  dispose(): void {
    forgotten?.unregister(this.#memory);
    this.#memory.release();
    for (const tensor of this.#made) tensor.dispose();
  }
}

// The static block defines it where the engine knows the symbol.
// biome-ignore lint/correctness/noUnusedVariables: merging takes the same parameters
export interface Step<Result> extends WithDispose {}

/**
 * The results' types stand in api.ts.
 * @internal
 */
// biome-ignore lint/suspicious/noExplicitAny: it is all of them
export function plan(inlined: Inlined, name: unknown, args: readonly unknown[]): any {
  const op = OPS[readOpName("plan", "op", name)];
  const count = op.inputs.length;
  if (args.length > count + 1) {
    throw wrongType("plan", "options", "to be the last argument", `${args.length + 1} arguments`);
  }
  const inputs: Partial<Record<InputName, Operand>> = {};
  for (const [i, input] of op.inputs.entries()) {
    inputs[input] = readOperand(op.name, input, args[i]);
  }
  const options = readOptions(op, args[count]);
  // From here on no code of the caller's runs.
  for (const input of op.inputs) requireResident(op, input, inputs[input]);
  requireResident(op, "gradSum", options.gradSum);
  requireResident(op, "out", options.out);
  requireResident(op, "sumOut", options.sumOut);
  if (options.training) {
    requireResident(op, "runningMean", options.runningMean);
    requireResident(op, "runningVar", options.runningVar);
  }
  const { out, sumOut, returnStats } = options;
  const { x, residual, gradOutput } = inputs;
  const d = checkCall(op, x!, residual, options, gradOutput);

  const backend = backendFor(inlined);
  const made = op.backward ? makeGradients(d, backend, true) : makeResults(d, backend, returnStats);
  const copies: Tensor[] = [];
  try {
    for (const each of d.placed) {
      const { kind, dtype, size } = each.operand;
      if (kind === "resident") continue;
      const copy = copyToTensor(op.name, backend, each.operand, [size], dtype);
      copies.push(copy);
      each.operand = residentOperand(copy);
      each.operand.size = size;
    }
    const call = d.x.size === 0 && !op.backward ? undefined : backend.prepare(d);
    const memory = new PlanMemory(backend, call, tensorsOf(d));
    if (op.backward) {
      const gradients = Object.freeze(formGradients(d, backend, x!));
      const step = new Step(memory, gradients, made);
      return Object.defineProperties(step, Object.getOwnPropertyDescriptors(gradients));
    }
    const result = formResult(d, out, sumOut, returnStats);
    const parts = d.sum || returnStats ? Object.freeze(result) : { output: result };
    return Object.assign(new Step(memory, result, made), parts);
  } catch (error) {
    for (const tensor of made) tensor.dispose();
    throw error;
  } finally {
    // The plan owns their memory by now.
    for (const tensor of copies) tensor.dispose();
  }
}

function requireResident(op: Op, name: string, operand: Operand | undefined): void {
  if (operand !== undefined && operand.kind !== "resident") {
    throw wrongType(op.name, name, "a Tensor, in a plan", describeOperand(operand));
  }
}

function tensorsOf(d: Descriptor): Tensor[] {
  const { x, y, sum, mean, rstd, placed, gradOutput, gradSum, gradients = [] } = d;
  const made = gradients.flatMap(({ target, sums }) => [target, sums]);
  const read = placed.map(({ operand }) => operand);
  return [x, y, sum, mean, rstd, gradOutput, gradSum, ...read, ...made]
    .map((operand) => operand?.tensor)
    .filter((tensor) => tensor !== undefined);
}
