// The same with a Worker, for bundlers that know this form.
import * as layernorm from "layernorm";
import { checks } from "./checks.js";
import { others } from "./others.js";

const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
const reply = new Promise((resolve, reject) => {
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = (event) => reject(new Error(`the Worker failed: ${event.message}`));
});
const finished = Promise.all([reply, others()]).then(([inWorker, rest]) => ({
  main: checks(layernorm),
  worker: inWorker,
  others: rest,
}));
Object.assign(globalThis, { finished });
