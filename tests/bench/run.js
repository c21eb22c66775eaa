/**
 * npm run bench: the package and its peers in Node, on speed and on exactness.
 *
 *   --quick       a minute with rough figures, not stored
 *   --json FILE   store them there, quick or not
 */

import { parseArgs } from "node:util";
import { CONTENDERS } from "./contenders/index.js";
import { measureExactness } from "./exactness.js";
import { describeContenders, describeMachine, ensureBuilt, today } from "./machine.js";
import { ensurePeers } from "./peers.js";
import { exactnessText, speedText } from "./report.js";
import { storeReport } from "./store.js";
import { runSuite } from "./suite.js";
import { SPECS } from "./tasks.js";
import { FULL, QUICK } from "./timing.js";

const { quick = false, json } = parseArgs({
  options: { quick: { type: "boolean" }, json: { type: "string" } },
}).values;
const log = console.log;
const started = performance.now();

ensureBuilt(log);
await ensurePeers(log);

const machine = describeMachine(`Node.js ${process.versions.node}`);
const contenders = describeContenders(CONTENDERS);
log(`${machine.cpu}, ${machine.cores} cores, ${machine.system}, ${machine.engine}`);
for (const { name, version, detail } of contenders) log(`  ${name} ${version ?? ""}: ${detail}`);
log("");

const exactness = await measureExactness(CONTENDERS);
log(exactnessText(exactness, contenders));

const speed = await runSuite(CONTENDERS, SPECS, quick ? QUICK : FULL, {
  onCase: (done) => log(speedText(done, contenders)),
});

/** @type {import("./report.js").Report} */
const report = {
  date: today(),
  command: "npm run bench",
  quick,
  machine,
  contenders,
  speed,
  exactness,
};
log(`${Math.round((performance.now() - started) / 1000)} s in all.`);
storeReport(report, "node", json, log);
// TensorFlow.js and onnxruntime leave handles open.
process.exit();
