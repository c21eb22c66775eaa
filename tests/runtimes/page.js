// The shared check in a browser, on the main thread and in a module Worker. `finished` holds the results of both.
import { checkEntries } from "./entries.js";

async function check() {
  /** @type {Record<string, string>} */
  const urls = await (await fetch("/entries.json")).json();
  const wasm = { url: urls["layernorm/layernorm.wasm"] };
  return checkEntries({ load: (name) => import(urls[name]), wasm });
}

/** @returns {Promise<unknown>} what the Worker posts */
function inWorker() {
  const worker = new Worker(new URL("./page.js", import.meta.url), { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) =>
      typeof data === "string" ? reject(new Error(data)) : resolve(data);
    worker.onerror = (event) => reject(new Error(`the Worker failed: ${event.message}`));
  }).finally(() => worker.terminate());
}

if (typeof document === "undefined") {
  check().then(
    (results) => postMessage(results),
    (error) => postMessage(`in the Worker: ${error}`),
  );
} else {
  const finished = check().then(async (main) => ({ main, worker: await inWorker() }));
  Object.assign(globalThis, { finished });
}
