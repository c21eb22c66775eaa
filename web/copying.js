// Buttons that copy a text, and say that they have.

import { t } from "./i18n.js";

const SAID_MS = 2000;

/**
 * @param {HTMLElement} button whose words come back after a while
 * @param {() => string} text
 */
export function setUpCopying(button, text) {
  let timer = 0;
  button.addEventListener("click", async () => {
    clearTimeout(timer);
    button.setAttribute("aria-live", "polite");
    button.textContent = t((await copy(text())) ? "copied" : "notCopied");
    timer = window.setTimeout(() => {
      button.textContent = t("copy");
    }, SAID_MS);
  });
}

/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers refuse it on pages without https, and where the visitor has forbidden it.
    return false;
  }
}
