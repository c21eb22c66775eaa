// The page's two languages: which one, and putting its strings in.

/** @typedef {import("./numbers.js").Language} Language */
/** @typedef {Record<string, string>} Strings */

/** Each language is loaded when it is wanted. @type {Record<Language, () => Promise<{ default: Strings }>>} */
const LOAD = { en: () => import("./strings/en.js"), ru: () => import("./strings/ru.js") };

/** @typedef {(language: Language) => Promise<{ default: Strings }>} Source */

/** The page's own strings, and those of sections that have come since. @type {Map<string, Source>} */
const sources = new Map([["", (/** @type {Language} */ language) => LOAD[language]()]]);
/** @type {Strings} */
let strings = {};
/** For `{name}` in strings that stand in the HTML. @type {Record<string, string>} */
let standing = {};
/** The language asked for last. @type {Language | undefined} */
let wanted;

/** @returns {Language} */
export function currentLanguage() {
  return document.documentElement.lang === "ru" ? "ru" : "en";
}

/**
 * @param {string} key
 * @param {Record<string, string>} [values] for `{name}`
 */
export function t(key, values = {}) {
  const text = strings[key];
  if (text === undefined) throw new Error(`No string "${key}"`);
  return tie(text).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

/** What a line may not end with: the first part of 10–15, 1/√x, pre-LN. */
const FIRST_PART = /(?:\d[–/]|\b(?:pre|post)-)(?=\d|√|LN)/gi;

/**
 * Numbers and names stay whole. Russian lines do not end with a short word, nor begin with a dash.
 *
 * @param {string} text
 */
function tie(text) {
  const whole = text.replace(FIRST_PART, "$&\u2060");
  if (currentLanguage() !== "ru") return whole;
  return whole
    .replace(/(?<=^|[\s(«\u00a0])([а-яё]{1,2}) /gi, "$1\u00a0")
    .replace(/ ([—%])/g, "\u00a0$1");
}

/**
 * Makes a language the page's: what is asked for from now on is in it, and what stands on the page waits for `fillIn`.
 *
 * @param {Language} language
 * @param {Record<string, string>} values
 * @returns {Promise<boolean>} whether it is still the language that is wanted
 */
export async function translate(language, values) {
  wanted = language;
  standing = values;
  const loaded = await Promise.all([...sources.values()].map((load) => load(language)));
  if (wanted !== language) return false;
  strings = Object.assign({}, ...loaded.map(({ default: some }) => some));
  const root = document.documentElement;
  root.lang = language;
  for (const link of document.querySelectorAll(".languages a")) {
    if (link.getAttribute("lang") === language) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  return true;
}

/**
 * More strings, under keys of their own.
 *
 * @param {string} name
 * @param {Source} load
 */
export async function addStrings(name, load) {
  sources.set(name, load);
  let language;
  do {
    language = currentLanguage();
    Object.assign(strings, (await load(language)).default);
    // The language may have changed meanwhile.
  } while (language !== currentLanguage());
}

/**
 * Puts the language's strings where the page asks for them: `data-t` asks for content, `data-t-<name>` for an attribute.
 *
 * @param {Element} root
 * @param {{ except?: string }} [options] a selector of what is left as it is
 */
export function fillIn(root, { except } = {}) {
  const wanted = except === undefined ? "*" : `:not(${except} *)`;
  for (const element of root.querySelectorAll(wanted)) {
    for (const { name, value } of [...element.attributes]) {
      if (name === "data-t") element.innerHTML = t(value, standing);
      else if (name.startsWith("data-t-")) element.setAttribute(name.slice(7), t(value, standing));
    }
  }
}
