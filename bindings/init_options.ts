// The options of init: reading them, and whether they ask for what is in use.
import { describe, wrongType, wrongValue } from "./errors.js";
import type { InitResult } from "./types.js";

/** What init was asked for. */
export interface InitRequest {
  readonly threads: number | undefined;
  readonly relaxedSimd: boolean | undefined;
  readonly module: WebAssembly.Module | undefined;
  readonly url: string | undefined;
  readonly bytes: ArrayBufferLike | ArrayBufferView | undefined;
}

/** Asks for nothing in particular. */
export const NOTHING: InitRequest = {
  threads: undefined,
  relaxedSimd: undefined,
  module: undefined,
  url: undefined,
  bytes: undefined,
};

const NAMES = Object.keys(NOTHING);

export function isNothing(request: InitRequest): boolean {
  return Object.values(request).every((value) => value === undefined);
}

export function hasSource({ module, url, bytes }: InitRequest): boolean {
  return (module ?? url ?? bytes) !== undefined;
}

export function readInitOptions(options: unknown): InitRequest {
  if (options === undefined) return NOTHING;
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw wrongType("init", "options", "an object", describe(options));
  }
  const given: Record<string, unknown> = { ...NOTHING, ...options };
  const unknown = Object.keys(given).find((name) => !NAMES.includes(name));
  if (unknown !== undefined) {
    throw wrongType("init", "options", `only ${NAMES.join(", ")}`, describe(unknown));
  }
  const { threads, relaxedSimd, module, url, bytes } = given;
  if (threads !== undefined && typeof threads !== "number") {
    throw wrongType("init", "threads", "a number", describe(threads));
  }
  if (threads !== undefined && !(Number.isSafeInteger(threads) && threads >= 1)) {
    throw wrongValue("init", "threads", "an integer >= 1", describe(threads));
  }
  if (relaxedSimd !== undefined && typeof relaxedSimd !== "boolean") {
    throw wrongType("init", "relaxedSimd", "a boolean", describe(relaxedSimd));
  }
  if (module !== undefined && !isModule(module)) {
    throw wrongType("init", "module", "a WebAssembly.Module", describe(module));
  }
  if (bytes !== undefined && !isBytes(bytes)) {
    throw wrongType("init", "bytes", "an ArrayBuffer or a view of one", describe(bytes));
  }
  const href = url === undefined ? undefined : hrefOf(url);
  const request = { threads, relaxedSimd, module, url: href, bytes };
  const sources = [module, url, bytes].filter((value) => value !== undefined).length;
  if (sources > 1) throw wrongType("init", "options", "one of module, url, bytes", `${sources}`);
  if (sources === 1 && (threads !== undefined || relaxedSimd !== undefined)) {
    const expected = "threads and relaxedSimd without module, url and bytes";
    throw wrongType("init", "options", expected, "both");
  }
  return request;
}

/** A request by what `initSync` is given. */
export function readInitSource(source: unknown): InitRequest {
  if (isModule(source)) return { ...NOTHING, module: source };
  if (isBytes(source)) return { ...NOTHING, bytes: source };
  const expected = "a WebAssembly.Module or its bytes";
  throw wrongType("initSync", "module", expected, describe(source));
}

/** Whether a request asks for what is in use, or for what those asked who put it into use. */
export function matches(request: InitRequest, used: InitRequest): boolean {
  const actual = resultOf(used);
  return (
    [undefined, used.threads, actual.threads].includes(request.threads) &&
    [undefined, used.relaxedSimd, actual.relaxedSimd].includes(request.relaxedSimd) &&
    [undefined, used.module].includes(request.module) &&
    [undefined, used.url].includes(request.url) &&
    [undefined, used.bytes].includes(request.bytes)
  );
}

/** What a request leads to. */
export function resultOf({ threads, relaxedSimd }: InitRequest): InitResult {
  const reasons: string[] = [];
  if (threads !== undefined && threads > 1) reasons.push("threads: this build has one thread");
  if (relaxedSimd) reasons.push("relaxedSimd: this build has no relaxed SIMD");
  return { threads: 1, relaxedSimd: false, reasons };
}

function hrefOf(url: unknown): string {
  const href: unknown = typeof url === "object" && url !== null && "href" in url ? url.href : url;
  if (typeof href !== "string") throw wrongType("init", "url", "a string or URL", describe(url));
  return href;
}

// By their tags, since they may come from another realm.
function isModule(value: unknown): value is WebAssembly.Module {
  return tagOf(value) === "[object WebAssembly.Module]";
}

function isBytes(value: unknown): value is ArrayBufferLike | ArrayBufferView {
  const tag = tagOf(value);
  return (
    ArrayBuffer.isView(value) ||
    tag === "[object ArrayBuffer]" ||
    tag === "[object SharedArrayBuffer]"
  );
}

function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value);
}
