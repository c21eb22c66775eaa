// Eps and small variance: what is left of the deviation, and what noise becomes.

import { Chart } from "../../chart.js";
import { figure, shownFigure } from "../../figures.js";
import { currentLanguage, t } from "../../i18n.js";
import { showTyped, toText } from "../../numbers.js";
import { numberHtml } from "../../views.js";
import {
  DEVIATIONS,
  deviationAfter,
  deviationCurve,
  EPSES,
  noiseCurve,
  signalCurve,
  TABLE_DEVIATIONS,
} from "./curves.js";
import html from "./section.html";

export { html };

/** @type {[color: string, dash: number[] | undefined][]} */
const STYLES = [
  ["--v4", [2, 3]],
  ["--v3", [7, 3]],
  ["--quiet", [2, 3]],
  ["--v1", undefined],
  ["--v2", [7, 3]],
];
const OWN_STYLE = { color: "--ink", width: 3 };

/** @type {import("../../sections.js").SectionModule["mount"]} */
export function mount(body, page) {
  const find = (/** @type {string} */ selector) =>
    /** @type {HTMLElement} */ (body.querySelector(selector));
  /** @type {Chart | undefined} */
  let deviations;
  /** @type {Chart | undefined} */
  let noise;
  const draws = [
    (/** @type {readonly number[]} */ epses) => {
      deviations?.destroy();
      deviations = drawDeviations(find("#small-chart"), epses);
    },
    (/** @type {readonly number[]} */ epses) => {
      noise?.destroy();
      noise = drawNoise(find("#small-noise"), epses);
    },
    (/** @type {readonly number[]} */ epses) => {
      fillTable(/** @type {HTMLTableElement} */ (find("#small-table")), epses);
    },
  ];
  const parts = draws.map((draw) => {
    /** What it was drawn from: eps alone matters of the visitor's numbers. */
    let drawn = "";
    return () => {
      const { eps } = page.settings;
      const now = [document.documentElement.lang, eps].join();
      if (now === drawn) return;
      drawn = now;
      draw(EPSES.includes(eps) ? EPSES : [...EPSES, eps]);
    };
  });
  return { render: parts, update: parts };
}

/** @param {number} eps */
function nameOf(eps) {
  return `ε = ${toText(showTyped(eps, currentLanguage()))}`;
}

/** @param {readonly number[]} epses the visitor's own at the end, if it is not among ours */
function linesOf(epses) {
  return epses.map((eps, i) => {
    const [color, dash] = STYLES[i] ?? [];
    const style = color === undefined ? OWN_STYLE : { color, dash };
    return {
      label: i < EPSES.length ? nameOf(eps) : t("smallOwn", { eps: nameOf(eps) }),
      ...style,
    };
  });
}

/** Powers of ten alone: there is no room for more. @param {number} low @param {number} high @param {number} step */
function powers(low, high, step) {
  return Array.from({ length: (high - low) / step + 1 }, (_, i) => Number(`1e${low + step * i}`));
}

/** @param {HTMLElement} target @param {readonly number[]} epses */
function drawDeviations(target, epses) {
  return new Chart(
    target,
    {
      label: t("smallLabel"),
      x: { label: t("smallX"), log: true, splits: powers(-8, 2, 2), format: figure },
      y: {
        label: t("smallY"),
        log: true,
        range: [1e-6, 3],
        splits: powers(-6, 0, 2),
        format: figure,
      },
      lines: linesOf(epses),
    },
    [DEVIATIONS, ...epses.map(deviationCurve)],
  );
}

/** @param {HTMLElement} target @param {readonly number[]} epses */
function drawNoise(target, epses) {
  const own = epses.at(-1) ?? 0;
  const signalEps = epses.length > EPSES.length ? own : 1e-5;
  return new Chart(
    target,
    {
      label: t("smallNoiseLabel"),
      x: { label: t("smallNoiseX"), log: true, splits: powers(-8, 2, 2), format: figure },
      y: {
        label: t("smallNoiseY"),
        log: true,
        range: [1e-9, 3],
        splits: powers(-8, 0, 2),
        format: figure,
      },
      lines: [
        ...linesOf(epses),
        { label: t("smallSignal", { eps: nameOf(signalEps) }), color: "--edge", dash: [1, 4] },
      ],
    },
    [DEVIATIONS, ...epses.map(noiseCurve), signalCurve(signalEps)],
  );
}

/** @param {HTMLTableElement} table @param {readonly number[]} epses */
function fillTable(table, epses) {
  const head = /** @type {HTMLElement} */ (table.querySelector("thead tr"));
  head.innerHTML = [t("smallX"), ...epses.map(nameOf)]
    .map((text) => `<th scope="col">${text}</th>`)
    .join("");
  table.tBodies[0].innerHTML = TABLE_DEVIATIONS.map((deviation) => {
    const cells = epses.map((eps) => {
      const after = deviationAfter(deviation, eps);
      return `<td data-label="${nameOf(eps)}" data-eps="${eps}" data-value="${after}"><span class="number">${numberHtml(shownFigure(after, 4))}</span></td>`;
    });
    return `<tr data-deviation="${deviation}"><th scope="row"><span class="number">${numberHtml(shownFigure(deviation))}</span></th>${cells.join("")}</tr>`;
  }).join("");
}
