// The English document's network, live: each layer's activations, one item's values before and after LayerNorm, and the same
// layer in three frameworks, whose eps is then the network's.

import { Chart } from "../../chart.js";
import { setUpCopying } from "../../copying.js";
import { currentLanguage, t } from "../../i18n.js";
import { show, toText } from "../../numbers.js";
import { isRefused, readSeed } from "../../seed_field.js";
import { setUpTabs } from "../../tabs.js";
import { numberHtml } from "../../views.js";
import { moments } from "../../worked_example.js";
import { forward, ITEMS, makeProblem } from "./forward.js";
import { FRAMEWORKS, ourCode } from "./frameworks.js";
import { FULL, Strips } from "./strips.js";

/** @typedef {import("./forward.js").Activations} Activations */
/** @typedef {import("./frameworks.js").Framework} Framework */

export { default as html } from "./section.html";

const BINS = 32;
/** A layer's name in code is its name in every language. */
const CODE_NAMES = {
  input: "randn(10, 64)",
  linear1: "Linear(64, 128)",
  norm: "LayerNorm(128)",
  relu: "ReLU",
  linear2: "Linear(128, 10)",
};

/** @type {import("../../sections.js").SectionModule["mount"]} */
export function mount(body) {
  const element = (/** @type {string} */ id) =>
    /** @type {HTMLElement} */ (body.querySelector(`#${id}`));
  const seedField = /** @type {HTMLInputElement} */ (element("network-seed"));
  const normField = /** @type {HTMLInputElement} */ (element("network-norm"));
  const chosen = { seed: 1, scale: 1, item: 0, framework: /** @type {Framework} */ ("pytorch") };
  /** @type {Chart | undefined} */
  let chart;
  let network = compute();

  const strips = new Strips(element("network-strips"), choose);
  const items = element("network-items");
  /** @type {Element} */ (items.querySelector(".segments")).innerHTML = Array.from(
    { length: ITEMS },
    (_, i) =>
      `<label><input type="radio" name="network-item" value="${i}" autocomplete="off"${i === 0 ? " checked" : ""}><span>${i + 1}</span></label>`,
  ).join("");
  items.addEventListener("change", ({ target }) => {
    choose(Number(/** @type {HTMLInputElement} */ (target).value));
  });
  body.querySelector(".controls")?.addEventListener("input", ({ target }) => {
    const field = /** @type {HTMLInputElement} */ (target);
    if (field.name === "network-scale") chosen.scale = Number(field.value);
    if (field === seedField)
      chosen.seed = readSeed(seedField, element("network-finding")) ?? chosen.seed;
    render();
  });
  setUpTabs(body, (tab) => {
    chosen.framework = /** @type {Framework} */ (tab.id.replace("network-", ""));
    element("network-copy-theirs").setAttribute("aria-describedby", tab.id);
    render();
  });
  setUpCopying(element("network-copy-theirs"), () => FRAMEWORKS[chosen.framework].code);
  setUpCopying(element("network-copy-ours"), () => ourCode(chosen.framework));

  /** @param {number} item */
  function choose(item) {
    chosen.item = item;
    /** @type {HTMLInputElement} */ (items.querySelector(`[value="${item}"]`)).checked = true;
    render();
  }

  /** The chosen network, and the same with or without the normalization. */
  function compute() {
    const { seed, scale, framework } = chosen;
    const { eps } = FRAMEWORKS[framework];
    const problem = makeProblem(seed);
    const isNormalized = normField.checked;
    const layers = forward(problem, { scale, eps, isNormalized });
    const others = forward(problem, { scale, eps, isNormalized: !isNormalized });
    const [withNorm, without] = isNormalized ? [layers, others] : [others, layers];
    return { layers, withNorm, without };
  }

  function render() {
    network = compute();
    for (const part of parts) part();
  }

  function renderStrips() {
    strips.show(network.layers, chosen.item, (layer) => wordsOf(layer, chosen.item));
    element("network-key").textContent = t("networkKey", { full: String(FULL) });
  }

  function renderWords() {
    const { framework } = chosen;
    const { eps, name, code } = FRAMEWORKS[framework];
    element("network-finding").innerHTML = isRefused(seedField)
      ? t("networkSeedProblem")
      : findingText();
    /** @type {Element} */ (element("network-theirs").querySelector("code")).textContent = code;
    /** @type {Element} */ (element("network-ours").querySelector("code")).textContent =
      ourCode(framework);
    element("network-eps").innerHTML = t("networkEps", { name, eps: `<b>${figure(eps)}</b>` });
  }

  function renderChart() {
    const { item } = chosen;
    const { withNorm } = network;
    const [before, after] = [rowOf(withNorm, "linear1", item), rowOf(withNorm, "norm", item)];
    chart?.destroy();
    chart = new Chart(
      element("network-chart"),
      {
        label: t("networkChart", { item: String(item + 1) }),
        x: { label: t("networkChartX") },
        y: { label: t("networkChartY"), range: [0, null] },
        lines: [
          { label: t("networkBefore"), color: "--v2", shape: "steps" },
          { label: t("networkAfter"), color: "--v1", shape: "steps", dash: [4, 2] },
        ],
        height: 230,
      },
      histograms([before, after]),
    );
  }

  function renderTable() {
    const { layers, without } = network;
    const { item } = chosen;
    const cell = (/** @type {string} */ label, /** @type {string} */ text) =>
      `<td data-label="${t(label)}"><span class="number">${text}</span></td>`;
    /** @type {Element} */ (element("network-table").querySelector("tbody")).innerHTML = layers
      .map(({ name }) => {
        const { mean, deviation } = moments(rowOf(layers, name, item));
        const plain = without.find((layer) => layer.name === name);
        const other = plain && moments(rowOf(without, name, item)).deviation;
        return `<tr data-layer="${name}"><th scope="row"><code lang="en">${CODE_NAMES[name]}</code></th>
          ${cell("meanTitle", figureHtml(mean))}${cell("networkDeviation", figureHtml(deviation))}
          ${cell("networkWithout", other === undefined ? "—" : figureHtml(other))}</tr>`;
      })
      .join("");
  }

  function findingText() {
    const [a, b] = [network.withNorm, network.without].map(
      (layers) => moments(rowOf(layers, "linear2", chosen.item)).deviation,
    );
    return t("networkFinding", {
      scale: figure(chosen.scale),
      with: `<b>${figureHtml(a)}</b>`,
      without: `<b>${figureHtml(b)}</b>`,
    });
  }

  const parts = [renderStrips, renderChart, renderTable, renderWords];
  return { render: parts };
}

