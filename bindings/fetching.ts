// What `init` reads from a URL, in a file that `layernorm`, which carries its binary, loads when it is asked for one.
import type * as wasmModule from "./wasm_module.js";

/** What is needed of the file that loads this one; the bundler would cut that in two for an import. */
export type Reading = Pick<typeof wasmModule, "compile" | "readBytes" | "reason">;

interface FileSystem {
  readFile(url: URL): Promise<Uint8Array>;
}

interface MaybeNode {
  process?: { getBuiltinModule?: (name: string) => FileSystem | undefined };
}

/** Fetches and compiles what stands at a URL; file: URLs also in Node, whose fetch does not take them. */
export async function fetchModule(
  where: string,
  url: string,
  { compile, readBytes, reason }: Reading,
): Promise<WebAssembly.Module> {
  const reading = async <T>(read: () => Promise<T>): Promise<T> => {
    try {
      return await read();
    } catch (cause) {
      throw new Error(`${where}: "url" could not be read: ${url} (${reason(cause)})`, { cause });
    }
  };
  const compileFrom = async (read: () => Promise<Uint8Array | ArrayBuffer>) =>
    compile(readBytes(where, "url", await reading(read)));
  if (url.startsWith("file:")) {
    // Not an import: bundlers for browsers would look for the module.
    const fs = (globalThis as MaybeNode).process?.getBuiltinModule?.("node:fs/promises");
    if (fs !== undefined) return compileFrom(() => fs.readFile(new URL(url)));
  }
  const response = await reading(() => fetch(url));
  if (!response.ok) {
    const { status } = response;
    throw new Error(`${where}: "url" expected a WebAssembly binary, got status ${status}: ${url}`);
  }
  const isTyped = /^application\/wasm\b/.test(response.headers.get("Content-Type") ?? "");
  // The connection may end while the body comes.
  if (!isTyped || WebAssembly.compileStreaming === undefined) {
    return compileFrom(() => response.arrayBuffer());
  }
  const copy = response.clone();
  try {
    return await WebAssembly.compileStreaming(response);
  } catch {
    return compileFrom(() => copy.arrayBuffer());
  }
}
