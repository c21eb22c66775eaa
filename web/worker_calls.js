// Workers of the page: one that is asked, and what it answers.

/** Ends a wait because the visitor wants it so. */
export class Stopped extends Error {}

/**
 * @param {string} path from the page: where a bundler puts the calling module does not matter
 * @returns {Worker}
 */
export function startWorker(path) {
  return new Worker(new URL(path, document.baseURI), { type: "module" });
}

/**
 * Asks a worker, and hears it out.
 *
 * @template Answer
 * @param {Worker} worker
 * @param {unknown} request
 * @param {object} options
 * @param {AbortSignal} options.signal
 * @param {(answer: Answer) => boolean} options.onAnswer whether that was the last one
 * @returns {Promise<void>} rejected with Stopped, or with what the worker failed with
 */
export function ask(worker, request, { signal, onAnswer }) {
  return new Promise((resolve, reject) => {
    const stop = () => settle(() => reject(new Stopped()));
    const settle = (/** @type {() => void} */ how) => {
      signal.removeEventListener("abort", stop);
      worker.onmessage = null;
      worker.onerror = null;
      how();
    };
    if (signal.aborted) return reject(new Stopped());
    signal.addEventListener("abort", stop);
    worker.onmessage = ({ data }) => {
      try {
        if (onAnswer(data)) settle(resolve);
      } catch (error) {
        settle(() => reject(error));
      }
    };
    // A worker that cannot be loaded says nothing more than that.
    worker.onerror = ({ message }) =>
      settle(() => reject(new Error(message || "the worker could not be loaded")));
    worker.postMessage(request);
  });
}
