// Plans: a call on resident tensors that is checked once and run many times.
import { copyToTensor } from "./create.js";
import { checkCall, type Descriptor, type ParameterValue } from "./descriptor.js";
import { show } from "./dims.js";
import { describe, quotedList, wrongType, wrongValue } from "./errors.js";
import { backendFor, type Inlined } from "./instance.js";
import { describeOperand, type Operand, readOperand, residentOperand } from "./operands.js";
import { OPS, type Op, type OpName } from "./ops.js";
import { readOptions } from "./options.js";
import { formResult, makeResults } from "./results.js";
import { forgotten, Owner, stateOf, type Tensor } from "./tensor.js";
import type { WithDispose } from "./types.js";
import type { WasmBackend } from "./wasm_backend.js";

/** What a plan holds in wasm memory. */
class PlanMemory {
  #owners: readonly Owner[];

  constructor(
    readonly backend: WasmBackend,
    readonly call: number,
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
    this.backend.destroyPrepared(this.call);
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
    if (Symbol.dispose !== undefined) {
      Object.defineProperty(Step.prototype, Symbol.dispose, {
        value: Step.prototype.dispose,
        configurable: true,
        writable: true,
      });
    }
  }

  /**
   * Runs the call on what its tensors hold now. Returns what the function returns, the same object each time; allocates,
   * copies and checks nothing.
   *
   * @throws {TypeError} if the plan was disposed, or lost by the package's `dispose()`
   */
  run(): Result {
    const memory = this.#memory;
    const got = memory.fault;
    if (got !== undefined) throw wrongType("plan", "run", "a live plan", got);
    memory.backend.runPrepared(memory.call);
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
  const op = readOp(name);
  const count = op.inputs.length;
  if (args.length > count + 1) {
    throw wrongType("plan", "options", "to be the last argument", `${args.length + 1} arguments`);
  }
  const x = readOperand(op.name, op.inputs[0]!, args[0]);
  const options = readOptions(op, args[count]);
  // From here on no code of the caller's runs.
  requireResident(op, op.inputs[0]!, x);
  if (options.out !== undefined) requireResident(op, "out", options.out);
  const d = checkCall(op, x, options);
  requireInPlace(d, "weight", options.weight);
  requireInPlace(d, "bias", options.bias);

  const backend = backendFor(inlined);
  const made = makeResults(d, backend, options.returnStats);
  const copies: Tensor[] = [];
  try {
    d.weight = residentParameter(d.weight, op, backend, copies);
    d.bias = residentParameter(d.bias, op, backend, copies);
    const memory = new PlanMemory(backend, backend.prepare(d), tensorsOf(d));
    const result = formResult(d, options.out !== undefined, options.returnStats);
    const parts = options.returnStats ? Object.freeze(result) : { output: result };
    return Object.assign(new Step(memory, result, made), parts);
  } catch (error) {
    for (const tensor of made) tensor.dispose();
    throw error;
  } finally {
    // The plan owns their memory by now.
    for (const tensor of copies) tensor.dispose();
  }
}

function readOp(name: unknown): Op {
  if (typeof name !== "string") throw wrongType("plan", "op", "a string", describe(name));
  if (!Object.hasOwn(OPS, name)) {
    throw wrongValue("plan", "op", `one of ${quotedList(Object.keys(OPS))}`, describe(name));
  }
  return OPS[name as OpName];
}

function requireResident(op: Op, name: string, operand: Operand): void {
  if (operand.kind !== "resident") {
    throw wrongType(op.name, name, "a Tensor, in a plan", describeOperand(operand));
  }
}

// What checking expanded is a copy, but a plan must see changes of resident parameters.
function requireInPlace(d: Descriptor, name: "weight" | "bias", given: ParameterValue): void {
  if (typeof given === "object" && given.kind === "resident" && d[name] !== given) {
    const { dims, lead } = d.split;
    const expected = `shape ${show(dims.slice(lead))} of a Tensor in a plan`;
    throw wrongValue(d.op.name, name, expected, show(given.dims!));
  }
}

function residentParameter(
  value: ParameterValue,
  op: Op,
  backend: WasmBackend,
  copies: Tensor[],
): ParameterValue {
  if (typeof value !== "object" || value.kind === "resident") return value;
  const copy = copyToTensor(op.name, backend, value, [value.size], value.dtype);
  copies.push(copy);
  const operand = residentOperand(copy);
  operand.size = value.size;
  return operand;
}

function tensorsOf({ x, y, mean, rstd, weight, bias }: Descriptor): Tensor[] {
  const tensors = [x, y, mean, rstd, weight, bias].map((value) =>
    typeof value === "object" ? value.tensor : undefined,
  );
  return tensors.filter((tensor) => tensor !== undefined);
}
