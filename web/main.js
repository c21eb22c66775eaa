// The demo page: the documents' worked example with the visitor's own numbers, computed by the package.

import { init } from "layernorm";
import { BlockView } from "./block_view.js";
import { renderConditional } from "./conditional.js";
import { drawing } from "./drawing.js";
import { CONDITION_STEP, exploringFromHash, exploringToHash, fitted, START } from "./exploring.js";
import { Form } from "./form.js";
import { currentLanguage, fillIn, t, translate } from "./i18n.js";
import { PARTS } from "./parts.js";
import { Places } from "./places.js";
import { Sections } from "./sections.js";
import { fromHash, toHash } from "./settings.js";
import { onThemeChange, painted } from "./theme.js";
import { watchWidth } from "./views.js";
import { work } from "./worked_example.js";

/** @typedef {import("./numbers.js").Language} Language */

/** Browsers limit how often an address may change, and a moving slider changes it often. */
const ADDRESS_DELAY_MS = 300;
/** Each is drawn, and put in another language, in its turn. */
const SECTIONS = "article > section";
const STRING_VALUES = { version: PACKAGE_VERSION };

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

// Everything below speaks the page's language.
await translate(currentLanguage(), STRING_VALUES);
fillIn(document.documentElement);
delete document.documentElement.dataset.translating;

const form = new Form(changed);
const block = new BlockView(explore);
let exploring = START;
/** @type {import("./steps.js").Work[]} */
let works = [];
let addressTimer = 0;
/** @type {unknown} */
let failure;

drawing.onError = fail;
/** What follows the visitor's numbers. */
const parts = [
  ...PARTS.map((part) => ({ ...part, draw: () => part.draw(works, form.settings) })),
  { id: "block", draw: () => block.render(exploring, form.settings.eps) },
  { id: "conditional", draw: renderCondition, isPicture: true },
];

/** Whether the package can compute. */
const ready = init().then(
  () => true,
  (error) => {
    fail(error);
    return false;
  },
);
const sections = new Sections(form, ready);
const places = new Places(askFor);

start();

async function start() {
  setUpTheme();
  setUpPrinting();
  setUpLanguages();
  setUpPointing();
  setUpCondition();
  if (!(await ready)) return;
  setUpRedrawing();
  readAddress();
  window.addEventListener("hashchange", readAddress);
  // An earlier address may name another language than the one that was chosen since.
  window.addEventListener("popstate", () => {
    if (new URL(location.href).searchParams.has("lang")) nameLanguage();
  });
}

/**
 * A link to a section was followed: the address names it from now on.
 *
 * @param {string} id
 */
function askFor(id) {
  void sections.load(id);
  history.pushState(null, "", addressNow());
}

function readAddress() {
  const { settings, unreadable } = fromHash(location.hash);
  const explored = exploringFromHash(location.hash);
  exploring = explored.exploring;
  form.set(settings);
  const names = [...unreadable, ...explored.unreadable];
  if (names.length > 0) {
    element("notice").textContent = t("unreadableLink", { names: names.join(", ") });
  }
  const place = Places.from(location.hash);
  if (place === "") {
    // Else the address would name the section again that was left by going back.
    places.asked = "";
    return;
  }
  void sections.load(place);
  // What is drawn above the place would move it away.
  void drawing.done().then(() => places.go(place, "instant"));
}

function changed() {
  scheduleAddress();
  render();
}

/**
 * The block and the condition: they leave the worked example as it is.
 *
 * @param {Partial<import("./exploring.js").Exploring>} change
 */
function explore(change) {
  if (works.length === 0) return;
  exploring = fitted({ ...exploring, ...change });
  scheduleAddress();
  try {
    if (change.condition === undefined) block.render(exploring, form.settings.eps);
    else renderCondition();
  } catch (error) {
    fail(error);
  }
}

function renderCondition() {
  renderConditional(works[0]?.x ?? [], exploring.condition, form.settings.eps);
}

function scheduleAddress() {
  clearTimeout(addressTimer);
  addressTimer = window.setTimeout(writeAddress, ADDRESS_DELAY_MS);
}

function writeAddress() {
  history.replaceState(null, "", addressNow());
}

