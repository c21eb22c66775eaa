import assert from "node:assert/strict";
import test from "node:test";
import {
  backwardHashes,
  goldenBackwardHashes,
  goldenHashes,
  goldenOperationHashes,
  hashes,
  operationHashes,
} from "./hashes.js";

test("layerNorm and rmsNorm give the stored bits", () => {
  const got = hashes();
  assert.equal(Object.keys(got).length, 80);
  // Results that do not depend on their input would have equal hashes.
  assert.equal(new Set(Object.values(got)).size, 80);
  assert.deepEqual(got, goldenHashes());
});

test("all operations give the stored bits", () => {
  const got = operationHashes();
  assert.equal(Object.keys(got).length, 180);
  assert.ok(new Set(Object.values(got)).size > 170);
  assert.deepEqual(got, goldenOperationHashes());
});

test("all backward operations give the stored bits", () => {
  const got = backwardHashes();
  assert.equal(Object.keys(got).length, 132);
  assert.ok(new Set(Object.values(got)).size > 125);
  assert.deepEqual(got, goldenBackwardHashes());
});
