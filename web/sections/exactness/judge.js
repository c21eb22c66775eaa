// How far results are from exact arithmetic, which the package's own tests use as well.

import { layerNorm, tensor } from "layernorm";
import { elementError, momentsOf, Normalizer, worstElement } from "../../../tests/js/exact.js";
import { fromFloat16, roundToFloat16 } from "./float16.js";
import { onePass, twoPass } from "./plain.js";

/** @typedef {import("./inputs.js").Row} Row */

/**
 * @typedef {object} Judged
 * @property {number} error in units of the element type's eps, of the worst element; infinite where there is no number
 * @property {number} got there
 * @property {number} expected there, exact and then rounded
 */

/** @type {Record<"onePass" | "twoPass" | "package", (row: Row) => ArrayLike<number>>} */
export const WAYS = {
  onePass: ({ x, eps, dtype }) => onePass(x, eps, roundingOf(dtype)),
  twoPass: ({ x, eps, dtype }) => twoPass(x, eps, roundingOf(dtype)),
  package: throughPackage,
};

/** @param {Row["dtype"]} dtype */
function roundingOf(dtype) {
  return dtype === "float16" ? roundToFloat16 : Math.fround;
}

/** @param {Row} row */
function throughPackage({ x, eps, dtype }) {
  if (dtype === "float32") return layerNorm(x, { eps });
  const input = tensor(x, [x.length], dtype);
  const output = layerNorm(input, { eps });
  try {
    // A Float16Array where there is one, else the bits.
    const { data } = output;
    return Float64Array.from(data, data instanceof Uint16Array ? fromFloat16 : Number);
  } finally {
    input.dispose();
    output.dispose();
  }
}

/**
 * The exact result of a row, held against any number of ways to compute it.
 *
 * @param {Row} row
 * @returns {(got: ArrayLike<number>) => Judged}
 */
export function judgeOf({ x, eps, dtype }) {
  const normalizer = new Normalizer(momentsOf(x), { eps, centered: true });
  if (dtype === "float32") {
    return (got) => {
      const values = Float32Array.from(got);
      const { index, error, expected } = worstElement(normalizer, x, values, {});
      return { error, expected, got: values[index] };
    };
  }
  return (got) => {
    let worst = { error: -1, expected: Number.NaN, got: Number.NaN };
    for (const [i, value] of x.entries()) {
      const { error, expected } = elementError(normalizer, value, got[i], {}, i, dtype);
      if (error > worst.error) worst = { error, expected, got: got[i] };
    }
    return worst;
  };
}

/**
 * @template {string} Name
 * @param {Row} row
 * @param {Record<Name, (row: Row) => ArrayLike<number>>} ways
 * @returns {Record<Name, Judged>}
 */
export function judgeAll(row, ways) {
  const judge = judgeOf(row);
  const names = /** @type {Name[]} */ (Object.keys(ways));
  return /** @type {Record<Name, Judged>} */ (
    Object.fromEntries(names.map((name) => [name, judge(ways[name](row))]))
  );
}
