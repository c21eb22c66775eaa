import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const file = new URL("../golden/documents.json", import.meta.url);
const { rows, weight, bias, eps } = JSON.parse(readFileSync(file, "utf8"));

/**
 * Compares with the worked example of tests/golden, whose numbers pages/checks.js uses.
 *
 * @param {any} results what pages/checks.js returns
 * @param {string} where
 */
export function assertChecks(results, where) {
  assert.deepEqual([weight, bias, eps], [1.5, 0.5, 1e-5]);
  for (const [i, x] of [
    [3, 5, 2, 8],
    [1, 3, 5, 8],
  ].entries()) {
    assert.deepEqual(rows[i].x, x);
    for (const name of ["layerNorm", "rmsNorm"]) {
      for (const [j, expected] of rows[i][name].scaled.entries()) {
        const got = results[name][i][j];
        assert.ok(Math.abs(got - expected) <= 3 * 2 ** -52 * 4, `${where}, ${name}: ${got}`);
      }
    }
    for (const [j, expected] of rows[i].layerNorm.scaled.entries()) {
      const got = results.flat[4 * i + j];
      assert.ok(Math.abs(got - expected) <= 3 * 2 ** -23 * 4, `${where}, flat: ${got}`);
    }
  }
  assert.deepEqual(results.planned, results.flat, where);
  assert.equal(results.error, 'RangeError: layerNorm: "weight" expected shape [2], got [3]', where);
}
