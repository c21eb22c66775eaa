// The README's table of what is claimed of normalization and what the experiments found: `node tests/experiments/readme.js`
// writes it anew from the results.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const README = fileURLToPath(new URL("../../README.md", import.meta.url));
const BLOCK = /(?<=<!-- experiments -->\n)[\s\S]*?(?=<!-- \/experiments -->)/;

/** @param {string} name @returns {any} */
const read = (name) =>
  JSON.parse(readFileSync(new URL(`results/${name}.json`, import.meta.url), "utf8"));

/** @param {number} value */
const short = (value) => Number(value.toPrecision(2));
/** @param {{ median: number, least: number, most: number }} spread */
const range = ({ median, least, most }) => `${short(median)} (${short(least)} to ${short(most)})`;
/** @param {number} share */
const percent = (share) => `${(100 * share).toFixed(1)} %`;

/** @returns {string} the table */
export function table() {
  const [text, digits, blocks, batches, cost, eps] = [
    ...["text_lstm", "digits", "pre_post_ln", "batch_size", "rms_cost", "eps"],
  ].map(read);
  const { ba2016, perGate, fusedGates } = text.results;
  const depths = Object.entries(blocks.results);
  const sizes = Object.entries(batches.results);
  const costs = Object.values(cost.results);
  const saved = (/** @type {string} */ which) => {
    const shares = costs.map((each) => each[which]);
    return `${percent(Math.min(...shares))} to ${percent(Math.max(...shares))}`;
  };
  const rows = [
    [
      "An LSTM with LayerNorm learns 2 to 3 times sooner",
      `The loss that a plain LSTM has after ${text.setting.steps} steps, at the same rate, is there in ` +
        `${range(ba2016.timesSooner)} times fewer steps with \`ba2016\`, ${range(perGate.timesSooner)} with \`perGate\`, ` +
        `${range(fusedGates.timesSooner)} with \`fusedGates\``,
      "[text_lstm](tests/experiments/text_lstm.js)",
    ],
    [
      "LayerNorm helps a network to learn",
      `Digits read right after ${digits.setting.epochs} epochs, with LayerNorm and without: ` +
        Object.entries(digits.results)
          .map(
            ([rate, { LayerNorm, none }]) =>
              `${percent(LayerNorm.last.median)} and ${percent(none.last.median)} at rate ${rate}`,
          )
          .join(", "),
      "[digits](tests/experiments/digits.js)",
    ],
    [
      "Post-LN transformers have large gradients near the output, pre-LN does not",
      `Norm of the gradient of the last block's second matrix at initialization, pre-LN and post-LN: ${depths
        .map(([depth, { pre, post }]) => {
          const [a, b] = [pre, post].map(
            ({ gradientNormByBlock }) => gradientNormByBlock.at(-1).median,
          );
          return `${short(a)} and ${short(b)} at depth ${depth}`;
        })
        .join(", ")}`,
      "[pre_post_ln](tests/experiments/pre_post_ln.js)",
    ],
    [
      "BatchNorm suffers from small batches, GroupNorm and LayerNorm do not",
      `Error of a small CNN after ${batches.setting.seen} digits, with BatchNorm, GroupNorm, LayerNorm: ${sizes
        .map(
          ([size, { batch, group, layer }]) =>
            `${[batch, group, layer].map(({ median }) => percent(median)).join(", ")} with batches of ${size}`,
        )
        .join("; ")}`,
      "[batch_size](tests/experiments/batch_size.js)",
    ],
    [
      "RMSNorm is 10 to 15 % cheaper",
      `Of this package's time for LayerNorm, by shape, RMSNorm saves ${saved("savedForward")} forward, ` +
        `${saved("savedBackward")} backward`,
      "[rms_cost](tests/experiments/rms_cost.js)",
    ],
    [
      "eps does not matter but for division by 0",
      `The result's deviation, which should be 1, where x has the deviation 1e-3: ${Object.entries(
        eps.results,
      )
        .map(
          ([value, found]) =>
            `${short(found["0.001"].median)} with eps ${value === "0" ? 0 : Number(value).toExponential(0)}`,
        )
        .join(", ")}`,
      "[eps](tests/experiments/eps.js)",
    ],
  ];
  return [
    "| claim | measured | by |",
    "|---|---|---|",
    ...rows.map((cells) => `| ${cells.join(" | ")} |`),
    "",
  ].join("\n");
}

/** @returns {string} the table as the README has it */
export const written = () => BLOCK.exec(readFileSync(README, "utf8"))?.[0] ?? "";

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = readFileSync(README, "utf8");
  if (!BLOCK.test(text)) throw new Error("the README has no place for the table");
  writeFileSync(README, text.replace(BLOCK, table()));
}
