/** Imported before a test file, has all its calls run in the build for relaxed SIMD. */
import assert from "node:assert/strict";
import { init } from "../../dist/index.js";

const used = await init({ relaxedSimd: true });
assert.deepEqual(used, { threads: 1, relaxedSimd: true, reasons: [] });
