/** Runs contenders on tasks: checks each result first, then times those that are right. The same in Node and in a browser. */

import { rounded, shapeName } from "./format.js";
import { median, quantile } from "./stats.js";
import { bytesOf, faultOf, makeTask, OPERATIONS, referenceOf, SHAPES } from "./tasks.js";
import { timeInterleaved } from "./timing.js";

/** @typedef {import("./contenders/contender.js").Contender} Contender */
/** @typedef {import("./contenders/contender.js").Prepared} Prepared */
/** @typedef {import("./tasks.js").Operation} Operation */
/** @typedef {import("./tasks.js").Shape} Shape */
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
 * @property {number} [gbps] 10^9 bytes per second, x read once and the result written once
 */
/** @typedef {Shape & { operation: Operation, results: Result[] }} Case */

/**
 * @param {Contender} contender
 * @param {Task} task
 * @param {Float64Array} reference
 * @returns {Promise<Prepared>}
 * @throws {Error} if the contender cannot do the task, or does it wrongly
 */
async function prepareChecked(contender, task, reference) {
  const prepared = await contender.prepare(task);
  try {
    const got = await prepared.read(await prepared.run());
    const fault = faultOf(got, contender.copies ? task.x : reference);
    if (fault !== null) throw new Error(`wrong: ${fault}`);
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

/** @param {string} id @param {number[]} times @param {Shape} shape @returns {Result} */
function resultOf(id, times, shape) {
  const ms = median(times);
  return {
    id,
    ms: rounded(ms),
    lowMs: rounded(quantile(times, 0.25)),
    highMs: rounded(quantile(times, 0.75)),
    samples: times.length,
    gbps: rounded(bytesOf(shape) / ms / 1e6),
  };
}

/**
 * @param {readonly Contender[]} contenders
 * @param {Operation} operation
 * @param {Shape} shape
 * @param {Settings} settings
 * @returns {Promise<Case>} results in the order of the contenders
 */
export async function runCase(contenders, operation, shape, settings) {
  const task = makeTask(operation, shape, 1);
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
      ? resultOf(id, /** @type {number[]} */ (times.get(id)), shape)
      : { id, fault };
  });
  return { operation, ...shape, results };
}

/**
 * @param {readonly Contender[]} contenders
 * @param {Settings} settings
 * @param {{ onCase: (done: Case) => unknown, onStart?: (name: string) => unknown }} listeners
 * @returns {Promise<Case[]>}
 */
export async function runSuite(contenders, settings, { onCase, onStart }) {
  const cases = [];
  for (const { operation } of OPERATIONS) {
    for (const shape of SHAPES) {
      await onStart?.(`${operation} ${shapeName(shape)}`);
      const done = await runCase(contenders, operation, shape, settings);
      cases.push(done);
      await onCase(done);
    }
  }
  return cases;
}
