// The README says what the experiments found.
import assert from "node:assert/strict";
import { test } from "node:test";
import { table, written } from "../experiments/readme.js";

test("the README's table is that of the experiments' results", () => {
  assert.equal(written(), table());
});
