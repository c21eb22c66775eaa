// The block of batch x channels x positions: its cells, and what is averaged together with one of them.

import { normalizeBlock } from "./block_norms.js";
import {
  CHANNELS,
  cellsOf,
  contains,
  digits,
  indexOf,
  NORMS,
  POSITIONS,
  regionOf,
  SEEDS,
} from "./block_shape.js";
import { cuboid } from "./cuboid.js";
import { currentLanguage, t } from "./i18n.js";
import { base, equals, equation, math, number, operand, piece, sum } from "./math.js";
import { show, showTyped } from "./numbers.js";
import { line, quotient } from "./steps.js";
import { numberHtml } from "./views.js";

/** @typedef {import("./block_shape.js").Cell} Cell */
/** @typedef {import("./block_shape.js").Norm} Norm */
/** @typedef {import("./block_shape.js").Region} Region */
/** @typedef {import("./exploring.js").Exploring} Exploring */
/** @typedef {import("./numbers.js").Shown} Shown */

export class BlockView {
  /** @type {Exploring | undefined} */
  #exploring;
  #eps = 0;
  /** @type {import("./block_norms.js").NormalizedBlock | undefined} */
  #block;
  /** @type {Cell | undefined} the one under the mouse: it is shown, and forgotten afterwards */
  #pointed;
  /** What the cells were made from. */
  #made = "";
  #onChange;

