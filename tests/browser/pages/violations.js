// What no page of the package's causes: console messages and violations of the policy, here and in a Worker.
import { violate } from "./violate.js";

violate();
const worker = new Worker(new URL("./violate.js", import.meta.url), { type: "module" });
const finished = new Promise((resolve, reject) => {
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = () => reject(new Error("the Worker failed"));
});
Object.assign(globalThis, { finished });
