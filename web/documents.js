// What the two documents print of their worked example, as far as the page repeats or corrects it.

/**
 * @typedef {object} Settings
 * @property {number[][]} vectors
 * @property {number[]} weight one number for all features, or one for each
 * @property {number[]} bias
 * @property {number} eps
 */

/** @type {Settings} */
export const EXAMPLE = {
  vectors: [
    [3, 5, 2, 8],
    [1, 3, 5, 8],
    [3, 2, 7, 9],
  ],
  weight: [1.5],
  bias: [0.5],
  eps: 1e-5,
};

/**
 * The English document's wrong numbers, by vector: the variance under its square roots, and what it
 * rounded too early in the result.
 *
 * @type {{ variance: Record<number, number>, scaled: Record<number, { feature: number, text: string }[]> }}
 */
export const MISPRINTS = {
  variance: { 1: 8.3125, 2: 3.6875 },
  scaled: {
    1: [
      { feature: 1, text: "-0.2250" },
      { feature: 3, text: "2.6751" },
    ],
  },
};
