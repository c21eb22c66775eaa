// RMSNorm's cost beside LayerNorm's, measured here and now, against the document's claim.

import { figure } from "../../figures.js";
import { currentLanguage, t } from "../../i18n.js";
import { RunControls } from "../../run_controls.js";
import { drawShares, shareBar } from "../../share_bars.js";
import { ask, Stopped, startWorker } from "../../worker_calls.js";
import html from "./section.html";
import { CLAIM, SHAPES, savedBy } from "./shapes.js";

export { html };

/** @typedef {import("./shapes.js").Cost} Cost */
/** @typedef {import("./worker.js").Answer} Answer */

const WORKER = "sections/rms-cost/worker.js";
/** What the longest bar stands for. The style sheet shades the claim on it. */
const SCALE = 0.5;
const COLUMNS = [
  "rmsCostWithBias",
  "rmsCostLayer",
  "rmsCostRms",
  "rmsCostSavedWithBias",
  "rmsCostSaved",
];

/** @param {HTMLElement} body */
export function mount(body) {
  const find = (/** @type {string} */ selector) =>
    /** @type {HTMLElement} */ (body.querySelector(selector));
  /** Of the last run that found any. @type {Cost[]} */
  let costs = [];
  const run = new RunControls(find("#rms-cost-controls"), measure);

  /** @param {AbortSignal} signal */
  async function measure(signal) {
    /** @type {Cost[]} */
    const found = [];
    const worker = startWorker(WORKER);
    const saying = () =>
      t("rmsCostRunning", {
        shape: shapeText(SHAPES[found.length] ?? SHAPES[0]),
        n: String(found.length + 1),
        count: String(SHAPES.length),
      });
    run.say(saying);
    try {
      await ask(worker, undefined, {
        signal,
        onAnswer(/** @type {Answer} */ answer) {
          if ("failed" in answer) throw new Error(answer.failed);
          if ("done" in answer) return true;
          found.push(answer.cost);
          costs = found;
          run.progress(found.length / SHAPES.length);
          run.say(saying);
          show();
          return false;
        },
      });
      run.say(() => verdict(found));
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      run.say(() => t("runStopped"));
    } finally {
      worker.terminate();
    }
  }

  function show() {
    if (costs.length === 0) return;
    const table = /** @type {HTMLTableElement} */ (find("#rms-cost-table"));
    table.tBodies[0].innerHTML = costs.map(rowOf).join("");
    table.hidden = false;
    drawShares(table);
  }

  return {
    render() {
      run.render();
      show();
    },
  };
}

/** @param {readonly Cost[]} costs */
function verdict(costs) {
  const shares = costs.map(({ layer, rms }) => savedBy(layer, rms));
  const [least, most] = [Math.min(...shares), Math.max(...shares)];
  const within = shares.filter((share) => share >= CLAIM.from && share <= CLAIM.to).length;
  return t("rmsCostDone", {
    least: percent(least),
    most: percent(most),
    within: String(within),
    count: String(costs.length),
  });
}

/** @param {Cost} cost */
function rowOf({ shape, withBias, layer, rms }) {
  const saved = [savedBy(withBias, rms), savedBy(layer, rms)];
  const values = [
    ...[withBias, layer, rms].map((ms) => `<span class="number">${milliseconds(ms)}</span>`),
    ...saved.map(
      (share) => `<span class="number">${percent(share)}</span>${shareBar(share / SCALE, "claim")}`,
    ),
  ];
  const cells = values.map((value, i) => `<td data-label="${t(COLUMNS[i])}">${value}</td>`);
  const shares = saved.join(" ");
  return `<tr data-saved="${shares}"><th scope="row">${shapeText(shape)}</th>${cells.join("")}</tr>`;
}

/** @param {import("./shapes.js").Shape} shape */
function shapeText([rows, features]) {
  return `${rows}×${features}`;
}

/** @param {number} ms */
function milliseconds(ms) {
  return ms < 0.1
    ? t("rmsCostUs", { value: figure(1000 * ms) })
    : t("rmsCostMs", { value: figure(ms) });
}

/** @param {number} share */
function percent(share) {
  const value = figure(Math.round(100 * share));
  return currentLanguage() === "ru" ? `${value}\u00a0%` : `${value}%`;
}
