// The options of init: reading them, and whether they ask for what is in use.
import { describe, wrongType } from "./errors.js";
import { readCount, readFlag } from "./option_readers.js";
import type { InitResult } from "./types.js";

/** What init was asked for. */
export interface InitRequest {
  readonly threads?: number;
  readonly relaxedSimd?: boolean;
  readonly module?: WebAssembly.Module;
  readonly url?: string;
  readonly bytes?: ArrayBufferLike | ArrayBufferView;
}

/** Asks for nothing in particular. */
export const NOTHING: InitRequest = {};

type Name = keyof InitRequest;

const READERS: Readonly<Record<Name, (where: string, name: string, value: unknown) => unknown>> = {
  threads: readCount,
  relaxedSimd: readFlag,
  module: readModule,
  url: readUrl,
  bytes: readBytes,
};

const NAMES = Object.keys(READERS) as Name[];

export function isNothing(request: InitRequest): boolean {
  return Object.keys(request).length === 0;
}

export function hasSource({ module, url, bytes }: InitRequest): boolean {
  return (module ?? url ?? bytes) !== undefined;
}

/** Whether it asks for a build that is loaded when it is asked for. */
export function asksForMore({ threads = 1, relaxedSimd }: InitRequest): boolean {
  return threads > 1 || relaxedSimd === true;
}

export function readInitOptions(options: unknown): InitRequest {
  if (options === undefined) return NOTHING;
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw wrongType("init", "options", "an object", describe(options));
  }
  const read: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(options)) {
    if (!NAMES.includes(name as Name)) {
      throw wrongType("init", "options", `only ${NAMES.join(", ")}`, describe(name));
    }
    if (value !== undefined) read[name] = READERS[name as Name]("init", name, value);
  }
  const request: InitRequest = read;
  const { threads, relaxedSimd, module, url, bytes } = request;
  const sources = [module, url, bytes].filter((value) => value !== undefined).length;
  if (sources > 1) throw wrongType("init", "options", "one of module, url, bytes", `${sources}`);
  if (sources === 1 && (threads ?? relaxedSimd) !== undefined) {
    const expected = "threads and relaxedSimd without module, url and bytes";
    throw wrongType("init", "options", expected, "both");
  }
  return request;
}

/** A request by what `initSync` is given. */
export function readInitSource(source: unknown): InitRequest {
  if (isModule(source)) return { module: source };
  if (isBytes(source)) return { bytes: source };
  const expected = "a WebAssembly.Module or its bytes";
  throw wrongType("initSync", "module", expected, describe(source));
}

/** Whether a request asks for what another one did, or for what that led to. */
export function matches(request: InitRequest, other: InitRequest, result?: InitResult): boolean {
  const { threads = 1, relaxedSimd = false } = other;
  const actual: InitRequest = result ?? { threads, relaxedSimd };
  return NAMES.every((name) => [undefined, other[name], actual[name]].includes(request[name]));
}

function readModule(where: string, name: string, value: unknown): WebAssembly.Module {
  if (isModule(value)) return value;
  throw wrongType(where, name, "a WebAssembly.Module", describe(value));
}

function readUrl(where: string, name: string, value: unknown): string {
  const href = typeof value === "object" && value !== null && "href" in value ? value.href : value;
  if (typeof href === "string") return href;
  throw wrongType(where, name, "a string or URL", describe(value));
}

function readBytes(where: string, name: string, value: unknown): ArrayBufferLike | ArrayBufferView {
  if (isBytes(value)) return value;
  throw wrongType(where, name, "an ArrayBuffer or a view of one", describe(value));
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
