// Convolutional networks: batch, group and layer normalization by the size of the batch.

import stored from "../../../tests/experiments/results/batch_size.json" with { type: "json" };
import { figure, linesOf, mountPanel } from "../../experiments/panel.js";
import { currentLanguage, t } from "../../i18n.js";

export { html } from "../../experiments/panel.js";

const SIZES = /** @type {const} */ (["1", "2", "4", "16", "64"]);
const KINDS = /** @type {const} */ (["batch", "group", "layer"]);
const LINES = [
  { label: "convolutionalBatch", color: "--v2", dash: [6, 3] },
  { label: "convolutionalGroup", color: "--v3", dash: [2, 3] },
  { label: "convolutionalLayer", color: "--v1" },
];

/** @type {import("../../sections.js").SectionModule["mount"]} */
export function mount(body) {
  return mountPanel(body, {
    name: "convolutional",
    how: "convolutionalHow",
    optionName: "convolutionalOption",
    xLabel: "convolutionalSeen",
    lines: LINES,
    stored: {
      command: "node tests/experiments/batch_size.js",
      seconds: stored.seconds,
      node: stored.node,
      chart: () => ({
        options: {
          label: t("convolutionalChart"),
          x: {
            label: t("convolutionalOption"),
            log: true,
            range: [0.8, 80],
            splits: SIZES.map(Number),
            format: String,
          },
          y: { label: t("convolutionalError"), range: [0, null], format: percent },
          lines: linesOf({ lines: LINES }).map((line) => ({ ...line, shape: "points" })),
        },
        data: [
          SIZES.map(Number),
          ...KINDS.map((kind) => SIZES.map((size) => stored.results[size][kind].median)),
        ],
      }),
      finding: () =>
        t("convolutionalFinding", {
          ...errorsOf(KINDS.map((kind) => stored.results["1"][kind].median)),
          seen: String(stored.setting.seen),
        }),
    },
    finding: (curves, size) =>
      t("convolutionalNow", {
        ...errorsOf(curves.map(({ result }) => result ?? Number.NaN)),
        size: String(size),
      }),
  });
}

/** @param {readonly number[]} errors */
function errorsOf(errors) {
  return Object.fromEntries(KINDS.map((kind, i) => [kind, `<b>${percent(errors[i])}</b>`]));
}

/** @param {number} share */
function percent(share) {
  return `${figure(100 * share, 3)}${currentLanguage() === "ru" ? "\u00a0" : ""}%`;
}
