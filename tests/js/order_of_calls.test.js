/** Guarantee 2: no call depends on those before it, whatever they were. */
import assert from "node:assert/strict";
import test from "node:test";
import { dispose } from "../../dist/index.js";
import { Random } from "./data.js";
import { call, everyCall, numbersOf } from "./every_call.js";

const SEED = 3;
const STEPS = 4000;

/** A call that does the same each time: training changes running statistics. @param {import("./every_call.js").Made} made */
const isPure = ({ options }) => options.training !== true || options.runningMean === undefined;

test(`calls in any order give what each gives as the first (seed ${SEED})`, () => {
  const calls = Array.from({ length: 12 }, (_, turn) => everyCall([6, 70, 300][turn % 3], turn))
    .flat()
    .filter(isPure);
  const alone = calls.map((made) => {
    dispose();
    return numbersOf(call(made));
  });
  const random = new Random(SEED);
  let before = "none";
  for (let step = 0; step < STEPS; step++) {
    const i = random.below(calls.length);
    assert.deepEqual(numbersOf(call(calls[i])), alone[i], `${calls[i].what} after ${before}`);
    before = calls[i].what;
  }
});
