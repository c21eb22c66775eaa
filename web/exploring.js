// What is chosen in the block and in conditional LayerNorm, as it stands in the address.

import { CHANNELS, GROUPS, MOST_ITEMS, NORMS, POSITIONS, SEEDS } from "./block_shape.js";

/** @typedef {import("./block_shape.js").Choice & { condition: number }} Exploring */

/** @type {Exploring} */
export const START = {
  norm: "layer",
  items: MOST_ITEMS,
  groups: 2,
  perPosition: false,
  seed: 4,
  cell: [1, 1, 1],
  condition: 0.5,
};

/** The condition goes from -1 to 1 in these steps. */
export const CONDITION_STEP = 0.1;

/** @type {Record<string, (text: string) => Partial<Exploring> | undefined>} undefined if it cannot be read */
const READERS = {
  norm: (text) =>
    Object.hasOwn(NORMS, text) ? { norm: /** @type {Exploring["norm"]} */ (text) } : undefined,
  items: (text) => within(text, 1, MOST_ITEMS, (items) => ({ items })),
  groups: (text) => (GROUPS.includes(Number(text)) ? { groups: Number(text) } : undefined),
  perPosition: (text) => within(text, 0, 1, (is) => ({ perPosition: is === 1 })),
  seed: (text) => within(text, 1, SEEDS, (seed) => ({ seed })),
  cell: (text) => {
    const [item = 0, channel = 0, position = 0, ...others] = text.split(",").map(Number);
    const fits =
      isWithin(item, 1, MOST_ITEMS) &&
      isWithin(channel, 1, CHANNELS) &&
      isWithin(position, 1, POSITIONS);
    return fits && others.length === 0
      ? { cell: [item - 1, channel - 1, position - 1] }
      : undefined;
  },
  c: (text) => {
    const steps = Number(text) / CONDITION_STEP;
    return text !== "" && Math.abs(steps) <= 1 / CONDITION_STEP
      ? { condition: Number((Math.round(steps) * CONDITION_STEP).toFixed(1)) + 0 }
      : undefined;
  },
};

/**
 * @param {Exploring} exploring
 * @returns {string} "" for what the page starts with
 */
export function exploringToHash(exploring) {
  const usual = toEntries(START);
  return Object.entries(toEntries(exploring))
    .filter(([name, text]) => text !== usual[name])
    .map(([name, text]) => `${name}=${text}`)
    .join("&");
}

/**
 * @param {string} hash with or without "#"
 * @returns {{ exploring: Exploring, unreadable: string[] }} the start's in place of what cannot be read
 */
export function exploringFromHash(hash) {
  let exploring = START;
  /** @type {string[]} */
  const unreadable = [];
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!Object.hasOwn(READERS, name)) continue;
    const read = READERS[name]?.(text);
    if (read === undefined) unreadable.push(name);
    else exploring = { ...exploring, ...read };
  }
  return { exploring: fitted(exploring), unreadable };
}

/**
 * With the cell in an item that there is.
 *
 * @param {Exploring} exploring
 * @returns {Exploring}
 */
export function fitted(exploring) {
  const [item, channel, position] = exploring.cell;
  return { ...exploring, cell: [Math.min(item, exploring.items - 1), channel, position] };
}

/** @param {Exploring} exploring @returns {Record<string, string>} */
function toEntries({ norm, items, groups, perPosition, seed, cell, condition }) {
  return {
    norm,
    items: String(items),
    groups: String(groups),
    perPosition: perPosition ? "1" : "0",
    seed: String(seed),
    cell: cell.map((index) => index + 1).join(","),
    c: String(condition),
  };
}

/**
 * @param {number} value
 * @param {number} low
 * @param {number} high
 */
function isWithin(value, low, high) {
  return Number.isInteger(value) && low <= value && value <= high;
}

/**
 * @param {string} text
 * @param {number} low
 * @param {number} high
 * @param {(value: number) => Partial<Exploring>} make
 */
function within(text, low, high, make) {
  return text !== "" && isWithin(Number(text), low, high) ? make(Number(text)) : undefined;
}
