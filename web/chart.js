// Line charts by uPlot, in the page's colors, language and width, with their numbers in a table for whoever does not see them.
// Only sections that are loaded when they are reached import this, so uPlot is not part of the first view.

import uPlot from "uplot";
import { drawing } from "./drawing.js";
import { currentLanguage, t } from "./i18n.js";
import { show, toText } from "./numbers.js";
import { painted, paintedIn } from "./theme.js";

/**
 * @typedef {object} Line
 * @property {string} label
 * @property {string} color a custom property of the style sheet, as in "--v1"
 * @property {number[]} [dash] so that colors are not all that tells lines apart
 * @property {"line" | "steps" | "points"} [shape] steps: filled down to 0, as of a histogram
 * @property {number} [width] in pixels
 */

/**
 * @typedef {object} Axis
 * @property {string} label
 * @property {boolean} [log] with powers of ten
 * @property {[low: number | null, high: number | null]} [range] null where the data decide
 * @property {(value: number) => string} [format] of a value in the page's language
 * @property {number[]} [splits] where the ticks are; uPlot's choice if there are none
 */

/**
 * @typedef {object} ChartOptions
 * @property {string} label what the chart shows, in a sentence
 * @property {Axis} x
 * @property {Axis} y
 * @property {readonly Line[]} lines
 * @property {number} [height] in pixels
 */

/** @typedef {readonly (readonly (number | null)[])[]} Data x, then the values of each line; null where there is none */

const HEIGHT = 260;
/** The table has every so many-th row at most. */
const MOST_ROWS = 40;
/** A line of shorter dashes has dots beside its name. */
const DOTTED_BELOW = 4;
const FONT = '12px "Page", system-ui, sans-serif';

export class Chart {
  #options;
  /** @type {Data} */
  #data;
  #root = document.createElement("figure");
  #plot = document.createElement("div");
  #table = document.createElement("table");
  #details = document.createElement("details");
  /** @type {HTMLElement[]} the color of each line is that of its swatch */
  #swatches = [];
  /** @type {HTMLElement[]} */
  #values = [];
  /** @type {uPlot} */
  #uplot;
  #observer;
  #painted;

  /**
   * @param {HTMLElement} target which is emptied
   * @param {ChartOptions} options
   * @param {Data} [data]
   */
  constructor(target, options, data = [[], ...options.lines.map(() => [])]) {
    this.#options = options;
    this.#data = data;
    this.#root.className = "chart";
    this.#plot.className = "chart-plot";
    this.#plot.setAttribute("role", "img");
    this.#plot.setAttribute("aria-label", options.label);
    this.#root.append(axisName(options.y.label, "y"), this.#plot, axisName(options.x.label, "x"));
    this.#root.append(this.#makeLegend(), this.#makeDetails());
    target.replaceChildren(this.#root);
    this.#uplot = new uPlot(this.#uplotOptions(), /** @type {any} */ (copyOf(data)), this.#plot);
    this.#painted = paintedIn(target, () => this.#redraw());
    this.#observer = new ResizeObserver(() => {
      if (this.#hasNewWidth) drawing.ask([this.#painted]);
    });
    this.#observer.observe(this.#plot);
  }

  /** @param {Data} data */
  set(data) {
    this.#data = data;
    this.#uplot.setData(/** @type {any} */ (copyOf(data)));
    if (this.#details.open) this.#fillTable();
  }

  destroy() {
    painted.delete(this.#painted);
    this.#observer.disconnect();
    this.#uplot.destroy();
    this.#root.remove();
  }

  get #hasNewWidth() {
    const width = this.#plot.clientWidth;
    return width > 0 && width !== this.#uplot.width;
  }

  #redraw() {
    if (this.#hasNewWidth) {
      this.#uplot.setSize({ width: this.#plot.clientWidth, height: this.#height });
    } else {
      this.#uplot.redraw(false);
    }
  }

