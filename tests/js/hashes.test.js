import assert from "node:assert/strict";
import test from "node:test";
import { goldenHashes, hashes } from "./hashes.js";

test("layerNorm and rmsNorm give the stored bits", () => {
  const got = hashes();
  assert.equal(Object.keys(got).length, 80);
  // Results that do not depend on their input would have equal hashes.
  assert.equal(new Set(Object.values(got)).size, 80);
  assert.deepEqual(got, goldenHashes());
});
