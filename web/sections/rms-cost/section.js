// RMSNorm's cost beside LayerNorm's, measured here and now, against the document's claim.

import { Chart } from "../../chart.js";
import { figure } from "../../figures.js";
import { currentLanguage, t } from "../../i18n.js";
import { RunControls } from "../../run_controls.js";
import { ask, Stopped, startWorker } from "../../worker_calls.js";
import html from "./section.html";
import { CLAIM, SHAPES, savedBy } from "./shapes.js";

export { html };

/** @typedef {import("./shapes.js").Cost} Cost */
/** @typedef {import("./worker.js").Answer} Answer */

const WORKER = "sections/rms-cost/worker.js";
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
  /** @type {Cost[]} */
  let costs = [];
  /** @type {Chart | undefined} */
  let chart;
  const run = new RunControls(find("#rms-cost-controls"), measure);

  /** @param {AbortSignal} signal */
  async function measure(signal) {
    costs = [];
    const worker = startWorker(WORKER);
    const saying = () =>
      t("rmsCostRunning", {
        shape: shapeText(SHAPES[costs.length] ?? SHAPES[0]),
        n: String(costs.length + 1),
        count: String(SHAPES.length),
      });
    run.say(saying);
    try {
      await ask(worker, undefined, {
        signal,
        onAnswer(/** @type {Answer} */ answer) {
          if ("failed" in answer) throw new Error(answer.failed);
          if ("done" in answer) return true;
          costs.push(answer.cost);
          run.progress(costs.length / SHAPES.length);
          run.say(saying);
          show();
          return false;
        },
      });
      run.say(() => verdict(costs));
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
    chart?.destroy();
    chart = chartOf(find("#rms-cost-chart"), costs);
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
  const values = [...[withBias, layer, rms].map(milliseconds), ...saved.map(percent)];
  const cells = values.map(
    (text, i) => `<td data-label="${t(COLUMNS[i])}"><span class="number">${text}</span></td>`,
  );
  const shares = saved.map((share) => share.toFixed(4)).join(" ");
  return `<tr data-saved="${shares}"><th scope="row">${shapeText(shape)}</th>${cells.join("")}</tr>`;
}

/** @param {HTMLElement} target @param {readonly Cost[]} costs */
function chartOf(target, costs) {
  const at = costs.map((_, i) => i + 1);
  const shares = (/** @type {(cost: Cost) => number} */ of) =>
    costs.map((cost) => 100 * savedBy(of(cost), cost.rms));
  return new Chart(
    target,
    {
      label: t("rmsCostLabel"),
      x: {
        label: t("rmsCostShape"),
        range: [0.5, SHAPES.length + 0.5],
        splits: SHAPES.map((_, i) => i + 1),
        format: (value) => shapeText(SHAPES[value - 1] ?? SHAPES[0]),
      },
      y: { label: t("rmsCostY"), format: (value) => percent(value / 100) },
      lines: [
        { label: t("rmsCostSavedWithBias"), color: "--v2", shape: "points" },
        { label: t("rmsCostSaved"), color: "--v1", shape: "points" },
        { label: t("rmsCostClaimFrom"), color: "--edge", dash: [4, 4], width: 1 },
        { label: t("rmsCostClaimTo"), color: "--edge", dash: [1, 4], width: 1 },
      ],
    },
    [
      at,
      shares(({ withBias }) => withBias),
      shares(({ layer }) => layer),
      at.map(() => 100 * CLAIM.from),
      at.map(() => 100 * CLAIM.to),
    ],
  );
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
