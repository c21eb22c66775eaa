// Bars in tables, each as long as its share of a scale.

/**
 * @param {number} share 0 to 1; beyond that it is cut off
 * @param {string} [className]
 */
export function shareBar(share, className = "") {
  const shown = Math.min(Math.max(share, 0), 1);
  return `<span class="share ${className}" data-share="${shown.toFixed(3)}"></span>`;
}

/**
 * Gives bars that have just been put there their lengths: the page's Content-Security-Policy lets a script do so, but no
 * attribute.
 *
 * @param {Element} root
 */
export function drawShares(root) {
  for (const bar of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(".share"))) {
    bar.style.setProperty("--share", bar.dataset.share ?? "0");
  }
}