/** @param {Activations} layer @param {number} item */
function wordsOf(layer, item) {
  const { mean, deviation } = moments([...layer.values]);
  const name = CODE_NAMES[layer.name];
  const html = t("networkStrip", { mean: figureHtml(mean), deviation: figureHtml(deviation) });
  return {
    title: `<code lang="en">${name}</code> <span class="caption">${html}</span>`,
    label: t("networkStripLabel", {
      name,
      item: String(item + 1),
      mean: figure(mean),
      deviation: figure(deviation),
    }),
  };
}

/**
 * @param {readonly Activations[]} layers
 * @param {import("./forward.js").LayerName} name
 * @param {number} item
 */
function rowOf(layers, name, item) {
  const layer = layers.find((each) => each.name === name);
  if (layer === undefined) throw new Error(`no layer "${name}"`);
  const { values, width } = layer;
  return [...values.subarray(item * width, (item + 1) * width)];
}

/**
 * How many of each group of values fall into each of the same bins.
 *
 * @param {readonly (readonly number[])[]} groups
 * @returns {number[][]} the bins' lower ends, then the counts of each group
 */
function histograms(groups) {
  const all = groups.flat();
  const reach = Math.max(...all.map(Math.abs)) * 1.0001;
  const width = (2 * reach) / BINS;
  // One more, where the last bin ends.
  const ends = Array.from({ length: BINS + 1 }, (_, i) => -reach + i * width);
  const counts = groups.map((values) => {
    const count = ends.map(() => 0);
    for (const value of values) count[Math.floor((value + reach) / width)]++;
    return count;
  });
  return [ends, ...counts];
}

/** @param {number} value */
const shown = (value) => show(Number(value.toPrecision(4)), currentLanguage());

/** @param {number} value */
const figure = (value) => toText(shown(value));

/** @param {number} value */
const figureHtml = (value) => numberHtml(shown(value));
