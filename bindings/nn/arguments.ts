// The arguments of constructors: an options object, or PyTorch's order.
import { describe, wrongType } from "../errors.js";
import type { Reader } from "../ops.js";
import { choice, readDType } from "../option_readers.js";

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
  const given = isOptions
    ? Object.entries(first)
    : rest.map((value, i) => [names[i]!, value] as const);
  const options: Record<string, unknown> = {};
  for (const [name, value] of given) {
    const read = Object.hasOwn(readers, name) ? readers[name] : undefined;
    if (read === undefined) {
      throw wrongType(where, "options", `only ${names.join(", ")}`, describe(name));
    }
    if (value !== undefined) options[name] = read(where, name, value);
  }
  return options as Partial<Options>;
}
