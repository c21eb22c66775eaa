// Recurrent networks: how soon an LSTM learns a text, plain and with layer normalization.

import stored from "../../../tests/experiments/results/text_lstm.json" with { type: "json" };
import { figure, linesOf, meanOfLast, mountPanel } from "../../experiments/panel.js";
import { t } from "../../i18n.js";

export { html } from "../../experiments/panel.js";

const WINDOW = 10;
const STEPS = /** @type {const} */ (["40", "80", "120", "160"]);
const CELLS = /** @type {const} */ (["plain", "ba2016", "perGate", "fusedGates"]);
const LIVE = [
  { label: "recurrentPlain", color: "--v2", dash: [6, 3] },
  { label: "recurrentBa2016", color: "--v1" },
];
const STORED = [
  ...LIVE,
  { label: "recurrentPerGate", color: "--v3", dash: [2, 3] },
  { label: "recurrentFusedGates", color: "--quiet", dash: [8, 3, 2, 3] },
];

/** @type {import("../../sections.js").SectionModule["mount"]} */
export function mount(body) {
  return mountPanel(body, {
    name: "recurrent",
    how: "recurrentHow",
    optionName: "recurrentOption",
    xLabel: "experimentStep",
    lines: LIVE,
    stored: {
      command: "node tests/experiments/text_lstm.js",
      seconds: stored.seconds,
      node: stored.node,
      chart: () => ({
        options: {
          label: t("recurrentChart"),
          x: { label: t("experimentStep"), splits: STEPS.map(Number), range: [36, 164] },
          y: { label: t("recurrentLoss") },
          lines: linesOf({ lines: STORED }).map((line) => ({ ...line, shape: "points" })),
        },
        data: [
          STEPS.map(Number),
          ...CELLS.map((cell) => STEPS.map((step) => stored.results[cell].lossAfter[step].median)),
        ],
      }),
      finding: () => {
        const { median, least, most } = stored.results.ba2016.timesSooner;
        return t("recurrentFinding", {
          steps: String(stored.setting.steps),
          times: `<b>${figure(median, 2)}</b>`,
          least: figure(least, 2),
          most: figure(most, 2),
        });
      },
    },
    finding: ([plain, ours]) => {
      const [target, end] = [plain, ours].map(({ losses }) => meanOfLast(losses, WINDOW));
      const at = ours.losses.findIndex(
        (_, i) => i + 1 >= WINDOW && meanOfLast(ours.losses.slice(0, i + 1), WINDOW) <= target,
      );
      const values = { plain: `<b>${figure(target)}</b>`, ours: `<b>${figure(end)}</b>` };
      return at < 0
        ? t("recurrentNever", values)
        : t("recurrentNow", {
            ...values,
            step: String(at + 1),
            steps: String(plain.losses.length),
            times: `<b>${figure(plain.losses.length / (at + 1), 2)}</b>`,
          });
    },
  });
}
