// The shared check in Node, Deno and Bun, on the main thread and in a Worker; it lies beside node_modules.
import { checkEntries, checkThreads } from "./entries.js";
import { context } from "./script_context.js";

/** @returns {Promise<unknown>} what the Worker posts */
async function inWorker() {
  const url = new URL("./script_worker.js", import.meta.url);
  if ("Worker" in globalThis) {
    const worker = new Worker(url, { type: "module" });
    const reply = new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => reject(new Error(`the Worker failed: ${event.message}`));
    });
    return reply.finally(() => worker.terminate());
  }
  const { Worker: NodeWorker } = await import("node:worker_threads");
  const worker = new NodeWorker(url);
  return new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
}

const results = {
  main: await checkEntries(context),
  worker: await inWorker(),
  threads: await checkThreads(context),
};
console.log(JSON.stringify(results));
