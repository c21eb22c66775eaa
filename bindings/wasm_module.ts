// From bytes, a URL or a module to an instance. Every error says what to do about it.
import createGlue, { buildId } from "./generated/glue.js";
import type { Raw } from "./raw_call.js";
import { WasmBackend } from "./wasm_backend.js";

/** A build beside the ordinary one: its glue and its binary, which carries no mark that is checked. */
export interface Build {
  readonly createGlue: typeof createGlue;
  /** The binary for wasm_text.ts. */
  readonly text: string;
}

/** Bytes that WebAssembly takes: not shared, and with the header of a binary. */
export function readBytes(
  where: string,
  name: string,
  source: ArrayBufferLike | ArrayBufferView,
): Uint8Array<ArrayBuffer> {
  const view = ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
  // WebAssembly refuses shared memory, and a copy is a few kilobytes.
  const bytes = view.slice();
  if (String.fromCharCode(...bytes.subarray(0, 4)) !== "\0asm") {
    const start = JSON.stringify(String.fromCharCode(...bytes.subarray(0, 20)));
    throw new Error(
      `${where}: "${name}" expected a WebAssembly binary, got what starts with ${start}`,
    );
  }
  return bytes;
}

export async function compile(bytes: Uint8Array<ArrayBuffer>): Promise<WebAssembly.Module> {
  requireWebAssembly();
  try {
    return await WebAssembly.compile(bytes);
  } catch (error) {
    throw compileError(bytes, error);
  }
}

export function compileSync(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module {
  requireWebAssembly();
  try {
    return new WebAssembly.Module(bytes);
  } catch (error) {
    throw compileError(bytes, error);
  }
}

export async function instantiate(module: WebAssembly.Module): Promise<WasmBackend> {
  requireOwnModule(module);
  return instantiateWith(createGlue, module);
}

export async function instantiateWith(
  create: Build["createGlue"],
  module: WebAssembly.Module,
): Promise<WasmBackend> {
  const glue = create();
  return start(glue, await WebAssembly.instantiate(module, glue.imports));
}

export function instantiateSync(module: WebAssembly.Module): WasmBackend {
  requireOwnModule(module);
  const glue = createGlue();
  try {
    return start(glue, new WebAssembly.Instance(module, glue.imports));
  } catch (error) {
    throw isTooBigForSync(error) ? awaitInit(error) : error;
  }
}

function start(glue: ReturnType<typeof createGlue>, instance: WebAssembly.Instance): WasmBackend {
  return new WasmBackend(glue.start(instance) as Raw);
}

// The glue and the binary belong together: a binary of another build would be called under wrong names.
function requireOwnModule(module: WebAssembly.Module): void {
  const [section] = WebAssembly.Module.customSections(module, "layernorm");
  const id = section && String.fromCharCode(...new Uint8Array(section));
  if (id !== buildId) {
    const got = id === undefined ? "another module" : `that of build ${id}`;
    throw new Error(`layernorm: expected layernorm.wasm of build ${buildId}, got ${got}`);
  }
}

function requireWebAssembly(): void {
  if (typeof WebAssembly === "undefined") {
    throw new Error("layernorm: this engine has no WebAssembly, or a policy turns it off");
  }
}

function compileError(bytes: Uint8Array<ArrayBuffer>, error: unknown): Error {
  if (isTooBigForSync(error)) return awaitInit(error);
  if (!isValid(bytes)) {
    const needs = "a WebAssembly binary that is whole, and an engine with WebAssembly SIMD";
    return new Error(`layernorm: expected ${needs} (${reason(error)})`, { cause: error });
  }
  return new Error(
    "layernorm: WebAssembly may not be compiled here. A Content-Security-Policy must allow 'wasm-unsafe-eval' in " +
      'script-src; where only ready modules are allowed, as in Workers, import "layernorm/layernorm.wasm" and pass it ' +
      `to init({ module }) of "layernorm/slim" first (${reason(error)})`,
    { cause: error },
  );
}

/** Whether the engine can compile it, as far as it says. */
export function isValid(bytes: Uint8Array<ArrayBuffer>): boolean {
  try {
    return WebAssembly.validate(bytes);
  } catch {
    return true;
  }
}

// Older Chromium refuses big modules in synchronous calls on the main thread.
function isTooBigForSync(error: unknown): boolean {
  return error instanceof RangeError && /main thread/.test(error.message);
}

function awaitInit(cause: unknown): Error {
  const message = "layernorm: this engine compiles WebAssembly only asynchronously here";
  return new Error(`${message}, \`await init()\` before the first call`, { cause });
}

export function reason(error: unknown): string {
  return error instanceof Error ? error.message : `${error}`;
}
