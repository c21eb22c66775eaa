// Exactness: hard inputs through the package and through plain code, each judged by exact arithmetic on the page.

import { Chart } from "../../chart.js";
import { figure, shownFigure } from "../../figures.js";
import { t } from "../../i18n.js";
import { RunControls } from "../../run_controls.js";
import { numberHtml } from "../../views.js";
import { ask, Stopped, startWorker } from "../../worker_calls.js";
import { BOUNDS, boundOf, INPUTS, MEANS } from "./inputs.js";
import html from "./section.html";

export { html };

/** @typedef {import("./worker.js").Answer} Answer */
/** @typedef {import("./worker.js").Point} Point */
/** @typedef {import("./worker.js").Row} Row */
/** @typedef {import("./worker.js").WayName} WayName */

const WORKER = "sections/exactness/worker.js";
/** Each way's name is a string's key. @type {Record<WayName, string>} */
const NAMES = {
  onePass: "exactOnePass",
  twoPass: "exactTwoPass",
  package: "exactPackage",
  tensorflowWasm: "exactTensorflowWasm",
  tensorflowCpu: "exactTensorflowCpu",
};
/** @type {("onePass" | "twoPass" | "package")[]} */
const OURS = ["onePass", "twoPass", "package"];
/** What is no number has no place on an axis: it takes the upper end. */
const BEYOND = 1e9;

/** @param {HTMLElement} body */
export function mount(body) {
  const table = /** @type {HTMLTableElement} */ (body.querySelector("#exact-table"));
  const means = /** @type {HTMLElement} */ (body.querySelector("#exact-means"));
  const controls = part(body, "#exact-controls");
  const tensorflowControls = part(body, "#exact-tensorflow");
  /** @type {Map<string, Row>} by input */
  const rows = new Map();
  /** @type {Point[] | undefined} */
  let series;
  /** @type {Chart | undefined} */
  let chart;

  const own = new RunControls(controls, async (signal) => {
    own.say(() => t("exactRunning"));
    await judge("package", own, signal);
    own.say(done);
  });
  const tensorflow = new RunControls(tensorflowControls, async (signal) => {
    tensorflow.say(() => t("exactTensorflowLoading"));
    const version = await judge("tensorflow", tensorflow, signal);
    tensorflow.say(() =>
      version === undefined ? t("runStopped") : t("exactTensorflowDone", { version }),
    );
  });
  void own.run();

  /**
   * @param {import("./worker.js").Request} request
   * @param {RunControls} run
   * @param {AbortSignal} signal
   * @returns {Promise<string | undefined>} what the worker said at its end
   */
  async function judge(request, run, signal) {
    const worker = startWorker(WORKER);
    // Of plain code and the package: each row, the series and the end. Of TensorFlow.js: each row by two backends.
    const expected = request === "package" ? INPUTS.length + 2 : 2 * INPUTS.length;
    let answers = 0;
    /** @type {string | undefined} */
    let said;
    try {
      await ask(worker, request, {
        signal,
        onAnswer(/** @type {Answer} */ answer) {
          if ("failed" in answer) throw new Error(answer.failed);
          if ("done" in answer) said = answer.done;
          else if ("series" in answer) series = answer.series;
          else rows.set(answer.input, { ...rows.get(answer.input), ...answer.row });
          run.progress(++answers / expected);
          if ("row" in answer) showTable();
          else if ("series" in answer) showChart();
          return "done" in answer;
        },
      });
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    } finally {
      worker.terminate();
    }
    return said;
  }

  function done() {
    const errors = [...rows.values()].map((row) => row.package?.error ?? Number.NaN);
    if (errors.length < INPUTS.length || series === undefined) return t("runStopped");
    return t("exactDone", { worst: figure(Math.max(...errors)), count: String(INPUTS.length) });
  }

  function showTable() {
    const has = (/** @type {WayName} */ way) => [...rows.values()].some((row) => row[way]);
    const ways = /** @type {WayName[]} */ (Object.keys(NAMES)).filter(has);
    const head = /** @type {HTMLElement} */ (table.querySelector("thead tr"));
    head.innerHTML = [t("exactInput"), ...ways.map((way) => t(NAMES[way]))]
      .map((text) => `<th scope="col">${text}</th>`)
      .join("");
    const [tbody] = table.tBodies;
    tbody.innerHTML = INPUTS.filter((input) => rows.has(input))
      .map((input) => {
        const cells = ways.map((way) => cell(way, input, rows.get(input)?.[way]));
        return `<tr data-input="${input}"><th scope="row">${t(input)}</th>${cells.join("")}</tr>`;
      })
      .join("");
    table.hidden = false;
  }

  function showChart() {
    if (series === undefined) return;
    chart?.destroy();
    const colors = { onePass: "--v3", twoPass: "--v2", package: "--v1" };
    const dashes = { onePass: [2, 3], twoPass: [7, 3], package: undefined };
    const format = (/** @type {number} */ value) => (value >= BEYOND ? "NaN" : figure(value));
    chart = new Chart(
      means,
      {
        label: t("exactMeansLabel"),
        x: { label: t("exactMeansX"), log: true, format: figure },
        y: {
          label: t("exactMeansY"),
          log: true,
          range: [0.1, BEYOND],
          splits: [1, 1e3, 1e6, BEYOND],
          format,
        },
        lines: [
          ...OURS.map((way) => ({ label: t(NAMES[way]), color: colors[way], dash: dashes[way] })),
          { label: t("exactBound"), color: "--edge", dash: [2, 4] },
        ],
      },
      [
        MEANS,
        ...OURS.map((way) => (series ?? []).map((point) => Math.min(point[way], BEYOND))),
        MEANS.map(() => BOUNDS.float32),
      ],
    );
  }

  return {
    render() {
      own.render();
      tensorflow.render();
      if (rows.size > 0) showTable();
      showChart();
    },
  };
}

/**
 * @param {WayName} way
 * @param {string} input
 * @param {import("./judge.js").Judged | undefined} judged
 */
function cell(way, input, judged) {
  const label = t(NAMES[way]);
  if (judged === undefined) return `<td data-label="${label}" data-way="${way}">—</td>`;
  const { error, got, expected } = judged;
  const isWrong = error > boundOf(input);
  const value = Number.isFinite(error)
    ? numberHtml(shownFigure(error))
    : t(Number.isNaN(got) ? "exactNaN" : "exactInfinite");
  const detail = isWrong ? ` <small>${t("exactGot", apart(got, expected))}</small>` : "";
  return `<td data-label="${label}" data-way="${way}" data-error="${error}"><span class="number${isWrong ? " wrong" : ""}">${value}</span>${detail}</td>`;
}

/** The two numbers with as many digits as tell them apart. @param {number} got @param {number} expected */
function apart(got, expected) {
  let digits = 4;
  while (digits < 9 && figure(got, digits) === figure(expected, digits)) digits++;
  const plain = (/** @type {number} */ value) =>
    Number.isNaN(value) ? "NaN" : numberHtml(shownFigure(value, digits));
  return { got: plain(got), expected: plain(expected) };
}

/** @param {HTMLElement} body @param {string} selector */
function part(body, selector) {
  return /** @type {HTMLElement} */ (body.querySelector(selector));
}
