import { checkEntries } from "./entries.js";
import { context } from "./script_context.js";

const results = await checkEntries(context);
if ("postMessage" in globalThis) globalThis.postMessage(results);
else (await import("node:worker_threads")).parentPort?.postMessage(results);
