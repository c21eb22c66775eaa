// Tabs by the keyboard as well: arrows, Home and End go from one to the next, and show it.

/**
 * @param {HTMLElement} root holds a role=tablist with its role=tab, each of which names its role=tabpanel by aria-controls
 * @param {(tab: HTMLElement) => void} onShow called when another than the first is shown, and the first again
 */
export function setUpTabs(root, onShow) {
  const tabs = /** @type {HTMLElement[]} */ ([...root.querySelectorAll("[role=tab]")]);
  const select = (/** @type {HTMLElement} */ chosen) => {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      const panel = document.getElementById(tab.getAttribute("aria-controls") ?? "");
      if (panel !== null && tabs.every((each) => each === tab || !controlsSame(each, tab))) {
        panel.hidden = tab !== chosen;
      }
    }
    const panel = document.getElementById(chosen.getAttribute("aria-controls") ?? "");
    if (panel !== null) {
      panel.tabIndex = 0;
      panel.setAttribute("aria-labelledby", chosen.id);
    }
  };
  const show = (/** @type {HTMLElement} */ chosen) => {
    select(chosen);
    onShow(chosen);
  };
  select(tabs[0]);
  for (const [i, tab] of tabs.entries()) {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      /** @type {Record<string, number>} */
      const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: tabs.length - 1 };
      const next = tabs[((to[event.key] ?? Number.NaN) + tabs.length) % tabs.length];
      if (next === undefined) return;
      event.preventDefault();
      next.focus();
      show(next);
    });
  }
}

/** One panel may serve several tabs. @param {HTMLElement} one @param {HTMLElement} other */
function controlsSame(one, other) {
  return one.getAttribute("aria-controls") === other.getAttribute("aria-controls");
}
