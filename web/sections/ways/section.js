// The panel that runs one tensor in several ways: its button, its table and its words.

import { currentLanguage, t } from "../../i18n.js";
import { show, toText } from "../../numbers.js";

export { default as html } from "./section.html";

/** @typedef {Awaited<ReturnType<typeof import("./ways.js").compareWays>>} Compared */

/** @type {Record<string, [rows: number, features: number]>} */
const SIZES = { small: [512, 768], middle: [2048, 1024], large: [8192, 1024] };
const BYTES = 4;

/** @type {(Compared & { size: string }) | undefined} */
let compared;
let running = false;
/** @type {unknown} */
let failure;

/** @type {import("../../sections.js").SectionModule["mount"]} */
export function mount() {
  element("ways-run").addEventListener("click", () => void run());
  return { render };
}

/** In the page's language. */
function render() {
  if (failure !== undefined) {
    say(t("waysFailed", { message: failure instanceof Error ? failure.message : String(failure) }));
  } else if (compared !== undefined) {
    showTable(compared);
  }
}

async function run() {
  if (running) return;
  running = true;
  failure = undefined;
  const button = element("ways-run");
  button.setAttribute("aria-disabled", "true");
  const { value: size } = /** @type {HTMLInputElement} */ (
    document.querySelector("[name=tensor]:checked")
  );
  const [rows, features] = SIZES[size];
  try {
    const { compareWays } = await import("./ways.js");
    const found = await compareWays(rows, features, async (name) => {
      say(t("waysRunning", { way: t(name) }));
      await painted();
    });
    compared = { ...found, size };
  } catch (error) {
    failure = error;
  }
  running = false;
  button.removeAttribute("aria-disabled");
  render();
}

/** @param {string} text */
function say(text) {
  element("ways-status").textContent = text;
}

/** Two frames, after which what was said is on the screen; a page in the background has none and does not wait. */
function painted() {
  return new Promise((done) => {
    requestAnimationFrame(() => requestAnimationFrame(() => done(undefined)));
    setTimeout(done, 200);
  });
}

/** @param {Compared & { size: string }} compared */
function showTable({ ways, adapter, absence, size }) {
  const language = currentLanguage();
  const [rows, features] = SIZES[size];
  const bytes = rows * features * BYTES;
  const figure = (/** @type {number} */ value, digits = 3) =>
    toText(show(Number(value.toPrecision(digits)), language));
  const rates = ways.map(({ ms }) => (2 * bytes) / ms / 1e6);
  const fastest = Math.max(...rates);
  const table = element("ways-table");
  const caption = { rows: String(rows), features: String(features), size: figure(bytes / 1e6, 2) };
  /** @type {HTMLElement} */ (table.querySelector("caption")).textContent = t(
    "waysCaption",
    caption,
  );
  const [wayHead, rateHead, timeHead, differenceHead] = [...table.querySelectorAll("thead th")].map(
    (head) => head.textContent ?? "",
  );
  /** @type {HTMLElement} */ (table.querySelector("tbody")).replaceChildren(
    ...ways.map(({ name, ms, difference, agrees }, i) => {
      const row = document.createElement("tr");
      row.dataset.way = name;
      const head = document.createElement("th");
      head.scope = "row";
      head.dataset.label = wayHead;
      head.textContent = t(name);
      const rate = cell(rateHead, figure(rates[i]));
      const bar = document.createElement("span");
      bar.className = "bar-of";
      bar.style.setProperty("--share", String(rates[i] / fastest));
      rate.append(bar);
      const off = cell(differenceHead, difference === 0 ? "—" : figure(difference, 2));
      off.classList.toggle("wrong", !agrees);
      row.append(head, rate, cell(timeHead, t("waysMs", { ms: figure(ms) })), off);
      return row;
    }),
  );
  table.hidden = false;
  const best = ways[rates.indexOf(fastest)];
  const wrong = ways.find(({ agrees }) => !agrees);
  say(
    wrong === undefined
      ? t("waysDone", { way: t(best.name), factor: figure(fastest / rates[0], 2) })
      : t("waysDiffers", { way: t(wrong.name) }),
  );
  const words = [];
  if (adapter !== undefined) words.push(t("waysAdapter", { name: adapter.name }));
  if (adapter?.software) words.push(t("waysSoftware"));
  if (absence !== undefined) words.push(t(absence.key, { message: absence.message }));
  element("ways-note").textContent = words.join(" ");
}

/** @param {string} label @param {string} text */
function cell(label, text) {
  const made = document.createElement("td");
  made.dataset.label = label;
  const value = document.createElement("span");
  value.className = "number";
  value.textContent = text;
  made.append(value);
  return made;
}

/** @param {string} id */
function element(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}
