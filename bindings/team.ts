// The threads that share the work of calls, in a file that is loaded when they are asked for, beside one of the builds for them.
// The memory of those is shared: a worker has an instance of its own of the same module over it, and waits there for its part of
// a call.
import type { MainModule } from "./generated/threads/raw.js";
import type { Raw } from "./raw_call.js";
import type { WasmBackend } from "./wasm_backend.js";
import type { Build } from "./wasm_module.js";

/** The threads that share the work of calls, the one that calls among them. */
export interface Team {
  readonly backend: WasmBackend;
  readonly threads: number;
  /** Why there are not as many as were asked for. */
  readonly reason: string | undefined;
  /** Ends the workers. */
  end(): void;
}

// As many as bindings/team.cc has room for.
const MOST_THREADS = 64;
// As the module's own stack, and room for a copy of the call.
const STACK_BYTES = 512 * 1024;
// What the module wants at first.
const INITIAL_PAGES = 32;
// All that has addresses, and less for engines that reserve it at once.
const MAXIMUM_PAGES = [65536, 32768, 16384];

/** What a worker is told. */
interface Start {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  /** Where it comes in: an index of the module's table. */
  readonly entry: number;
  readonly stackEnd: number;
  readonly thread: number;
}

// A worker's script. It calls nothing of JavaScript's, so its imports do nothing; the build shortens their names, and those of
// exports.
const SCRIPT = `({ module, memory, entry, stackEnd, thread }, ready) => {
  const imports = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module))
    (imports[from] ??= {})[name] = kind === "memory" ? memory : () => {};
  const exports = Object.values(new WebAssembly.Instance(module, imports).exports);
  const table = exports.find((each) => each instanceof WebAssembly.Table);
  ready();
  table.get(entry)(stackEnd, thread);
}`;

interface StartedWorker {
  /** Resolves once it waits for work. */
  readonly ready: Promise<unknown>;
  end(): void;
}

/**
 * Starts so many threads, or says why it cannot. What entries share is given: imports of it would have the bundler split it into
 * more files.
 *
 * @throws {Error} if this engine or page does not allow it
 */
export async function startTeam(
  asked: number,
  module: WebAssembly.Module,
  createGlue: Build["createGlue"],
  backendOf: (raw: Raw) => WasmBackend,
): Promise<Team> {
  const threads = Math.min(asked, MOST_THREADS);
  const memory = makeMemory();
  const glue = createGlue({ wasmMemory: memory });
  const instance = await WebAssembly.instantiate(module, glue.imports);
  const raw = glue.start(instance) as Raw as Raw & MainModule;
  const backend = backendOf(raw);
  const workers: StartedWorker[] = [];
  const end = () => {
    for (const worker of workers) worker.end();
  };
  try {
    const entry = raw.work_entry();
    for (let thread = 1; thread < threads; thread++) {
      const stackEnd = backend.allocate(STACK_BYTES) + STACK_BYTES;
      workers.push(startWorker({ module, memory, entry, stackEnd, thread }));
    }
    await Promise.all(workers.map((worker) => worker.ready));
  } catch (error) {
    end();
    throw error;
  }
  raw.set_threads(threads);
  return { backend, threads, reason: threads < asked ? `at most ${threads}` : undefined, end };
}

function makeMemory(): WebAssembly.Memory {
  for (const maximum of MAXIMUM_PAGES) {
    try {
      return new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum, shared: true });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  throw new Error("this engine has no room for shared memory");
}

interface NodeWorker {
  once(event: "message" | "error", listener: (value: Error) => void): void;
  unref(): void;
  terminate(): unknown;
}

interface MaybeNode {
  process?: {
    getBuiltinModule?: (
      name: string,
    ) => { Worker: new (script: string, options: object) => NodeWorker } | undefined;
  };
}

function startWorker(start: Start): StartedWorker {
  // Not an import: bundlers for browsers would look for the module.
  const node = (globalThis as MaybeNode).process?.getBuiltinModule?.("node:worker_threads");
  return node === undefined
    ? startWebWorker(start)
    : startNodeWorker(
        new node.Worker(NODE_SCRIPT, {
          eval: true,
          workerData: start,
          execArgv: [],
        }),
      );
}

const NODE_SCRIPT = `const { workerData, parentPort } = process.getBuiltinModule("node:worker_threads");
(${SCRIPT})(workerData, () => parentPort.postMessage(0));`;

function startNodeWorker(worker: NodeWorker): StartedWorker {
  const ready = new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
  // It waits as long as the process has something else to do.
  return { ready: ready.then(() => worker.unref()), end: () => worker.terminate() };
}

const WEB_SCRIPT = `onmessage = ({ data }) => (${SCRIPT})(data, () => postMessage(0));`;

function startWebWorker(start: Start): StartedWorker {
  if (typeof Worker === "undefined") throw new Error("this engine starts no workers here");
  const url = URL.createObjectURL(new Blob([WEB_SCRIPT], { type: "text/javascript" }));
  let worker: Worker;
  try {
    worker = new Worker(url);
  } catch (error) {
    throw refused(error as Error);
  }
  const ready = new Promise((resolve, reject) => {
    const refuse = (event: Event) => reject(refused(event as ErrorEvent));
    worker.onmessage = resolve;
    worker.onerror = refuse;
    worker.onmessageerror = refuse;
  });
  worker.postMessage(start);
  return { ready: ready.finally(() => URL.revokeObjectURL(url)), end: () => worker.terminate() };
}

// Engines do not say why; mostly it is a policy.
function refused({ message }: { readonly message?: string }): Error {
  const may = "a Content-Security-Policy must allow worker-src blob:";
  return new Error(`a worker could not be started, ${may} (${message || "no details"})`);
}
