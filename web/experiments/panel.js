// What the sections with an experiment share: the repository's result first, then the same on the visitor's machine, in a
// worker, with its curves drawn as they come.

import { Chart } from "../chart.js";
import { onFrame } from "../drawing.js";
import { currentLanguage, t } from "../i18n.js";
import { show, toText } from "../numbers.js";
import { isRefused, readSeed } from "../seed_field.js";
import { EXPERIMENTS } from "./experiments.js";
import { Run } from "./run.js";

export { default as html } from "./panel.html";

/** @typedef {import("./experiments.js").Name} Name */
/** @typedef {import("./run.js").Curve} Curve */

/**
 * @typedef {object} Stored a result of the repository
 * @property {string} command that made it
 * @property {number} seconds
 * @property {string} node the version
 * @property {() => { options: import("../chart.js").ChartOptions, data: import("../chart.js").Data }} chart
 * @property {() => string} finding
 */

/**
 * @typedef {object} Panel
 * @property {Name} name
 * @property {Stored} stored
 * @property {string} how a string's key: what runs here, in which setting
 * @property {string} optionName a string's key
 * @property {string} xLabel a string's key
 * @property {readonly { label: string, color: string, dash?: number[] }[]} lines of the variants, with strings' keys
 * @property {(curves: readonly Curve[], option: number) => string} finding once it is done
 */

/**
 * @param {HTMLElement} body
 * @param {Panel} panel
 */
