// The form: reads its fields, says in words what is wrong with one, and keeps the last good settings.

import { EXAMPLE } from "./documents.js";
import { currentLanguage, t } from "./i18n.js";
import { fieldText, parseEps, parseList, showTyped, toText } from "./numbers.js";
import { epsAtStep, fits, SLIDER_STEPS, stepOfEps } from "./settings.js";
import { name } from "./views.js";

/** @typedef {import("./documents.js").Settings} Settings */
/** @typedef {import("./numbers.js").Complaint} Complaint */
/** @typedef {import("./numbers.js").Language} Language */

/** A number that is still being typed ("-", "1e") is not complained about. */
const PATIENCE_MS = 600;

/** @type {Record<string, number[][]>} */
const EXAMPLES = {
  constant: [
    [5, 5, 5, 5],
    [5, 5, 5, 5.001],
    [5, 5, 5, 5.1],
  ],
  far: [
    [40000, 40001, 40002, 40003],
    [-1000000, -1000001, -1000002, -1000003],
    [1e9, 1000000001, 1000000002, 1000000003],
  ],
  outlier: [
    [1, 1, 1, 100],
    [1, 2, 3, 100],
    [-2, 0, 2, -100],
  ],
};

export class Form {
  /** @type {Settings} the last good ones */
  settings = EXAMPLE;
  /** @type {Map<string, Complaint>} by field */
  #complaints = new Map();
  /** What stands in the fields, as far as it can be read, whether or not the settings have it. @type {Record<string, number[]>} */
  #read = {};
  /** In which language each field was filled in: what cannot be read stays so in the other. @type {Map<string, Language>} */
  #languages = new Map();
  #timer = 0;
  #onChange;

