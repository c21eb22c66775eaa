// The last call of an operation. A loop gives the same arrays and options again and again; to read and check them takes several
// times as long as the kernel of a short row. What is the same again, and can have changed in its elements alone, runs as it was
// checked then.
import { checkCall, checkVariances, type Descriptor } from "./descriptor.js";
import { sameDims } from "./dims.js";
import { bufferOf, lengthOf, type OwnArray, typedArrayTag } from "./dtypes.js";
import { readOperand } from "./operands.js";
import type { Op } from "./ops.js";
import { type Options, readOptions } from "./options.js";

// What is remembered stays alive. An array of a longer buffer is not, in bytes: its kernel takes longer than the checks.
const LONGEST_BUFFER = 64 * 1024;

/** A call that was checked. */
export class CheckedCall {
  constructor(
    readonly d: Descriptor,
    readonly options: Options,
    /** Names and values of the options in their order, arrays of numbers as copies; undefined if it is not to be remembered. */
    readonly seen: readonly unknown[] | undefined,
    /** All typed arrays, those before the options first, and how long they were. */
    readonly arrays: readonly OwnArray[],
    readonly lengths: readonly number[],
  ) {}

  get isKept(): boolean {
    return this.seen !== undefined;
  }

  /** Makes it the last call. Lets go of what it has made: each call makes its own. */
  keep(): void {
    if (!this.isKept) return;
    const { d, options } = this;
    d.y = options.out;
    d.sum = options.sumOut;
    d.mean = d.rstd = undefined;
    for (const gradient of d.gradients ?? NONE) gradient.target = gradient.sums = undefined;
    d.op.last = this;
  }

  /** Whether no array has lost its memory or changed in length: where an array stands never changes otherwise. */
  isThere(): boolean {
    const { arrays, lengths } = this;
    for (let i = 0; i < arrays.length; i++) {
      if (lengthOf(arrays[i]!) !== lengths[i]) return false;
    }
    return true;
  }
}

const NONE: readonly never[] = [];

/** Reads and checks a call of the tensors that stand before the options. */
export function check(
  op: Op,
  given: unknown,
  first: unknown,
  second?: unknown,
  third?: unknown,
): CheckedCall {
  const { name, inputs, last, backward } = op;
  const count = inputs.length;
  let options: Options | undefined;
  if (
    last !== undefined &&
    first === last.arrays[0] &&
    (count < 2 || second === last.arrays[1]) &&
    (count < 3 || third === last.arrays[2])
  ) {
    // To read these arrays runs no code, so the options can be read before them.
    options = readOptions(op, given, last);
    // Until it has ended well.
    op.last = undefined;
    if (options === last.options) {
      checkVariances(name, options.runningVar);
      return last;
    }
  }
  const a = readOperand(name, inputs[0]!, first);
  const b = count < 2 ? undefined : readOperand(name, inputs[1]!, second);
  const c = count < 3 ? undefined : readOperand(name, inputs[2]!, third);
  let seen: unknown[] | undefined;
  if (options === undefined) {
    // To note what is read takes time: of calls that are not the last one again, every eighth is worth it.
    const misses = op.misses ?? 0;
    op.misses = misses + 1;
    if (misses % 8 === 0) seen = [];
    options = readOptions(op, given, undefined, seen);
  }
  // From here on no code of the caller's runs.
  const d = backward ? checkCall(op, b!, c, options, a) : checkCall(op, a, b, options);
  if (seen === undefined) return new CheckedCall(d, options, seen, NONE, NONE);
  const objects = seen.filter(
    (value) => value !== null && typeof value === "object" && !Array.isArray(value),
  );
  const arrays = [first, second, third].slice(0, count).concat(objects);
  return arrays.every(isShort)
    ? new CheckedCall(d, options, seen, arrays, arrays.map(lengthOf))
    : new CheckedCall(d, options, undefined, NONE, NONE);
}

/** Whether a value is one that was seen. */
export function isSame(value: unknown, before: unknown): boolean {
  return (
    Object.is(value, before) ||
    (Array.isArray(value) && Array.isArray(before) && sameDims(value, before))
  );
}

// Whether something is worth remembering: a typed array with elements. Tensors have plans, and the collector frees them; to
// read anything else may run code.
function isShort(value: unknown): value is OwnArray {
  if (typedArrayTag(value) === undefined) return false;
  const array = value as OwnArray;
  return (
    lengthOf(array) > 0 && lengthOf(new Uint8Array(bufferOf(array)) as never) <= LONGEST_BUFFER
  );
}
