/**
 * npm run bench:browser: the contenders that run in a browser, in Debian's Chromium.
 *
 *   --quick       a minute with rough figures, not stored
 *   --json FILE   store them there, quick or not
 *
 * CHROMIUM names another binary.
 */

import { parseArgs } from "node:util";
import { launchChromium } from "./chromium.js";
import { CONTENDERS } from "./contenders/index.js";
import { describeContenders, describeMachine, ensureBuilt, today } from "./machine.js";
import { ensurePeers } from "./peers.js";
import { speedText } from "./report.js";
import { serve } from "./server.js";
import { storeReport } from "./store.js";

const { quick = false, json } = parseArgs({
  options: { quick: { type: "boolean" }, json: { type: "string" } },
}).values;
const log = console.log;

ensureBuilt(log);
await ensurePeers(log);

const server = await serve();
const browser = await launchChromium(["--disable-gpu"]);
try {
  const engine = (await browser.version()).replace(/^(Headless)?Chrome\//, "Chromium ");
  const machine = describeMachine(engine);
  const contenders = describeContenders(CONTENDERS.filter(({ nodeOnly }) => !nodeOnly));
  log(`${machine.cpu}, ${machine.cores} cores, ${machine.system}, ${machine.engine}`);

  const page = await browser.newPage();
  page.on("pageerror", (error) => log(`page: ${error}`));
  await page.goto(server.address);
  if (!(await page.evaluate("crossOriginIsolated"))) throw new Error("the page is not isolated");
  await page.exposeFunction("tell", (/** @type {import("./suite.js").Case} */ done) =>
    log(speedText(done, contenders)),
  );
  const speed = /** @type {import("./suite.js").Case[]} */ (
    await page.evaluate(
      `import("/tests/bench/page.js").then(({ runInPage }) => runInPage(${quick}, (done) => tell(done)))`,
    )
  );
  const command = "npm run bench:browser";
  storeReport({ date: today(), command, quick, machine, contenders, speed }, "chromium", json, log);
} finally {
  await browser.close();
  server.close();
}
