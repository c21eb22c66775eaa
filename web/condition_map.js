// The map from a condition to scale and shift: a model learns it, here it is fixed.

/** Of four features; longer vectors have it over again. */
const SCALE_OF_C = [1, -1, 0, 1];
const SHIFT_OF_C = [0, 0, 2, -1];

/**
 * @param {number} features
 * @returns {{ scaleOfC: number[], shiftOfC: number[] }} what a condition of 1 gives
 */
export function conditionMap(features) {
  const over = (/** @type {readonly number[]} */ map) =>
    Array.from({ length: features }, (_, i) => map[i % map.length]);
  return { scaleOfC: over(SCALE_OF_C), shiftOfC: over(SHIFT_OF_C) };
}

/**
 * @param {number} features
 * @param {number} c
 */
export function scaleAndShift(features, c) {
  const { scaleOfC, shiftOfC } = conditionMap(features);
  const times = (/** @type {number[]} */ map) => map.map((value) => value * c + 0);
  return { scale: times(scaleOfC), shift: times(shiftOfC) };
}
