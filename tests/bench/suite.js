/** Runs contenders on tasks: checks each result first, then times those that are right. The same in Node and in a browser. */

import { decoded } from "./dtypes.js";
import { rounded } from "./format.js";
import { faultOf, referenceOf } from "./reference.js";
import { median, quantile } from "./stats.js";
import { bytesOf, makeTask } from "./tasks.js";
import { timeInterleaved } from "./timing.js";

/** @typedef {import("./contenders/contender.js").Contender} Contender */
/** @typedef {import("./contenders/contender.js").Prepared} Prepared */
/** @typedef {import("./tasks.js").Spec} Spec */
/** @typedef {import("./tasks.js").Task} Task */
/** @typedef {import("./timing.js").Settings} Settings */
/**
 * @typedef {object} Result of a contender on a task: the figures, or a fault
 * @property {string} id of the contender
 * @property {string} [fault] why there are no figures
 * @property {number} [ms] median
 * @property {number} [lowMs] first quartile
 * @property {number} [highMs] third quartile
 * @property {number} [samples]
 * @property {number} [gbps] 10^9 bytes per second, the inputs read once and the results written once
 */
/** @typedef {Spec & { results: Result[] }} Case results of the contenders that apply */

/**
 * @param {Contender} contender
 * @param {Task} task
 * @param {ArrayLike<number>[]} reference
 * @returns {Promise<Prepared>}
 * @throws {Error} if the contender cannot do the task, or does it wrongly
 */
async function prepareChecked(contender, task, reference) {
  const prepared = await contender.prepare(task);
  try {
    const got = await prepared.read(await prepared.run());
    const inputs = task.residual ? [task.x, task.residual] : [task.x];
    const right = contender.copies ? inputs : reference;
    for (const [i, expected] of right.entries()) {
      const fault = faultOf(decoded(got[i], task.dtype), expected, task.dtype);
      if (fault !== null) throw new Error(`wrong: ${fault}`);
    }
    return prepared;
  } catch (error) {
    await prepared.dispose?.();
    throw error;
  }
}

/** @param {unknown} error @returns {string} */
export function messageOf(error) {
  if (error instanceof Error) return error.message || error.name;
  // Emscripten's programs throw addresses and status objects.
  return typeof error === "number" ? `aborted (${error})` : String(error);
}

/** @param {string} id @param {number[]} times @param {Spec} spec @returns {Result} */
function resultOf(id, times, spec) {
  const ms = median(times);
  return {
    id,
    ms: rounded(ms),
    lowMs: rounded(quantile(times, 0.25)),
    highMs: rounded(quantile(times, 0.75)),
    samples: times.length,
    gbps: rounded(bytesOf(spec) / ms / 1e6),
  };
}

/**
 * @param {readonly Contender[]} all
 * @param {Spec} spec
 * @param {Settings} settings
 * @returns {Promise<Case>} results in the order of the contenders
 */
export async function runCase(all, spec, settings) {
  const contenders = all.filter(({ applies }) => applies?.(spec) ?? true);
  const task = makeTask(spec, 1);
  const reference = referenceOf(task);
  /** @type {Map<string, Prepared>} */
  const ready = new Map();
  /** @type {Map<string, string>} */
  const faults = new Map();
  for (const contender of contenders) {
    try {
      ready.set(contender.id, await prepareChecked(contender, task, reference));
    } catch (error) {
      faults.set(contender.id, messageOf(error));
    }
  }
  const candidates = contenders.flatMap(({ id, async = false }) => {
    const run = ready.get(id)?.run;
    return run === undefined ? [] : [{ id, run, async }];
  });
  const times = await timeInterleaved(candidates, settings);
  for (const prepared of ready.values()) await prepared.dispose?.();
  const results = contenders.map(({ id }) => {
    const fault = faults.get(id);
    return fault === undefined
      ? resultOf(id, /** @type {number[]} */ (times.get(id)), spec)
      : { id, fault };
  });
  return { ...spec, results };
}

/**
 * @param {readonly Contender[]} contenders
 * @param {readonly Spec[]} specs
 * @param {Settings} settings
 * @param {{ onCase: (done: Case) => unknown }} listeners
 * @returns {Promise<Case[]>}
 */
export async function runSuite(contenders, specs, settings, { onCase }) {
  const cases = [];
  for (const spec of specs) {
    const done = await runCase(contenders, spec, settings);
    cases.push(done);
    await onCase(done);
  }
  return cases;
}
