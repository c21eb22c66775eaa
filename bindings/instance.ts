// The one wasm instance that all entries share: how it comes into being, and its end.
import type { Own } from "./asked.js";
import type { fetchModule } from "./fetching.js";
import {
  asksForMore,
  hasSource,
  type InitRequest,
  isNothing,
  matches,
  NOTHING,
  readInitOptions,
  readInitSource,
} from "./init_options.js";
import type { InitResult } from "./types.js";
import { WasmBackend } from "./wasm_backend.js";
import {
  compile,
  compileSync,
  instantiate,
  instantiateSync,
  instantiateWith,
  isValid,
  readBytes,
  reason,
} from "./wasm_module.js";
import { bytesOf } from "./wasm_text.js";

/** The binary that an entry carries, as text; `layernorm/slim` carries none. */
export type Inlined = string | undefined;

/** An instance in use. */
export interface Loaded {
  readonly backend: WasmBackend;
  readonly result: InitResult;
  /** Ends its workers. */
  end?(): void;
}

let current: (Loaded & { readonly request: InitRequest }) | undefined;
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
  return use(plain(instantiateSync(compileSync(bytesOf(inlined)))), NOTHING).backend;
}

function use(loaded: Loaded, request: InitRequest): Loaded {
  current = { ...loaded, request };
  return loaded;
}

/** What is loaded where nothing more is asked for, or where that is not to be had. */
function plain(backend: WasmBackend, reasons: string[] = []): Loaded {
  return { backend, result: { threads: 1, relaxedSimd: false, reasons } };
}

/**
 * Not an async function: concurrent calls share one promise. An entry that is given URLs mostly has what reads them with it.
 */
export function init(
  inlined: Inlined,
  options: unknown,
  fetching?: typeof fetchModule,
): Promise<InitResult> {
  let request: InitRequest;
  try {
    request = readInitOptions(options);
    if (pending !== undefined) {
      if (matches(request, pending.request)) return pending.promise;
      throw new Error("init: another init() with other options is pending");
    }
    if (current !== undefined) return Promise.resolve(resultInUse("init", request));
    if (inlined === undefined && !hasSource(request) && !asksForMore(request)) {
      throw new Error("init: layernorm/slim needs one of module, url, bytes");
    }
  } catch (error) {
    return Promise.reject(error);
  }
  const promise = load(inlined, request, fetching).finally(() => {
    if (pending?.promise === promise) pending = undefined;
  });
  pending = { promise, request };
  return promise;
}

async function load(
  inlined: Inlined,
  request: InitRequest,
  fetching?: typeof fetchModule,
): Promise<InitResult> {
  const started = generation;
  const loaded = await loadFor(inlined, request, fetching);
  if (generation !== started) {
    loaded.end?.();
    throw new Error("init: dispose() was called while init() was pending");
  }
  // A call may have started an instance from the entry's own bytes meanwhile, where nothing more was asked for.
  if (current === undefined) use(loaded, request);
  return copyOf(loaded.result);
}

const OWN: Own = {
  instantiateWith,
  isValid,
  compileText: (text) => compile(bytesOf(text)),
  makeBackend: (raw) => new WasmBackend(raw),
};

async function loadFor(
  inlined: Inlined,
  request: InitRequest,
  fetching?: typeof fetchModule,
): Promise<Loaded> {
  let reasons: string[] = [];
  if (asksForMore(request)) {
    const { loadAsked } = await import("./asked.js");
    const loaded = await loadAsked(request, OWN);
    if (!Array.isArray(loaded)) return loaded;
    reasons = loaded;
  }
  return plain(await instantiate(await moduleFor(inlined, request, fetching)), reasons);
}

async function moduleFor(
  inlined: Inlined,
  request: InitRequest,
  fetching?: typeof fetchModule,
): Promise<WebAssembly.Module> {
  const { module, url, bytes } = request;
  if (module !== undefined) return module;
  if (url !== undefined) {
    const fetchFrom = fetching ?? (await import("./fetching.js")).fetchModule;
    return fetchFrom("init", url, { compile, readBytes, reason });
  }
  if (bytes !== undefined) return compile(readBytes("init", "bytes", bytes));
  // layernorm/slim comes here where it asked for more than there is.
  return compile(bytesOf(inlined ?? (await import("./inlined.js")).inlined));
}

export function initSync(inlined: Inlined, source: unknown): InitResult {
  const own = source === undefined && inlined !== undefined;
  const request = own ? NOTHING : readInitSource(source);
  if (current !== undefined) return resultInUse("initSync", request);
  if (pending !== undefined) throw new Error("initSync: init() is pending");
  const { module, bytes } = request;
  const compiled =
    module ??
    compileSync(bytes === undefined ? bytesOf(inlined!) : readBytes("initSync", "module", bytes));
  return copyOf(use(plain(instantiateSync(compiled)), request).result);
}

function resultInUse(where: string, request: InitRequest): InitResult {
  if (!matches(request, current!.request, current!.result)) {
    throw new Error(
      `${where}: expected the options in use since the first call, or dispose() before others, got others`,
    );
  }
  return copyOf(current!.result);
}

function copyOf(result: InitResult): InitResult {
  return { ...result, reasons: [...result.reasons] };
}

/** Gives the instance up: the package is then as at import, and earlier tensors and plans are lost. */
export function dispose(): void {
  generation++;
  current?.backend.lose();
  current?.end?.();
  current = undefined;
  pending = undefined;
}
