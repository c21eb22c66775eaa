// The results at one size as a table, and who took no part.

import { figure } from "../../figures.js";
import { t } from "../../i18n.js";
import { shareBar } from "../../share_bars.js";
import { bytesOf, rateOf } from "./problem.js";

/** @typedef {import("./run.js").Results} Results */
/** @typedef {import("./run.js").Measured} Measured */

/** @param {Measured} measured */
export function tableRows({ size, ways, copyMs }) {
  const rates = ways.map(({ ms }) => rateOf(size, ms));
  const copyRate = copyMs === undefined ? 0 : rateOf(size, copyMs);
  const fastest = Math.max(...rates, copyRate);
  const rows = ways.map(({ name, ms, difference, agrees }, i) => {
    const off = difference === 0 ? "—" : figure(difference, 2);
    return row(name, [
      rateCell(rates[i], fastest),
      cell("speedTime", milliseconds(ms)),
      cell("speedDifference", off, agrees ? "" : " wrong"),
    ]);
  });
  if (copyMs !== undefined) {
    rows.push(
      row("wayCopy", [
        rateCell(copyRate, fastest),
        cell("speedTime", milliseconds(copyMs)),
        cell("speedDifference", "—"),
      ]),
    );
  }
  return {
    caption: t("speedCaption", {
      rows: String(size.rows),
      features: String(size.features),
      size: figure(bytesOf(size) / 1e6, 2),
    }),
    rows: rows.join(""),
  };
}

/** @param {string} name @param {string[]} cells */
function row(name, cells) {
  return `<tr data-way="${name}"><th scope="row">${t(name)}</th>${cells.join("")}</tr>`;
}

/** @param {number} rate @param {number} fastest */
function rateCell(rate, fastest) {
  return `<td data-label="${t("speedRate")}"><span class="number">${figure(rate)}</span>${shareBar(rate / fastest)}</td>`;
}

/** @param {string} label @param {string} text */
function cell(label, text, className = "") {
  return `<td data-label="${t(label)}" class="${className.trim()}"><span class="number">${text}</span></td>`;
}

/** @param {number} ms */
function milliseconds(ms) {
  return ms < 0.1
    ? t("speedUs", { value: figure(1000 * ms) })
    : t("speedMs", { value: figure(ms) });
}

/**
 * @param {Results} results
 * @returns {string[]} HTML
 */
export function notesOf({ ready, absences }) {
  const notes = [];
  const { threads } = ready.threads ?? {};
  if (threads !== undefined) notes.push(t("speedThreads", { threads: String(threads) }));
  const { adapter } = ready.gpu ?? {};
  if (adapter !== undefined) {
    notes.push(t("speedAdapter", { name: quoted(adapter.name) }));
    if (adapter.software) notes.push(t("speedSoftware"));
  }
  for (const absence of Object.values(absences)) {
    notes.push(t(absence.key, { message: quoted(absence.message) }));
  }
  return notes;
}

/** What the package or the browser said, in English as it is. @param {string} text */
function quoted(text) {
  const made = document.createElement("code");
  made.lang = "en";
  made.textContent = text;
  return made.outerHTML;
}
