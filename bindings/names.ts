// What objects are called when they are printed: the build shortens the names of classes.

/** By this Node, Deno and Bun ask an object for its text. */
export const INSPECT: unique symbol = Symbol.for("nodejs.util.inspect.custom") as never;

/** With what it asks: its options, and what makes text of any value. */
export type Inspecting = [options: object, inspect: (value: object, options: object) => string];

/** An object's text: its name and what is worth seeing of it. */
export function inspected(name: string, shown: object, ...[options, inspect]: Inspecting): string {
  return `${name} ${inspect(shown, options)}`;
}

/** Names a class for whoever prints it or its objects. */
export function nameClass(named: { readonly prototype: object }, name: string): void {
  const property = { value: name, configurable: true };
  Object.defineProperty(named, "name", property);
  Object.defineProperty(named.prototype, Symbol.toStringTag, property);
}
