// Buttons that start and stop something that takes a while, how far it has got, and what there is to say about it.

import { t } from "./i18n.js";

export class RunControls {
  #run;
  #stop;
  #progress;
  #status;
  #work;
  /** In the language of the moment. */
  #words = () => "";
  /** @type {AbortController | undefined} of what is running */
  #abort;

  /**
   * @param {HTMLElement} root has [data-run], [data-stop], a progress and a [role=status] in it
   * @param {(signal: AbortSignal) => Promise<void>} work
   */
  constructor(root, work) {
    const find = (/** @type {string} */ selector) =>
      /** @type {HTMLElement} */ (root.querySelector(selector));
    this.#run = find("[data-run]");
    this.#stop = find("[data-stop]");
    this.#progress = /** @type {HTMLProgressElement} */ (find("progress"));
    this.#status = find("[role=status]");
    this.#work = work;
    // A section may have several to stop.
    this.#run.id = `${root.id}-run`;
    this.#stop.setAttribute("aria-describedby", this.#run.id);
    this.#run.addEventListener("click", () => void this.run());
    this.#stop.addEventListener("click", () => this.#abort?.abort());
  }

  async run() {
    if (this.#abort !== undefined) return;
    const abort = new AbortController();
    this.#abort = abort;
    this.#show(true);
    this.progress(0);
    try {
      await this.#work(abort.signal);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.say(() => t("runFailed", { message }));
    }
    this.#abort = undefined;
    this.#show(false);
  }

  /** @param {number} share that is done */
  progress(share) {
    this.#progress.value = share;
  }

  /** @param {() => string} words asked for again in another language */
  say(words) {
    this.#words = words;
    this.render();
  }

  render() {
    this.#status.textContent = this.#words();
  }

  /** @param {boolean} isRunning */
  #show(isRunning) {
    const hadFocus = document.activeElement === this.#stop;
    if (isRunning) this.#run.setAttribute("aria-disabled", "true");
    else this.#run.removeAttribute("aria-disabled");
    this.#stop.hidden = !isRunning;
    this.#progress.hidden = !isRunning;
    if (hadFocus && !isRunning) this.#run.focus();
  }
}
