// What is drawn on a canvas does not follow the style sheet by itself.

/** @param {() => void} listener called when the page's colors have changed, by the visitor or the system */
export function onThemeChange(listener) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", listener);
  new MutationObserver(listener).observe(document.documentElement, {
    attributeFilter: ["data-theme"],
  });
}
