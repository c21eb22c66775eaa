// The builds that `init` loads where it is asked for threads or relaxed SIMD, in a file that is loaded then.
import type { InitRequest } from "./init_options.js";
import type { Loaded } from "./instance.js";
import type { Raw } from "./raw_call.js";
import type { Team } from "./team.js";
import type { WasmBackend } from "./wasm_backend.js";
import type * as wasmModule from "./wasm_module.js";

/** What is needed of the file that loads this one; the bundler would cut that in two for an import. */
export interface Own {
  readonly instantiateWith: typeof wasmModule.instantiateWith;
  readonly isValid: typeof wasmModule.isValid;
  compileText(text: string): Promise<WebAssembly.Module>;
  readonly makeBackend: (raw: Raw) => WasmBackend;
}

/** What comes nearest to a request, or, where nothing of it is to be had, why. */
export async function loadAsked(request: InitRequest, own: Own): Promise<Loaded | string[]> {
  const { threads = 1, relaxedSimd: asksRelaxed = false } = request;
  const relaxedSimd = asksRelaxed && own.isValid(RELAXED_SIMD);
  const reasons = asksRelaxed && !relaxedSimd ? ["relaxedSimd: this engine has none"] : [];
  if (threads > 1) {
    const team = await reasonOr(() => loadTeam(threads, relaxedSimd, own));
    if (typeof team === "object") {
      const { backend, end, reason } = team;
      if (reason !== undefined) reasons.unshift(`threads: ${reason}`);
      return { backend, end, result: { threads: team.threads, relaxedSimd, reasons } };
    }
    reasons.unshift(`threads: ${team}`);
  }
  if (relaxedSimd) {
    const backend = await reasonOr(() => loadRelaxed(own));
    if (typeof backend === "object") {
      return { backend, result: { threads: 1, relaxedSimd, reasons } };
    }
    reasons.push(`relaxedSimd: ${backend}`);
  }
  return reasons;
}

// A module with one of its instructions, i8x16.relaxed_swizzle.
const RELAXED_SIMD = Uint8Array.of(
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0],
  ...[10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11],
);

/** What was loaded, or why it was not. */
async function reasonOr<T>(load: () => Promise<T>): Promise<T | string> {
  try {
    return await load();
  } catch (error) {
    return error instanceof Error ? error.message : `${error}`;
  }
}

async function loadTeam(threads: number, relaxedSimd: boolean, own: Own): Promise<Team> {
  if (typeof SharedArrayBuffer === "undefined" || globalThis.crossOriginIsolated === false) {
    throw new Error("this page is not cross-origin isolated, by the headers COOP and COEP");
  }
  const [{ startTeam }, { createGlue, text }] = await Promise.all([
    import("./team.js"),
    relaxedSimd ? import("./builds/relaxed_threads.js") : import("./builds/threads.js"),
  ]);
  return startTeam(threads, await own.compileText(text), createGlue, own.makeBackend);
}

async function loadRelaxed(own: Own): Promise<WasmBackend> {
  const { createGlue, text } = await import("./builds/relaxed.js");
  return own.instantiateWith(createGlue, await own.compileText(text));
}
