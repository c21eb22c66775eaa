import assert from "node:assert/strict";

/** What sweep.js found elsewhere, or why there was no GPU. @param {any} found @param {import("node:test").TestContext} t */
export function judgeSweep(found, t) {
  if (found.reason) return t.skip(found.reason);
  t.diagnostic(`${found.name}: ${found.cases} cases, at most ${found.worst} of the bound`);
  assert.ok(found.cases > 0, "no case fits in the time");
  assert.ok(found.worst <= 1, `${found.where}: ${found.worst} of its bound`);
}
