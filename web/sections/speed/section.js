// Speed on the visitor's machine: the ways to run one LayerNorm, by size, beside the copy of as many bytes.

import { figure } from "../../figures.js";
import { t } from "../../i18n.js";
import { RunControls } from "../../run_controls.js";
import { drawShares } from "../../share_bars.js";
import { FEATURES, LARGEST, sizesOf } from "./problem.js";
import { drawRates } from "./rates.js";
import { reportOf } from "./report.js";
import { runAll } from "./run.js";
import html from "./section.html";
import { notesOf, tableRows } from "./words.js";

export { html };

/** @typedef {import("./run.js").Results} Results */

const USUAL = { features: 768, largest: 8 };
/** Strings' keys. */
const KIND_NAMES = { single: "speedSingle", threads: "speedSeveral", gpu: "speedGpu" };

/** @param {HTMLElement} body */
export function mount(body) {
  const find = (/** @type {string} */ selector) =>
    /** @type {HTMLElement} */ (body.querySelector(selector));
  /** @type {Results | undefined} */
  let results;
  /** Which of the sizes the table shows: the largest, until one is chosen. @type {number | undefined} */
  let chosen;
  /** @type {import("../../chart.js").Chart | undefined} */
  let chart;

  fillChoice("features", FEATURES, USUAL.features);
  fillChoice("largest", LARGEST, USUAL.largest);
  const run = new RunControls(find("#speed-controls"), measure);
  find("#speed-sizes").addEventListener("change", ({ target }) => {
    chosen = Number(/** @type {HTMLInputElement} */ (target).value);
    showTable();
  });
  find("#speed-copy").addEventListener("click", () => void copy());

  /**
   * @param {"features" | "largest"} name
   * @param {readonly number[]} values
   * @param {number} usual
   */
  function fillChoice(name, values, usual) {
    find(`#speed-${name}`).innerHTML = values
      .map((value) => radio(`speed-${name}`, value, value === usual, String(value)))
      .join("");
  }

  /** @param {string} name */
  function choice(name) {
    const { value } = /** @type {HTMLInputElement} */ (find(`[name=speed-${name}]:checked`));
    return Number(value);
  }

  /** @param {AbortSignal} signal */
  async function measure(signal) {
    run.say(() => t("speedPreparing"));
    const found = await runAll(sizesOf(choice("features"), choice("largest")), {
      signal,
      threads: navigator.hardwareConcurrency,
      onStep({ kind, size, index, of }) {
        run.progress(index / of);
        run.say(() =>
          t("speedRunning", {
            kind: t(KIND_NAMES[kind]),
            rows: String(size.rows),
            features: String(size.features),
          }),
        );
      },
      onResults: take,
    });
    take(found);
    run.say(() => (signal.aborted ? t("runStopped") : verdict(found)));
  }

  /**
   * What an earlier run found stays until there is something in its place.
   *
   * @param {Results} found
   */
  function take(found) {
    if (found.measured.length === 0) return;
    if (found !== results) {
      chosen = undefined;
      find("#speed-copied").textContent = "";
      find("#speed-json").hidden = true;
    }
    results = found;
    show();
  }

  function show() {
    if (results === undefined) return;
    const { measured } = results;
    find("#speed-results").hidden = false;
    chart?.destroy();
    chart = drawRates(find("#speed-chart"), results);
    const shown = chosen ?? measured.length - 1;
    find("#speed-sizes").innerHTML = measured
      .map(({ size }, i) => radio("speed-size", i, i === shown, `${size.rows} × ${size.features}`))
      .join("");
    find("#speed-notes").innerHTML = notesOf(results)
      .map((note) => `<li>${note}</li>`)
      .join("");
    showTable();
  }

  function showTable() {
    const measured = results?.measured[chosen ?? results.measured.length - 1];
    if (measured === undefined) return;
    const table = /** @type {HTMLTableElement} */ (find("#speed-table"));
    const { caption, rows } = tableRows(measured);
    /** @type {HTMLElement} */ (table.caption).textContent = caption;
    table.tBodies[0].innerHTML = rows;
    drawShares(table);
  }

  async function copy() {
    if (results === undefined) return;
    const json = JSON.stringify(reportOf(results), undefined, 2);
    const field = /** @type {HTMLTextAreaElement} */ (find("#speed-json"));
    field.value = json;
    field.hidden = false;
    try {
      await navigator.clipboard.writeText(json);
      find("#speed-copied").textContent = t("speedCopied");
    } catch {
      // Browsers may refuse: then the visitor copies it from the field.
      field.select();
      find("#speed-copied").textContent = t("speedNotCopied");
    }
  }

  return {
    render() {
      run.render();
      find("#speed-copied").textContent = "";
      show();
    },
  };
}

/**
 * @param {string} name
 * @param {number} value
 * @param {boolean} isChecked
 * @param {string} label
 */
function radio(name, value, isChecked, label) {
  return `<label><input type="radio" name="${name}" value="${value}" autocomplete="off"${isChecked ? " checked" : ""}><span>${label}</span></label>`;
}

/** @param {Results} results */
function verdict({ measured, absences }) {
  const wrong = measured.flatMap(({ ways }) => ways).find(({ agrees }) => !agrees);
  if (wrong !== undefined) return t("speedDiffers", { way: t(wrong.name) });
  const last = measured.at(-1);
  const plain = last?.ways.find(({ name }) => name === "wayPlain");
  if (last === undefined || plain === undefined) {
    return t("runFailed", { message: absences.single?.message ?? "" });
  }
  const best = last.ways.reduce((one, other) => (other.ms < one.ms ? other : one));
  return t("speedDone", {
    way: t(best.name),
    factor: figure(plain.ms / best.ms, 2),
    rows: String(last.size.rows),
    features: String(last.size.features),
  });
}
