// Where the reader is: links to sections, the contents' mark on the current one, and its name in the address.

/** What ends the page's hold on a place: the reader moves on. */
const MOVES = ["wheel", "touchmove", "keydown", "pointerdown"];
/** The section that crosses this strip, a quarter down the screen, is the current one. */
const STRIP = "-25% 0px -74% 0px";

export class Places {
  /** The section whose link was followed, until the reader has read on: for the address. */
  asked = "";
  #hasArrived = false;
  /** The section that is being read. */
  #current = "";
  /** @type {HTMLElement | undefined} where the page stays, whatever comes in above it, until the reader moves */
  #held;
  #onAsk;

  /** @param {(id: string) => void} onAsk called when a link to a section was followed */
  constructor(onAsk) {
    this.#onAsk = onAsk;
    document.addEventListener("click", (event) => this.#follow(event));
    for (const name of MOVES) {
      addEventListener(name, () => {
        this.#held = undefined;
      });
    }
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          if (isIntersecting) this.#mark(target.id);
          else if (target.id === this.#current) this.#mark("");
        }
      },
      { rootMargin: STRIP },
    );
    for (const section of document.querySelectorAll("article > section[id]")) {
      addAnchor(section);
      observer.observe(section);
    }
    new ResizeObserver(() => this.#held?.scrollIntoView({ behavior: "instant" })).observe(
      document.body,
    );
  }

  /** @param {string} hash @returns {string} the section's id in it: a part without a value */
  static from(hash) {
    const parts = hash.replace(/^#/, "").split("&");
    return parts.find((part) => document.getElementById(part) !== null) ?? "";
  }

  /**
   * @param {string} id
   * @param {ScrollBehavior} [behavior] the style sheet's
   */
  go(id, behavior = "auto") {
    const target = document.getElementById(id);
    if (target === null) return;
    this.asked = id;
    this.#hasArrived = false;
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.scrollIntoView({ behavior });
    this.#held = target;
  }

  /** @param {MouseEvent} event */
  #follow(event) {
    const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
    const id = link?.getAttribute("href")?.slice(1) ?? "";
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (document.getElementById(id) === null) return;
    event.preventDefault();
    this.go(id);
    this.#onAsk(id);
  }

  /** @param {string} id */
  #mark(id) {
    this.#current = id;
    if (id === this.asked) this.#hasArrived = true;
    else if (this.#hasArrived && id !== "") this.asked = "";
    for (const link of document.querySelectorAll("#contents a")) {
      if (link.getAttribute("href") === `#${id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
}

/**
 * A link to the section beside its heading, for the mouse alone: the contents serve everybody.
 *
 * @param {Element} section
 */
function addAnchor(section) {
  const anchor = document.createElement("a");
  anchor.className = "anchor";
  anchor.href = `#${section.id}`;
  anchor.tabIndex = -1;
  anchor.ariaHidden = "true";
  section.querySelector("h2")?.append(anchor);
}
