// Sections that are loaded when they are reached. Each has a folder of its own in web/sections, named by its id: section.js
// with section.html, and its strings in en.js and ru.js. What they share stands in later.css and strings/later. In index.html
// each is a section with `data-later` and its heading.

import { drawing } from "./drawing.js";
import { addStrings, fillIn, t } from "./i18n.js";

/** @typedef {import("./documents.js").Settings} Settings */
/** @typedef {import("./drawing.js").Part} Part */
/** @typedef {import("./numbers.js").Language} Language */

/**
 * @typedef {object} Page what a section may know of the page
 * @property {Settings} settings the visitor's numbers, as they are now
 */

/**
 * @typedef {object} Section
 * @property {Draw | Draw[]} render in the page's language: called once its HTML is in place, and when the language has changed
 * @property {Draw | Draw[]} [update] called when the settings have changed, for a section that follows them
 */
/** @typedef {() => void} Draw each of several has a turn of its own */

/**
 * @typedef {object} SectionModule
 * @property {string} html
 * @property {(body: HTMLElement, page: Page) => Section} mount body holds the HTML, translated
 */

/** A section that is passed on the way to another is not loaded. */
const PASSING_MS = 120;
/** Loading begins so far ahead of the screen, in its heights. */
const AHEAD = "100%";

export class Sections {
  /** What is drawn of those that are there. @type {Part[]} */
  parts = [];
  /** What is drawn of those that follow the settings. @type {Part[]} */
  followers = [];
  /** @type {Map<string, Promise<void>>} by id */
  #loads = new Map();
  #page;
  #ready;

  /**
   * @param {Page} page
   * @param {Promise<boolean>} ready whether the package can compute
   */
  constructor(page, ready) {
    this.#page = page;
    this.#ready = ready;
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const section = /** @type {HTMLElement} */ (target);
          section.toggleAttribute("data-near", isIntersecting);
          if (!isIntersecting) continue;
          setTimeout(() => {
            if (!section.hasAttribute("data-near")) return;
            observer.unobserve(section);
            void this.load(section.id);
          }, PASSING_MS);
        }
      },
      { rootMargin: AHEAD },
    );
    for (const section of document.querySelectorAll("section[data-later]")) {
      observer.observe(section);
    }
  }

  /**
   * @param {string} id of any section
   * @returns {Promise<void>} when it is there, or says why not
   */
  load(id) {
    const section = document.getElementById(id);
    if (section === null || !section.hasAttribute("data-later")) return Promise.resolve();
    const begun = this.#loads.get(id) ?? this.#mount(section);
    this.#loads.set(id, begun);
    return begun;
  }

  /** @param {HTMLElement} section */
  async #mount(section) {
    const { id } = section;
    const body = part(section);
    body.classList.add("loading");
    try {
      /** @type {[SectionModule, void, boolean, unknown]} */
      const [{ html, mount }, , isReady] = await Promise.all([
        import(`./sections/${id}/section.js`),
        addStrings(id, (language) =>
          language === "ru" ? import(`./sections/${id}/ru.js`) : import(`./sections/${id}/en.js`),
        ),
        this.#ready,
        addShared(),
      ]);
      if (!isReady) {
        // The page itself says why.
        body.remove();
        return;
      }
      const { render, update = [] } = await drawing.once(id, () => {
        body.innerHTML = html;
        fillIn(body);
        return mount(body, this.#page);
      });
      const parts = [render].flat().map((draw) => ({ id, draw }));
      this.parts.push(...parts);
      this.followers.push(...[update].flat().map((draw) => ({ id, draw })));
      await Promise.all(parts.map(({ draw }) => drawing.once(id, draw)));
      section.dataset.there = "";
    } catch (error) {
      sayFailed(body, error);
    } finally {
      body.classList.remove("loading");
    }
  }
}

/** @type {Promise<unknown> | undefined} */
let shared;

/** The styles and strings that these sections share, once. */
function addShared() {
  shared ??= Promise.all([
    addStyles(),
    addStrings("later", (language) =>
      language === "ru" ? import("./strings/later/ru.js") : import("./strings/later/en.js"),
    ),
  ]);
  return shared;
}

/** @returns {Promise<void>} */
function addStyles() {
  return new Promise((resolve, reject) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = "later.css";
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => reject(new Error(`Failed to load ${link.href}`)));
    document.head.append(link);
  });
}

/**
 * @param {HTMLElement} body
 * @param {unknown} error
 */
function sayFailed(body, error) {
  const words = document.createElement("p");
  const again = document.createElement("button");
  const code = document.createElement("code");
  code.textContent = error instanceof Error ? error.message : String(error);
  code.lang = "en";
  words.append(t("sectionFailed"), " ", code);
  again.type = "button";
  again.textContent = t("sectionAgain");
  // A browser remembers for as long as the page lasts that a module could not be loaded.
  again.addEventListener("click", () => location.reload());
  const box = document.createElement("div");
  box.className = "failure";
  box.setAttribute("role", "alert");
  box.append(words, again);
  body.replaceChildren(box);
}

/** @param {HTMLElement} section @returns {HTMLElement} where its content goes */
function part(section) {
  const found = section.querySelector(":scope > .later");
  if (found !== null) return /** @type {HTMLElement} */ (found);
  const made = document.createElement("div");
  made.className = "later";
  section.append(made);
  return made;
}
