// Runs all kinds of ways at all sizes, one after the other, each kind in a worker of its own.

/** @typedef {import("./problem.js").Size} Size */
/** @typedef {import("./worker.js").Kind} Kind */
/** @typedef {import("./worker.js").Timed} Timed */
/** @typedef {import("./worker.js").Ready} Ready */
/** @typedef {import("./worker.js").Absence} Absence */
/** @typedef {import("./worker.js").Answer} Answer */
/** @typedef {import("./worker.js").Request} Request */

/** @typedef {{ size: Size, copyMs: number | undefined, ways: Timed[] }} Measured one size */
/** @typedef {{ measured: Measured[], ready: Partial<Record<Kind, Ready>>, absences: Partial<Record<Kind, Absence>> }} Results so far */

/** @type {readonly Kind[]} */
const KINDS = ["single", "threads", "gpu"];

/** Resolved against the page: where a bundler puts this module does not matter. */
const WORKER = "sections/speed/worker.js";

/** Says that the visitor has ended a run. */
class Stopped extends Error {}

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
      const worker = new Worker(new URL(WORKER, document.baseURI), { type: "module" });
      workers.set(kind, worker);
      const answer = await ask(worker, { kind, threads }, signal);
      if ("ready" in answer) results.ready[kind] = answer.ready;
      else if ("absence" in answer) absent(kind, answer.absence);
    }
    const of = sizes.length * workers.size;
    let index = 0;
    for (const size of sizes) {
      /** @type {Measured} */
      const measured = { size, copyMs: undefined, ways: [] };
      results.measured.push(measured);
      for (const [kind, worker] of [...workers]) {
        onStep({ kind, size, index: index++, of });
        const answer = await ask(worker, { size }, signal);
        if ("timed" in answer) {
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
 * @param {Worker} worker
 * @param {Request} request
 * @param {AbortSignal} signal
 * @returns {Promise<Answer>}
 */
function ask(worker, request, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Stopped());
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    const settle = (/** @type {() => void} */ how) => {
      signal.removeEventListener("abort", stop);
      worker.onmessage = null;
      worker.onerror = null;
      how();
    };
    worker.onmessage = ({ data }) => settle(() => resolve(data));
    worker.onerror = ({ message }) =>
      settle(() => resolve({ absence: { key: "waysFailed", message: message || WORKER } }));
    worker.postMessage(request);
  });
}
