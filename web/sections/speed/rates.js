// The rate of each way against the size of the tensor, with the copy's.

import { Chart } from "../../chart.js";
import { figure } from "../../figures.js";
import { t } from "../../i18n.js";
import { bytesOf, rateOf } from "./problem.js";

/** @typedef {import("./ways.js").WayName} WayName */

/** @type {[name: WayName, color: string, dash: number[] | undefined][]} */
const LINES = [
  ["wayPlain", "--v2", [7, 3]],
  ["wayTyped", "--v1", [7, 3]],
  ["wayPlan", "--v1", undefined],
  ["wayThreads", "--v4", undefined],
  ["wayGpu", "--v3", undefined],
  ["wayGpuCopied", "--v3", [7, 3]],
];

/** Beside the first and the last point. */
const MARGIN = 1.2;

/**
 * @param {HTMLElement} target
 * @param {import("./run.js").Results} results
 */
export function drawRates(target, { measured }) {
  const lines = LINES.filter(([name]) =>
    measured.some(({ ways }) => ways.some((way) => way.name === name)),
  );
  const rates = (
    /** @type {(typeof measured)[number]} */ { size, ways },
    /** @type {WayName} */ name,
  ) => {
    const way = ways.find((each) => each.name === name);
    return way === undefined ? null : rateOf(size, way.ms);
  };
  const megabytes = measured.map(({ size }) => bytesOf(size) / 1e6);
  return new Chart(
    target,
    {
      label: t("speedLabel"),
      x: {
        label: t("speedX"),
        log: true,
        range: [megabytes[0] / MARGIN, (megabytes.at(-1) ?? 1) * MARGIN],
        format: (value) => figure(value, 2),
      },
      y: { label: t("speedY"), log: true, format: (value) => figure(value, 3) },
      lines: [
        ...lines.map(([name, color, dash]) => ({ label: t(name), color, dash })),
        { label: t("speedCopyLine"), color: "--edge", dash: [2, 4], width: 2 },
      ],
    },
    [
      megabytes,
      ...lines.map(([name]) => measured.map((each) => rates(each, name))),
      measured.map(({ size, copyMs }) => (copyMs === undefined ? null : rateOf(size, copyMs))),
    ],
  );
}