/** @returns {string} with the section that was asked for and all settings in it */
function addressNow() {
  const parts = [places.asked, toHash(form.settings), exploringToHash(exploring)];
  const hash = parts.filter(Boolean).join("&");
  const address = new URL(location.href);
  address.hash = hash;
  return hash === "" ? address.href.replace(/#$/, "") : address.href;
}

/** @param {boolean} [isAnew] in another language, or for the first time */
function render(isAnew = document.documentElement.dataset.ready === undefined) {
  try {
    const { settings } = form;
    works = settings.vectors.map((vector) => work(vector, settings));
    element("pending").hidden = true;
    if (isAnew) drawing.askAll([...parts, ...sections.parts]);
    else drawing.ask([...parts, ...sections.followers]);
    void drawing.done().then(() => {
      if (works.length > 0) document.documentElement.dataset.ready = "";
    });
  } catch (error) {
    fail(error);
  }
}

/**
 * Says in the page's words why there are no numbers, and what the package said.
 *
 * @param {unknown} error
 */
function fail(error) {
  failure = error;
  works = [];
  const message = error instanceof Error ? error.message : String(error);
  const reasons = [t("failure")];
  if (typeof WebAssembly !== "object") reasons.push(t("failureNoWasm"));
  else if (/Content.Security.Policy|unsafe-eval/i.test(message)) reasons.push(t("failureCsp"));
  const box = element("failure");
  box.replaceChildren(
    paragraph(reasons.join(" ")),
    paragraph(
      `${t("failureDetail")} `,
      Object.assign(document.createElement("code"), { textContent: message, lang: "en" }),
    ),
  );
  box.hidden = false;
  element("pending").hidden = true;
  document.documentElement.dataset.failed = "";
}

/** @param {(string | Node)[]} content */
function paragraph(...content) {
  const made = document.createElement("p");
  made.append(...content);
  return made;
}

function setUpLanguages() {
  for (const link of document.querySelectorAll(".languages a")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      void changeLanguage(/** @type {Language} */ (link.getAttribute("lang")));
    });
  }
}

/** @param {Language} language */
async function changeLanguage(language) {
  if (!(await translate(language, STRING_VALUES))) return;
  remember("layernorm-language", language);
  nameLanguage();
  if (failure !== undefined) {
    fillIn(document.documentElement);
    return fail(failure);
  }
  fillIn(document.documentElement, { except: SECTIONS });
  form.translate();
  drawing.ask(
    [...document.querySelectorAll(SECTIONS)].map((section) => ({
      id: section.id,
      draw: () => fillIn(section),
    })),
  );
  render(true);
}

/** In the address. */
function nameLanguage() {
  const address = new URL(location.href);
  address.searchParams.set("lang", currentLanguage());
  history.replaceState(null, "", address);
}

function setUpTheme() {
  const root = document.documentElement;
  for (const radio of /** @type {NodeListOf<HTMLInputElement>} */ (
    document.querySelectorAll("[name=theme]")
  )) {
    radio.checked = radio.value === (root.dataset.theme ?? "auto");
    radio.addEventListener("change", () => {
      if (radio.value === "auto") delete root.dataset.theme;
      else root.dataset.theme = radio.value;
      remember("layernorm-theme", radio.value);
    });
  }
}

/** What the whole page follows, but for its language: the window's width, the colors, the fonts. */
function setUpRedrawing() {
  let width = innerWidth;
  // Before the browser lays anything out for it.
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    if (works.length > 0) drawing.askAll([]);
  });
  watchWidth(() => {
    if (works.length > 0) drawing.ask(parts.filter(({ isPicture }) => isPicture));
  });
  onThemeChange(() => {
    if (works.length > 0) drawing.askAll(painted);
  });
  // Text on a canvas does not wait for its font.
  document.fonts.addEventListener("loadingdone", () => drawing.ask(painted));
}

/** Paper is light: what stands on a canvas has to know it before it is printed. */
function setUpPrinting() {
  const root = document.documentElement;
  /** @type {string | undefined} */
  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    for (const { draw } of painted) draw();
  });
  addEventListener("afterprint", () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
  });
}

/** What is pointed at lights up in every step and picture. */
function setUpPointing() {
  document.addEventListener("pointerover", ({ target }) => {
    for (const lit of document.querySelectorAll(".lit")) lit.classList.remove("lit");
    const pointed = target instanceof Element ? target.closest("[data-feature]") : null;
    const vector = pointed?.closest(".v1, .v2, .v3")?.getAttribute("class")?.match(/v\d/)?.[0];
    if (!pointed || vector === undefined) return;
    const same = `.${vector} [data-feature="${pointed.getAttribute("data-feature")}"]`;
    for (const element of document.querySelectorAll(same)) element.classList.add("lit");
  });
}

function setUpCondition() {
  const slider = /** @type {HTMLInputElement} */ (element("condition"));
  slider.step = String(CONDITION_STEP);
  slider.addEventListener("input", () => explore({ condition: Number(slider.value) }));
}

/**
 * @param {string} key
 * @param {string} value
 */
function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Storage may be forbidden; the choice then lasts as long as the page.
  }
}
