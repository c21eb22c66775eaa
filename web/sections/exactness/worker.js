// Judges every way on every input, away from the page: exact arithmetic takes its time.

import { aroundMean, hardInput, INPUTS, MEANS } from "./inputs.js";
import { judgeAll, judgeOf, WAYS } from "./judge.js";

/** @typedef {import("./judge.js").Judged} Judged */
/** @typedef {"tensorflowWasm" | "tensorflowCpu"} TensorflowName */
/** @typedef {keyof typeof WAYS | TensorflowName} WayName */
/** @typedef {Partial<Record<WayName, Judged>>} Row */
/** @typedef {Record<keyof typeof WAYS, number>} Point errors alone */
/** @typedef {"package" | "tensorflow"} Request whose results are wanted, with those of plain code or by themselves */

/**
 * One of them at a time: an input's results, the errors for each of MEANS, that all has been sent, or why not.
 *
 * @typedef {{ input: string, row: Row } | { series: Point[] } | { done: string } | { failed: string }} Answer
 */

/** @type {readonly [way: TensorflowName, backend: "wasm" | "cpu"][]} */
const BACKENDS = [
  ["tensorflowWasm", "wasm"],
  ["tensorflowCpu", "cpu"],
];

addEventListener("message", async (/** @type {MessageEvent<Request>} */ { data }) => {
  try {
    if (data === "package") {
      judgePackage();
      answer({ done: "" });
    } else {
      answer({ done: await judgeTensorflow() });
    }
  } catch (error) {
    answer({ failed: error instanceof Error ? error.message : String(error) });
  }
});

/** @param {Answer} content */
function answer(content) {
  postMessage(content);
}

function judgePackage() {
  for (const input of INPUTS) answer({ input, row: judgeAll(hardInput(input), WAYS) });
  const errors = (/** @type {Record<keyof typeof WAYS, Judged>} */ judged) =>
    /** @type {Point} */ (
      Object.fromEntries(Object.entries(judged).map(([name, { error }]) => [name, error]))
    );
  answer({ series: MEANS.map((mean) => errors(judgeAll(aroundMean(mean), WAYS))) });
}

/** @returns {Promise<string>} its version */
async function judgeTensorflow() {
  const { openLayerNorm, VERSION } = await import("./tensorflow.js");
  for (const [way, backend] of BACKENDS) {
    const layerNorm = await openLayerNorm(backend);
    for (const input of INPUTS) {
      const hard = hardInput(input);
      // It has no float16.
      if (hard.dtype === "float16") continue;
      answer({ input, row: { [way]: judgeOf(hard)(await layerNorm(hard)) } });
    }
  }
  return VERSION;
}