export function mountPanel(body, panel) {
  const { variants, options, usual, stepsOf, window, perStep } = EXPERIMENTS[panel.name];
  const find = (/** @type {string} */ selector) =>
    /** @type {HTMLElement} */ (body.querySelector(selector));
  const button = (/** @type {string} */ name) =>
    /** @type {HTMLButtonElement} */ (find(`.${name}`));
  const seedField = /** @type {HTMLInputElement} */ (find("[name=seed]"));
  const status = find(".status");
  status.id = `${panel.name}-status`;
  const bar = /** @type {HTMLProgressElement} */ (find("progress"));
  let option = usual;
  /** @type {Chart[]} */
  let charts = [];
  /** @type {Run | undefined} */
  let run;
  let isDrawing = false;

  find(".options").innerHTML = options
    .map(
      (value) =>
        `<label><input type="radio" name="${panel.name}-option" value="${value}" autocomplete="off"${value === usual ? " checked" : ""}><span>${value}</span></label>`,
    )
    .join("");
  find(".options").addEventListener("change", ({ target }) => {
    option = Number(/** @type {HTMLInputElement} */ (target).value);
  });
  button("run").addEventListener("click", () => start());
  button("pause").addEventListener("click", () => run?.togglePause());
  button("stop").addEventListener("click", () => run?.stop());
  seedField.addEventListener("input", () => {
    // Only a seed that was refused is judged while it is being typed.
    if (isRefused(seedField) && readSeed(seedField, status) !== undefined) showState();
  });

  function start() {
    const seed = readSeed(seedField, status);
    if (seed === undefined) return showState();
    run?.stop();
    run = new Run({
      experiment: panel.name,
      option,
      seed,
      variants: variants.length,
      steps: stepsOf(option),
      onChange: schedule,
    });
    makeLiveCharts();
    schedule();
  }

  /** What comes in is drawn once a frame at most. */
  function schedule() {
    if (isDrawing) return;
    isDrawing = true;
    onFrame(() => {
      isDrawing = false;
      showState();
      drawCurves();
    });
  }

  function makeLiveCharts() {
    const options = (/** @type {string} */ label, /** @type {string} */ y, log = false) => ({
      label: t(label),
      x: { label: t(panel.xLabel), range: /** @type {[number, null]} */ ([0, null]) },
      y: { label: t(y), log },
      lines: linesOf(panel),
      height: 230,
    });
    for (const chart of charts) chart.destroy();
    charts = [
      new Chart(find(".loss-chart"), options("experimentLossChart", "experimentLoss")),
      new Chart(
        find(".gradient-chart"),
        options("experimentGradientChart", "experimentGradient", true),
      ),
    ];
    drawCurves();
  }

  function drawCurves() {
    if (run === undefined || charts.length === 0) return;
    const { curves } = run;
    // The run's own: another may have been chosen for the next.
    const size = perStep?.(run.option) ?? 1;
    const per = Math.max(1, Math.round(window / size));
    const length = Math.max(...curves.map(({ losses }) => losses.length));
    const xs = Array.from({ length }, (_, i) => (i + 1) * size);
    const columns = (/** @type {"losses" | "gradients"} */ which) =>
      curves.map((curve) => smooth(curve[which], per, length));
    charts[0].set([xs, ...columns("losses")]);
    charts[1].set([xs, ...columns("gradients")]);
  }

  function showState() {
    const state = run?.state ?? "none";
    const isGoing = ["loading", "running", "paused"].includes(state);
    const focused = document.activeElement;
    button("pause").disabled = state !== "running" && state !== "paused";
    button("pause").textContent = t(state === "paused" ? "experimentResume" : "experimentPause");
    button("stop").disabled = !isGoing;
    // A button that is disabled loses the focus: it goes on to what can be done next.
    if (focused instanceof HTMLButtonElement && body.contains(focused) && focused.disabled)
      button("run").focus();
    button("run").textContent = t(run === undefined ? "experimentRun" : "experimentAgain");
    body.querySelector(".live")?.setAttribute("data-state", state);
    status.textContent = statusWords();
    if (run === undefined) return;
    bar.value = run.share;
    find(".percent").textContent =
      `${Math.floor(100 * run.share)}${currentLanguage() === "ru" ? "\u00a0" : ""}%`;
    find(".finding").innerHTML = state === "done" ? panel.finding(run.curves, run.option) : "";
  }

  /** What stands in the way of a run, or how the last one is. */
  function statusWords() {
    if (isRefused(seedField)) return t("experimentSeedProblem");
    if (run === undefined) return "";
    return {
      loading: t("experimentLoading"),
      running: t("experimentRunning"),
      paused: t("experimentPaused"),
      stopped: t("experimentStopped"),
      done: t("experimentDone", { seconds: figure(run.seconds, 2) }),
      failed: t("experimentFailed", { message: run.failure }),
    }[run.state];
  }

  function render() {
    const { command, seconds, node, chart, finding } = panel.stored;
    find(".stored-how").innerHTML = t("experimentFrom", {
      command: `<code lang="en">${command}</code>`,
      minutes: figure(seconds / 60, 2),
      node,
    });
    find(".stored-finding").innerHTML = finding();
    const { options: chartOptions, data } = chart();
    storedChart?.destroy();
    storedChart = new Chart(find(".stored-chart"), chartOptions, data);
    find(".live-how").innerHTML = t(panel.how);
    find(".option-name").textContent = t(panel.optionName);
    showState();
    if (run !== undefined) makeLiveCharts();
  }
  /** @type {Chart | undefined} */
  let storedChart;

  return { render };
}

/** @param {Pick<Panel, "lines">} panel */
export const linesOf = ({ lines }) => lines.map((line) => ({ ...line, label: t(line.label) }));

/**
 * @param {readonly number[]} values
 * @param {number} window each point is the mean of so many, or of those there are
 * @param {number} length
 * @returns {(number | null)[]}
 */
function smooth(values, window, length) {
  return Array.from({ length }, (_, i) => {
    if (i >= values.length) return null;
    const last = values.slice(Math.max(0, i + 1 - window), i + 1);
    return last.reduce((a, b) => a + b) / last.length;
  });
}

/** @param {readonly number[]} values @param {number} count */
export function meanOfLast(values, count) {
  const last = values.slice(-count);
  return last.reduce((a, b) => a + b) / last.length;
}

/** @param {number} value @param {number} [digits] */
export function figure(value, digits = 3) {
  return toText(show(Number(value.toPrecision(digits)), currentLanguage()));
}
