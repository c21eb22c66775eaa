// Versions of programs, such as "6.0.5".

/**
 * @param {string} a
 * @param {string} b
 * @returns {number} negative if a is older, 0 if they are the same, positive if a is newer
 */
export function compareVersions(a, b) {
  const left = numbers(a);
  const right = numbers(b);
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** @param {string} version */
function numbers(version) {
  return version.split(".").map((part) => Number.parseInt(part, 10));
}
