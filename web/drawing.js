// Draws the page a part at a time, so that nothing keeps the visitor waiting: what is on the screen first, and in each frame
// no more than a frame has room for. Off the screen sections are not laid out, but in one frame when they have been drawn
// (`data-fresh`, in the style sheet), so that the page has its height.

/** @typedef {{ id: string, draw: () => void }} Part of the section, or the form, with that id */

/** Of a frame, for JavaScript: laying out and painting what it makes takes a browser about three times as long. */
const BUDGET_MS = 3;
/** Of a section that is laid out anew and nothing else: a frame has room for no second one. */
const nothing = () => {};
/** A page in the background has no frames. */
const HIDDEN_FRAME_MS = 250;

class Drawing {
  /** In the order in which they were asked for. @type {Set<Part>} */
  #waiting = new Set();
  /** @type {Set<string>} */
  #onScreen = new Set();
  /** Drawn since the last frame. @type {Set<HTMLElement>} */
  #fresh = new Set();
  #isScheduled = false;
  /** @type {(() => void)[]} who is told when nothing waits any more */
  #toTell = [];
  /** Told of a part that could not be drawn: the others are given up. @type {(error: unknown) => void} */
  onError = (error) => {
    throw error;
  };
  #sections = /** @type {NodeListOf<HTMLElement>} */ (
    document.querySelectorAll("article > section, #settings")
  );

  constructor() {
    const observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) this.#onScreen.add(target.id);
        else this.#onScreen.delete(target.id);
      }
    });
    for (const section of this.#sections) observer.observe(section);
  }

  /** @param {Iterable<Part>} parts as they are when their turn comes: one that waits already is not drawn twice */
  ask(parts) {
    for (const part of parts) this.#waiting.add(part);
    if (this.#waiting.size === 0) return;
    document.documentElement.dataset.drawing = "";
    this.#schedule();
  }

  /**
   * For what changes every section at once, as the language, the theme and the window's width do: each is laid out anew in its
   * turn, whether or not it has a part.
   *
   * @param {Iterable<Part>} given
   */
  askAll(given) {
    const parts = [...given];
    const ids = new Set(parts.map(({ id }) => id));
    const others = [...this.#sections].filter(({ id }) => !ids.has(id));
    this.ask([...parts, ...others.map(({ id }) => ({ id, draw: nothing }))]);
  }

  /**
   * @template T
   * @param {string} id
   * @param {() => T} draw
   * @returns {Promise<T>} what it returned when it had its turn
   */
  once(id, draw) {
    return new Promise((resolve, reject) => {
      const attempt = () => {
        try {
          resolve(draw());
        } catch (error) {
          reject(error);
        }
      };
      this.ask([{ id, draw: attempt }]);
    });
  }

  /** @returns {Promise<void>} when nothing waits any more, and all is laid out */
  done() {
    return new Promise((resolve) => {
      if (this.#waiting.size === 0) resolve();
      else this.#toTell.push(resolve);
    });
  }

  #schedule() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    onFrame(() => {
      this.#isScheduled = false;
      this.#drawSome();
    });
  }

  #drawSome() {
    const end = performance.now() + BUDGET_MS;
    this.#leave();
    try {
      let hasRoom = true;
      while (hasRoom && this.#waiting.size > 0) {
        const { draw } = this.#drawNext();
        // Nobody waits for a frame of a page in the background.
        hasRoom = document.hidden || (draw !== nothing && performance.now() < end);
      }
    } catch (error) {
      this.#waiting.clear();
      this.onError(error);
    }
    if (this.#waiting.size > 0) return this.#schedule();
    delete document.documentElement.dataset.drawing;
    const toTell = this.#toTell.splice(0);
    onFrame(() => {
      this.#leave();
      for (const tell of toTell) tell();
    });
  }

  /** What was drawn in the frame before: the browser knows how high it is. */
  #leave() {
    for (const section of this.#fresh) delete section.dataset.fresh;
    this.#fresh.clear();
  }

  /** @returns {Part} */
  #drawNext() {
    const waiting = [...this.#waiting];
    const part = waiting.find(({ id }) => this.#onScreen.has(id)) ?? waiting[0];
    this.#waiting.delete(part);
    part.draw();
    const isWhole = waiting.every((other) => other === part || other.id !== part.id);
    const section = document.getElementById(part.id);
    if (isWhole && section !== null) {
      section.dataset.drawn = "";
      section.dataset.fresh = "";
      this.#fresh.add(section);
    }
    return part;
  }
}

/** The page's. */
export const drawing = new Drawing();

/** @param {() => void} callback called once, in the next frame */
export function onFrame(callback) {
  let isOver = false;
  const once = () => {
    if (isOver) return;
    isOver = true;
    callback();
  };
  requestAnimationFrame(once);
  setTimeout(once, HIDDEN_FRAME_MS);
}