  /** @param {(change: Partial<Exploring>) => void} onChange */
  constructor(onChange) {
    this.#onChange = onChange;
    element("block-controls").addEventListener("change", ({ target }) => {
      if (!(target instanceof HTMLInputElement)) return;
      const { name, value, checked } = target;
      if (name === "norm") onChange({ norm: /** @type {Norm} */ (value) });
      else if (name === "perPosition") onChange({ perPosition: checked });
      else onChange({ [name]: Number(value) });
    });
    element("other-numbers").addEventListener("click", () => {
      const { seed = 0 } = this.#exploring ?? {};
      onChange({ seed: (seed % SEEDS) + 1 });
    });
    const block = element("block-cells");
    block.addEventListener("click", ({ target }) => this.#choose(cellAt(target)));
    block.addEventListener("keydown", (event) => this.#move(event));
    block.addEventListener("pointerover", ({ target, pointerType }) => {
      if (pointerType === "mouse") this.#point(cellAt(target));
    });
    block.addEventListener("pointerleave", () => this.#point(undefined));
  }

  /**
   * @param {Exploring} exploring
   * @param {number} eps
   */
  render(exploring, eps) {
    this.#exploring = exploring;
    this.#eps = eps;
    this.#block = normalizeBlock(exploring, eps);
    this.#pointed = undefined;
    const { norm, items, groups, perPosition, seed } = exploring;
    for (const [name, value] of Object.entries({ norm, items, groups })) check(name, String(value));
    input("[name=perPosition]").checked = perPosition;
    element("groups-control").hidden = norm !== "group";
    element("per-position-control").hidden = norm !== "layer" && norm !== "rms";
    const made = [currentLanguage(), items, seed].join();
    if (made !== this.#made) element("block-cells").innerHTML = sheets(items, digits(seed));
    this.#made = made;
    this.#show();
  }

  /** @param {Cell | undefined} cell */
  #point(cell) {
    if (String(cell) === String(this.#pointed)) return;
    this.#pointed = cell;
    this.#show();
  }

  /** @param {Cell | undefined} cell */
  #choose(cell) {
    if (cell !== undefined) this.#onChange({ cell });
  }

  /** @param {KeyboardEvent} event */
  #move(event) {
    if (this.#exploring === undefined) return;
    const { cell, items } = this.#exploring;
    const [item, row, position] = cell;
    const column = item * POSITIONS + position;
    const last = items * POSITIONS - 1;
    /** @type {Record<string, [row: number, column: number]>} */
    const steps = {
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      PageUp: [row, column - POSITIONS],
      PageDown: [row, column + POSITIONS],
      Home: [row, 0],
      End: [row, last],
    };
    const [toRow, toColumn] = steps[event.key] ?? [];
    if (
      toRow === undefined ||
      toColumn === undefined ||
      event.ctrlKey ||
      event.altKey ||
      event.metaKey
    )
      return;
    event.preventDefault();
    if (toRow < 0 || toRow >= CHANNELS || toColumn < 0 || toColumn > last) return;
    /** @type {Cell} */
    const to = [Math.floor(toColumn / POSITIONS), toRow, toColumn % POSITIONS];
    this.#onChange({ cell: to });
    /** @type {HTMLElement | null} */ (document.querySelector(`[data-cell="${to}"]`))?.focus();
  }

  #show() {
    const [exploring, block] = [this.#exploring, this.#block];
    if (exploring === undefined || block === undefined) return;
    const { norm } = exploring;
    const cell = this.#pointed ?? exploring.cell;
    const region = regionOf(norm, exploring, cell);
    for (const each of /** @type {NodeListOf<HTMLElement>} */ (
      document.querySelectorAll("[data-cell]")
    )) {
      const at = /** @type {Cell} */ (each.dataset.cell?.split(",").map(Number));
      each.setAttribute("aria-selected", String(contains(region, at)));
      each.tabIndex = String(at) === String(exploring.cell) ? 0 : -1;
      if (String(at) === String(cell)) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
    for (const icon of /** @type {NodeListOf<HTMLElement>} */ (
      document.querySelectorAll("[data-icon]")
    )) {
      const of = /** @type {Norm} */ (icon.dataset.icon);
      icon.innerHTML = cuboid(exploring.items, regionOf(of, exploring, cell));
    }
    const statistics = block.of(norm, cell);
    const { x, normalized, count } = statistics;
    element("block-status").innerHTML = t("blockStatus", {
      norm: NORMS[norm],
      set: setOf(region, exploring.items),
      count: `<b>${count}</b>`,
      x: `<b>${x}</b>`,
      normalized: `<b>${numberHtml(show(normalized, currentLanguage()))}</b>`,
    });
    const values = cellsOf(region).map((at) => block.x[indexOf(at)]);
    element("block-working").innerHTML = working(values, statistics, this.#eps);
    element("block-formula").innerHTML = formulaOf(exploring);
    element("block-note").textContent = t(noteOf(exploring));
    /** @type {Element} */ (element("block-norms").querySelector("tbody")).innerHTML = Object.keys(
      NORMS,
    )
      .map((name) =>
        comparisonRow(
          /** @type {Norm} */ (name),
          exploring,
          block.of(/** @type {Norm} */ (name), cell),
        ),
      )
      .join("");
  }
}

/**
 * One table for each item, its channels by its positions.
 *
 * @param {number} items
 * @param {readonly number[]} values
 */
function sheets(items, values) {
  const range = (/** @type {number} */ length) => Array.from({ length }, (_, i) => i);
  return range(items)
    .map((item) => {
      const label = t("blockItem", { n: String(item + 1) });
      const heads = range(POSITIONS).map((position) => {
        const n = String(position + 1);
        return `<th scope="col" aria-label="${t("blockOnePosition", { n })}">${n}</th>`;
      });
      const positions = t("blockOnePosition", { n: "" }).trim();
      // The channels are named once, and for screen readers with each item.
      const side = item === 0 ? "" : ' class="unseen"';
      const rows = range(CHANNELS).map((channel) => {
        const cells = range(POSITIONS).map((position) => {
          /** @type {Cell} */
          const cell = [item, channel, position];
          return `<td role="gridcell" data-cell="${cell}" tabindex="-1">${values[indexOf(cell)]}</td>`;
        });
        const name = t("blockOneChannel", { n: String(channel + 1) });
        return `<tr><th scope="row" role="rowheader"${side}>${name}</th>${cells.join("")}</tr>`;
      });
      return `<table class="sheet" role="grid" aria-multiselectable="true" aria-label="${label}">
        <caption aria-hidden="true">${label}</caption>
        <thead><tr><td role="gridcell"${side}>${positions}</td>${heads.join("")}</tr></thead><tbody>${rows.join("")}</tbody></table>`;
    })
    .join("");
}

/**
 * The arithmetic, in numbers.
 *
 * @param {readonly number[]} values
 * @param {import("./block_norms.js").CellStatistics} statistics
 * @param {number} eps
 */
function working(values, { count, mean, variance, rstd, x, normalized }, eps) {
  const language = currentLanguage();
  const shown = (/** @type {number} */ value) => show(value, language);
  const n = `<mn>${count}</mn>`;
  const of = values.map((value) => showTyped(value, language));
  const [chosen, spread, added] = [
    showTyped(x, language),
    shown(variance),
    showTyped(eps, language),
  ];
  const factor = shown(rstd);
  const root = math(piece("rstd", { variance: number(spread), eps: number(added) }));
  const factorLine = line(`${root} ${equals(factor, { from: [spread, added] })}`, "rstd");
  const last = (
    /** @type {import("./math.js").Piece} */ name,
    /** @type {Shown[]} */ from,
    /** @type {Record<string, string>} */ slots,
  ) => {
    const side = equation(name, from, { x: number(chosen), rstd: number(factor), ...slots });
    return line(`${math(side)} ${equals(shown(normalized), { from })}`, "normalized");
  };
  if (mean === undefined) {
    const squares = of.map((value) => piece("square", { x: base(value) }));
    return [
      line(
        `${sum(piece("meanSquareLead", { n }), squares, ")")} ${quotient(variance, count, of)}`,
        "mean-square",
      ),
      factorLine,
      last("blockRmsNormalized", [chosen, factor], {}),
    ].join("");
  }
  const centre = shown(mean);
  const deviations = of.map((value) =>
    piece("squaredDeviation", { x: number(value), mean: operand(centre) }),
  );
  const leads = [
    equation("blockMeanLead", of, { n }),
    equation("blockVarianceLead", [...of, centre], { n }),
  ];
  return [
    line(`${sum(leads[0], of.map(number), ")")} ${quotient(mean, count, of)}`, "mean"),
    line(
      `${sum(leads[1], deviations, "]")} ${quotient(variance, count, [...of, centre])}`,
      "variance",
    ),
    factorLine,
    last("blockNormalized", [chosen, centre, factor], { mean: operand(centre) }),
  ].join("");
}

/**
 * What a set is made of, in words.
 *
 * @param {Region} region
 * @param {number} batch
 */
function setOf({ items, channels, positions }, batch) {
  return [
    spanText(items, batch, "blockItem", "blockAllItems"),
    spanText(
      channels,
      CHANNELS,
      channels[1] - channels[0] === 1 ? "blockOneChannel" : "blockSomeChannels",
      "blockAllChannels",
    ),
    spanText(positions, POSITIONS, "blockOnePosition", "blockAllPositions"),
  ].join(", ");
}

/**
 * @param {import("./block_shape.js").Span} span
 * @param {number} size
 * @param {string} some
 * @param {string} all
 */
function spanText([from, to], size, some, all) {
  if (to - from === size && size > 1) return t(all);
  return t(some, { n: to - from === 1 ? String(to) : `${from + 1}–${to}` }).toLowerCase();
}

/** @param {Exploring} exploring @returns {string} the string's key */
function noteOf({ norm, items, groups, perPosition }) {
  switch (norm) {
    case "batch":
      return items === 1 ? "noteBatchOne" : "noteBatch";
    case "layer":
      return perPosition ? "noteLayerPosition" : "noteLayer";
    case "instance":
      return "noteInstance";
    case "rms":
      return "noteRms";
    default:
      if (groups === 1) return "noteGroupOne";
      return groups === CHANNELS ? "noteGroupAll" : "noteGroup";
  }
}

/**
 * @param {Norm} norm
 * @param {Exploring} exploring
 * @param {import("./block_norms.js").CellStatistics} statistics
 */
function comparisonRow(
  norm,
  { norm: chosen, groups },
  { count, mean, variance, rstd, normalized, alone },
) {
  const shown = (/** @type {number} */ value) => numberHtml(show(value, currentLanguage()));
  const cell = (/** @type {string} */ label, /** @type {string} */ html, result = "") =>
    `<td data-label="${t(label)}" data-result="${result}">${html}</td>`;
  const square = mean === undefined ? ` <small>${t("blockMeanSquare")}</small>` : "";
  return `<tr data-norm="${norm}"${norm === chosen ? ' class="chosen"' : ""}>
    <th scope="row">${NORMS[norm]}${norm === "group" ? ` (${groups})` : ""}</th>
    ${cell("blockCount", String(count), "count")}${cell("meanTitle", mean === undefined ? "—" : shown(mean), "mean")}
    ${cell("varianceTitle", shown(variance) + square, "variance")}${cell("epsColumnRstd", shown(rstd), "rstd")}
    ${cell("compareNormalized", shown(normalized), "normalized")}${cell("blockAlone", shown(alone), "alone")}</tr>`;
}

/**
 * What is averaged, as a formula, and what follows from it.
 *
 * @param {Exploring} exploring
 */
function formulaOf({ norm, perPosition }) {
  /** @type {Record<Norm, import("./math.js").Piece>} */
  const averages = {
    batch: "blockBatch",
    layer: perPosition ? "blockLayerPosition" : "blockLayer",
    instance: "blockInstance",
    group: "blockGroup",
    rms: perPosition ? "blockRmsPosition" : "blockRms",
  };
  /** @type {import("./math.js").Piece[]} */
  const formulas = [averages[norm], norm === "rms" ? "blockRmsHat" : "blockHat"];
  // Below each other: Firefox takes formulas for words of a line.
  return formulas.map((name) => `<div>${math(piece(name))}</div>`).join("");
}

/** @param {EventTarget | null} target @returns {Cell | undefined} */
function cellAt(target) {
  const found = target instanceof Element ? target.closest("[data-cell]") : null;
  return /** @type {Cell | undefined} */ (found?.getAttribute("data-cell")?.split(",").map(Number));
}

/**
 * @param {string} name of radio buttons
 * @param {string} value
 */
function check(name, value) {
  input(`[name=${name}][value="${value}"]`).checked = true;
}

/** @param {string} selector */
function input(selector) {
  return /** @type {HTMLInputElement} */ (document.querySelector(selector));
}

/** @param {string} id */
function element(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}
