// The block of batch x channels x positions: its numbers, and which of them each normalization averages.

/** @typedef {"batch" | "layer" | "instance" | "group" | "rms"} Norm */
/** @typedef {[item: number, channel: number, position: number]} Cell each from 0 */
/** @typedef {[from: number, to: number]} Span `to` is the first one outside */
/** @typedef {{ items: Span, channels: Span, positions: Span }} Region */

/**
 * @typedef {object} Choice
 * @property {Norm} norm
 * @property {number} items in the batch
 * @property {number} groups of channels, for GroupNorm
 * @property {boolean} perPosition whether LayerNorm and RMSNorm take each position by itself
 * @property {number} seed of the numbers
 * @property {Cell} cell whose numbers are shown
 */

/** @type {Record<Norm, string>} in the order in which the page has them */
export const NORMS = {
  batch: "BatchNorm",
  layer: "LayerNorm",
  instance: "InstanceNorm",
  group: "GroupNorm",
  rms: "RMSNorm",
};
export const MOST_ITEMS = 3;
export const CHANNELS = 4;
export const POSITIONS = 3;
export const GROUPS = [1, 2, 4];
export const SEEDS = 99;

/**
 * Digits, so that sums can be followed by hand. Channels have centres of their own, and so have items:
 * that is what the normalizations differ about.
 *
 * @param {number} seed
 * @returns {number[]} of MOST_ITEMS items; a smaller batch has the first of them
 */
export function digits(seed) {
  let state = seed;
  /** @param {number} low @param {number} high @returns {number} an integer from low to high */
  const between = (low, high) => {
    // Numerical Recipes' generator; its high bits are the good ones.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return low + Math.floor((state / 2 ** 32) * (high - low + 1));
  };
  const repeat = (/** @type {number} */ length, /** @type {() => number} */ make) =>
    Array.from({ length }, make);
  for (;;) {
    const centres = repeat(CHANNELS, () => between(1, 7));
    const shifts = repeat(MOST_ITEMS, () => between(-2, 2));
    const block = shifts.flatMap((shift) =>
      centres.flatMap((centre) =>
        repeat(POSITIONS, () => Math.min(Math.max(centre + shift + between(-2, 2), 0), 9)),
      ),
    );
    if (SMALLEST.every((region) => varies(block, region))) return block;
  }
}

/**
 * @param {readonly number[]} block
 * @param {Region} region
 */
function varies(block, region) {
  return new Set(cellsOf(region).map((cell) => block[indexOf(cell)])).size > 1;
}

/**
 * What is averaged together with a cell: with every normalization a smaller block in the block.
 *
 * @param {Norm} norm
 * @param {Pick<Choice, "items" | "groups" | "perPosition">} choice
 * @param {Cell} cell
 * @returns {Region}
 */
export function regionOf(norm, { items, groups, perPosition }, [item, channel, position]) {
  const size = CHANNELS / groups;
  const first = Math.floor(channel / size) * size;
  /** @type {Region} */
  const region = {
    items: [item, item + 1],
    channels: [0, CHANNELS],
    positions: [0, POSITIONS],
  };
  if (norm === "batch") return { ...region, items: [0, items], channels: [channel, channel + 1] };
  if (norm === "instance") return { ...region, channels: [channel, channel + 1] };
  if (norm === "group") return { ...region, channels: [first, first + size] };
  return perPosition ? { ...region, positions: [position, position + 1] } : region;
}

/** @param {Region} region @returns {number} how many values it has */
export function countOf(region) {
  return Object.values(region).reduce((count, [from, to]) => count * (to - from), 1);
}

/** @param {Region} region @param {Cell} cell */
export function contains({ items, channels, positions }, [item, channel, position]) {
  const isIn = (/** @type {Span} */ [from, to], /** @type {number} */ i) => from <= i && i < to;
  return isIn(items, item) && isIn(channels, channel) && isIn(positions, position);
}

/** @param {Cell} cell @returns {number} where it stands in a flat array */
export function indexOf([item, channel, position]) {
  return (item * CHANNELS + channel) * POSITIONS + position;
}

/** @param {Region} region @returns {Cell[]} */
export function cellsOf({ items, channels, positions }) {
  const range = (/** @type {Span} */ [from, to]) =>
    Array.from({ length: to - from }, (_, i) => from + i);
  return range(items).flatMap((item) =>
    range(channels).flatMap((channel) =>
      range(positions).map((position) => /** @type {Cell} */ ([item, channel, position])),
    ),
  );
}

/** Every set that is averaged holds one of these: a row or a column of an item. */
const SMALLEST = Array.from({ length: MOST_ITEMS }, (_, item) => [
  ...Array.from({ length: CHANNELS }, (_, channel) => regionAt("instance", [item, channel, 0])),
  ...Array.from({ length: POSITIONS }, (_, position) => regionAt("layer", [item, 0, position])),
]).flat();

/** @param {Norm} norm @param {Cell} cell */
function regionAt(norm, cell) {
  return regionOf(norm, { items: MOST_ITEMS, groups: 1, perPosition: true }, cell);
}
