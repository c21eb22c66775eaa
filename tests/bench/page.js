/** What runs in the browser: the same contenders, checks and timing as in Node. */

import { CONTENDERS } from "./contenders/index.js";
import { runSuite } from "./suite.js";
import { SPECS } from "./tasks.js";
import { FULL, QUICK } from "./timing.js";

/**
 * @param {boolean} quick
 * @param {(done: import("./suite.js").Case) => Promise<void>} onCase
 */
export function runInPage(quick, onCase) {
  return runSuite(CONTENDERS, SPECS, quick ? QUICK : FULL, { onCase });
}