  /** @param {() => void} onChange */
  constructor(onChange) {
    this.#onChange = onChange;
    addVectorFields(EXAMPLE.vectors.length);
    const form = /** @type {HTMLFormElement} */ (document.getElementById("settings"));
    const slider = input("eps-slider");
    slider.max = String(SLIDER_STEPS);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", ({ target }) => {
      if (target === slider) return this.#setEps(epsAtStep(Number(slider.value)));
      this.#languages.set(/** @type {HTMLInputElement} */ (target).id, currentLanguage());
      this.#readAll();
    });
    // Leaving a field is the end of typing.
    form.addEventListener("change", () => this.#complain());
    document.addEventListener("click", ({ target }) => {
      const button = target instanceof Element ? target.closest("button") : null;
      if (button?.dataset.eps !== undefined) this.#setEps(Number(button.dataset.eps));
      if (button?.dataset.example !== undefined) this.set(exampleOf(button.dataset.example));
    });
  }

  /**
   * Shows other settings in the fields.
   *
   * @param {Settings} settings
   */
  set(settings) {
    this.settings = settings;
    this.#read = fieldsOf(settings);
    this.#write();
    this.#complaints.clear();
    this.#complain();
    this.#onChange();
  }

  /** Puts the numbers and the complaints in the page's language; what cannot be read stays as it was typed. */
  translate() {
    this.#write();
    this.#complain();
  }

  /**
   * The other fields stay as they are.
   *
   * @param {number} eps
   */
  #setEps(eps) {
    input("eps").value = fieldText([eps], currentLanguage());
    this.#languages.set("eps", currentLanguage());
    this.#readAll();
  }

  /** Writes what has been read, in the page's language. */
  #write() {
    const language = currentLanguage();
    for (const [id, values] of Object.entries(this.#read)) {
      input(id).value = fieldText(values, language);
      this.#languages.set(id, language);
    }
    this.#moveSlider();
  }

  #moveSlider() {
    const [eps = this.settings.eps] = this.#read.eps ?? [];
    const slider = input("eps-slider");
    slider.value = String(stepOfEps(eps));
    slider.setAttribute("aria-valuetext", toText(showTyped(eps, currentLanguage())));
  }

  #readAll() {
    /** @type {Record<string, number[]>} */
    const read = {};
    this.#read = read;
    this.#complaints.clear();
    for (const id of Object.keys(fieldsOf(this.settings))) {
      const text = input(id).value;
      const language = this.#languages.get(id) ?? currentLanguage();
      const value = id === "eps" ? parseEps(text, language) : parseList(text, language);
      if (typeof value === "number") read[id] = [value];
      else if (Array.isArray(value)) read[id] = value;
      else this.#complaints.set(id, value);
    }
    const vectors = EXAMPLE.vectors.map(
      (_, k) => read[`x${k + 1}`] ?? this.settings.vectors[k] ?? [],
    );
    for (const id of ["weight", "bias"]) {
      if (read[id] !== undefined && !fits(read[id], vectors)) {
        const [count, ...others] = new Set(vectors.map(({ length }) => length));
        const key = others.length > 0 ? "errorOnlyOne" : "errorCount";
        this.#complaints.set(id, { key, token: String(count) });
      }
    }
    this.#moveSlider();
    clearTimeout(this.#timer);
    if (this.#complaints.size > 0) {
      this.#timer = window.setTimeout(() => this.#complain(), PATIENCE_MS);
      return;
    }
    this.settings = {
      vectors,
      weight: read.weight ?? [],
      bias: read.bias ?? [],
      eps: read.eps?.[0] ?? 0,
    };
    this.#complain();
    this.#onChange();
  }

  /** Writes beside each field what is wrong with it. */
  #complain() {
    clearTimeout(this.#timer);
    for (const id of Object.keys(fieldsOf(this.settings))) {
      const complaint = this.#complaints.get(id);
      const problem = /** @type {HTMLElement} */ (document.getElementById(`${id}-problem`));
      const field = input(id);
      const text = complaint === undefined ? "" : sentence(complaint);
      if (problem.textContent !== text) problem.textContent = text;
      problem.hidden = complaint === undefined;
      field.setAttribute("aria-invalid", String(complaint !== undefined));
      const hint = field.dataset.hint;
      const described = [complaint === undefined ? undefined : problem.id, hint];
      field.setAttribute(
        "aria-describedby",
        described.filter((each) => each !== undefined).join(" "),
      );
    }
    const notice = /** @type {HTMLElement} */ (document.getElementById("notice"));
    notice.textContent = this.#complaints.size > 0 ? t("keptResult") : "";
  }
}

/** @param {Complaint} complaint */
function sentence({ key, token = "" }) {
  return t(key, { token, counts: token });
}

/** @param {string} which */
function exampleOf(which) {
  const vectors = EXAMPLES[which];
  return vectors === undefined ? EXAMPLE : { ...EXAMPLE, vectors };
}

/**
 * @param {Settings} settings
 * @returns {Record<string, number[]>} by the field's id
 */
function fieldsOf({ vectors, weight, bias, eps }) {
  return {
    ...Object.fromEntries(vectors.map((vector, k) => [`x${k + 1}`, vector])),
    weight,
    bias,
    eps: [eps],
  };
}

/** @param {number} count */
function addVectorFields(count) {
  const fields = Array.from({ length: count }, (_, k) => {
    const id = `x${k + 1}`;
    return `<div class="field vector v${k + 1}">
      <label for="${id}"><span class="unseen" data-t="vectorLabel">${t("vectorLabel")}</span> ${name("x", k)}</label>
      <input id="${id}" name="${id}" inputmode="text" spellcheck="false" data-hint="vectors-hint">
      <p class="problem" id="${id}-problem" role="alert" hidden></p>
    </div>`;
  });
  const target = /** @type {HTMLElement} */ (document.getElementById("vector-fields"));
  target.innerHTML = fields.join("");
}

/** @param {string} id */
function input(id) {
  return /** @type {HTMLInputElement} */ (document.getElementById(id));
}
