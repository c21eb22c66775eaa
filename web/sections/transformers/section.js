// Transformers: layer normalization before each branch or behind each sum.

import stored from "../../../tests/experiments/results/pre_post_ln.json" with { type: "json" };
import { figure, linesOf, meanOfLast, mountPanel } from "../../experiments/panel.js";
import { t } from "../../i18n.js";

export { html } from "../../experiments/panel.js";

const DEPTH = "12";
const LAST = 5;
const LINES = [
  { label: "transformersPre", color: "--v1" },
  { label: "transformersPost", color: "--v2", dash: [6, 3] },
];

/** @type {import("../../sections.js").SectionModule["mount"]} */
export function mount(body) {
  const { pre, post } = stored.results[DEPTH];
  return mountPanel(body, {
    name: "transformers",
    how: "transformersHow",
    optionName: "transformersOption",
    xLabel: "experimentStep",
    lines: LINES,
    stored: {
      command: "node tests/experiments/pre_post_ln.js",
      seconds: stored.seconds,
      node: stored.node,
      chart: () => ({
        options: {
          label: t("transformersChart"),
          x: { label: t("transformersBlock"), range: [0.6, 12.4] },
          y: { label: t("transformersGradient"), range: [0, null] },
          lines: linesOf({ lines: LINES }).map((line) => ({ ...line, shape: "points" })),
        },
        data: [
          pre.gradientNormByBlock.map((_, i) => i + 1),
          ...[pre, post].map(({ gradientNormByBlock }) =>
            gradientNormByBlock.map(({ median }) => median),
          ),
        ],
      }),
      finding: () =>
        t("transformersFinding", {
          pre: `<b>${figure(pre.gradientNormByBlock[11].median, 2)}</b>`,
          post: `<b>${figure(post.gradientNormByBlock[11].median, 2)}</b>`,
          preLoss: `<b>${figure(pre.lossAfterTraining.median)}</b>`,
          postLoss: `<b>${figure(post.lossAfterTraining.median)}</b>`,
          chance: figure(stored.setting.chance),
        }),
    },
    finding: ([before, behind], depth) =>
      t("transformersNow", {
        depth: String(depth),
        pre: `<b>${figure(before.extra.at(-1) ?? Number.NaN, 2)}</b>`,
        post: `<b>${figure(behind.extra.at(-1) ?? Number.NaN, 2)}</b>`,
        preLoss: `<b>${figure(meanOfLast(before.losses, LAST))}</b>`,
        postLoss: `<b>${figure(meanOfLast(behind.losses, LAST))}</b>`,
      }),
  });
}
