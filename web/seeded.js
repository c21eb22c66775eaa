// Numbers from a seed: the same for every visitor and in every browser.

/**
 * Nearly normal numbers, never beyond 3: each is the sum of three uniform ones.
 *
 * @param {number} count
 * @param {number} seed
 * @param {(value: number) => number} [map]
 */
export function normals(count, seed, map = (value) => value) {
  let state = seed;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return (state >>> 8) / 2 ** 24 - 0.5;
  };
  return Float32Array.from({ length: count }, () => map(2 * (uniform() + uniform() + uniform())));
}
