// init({ threads: 2 }) on the main thread and in a module Worker. `finished` holds the results of both.
import * as layernorm from "../../../dist/index.js";
import { checkThreads } from "../../runtimes/entries.js";

/** @returns {Promise<unknown>} what the Worker posts */
function inWorker() {
  const worker = new Worker(import.meta.url, { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(`the Worker failed: ${event.message}`));
  }).finally(() => worker.terminate());
}

const check = () => checkThreads({ load: async () => layernorm, wasm: {} });
if (typeof document === "undefined") {
  check().then(
    (result) => postMessage(result),
    (error) => postMessage(`${error}`),
  );
} else {
  const finished = check().then(async (main) => ({
    main,
    worker: await inWorker(),
    relaxed: await layernorm.init({ relaxedSimd: true, threads: 2 }),
  }));
  Object.assign(globalThis, { finished });
}
