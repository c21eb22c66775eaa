// Random calls of every operation, by fast-check: shapes, layouts, kinds of x, options and parameters. One that is right gives
// what its formula says; one with anything wrong in it is refused in the package's grammar, before anything is written.
// Budget: 30 s.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Tensor } from "../../dist/index.js";
import { store } from "./half.js";
import { OPERATIONS } from "./operation_cases.js";
import {
  assertDocumented,
  assertRight,
  call,
  free,
  makeRight,
  numbersOf,
  outputOf,
  pick,
  SPOILERS,
} from "./random_calls.js";

const RUNS = 300;
const SEED = 5;

for (const name of Object.keys(OPERATIONS)) {
  describe(name, () => {
    test(`is right for any options that are right (seed ${SEED})`, () => {
      const property = fc.property(fc.gen(), (g) => {
        const made = makeRight(g, name);
        /** @type {any} */
        let result;
        try {
          result = call(made);
        } catch (error) {
          assertDocumented(made.op, error);
          // Without elements there may be nothing to normalize; and an unbiased update wants two of each channel.
          const isFew = made.options.training && made.values.length === made.ownCount;
          assert.ok(made.values.length === 0 || isFew, `${error}`);
          return;
        } finally {
          free(...made.inputs);
        }
        try {
          if (made.values.length > 0) assertRight(made, result);
          else assert.equal(numbersOf(outputOf(result), made.dtype).length, 0);
        } finally {
          free(result, ...Object.values(result));
        }
      });
      fc.assert(property, { numRuns: RUNS, seed: SEED });
    });

    test(`refuses anything wrong in its own words, and writes nothing (seed ${SEED})`, () => {
      const property = fc.property(fc.gen(), (g) => {
        const made = makeRight(g, name);
        const [given] = made.inputs;
        const copy = store(Float64Array.from(made.values), made.dtype);
        const out = store(
          Float64Array.from(made.values, () => -1),
          made.dtype,
        );
        if (!(given instanceof Tensor) && !Array.isArray(given) && made.op === name) {
          if (!(out instanceof Uint16Array)) made.options.out = out;
        }
        SPOILERS[pick(g, Object.keys(SPOILERS))](g, made);
        try {
          const result = call(made);
          assert.fail(`it was taken: ${JSON.stringify(outputOf(result))}`);
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error;
          assertDocumented(made.op, error);
          const live = numbersOf(given, made.dtype);
          assert.deepEqual(live, numbersOf(copy, made.dtype), "x was written to");
          assert.ok(
            numbersOf(out, made.dtype).every((v) => v === -1),
            "out was written to",
          );
        } finally {
          free(given);
        }
      });
      fc.assert(property, { numRuns: RUNS, seed: SEED });
    });
  });
}
