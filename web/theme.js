// What does not follow the style sheet by itself.

/** @typedef {import("./drawing.js").Part} Part */

/** What is painted on a canvas: anew in other colors, or with a font that has come. @type {Set<Part>} */
export const painted = new Set();

/** @param {() => void} listener called when the page's colors have changed, by the visitor or the system */
export function onThemeChange(listener) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", listener);
  new MutationObserver(listener).observe(document.documentElement, {
    attributeFilter: ["data-theme"],
  });
}

/**
 * @param {Element} element in a section
 * @param {() => void} draw
 * @returns {Part}
 */
export function paintedIn(element, draw) {
  const part = { id: element.closest("section")?.id ?? "", draw };
  painted.add(part);
  return part;
}
