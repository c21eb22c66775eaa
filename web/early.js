// Runs before the page is painted, so that it never shows in another theme or language first.
(() => {
  const root = document.documentElement;
  /** @param {string} key */
  const stored = (key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      // Storage may be forbidden; the page then starts from the browser's own preferences.
      return null;
    }
  };
  const theme = stored("layernorm-theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  const asked = new URLSearchParams(location.search).get("lang") ?? stored("layernorm-language");
  const language = asked ?? navigator.language;
  if (!language.toLowerCase().startsWith("ru")) return;
  root.lang = "ru";
  // The file is in English: main.js puts the Russian text in and takes this away.
  root.dataset.translating = "";
})();
