// One run of an experiment in a worker.

/** @typedef {import("./worker.js").Report} Report */

/**
 * @typedef {object} Curve of one variant
 * @property {number[]} losses
 * @property {number[]} gradients norms
 * @property {number[]} extra what the experiment found before it trained
 * @property {number | undefined} result what it found at last
 */

/** @typedef {"loading" | "running" | "paused" | "stopped" | "done" | "failed"} State */

export class Run {
  /** @type {State} */
  state = "loading";
  failure = "";
  /** Spent training, pauses not counted. */
  seconds = 0;
  /** @type {Curve[]} */
  curves;
  option;
  #worker;
  #total;
  #onChange;
  #since = 0;

  /**
   * @param {object} options
   * @param {import("./experiments.js").Name} options.experiment
   * @param {number} options.option
   * @param {number} options.seed
   * @param {number} options.variants
   * @param {number} options.steps of each
   * @param {() => void} options.onChange
   */
  constructor({ experiment, option, seed, variants, steps, onChange }) {
    this.curves = Array.from({ length: variants }, () => ({
      losses: [],
      gradients: [],
      extra: [],
      result: undefined,
    }));
    this.option = option;
    this.#total = variants * steps;
    this.#onChange = onChange;
    this.#worker = new Worker(new URL("experiments.js", import.meta.url), { type: "module" });
    this.#worker.addEventListener("message", ({ data }) => this.#take(data));
    this.#worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#fail(event.message || "worker");
    });
    this.#worker.postMessage({ kind: "start", experiment, option, seed });
  }

  /** What part of all steps is done, 0 to 1. */
  get share() {
    return this.curves.reduce((sum, { losses }) => sum + losses.length, 0) / this.#total;
  }

  togglePause() {
    if (this.state === "running") {
      this.#count();
      this.state = "paused";
      this.#worker.postMessage({ kind: "pause" });
    } else if (this.state === "paused") {
      this.#since = performance.now();
      this.state = "running";
      this.#worker.postMessage({ kind: "resume" });
    }
    this.#onChange();
  }

  stop() {
    if (["stopped", "done", "failed"].includes(this.state)) return;
    this.#end("stopped");
  }

  /** @param {Report} report */
  #take(report) {
    // What was on its way when the worker was ended.
    if (this.state === "stopped") return;
    switch (report.kind) {
      case "ready":
        this.state = "running";
        this.#since = performance.now();
        break;
      case "begun":
        this.curves[report.variant].extra = report.extra;
        break;
      case "step":
        this.curves[report.variant].losses.push(report.loss);
        this.curves[report.variant].gradients.push(report.gradient);
        break;
      case "ended":
        this.curves[report.variant].result = report.result;
        break;
      case "done":
        this.#end("done");
        break;
      default:
        this.#fail(report.message);
    }
    this.#onChange();
  }

  /** @param {string} message */
  #fail(message) {
    this.failure = message;
    this.#end("failed");
  }

  /** @param {State} state */
  #end(state) {
    if (this.state === "running") this.#count();
    this.state = state;
    this.#worker.terminate();
    this.#onChange();
  }

  #count() {
    this.seconds += (performance.now() - this.#since) / 1000;
  }
}
