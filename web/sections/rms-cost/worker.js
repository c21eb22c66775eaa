// Times LayerNorm and RMSNorm in turn, in a worker: nothing holds up the page meanwhile.

import { measureShape } from "./measure.js";
import { SHAPES } from "./shapes.js";

/** @typedef {import("./shapes.js").Cost} Cost */
/** @typedef {{ cost: Cost } | { done: true } | { failed: string }} Answer */

addEventListener("message", async () => {
  try {
    for (const shape of SHAPES) answer({ cost: await measureShape(shape) });
    answer({ done: true });
  } catch (error) {
    answer({ failed: error instanceof Error ? error.message : String(error) });
  }
});

/** @param {Answer} content */
function answer(content) {
  postMessage(content);
}
