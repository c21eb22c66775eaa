// The arguments of constructors and methods: an options object; for constructors also PyTorch's order.
import { type Dims, readDims } from "../dims.js";
import { describe, wrongType } from "../errors.js";
import type { Reader } from "../ops.js";
import { choice, readDType } from "../option_readers.js";
import { requirePlain } from "../tensor.js";

/** Readers by name, in PyTorch's order. */
type Readers = Readonly<Record<string, Reader>>;

export const COMMON = { dtype: readDType } as const;
export const readLayout = choice(["channels_first", "channels_last"]);

/** What was given of the arguments after the required ones, each checked by itself. */
export function readArguments<Options>(
  where: string,
  readers: Readers,
  rest: readonly unknown[],
): Partial<Options> {
  const names = Object.keys(readers);
  const [first] = rest;
  const isOptions = rest.length === 1 && typeof first === "object" && first !== null;
  if (!isOptions && rest.length > names.length) {
    throw wrongType(where, "options", `at most ${names.join(", ")}`, `${rest.length} of them`);
  }
  if (isOptions) return readOptions<Options>(where, readers, first);
  return readEach<Options>(
    where,
    readers,
    rest.map((value, i) => [names[i]!, value]),
  );
}

/** What was given of options, each checked by itself: own properties, each read once; undefined counts as absent. */
export function readOptions<Options>(
  where: string,
  readers: Readers,
  given: unknown,
): Partial<Options> {
  if (given === undefined) return {};
  requirePlain(where, "options", given);
  return readEach<Options>(where, readers, Object.entries(given));
}

/** The dimensions that `forward` was given for a flat x. */
export function readForwardShape(where: string, given: unknown): Dims | undefined {
  return readOptions<{ shape: Dims }>(where, { shape: readDims }, given).shape;
}

function readEach<Options>(
  where: string,
  readers: Readers,
  given: readonly (readonly [name: string, value: unknown])[],
): Partial<Options> {
  const options: Record<string, unknown> = {};
  for (const [name, value] of given) {
    if (value === undefined) continue;
    const read = Object.hasOwn(readers, name) ? readers[name] : undefined;
    if (read === undefined) {
      const known = Object.keys(readers).join(", ");
      throw wrongType(where, "options", `only ${known}`, describe(name));
    }
    options[name] = read(where, name, value);
  }
  return options as Partial<Options>;
}
