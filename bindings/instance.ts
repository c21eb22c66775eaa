// The one wasm instance that all entries share: how it comes into being, and its end.
import {
  hasSource,
  type InitRequest,
  isNothing,
  matches,
  NOTHING,
  readInitOptions,
  readInitSource,
  resultOf,
} from "./init_options.js";
import type { InitResult } from "./types.js";
import type { WasmBackend } from "./wasm_backend.js";
import {
  compile,
  compileSync,
  fetchModule,
  instantiate,
  instantiateSync,
  readBytes,
} from "./wasm_module.js";

/** The bytes that an entry carries; `layernorm/slim` carries none. */
export type Inlined = (() => Uint8Array<ArrayBuffer>) | undefined;

let current: { readonly backend: WasmBackend; readonly request: InitRequest } | undefined;
let generation = 0; // counts disposals
let pending: { readonly promise: Promise<InitResult>; readonly request: InitRequest } | undefined;

/** The backend in use, made now from an entry's own bytes if there is none. */
export function backendFor(inlined: Inlined): WasmBackend {
  return current === undefined ? start(inlined) : current.backend;
}

function start(inlined: Inlined): WasmBackend {
  if (pending !== undefined && !(inlined !== undefined && isNothing(pending.request))) {
    throw new Error("layernorm: init() is pending, await it before the first call");
  }
  if (inlined === undefined) {
    const how = "`await init({ module })` (or url, bytes) or `initSync(module)`";
    throw new Error(`layernorm/slim: no WebAssembly yet, call ${how} first`);
  }
  return use(instantiateSync(compileSync(inlined())), NOTHING);
}

function use(backend: WasmBackend, request: InitRequest): WasmBackend {
  current = { backend, request };
  return backend;
}

/** Not an async function: concurrent calls share one promise. */
export function init(inlined: Inlined, options: unknown): Promise<InitResult> {
  let request: InitRequest;
  try {
    request = readInitOptions(options);
    if (pending !== undefined) {
      if (matches(request, pending.request)) return pending.promise;
      throw new Error("init: another init() with other options is pending");
    }
    if (current !== undefined) return Promise.resolve(resultInUse("init", request));
    if (inlined === undefined && !hasSource(request)) {
      throw new Error("init: layernorm/slim needs one of module, url, bytes");
    }
  } catch (error) {
    return Promise.reject(error);
  }
  const promise = load(inlined, request).finally(() => {
    if (pending?.promise === promise) pending = undefined;
  });
  pending = { promise, request };
  return promise;
}

async function load(inlined: Inlined, request: InitRequest): Promise<InitResult> {
  const started = generation;
  const backend = await instantiate(await moduleFor(inlined, request));
  if (generation !== started)
    throw new Error("init: dispose() was called while init() was pending");
  // A call may have started an instance from the entry's own bytes meanwhile.
  if (current === undefined) use(backend, request);
  return resultOf(request);
}

async function moduleFor(inlined: Inlined, request: InitRequest): Promise<WebAssembly.Module> {
  const { module, url, bytes } = request;
  if (module !== undefined) return module;
  if (url !== undefined) return fetchModule("init", url);
  return compile(bytes === undefined ? inlined!() : readBytes("init", "bytes", bytes));
}

export function initSync(inlined: Inlined, source: unknown): InitResult {
  const own = source === undefined && inlined !== undefined;
  const request = own ? NOTHING : readInitSource(source);
  if (current !== undefined) return resultInUse("initSync", request);
  if (pending !== undefined) throw new Error("initSync: init() is pending");
  const { module, bytes } = request;
  const compiled =
    module ??
    compileSync(bytes === undefined ? inlined!() : readBytes("initSync", "module", bytes));
  use(instantiateSync(compiled), request);
  return resultOf(request);
}

function resultInUse(where: string, request: InitRequest): InitResult {
  if (!matches(request, current!.request)) {
    throw new Error(`${where}: expected what is in use since the first call, got other options`);
  }
  return resultOf(current!.request);
}

/** Gives the instance up: the package is then as at import, and earlier tensors and plans are lost. */
export function dispose(): void {
  generation++;
  current?.backend.lose();
  current = undefined;
  pending = undefined;
}
