// The field of a seed: a whole number.

const MOST_SEED = 9999;

/**
 * Reads a seed, and marks its field as wrong where there is none.
 *
 * @param {HTMLInputElement} field
 * @param {HTMLElement} place where the page then says what is wrong
 * @returns {number | undefined}
 */
export function readSeed(field, place) {
  const seed = field.valueAsNumber;
  const isFine = Number.isInteger(seed) && seed >= 1 && seed <= MOST_SEED;
  field.setAttribute("aria-invalid", String(!isFine));
  if (isFine) field.removeAttribute("aria-describedby");
  else field.setAttribute("aria-describedby", place.id);
  place.classList.toggle("refused", !isFine);
  return isFine ? seed : undefined;
}

/** @param {HTMLInputElement} field @returns {boolean} whether it was found wrong when it was read last */
export function isRefused(field) {
  return field.getAttribute("aria-invalid") === "true";
}
