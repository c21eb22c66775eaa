// The default entry on the main thread and in a module Worker. `finished` holds the results of both.

import * as layernorm from "../../../dist/index.js";
import { checks } from "./checks.js";

/** @returns {Promise<unknown>} what the Worker posts */
function inWorker() {
  const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(`the Worker failed: ${event.message}`));
  }).finally(() => worker.terminate());
}

const finished = inWorker().then((worker) => ({ main: checks(layernorm), worker }));
Object.assign(globalThis, { finished });
