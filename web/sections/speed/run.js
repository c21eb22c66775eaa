// Runs all kinds of ways at all sizes, one after the other, each kind in a worker of its own.

import { ask, Stopped, startWorker } from "../../worker_calls.js";

/** @typedef {import("./problem.js").Size} Size */
/** @typedef {import("./worker.js").Kind} Kind */
/** @typedef {import("./worker.js").Timed} Timed */
/** @typedef {import("./worker.js").Ready} Ready */
/** @typedef {import("./worker.js").Absence} Absence */
/** @typedef {import("./worker.js").Answer} Answer */
/** @typedef {import("./worker.js").Request} Request */

/** @typedef {{ size: Size, copyMs: number | undefined, ways: Timed[] }} Measured one size, in one way at least */
/** @typedef {{ measured: Measured[], ready: Partial<Record<Kind, Ready>>, absences: Partial<Record<Kind, Absence>> }} Results so far */

/** @type {readonly Kind[]} */
const KINDS = ["single", "threads", "gpu"];

const WORKER = "sections/speed/worker.js";

/**
 * @param {readonly Size[]} sizes
 * @param {object} options
 * @param {AbortSignal} options.signal
 * @param {number} options.threads wanted
 * @param {(step: { kind: Kind, size: Size, index: number, of: number }) => void} options.onStep before each
 * @param {(results: Results) => void} options.onResults after each
 * @returns {Promise<Results>} what there is, if it was stopped
 */
export async function runAll(sizes, { signal, threads, onStep, onResults }) {
  /** @type {Results} */
  const results = { measured: [], ready: {}, absences: {} };
  /** @type {Map<Kind, Worker>} */
  const workers = new Map();
  const absent = (/** @type {Kind} */ kind, /** @type {Absence} */ absence) => {
    results.absences[kind] = absence;
    workers.get(kind)?.terminate();
    workers.delete(kind);
  };
  try {
    for (const kind of KINDS) {
      const worker = startWorker(WORKER);
      workers.set(kind, worker);
      const answer = await answerOf(worker, { kind, threads }, signal);
      if ("ready" in answer) results.ready[kind] = answer.ready;
      else if ("absence" in answer) absent(kind, answer.absence);
    }
    const of = sizes.length * workers.size;
    let index = 0;
    for (const size of sizes) {
      /** @type {Measured} */
      const measured = { size, copyMs: undefined, ways: [] };
      for (const [kind, worker] of [...workers]) {
        onStep({ kind, size, index: index++, of });
        const answer = await answerOf(worker, { size }, signal);
        if ("timed" in answer) {
          if (measured.ways.length === 0) results.measured.push(measured);
          measured.ways.push(...answer.timed);
          measured.copyMs ??= answer.copyMs;
        } else if ("absence" in answer) absent(kind, answer.absence);
        onResults(results);
      }
    }
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
  } finally {
    for (const worker of workers.values()) worker.terminate();
  }
  return results;
}

/**
 * A worker that fails leaves its kind out, and the others go on.
 *
 * @param {Worker} worker
 * @param {Request} request
 * @param {AbortSignal} signal
 * @returns {Promise<Answer>}
 */
async function answerOf(worker, request, signal) {
  /** @type {Answer | undefined} */
  let answer;
  try {
    await ask(worker, request, {
      signal,
      onAnswer(/** @type {Answer} */ given) {
        answer = given;
        return true;
      },
    });
  } catch (error) {
    if (error instanceof Stopped) throw error;
    answer = { absence: { key: "runFailed", message: String(error) } };
  }
  return /** @type {Answer} */ (answer);
}
