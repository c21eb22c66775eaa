// The same with a Worker, for bundlers that know this form.
import * as layernorm from "layernorm";
import { checks } from "./checks.js";

const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
const reply = new Promise((resolve, reject) => {
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = (event) => reject(new Error(`the Worker failed: ${event.message}`));
});
const finished = reply.then((inWorker) => ({ main: checks(layernorm), worker: inWorker }));
Object.assign(globalThis, { finished });
