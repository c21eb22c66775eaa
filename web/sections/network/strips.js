// Activations as strips of color: a row for each item, a column for each feature.

import { paintedIn } from "../../theme.js";
import { ITEMS } from "./forward.js";

/** @typedef {import("./forward.js").Activations} Activations */
/** @typedef {[red: number, green: number, blue: number]} Color */

/** Values of so many deviations of a normalized layer have the full color. */
export const FULL = 3;

export class Strips {
  /** @type {readonly Activations[]} */
  #layers = [];
  #root;

  /**
   * @param {HTMLElement} root
   * @param {(item: number) => void} onChoose
   */
  constructor(root, onChoose) {
    this.#root = root;
    root.addEventListener("click", ({ target, clientY }) => {
      const strip = target instanceof Element ? target.closest(".strip") : null;
      if (strip === null) return;
      const { top, height } = strip.getBoundingClientRect();
      const item = Math.floor(((clientY - top) / height) * ITEMS);
      onChoose(Math.min(Math.max(item, 0), ITEMS - 1));
    });
    paintedIn(root, () => this.#paint());
  }

  /**
   * @param {readonly Activations[]} layers
   * @param {number} item the chosen one
   * @param {(layer: Activations) => { title: string, label: string }} wordsOf
   */
  show(layers, item, wordsOf) {
    this.#layers = layers;
    this.#root.replaceChildren(
      ...layers.map((layer) => {
        const { title, label } = wordsOf(layer);
        const figure = document.createElement("figure");
        const caption = document.createElement("figcaption");
        const strip = document.createElement("div");
        const canvas = document.createElement("canvas");
        const mark = document.createElement("span");
        figure.className = "strip-figure";
        figure.dataset.layer = layer.name;
        caption.innerHTML = title;
        strip.className = "strip";
        canvas.width = layer.width;
        canvas.height = ITEMS;
        canvas.setAttribute("role", "img");
        canvas.setAttribute("aria-label", label);
        mark.className = "strip-mark";
        mark.style.setProperty("--item", String(item));
        strip.append(canvas, mark);
        figure.append(caption, strip);
        return figure;
      }),
    );
    this.#paint();
  }

  #paint() {
    const style = getComputedStyle(this.#root);
    const [none, more, less] = [
      style.backgroundColor,
      style.color,
      style.getPropertyValue("border-top-color"),
    ].map(toColor);
    for (const [i, canvas] of [...this.#root.querySelectorAll("canvas")].entries()) {
      const { values, width } = this.#layers[i];
      const image = new ImageData(width, ITEMS);
      for (const [at, value] of values.entries()) {
        const share = Math.min(Math.abs(value) / FULL, 1);
        const full = value < 0 ? less : more;
        for (let part = 0; part < 3; part++) {
          image.data[4 * at + part] = none[part] + share * (full[part] - none[part]);
        }
        image.data[4 * at + 3] = 255;
      }
      canvas.getContext("2d")?.putImageData(image, 0, 0);
    }
  }
}

/** @param {string} css as in "rgb(29, 95, 191)" @returns {Color} */
function toColor(css) {
  const [red = 0, green = 0, blue = 0] = (css.match(/[\d.]+/g) ?? []).map(Number);
  return [red, green, blue];
}
