// A binary out of the text that modules carry it in; tools/pack.js writes it.
import unpacker from "./generated/unpack.js";
import { compileSync } from "./wasm_module.js";

/** The bytes of a text. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const module = compileSync(Uint8Array.from(atob(unpacker), (byte) => byte.charCodeAt(0)));
  const { memory, unpack } = new WebAssembly.Instance(module).exports as {
    memory: WebAssembly.Memory;
    unpack(): number;
  };
  // Where bindings/unpack.cc expects it, and where it puts the binary.
  new TextEncoder().encodeInto(text, new Uint8Array(memory.buffer, 1 << 16));
  return new Uint8Array(memory.buffer, 1 << 18, unpack());
}