  get #height() {
    return this.#options.height ?? HEIGHT;
  }

  /** @returns {uPlot.Options} */
  #uplotOptions() {
    const { x, y, lines } = this.#options;
    const color = () => getComputedStyle(this.#plot).color;
    const faint = () => getComputedStyle(this.#plot).borderTopColor;
    const axis = (/** @type {Axis} */ { splits, ...options }) => ({
      font: FONT,
      stroke: color,
      grid: { stroke: faint, width: 1 },
      ticks: { stroke: faint, width: 1, size: 5 },
      values: (/** @type {uPlot} */ _, /** @type {(number | null)[]} */ found) =>
        found.map((value) => (value === null ? null : formatOf(options)(value))),
      ...(splits === undefined ? {} : { splits, filter: () => splits }),
    });
    return {
      width: this.#plot.clientWidth || 300,
      height: this.#height,
      padding: [8, 14, 0, 0],
      legend: { show: false },
      scales: { x: { time: false, ...scale(x) }, y: scale(y) },
      axes: [
        { ...axis(x), size: 30, space: 54 },
        // As wide as its longest number.
        { ...axis(y), size: widthOf, gap: 6 },
      ],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      hooks: { setCursor: [({ cursor }) => this.#showValues(cursor.idx ?? undefined)] },
      series: [
        {},
        ...lines.map(({ dash, shape = "line", width = 2 }, i) => ({
          stroke: () => this.#colorOf(i),
          width,
          dash,
          spanGaps: true,
          points: { show: shape === "points", size: 7, fill: () => this.#colorOf(i) },
          ...(shape === "steps"
            ? { paths: uPlot.paths.stepped?.({ align: 1 }), fill: () => this.#washOf(i), fillTo: 0 }
            : {}),
        })),
      ],
    };
  }

  /** @param {number} line */
  #colorOf(line) {
    return getComputedStyle(this.#swatches[line]).color;
  }

  /** @param {number} line */
  #washOf(line) {
    return this.#colorOf(line).replace(/^rgb\((.*)\)$/, "rgba($1, 0.22)");
  }

  #makeLegend() {
    const list = document.createElement("ul");
    list.className = "chart-legend";
    for (const { label, color, dash, shape } of this.#options.lines) {
      const item = document.createElement("li");
      const swatch = document.createElement("span");
      const value = document.createElement("span");
      swatch.className = "chart-swatch";
      if (dash !== undefined) swatch.dataset.dashed = dash[0] < DOTTED_BELOW ? "dots" : "";
      if (shape === "steps") swatch.dataset.filled = "";
      swatch.style.setProperty("color", `var(${color})`);
      value.className = "chart-value";
      item.append(swatch, label, value);
      list.append(item);
      this.#swatches.push(swatch);
      this.#values.push(value);
    }
    return list;
  }

  /** @param {number | undefined} at the point under the mouse */
  #showValues(at) {
    const format = formatOf(this.#options.y);
    for (const [i, value] of this.#values.entries()) {
      const number = at === undefined ? null : this.#data[i + 1]?.[at];
      value.textContent = typeof number === "number" ? format(number) : "";
    }
  }

  #makeDetails() {
    const summary = document.createElement("summary");
    const whose = document.createElement("span");
    whose.className = "unseen";
    whose.textContent = `: ${this.#options.label}`;
    summary.append(t("chartNumbers"), whose);
    const scroll = document.createElement("div");
    scroll.className = "chart-scroll";
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", t("chartNumbers"));
    scroll.append(this.#table);
    this.#details.className = "chart-numbers";
    this.#details.append(summary, scroll);
    this.#details.addEventListener("toggle", () => {
      if (this.#details.open) this.#fillTable();
    });
    return this.#details;
  }

  #fillTable() {
    const { label, x, y, lines } = this.#options;
    const [xs, ...columns] = this.#data;
    const caption = document.createElement("caption");
    caption.textContent = `${label} ${y.label}:`;
    const head = document.createElement("thead");
    head.append(row([x.label, ...lines.map((line) => line.label)], "col"));
    const body = document.createElement("tbody");
    const step = Math.max(1, Math.ceil(xs.length / MOST_ROWS));
    for (let i = 0; i < xs.length; i++) {
      if (i % step !== 0 && i !== xs.length - 1) continue;
      const cells = columns.map((column) => {
        const value = column[i];
        return typeof value === "number" ? formatOf(y)(value) : "—";
      });
      body.append(row([formatOf(x)(/** @type {number} */ (xs[i])), ...cells], "row"));
    }
    this.#table.replaceChildren(caption, head, body);
  }
}

/**
 * @param {string[]} texts
 * @param {"col" | "row"} scope of headings: all cells, or the first
 */
function row(texts, scope) {
  const made = document.createElement("tr");
  for (const [i, text] of texts.entries()) {
    const isHead = scope === "col" || i === 0;
    const cell = document.createElement(isHead ? "th" : "td");
    if (isHead) /** @type {HTMLTableCellElement} */ (cell).scope = scope;
    cell.textContent = text;
    made.append(cell);
  }
  return made;
}

/** @param {string} label @param {"x" | "y"} axis */
function axisName(label, axis) {
  const name = document.createElement("p");
  name.className = `chart-axis chart-${axis}`;
  name.textContent = label;
  return name;
}

/** @param {Axis} axis @returns {uPlot.Scale} */
function scale({ log, range }) {
  const [low, high] = range ?? [null, null];
  return {
    ...(log ? { distr: 3, log: 10 } : {}),
    range: (_, least, most) => {
      // Before there are data.
      if (!Number.isFinite(least) || !Number.isFinite(most) || least === null) {
        return [low ?? (log ? 1 : 0), high ?? (log ? 10 : 1)];
      }
      const [from, to] = log
        ? [nextRound(least, "below"), nextRound(most, "above")]
        : uPlot.rangeNum(least, most, 0.06, true);
      return [low ?? from ?? least, high ?? to ?? most];
    },
  };
}

/**
 * The next below or above of 1, 2, 5, 10, 20, ... and of their like below 1.
 *
 * @param {number} value
 * @param {"below" | "above"} side
 */
function nextRound(value, side) {
  const power = 10 ** Math.floor(Math.log10(value));
  const steps = [1, 2, 5, 10].map((step) => Number((step * power).toPrecision(1)));
  const isBelow = side === "below";
  return (
    (isBelow ? steps.findLast((step) => step <= value) : steps.find((step) => step >= value)) ??
    value
  );
}

/** @param {uPlot} _ @param {string[] | null} values as shown */
function widthOf(_, values) {
  const longest = Math.max(2, ...(values ?? []).map((value) => value?.length ?? 0));
  return 12 + 7.2 * longest;
}

/** @param {Axis} axis */
function formatOf({ format }) {
  return format ?? ((/** @type {number} */ value) => toText(show(value, currentLanguage())));
}

/** uPlot keeps what it is given, and charts are drawn while data grow. @param {Data} data */
function copyOf(data) {
  return data.map((values) => [...values]);
}
