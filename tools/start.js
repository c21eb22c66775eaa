// `npm start`: sets up, builds, prints the documents' worked example, then serves the page that shows it.
//
//   node tools/start.js              until Ctrl-C
//   node tools/start.js --no-serve   ends after the example
//   node tools/start.js --no-build   takes what is built already

import { EXAMPLE, MISPRINTS } from "../web/documents.js";
import { runScript, SetupError } from "./process.js";
import { ISOLATION, serve } from "./serve.js";
import { setup } from "./setup.js";

/** Decimals in the tables. The documents print four; two more show where they rounded too early. */
const DECIMALS = 6;
const WIDTH = 11;
const FLAGS = ["--no-serve", "--no-build"];

/** @param {string} line */
const print = (line) => console.log(line);

/** @param {string[]} flags */
async function main(flags) {
  const unknown = flags.filter((flag) => !FLAGS.includes(flag));
  if (unknown.length > 0) {
    throw new SetupError(`Unknown: ${unknown.join(" ")}. There are ${FLAGS.join(" and ")}.`);
  }
  if (!flags.includes("--no-build")) {
    await setup({ groups: ["build"], log: print });
    // Only now: these need what the set-up installs.
    const { build } = await import("./build.js");
    await build({ log: print });
    const { buildWeb } = await import("./build_web.js");
    await buildWeb({ log: print });
  }
  print(`\n${await workedExample()}`);
  if (flags.includes("--no-serve")) return;
  const { url, close } = await serve({ headers: ISOLATION });
  print(`The same step by step, with your own numbers: ${url}\nCtrl-C ends it.`);
  process.once("SIGINT", async () => {
    await close();
    print("");
  });
}

/** The documents' example as the package computes it, and where the English document prints other numbers. */
async function workedExample() {
  const { work } = await import("../web/worked_example.js");
  const { weight, bias, eps } = EXAMPLE;
  const blocks = EXAMPLE.vectors.map((vector, k) => {
    const { mean, variance, normalized, scaled, rmsNorm } = work(vector, EXAMPLE);
    return [
      `x${k + 1} = [${vector.join(", ")}]`,
      `  LayerNorm   mean ${brief(mean)}, variance ${brief(variance)}`,
      row("normalized", normalized),
      row("scaled and shifted", scaled),
      `  RMSNorm     root mean square ${brief(rmsNorm.rms)}`,
      row("normalized", rmsNorm.normalized),
      row("scaled and shifted", rmsNorm.scaled),
      ...misprints(k, { variance, scaled }),
    ].join("\n");
  });
  const title = `The documents' worked example, weight ${weight}, bias ${bias}, eps ${eps.toExponential()}:`;
  return `${[title, ...blocks].join("\n\n")}\n`;
}

/**
 * @param {number} k
 * @param {{ variance: number, scaled: number[] }} right
 */
function misprints(k, right) {
  const lines = [];
  const root = MISPRINTS.variance[k];
  if (root !== undefined) {
    lines.push(
      `The English document prints ${root} under the roots: it should be ${brief(right.variance)}.`,
    );
  }
  const wrong = MISPRINTS.scaled[k] ?? [];
  if (wrong.length > 0) {
    const said = wrong.map(({ text }) => text).join(" and ");
    const correct = wrong.map(({ feature }) => right.scaled[feature]?.toFixed(4)).join(" and ");
    lines.push(`The English document rounds too early to ${said}: it should be ${correct}.`);
  }
  return lines.map((line) => `  ! ${line}`);
}

/**
 * @param {string} name
 * @param {readonly number[]} values
 */
function row(name, values) {
  const cells = values.map((value) => value.toFixed(DECIMALS).padStart(WIDTH));
  return `    ${name.padEnd(18)}${cells.join("")}`;
}

/** @param {number} value */
function brief(value) {
  return String(Number(value.toFixed(DECIMALS)));
}

await runScript(() => main(process.argv.slice(2)));
