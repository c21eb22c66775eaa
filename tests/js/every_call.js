/** A call of every operation and of every gradient, in turn in each element type and layout. */
import { tensor } from "../../dist/index.js";
import { DIFFERENTIABLE, makeBackwardCase } from "./backward_cases.js";
import { DTYPES, hasAffine, layoutsOf, makeCase, OPERATIONS, ops } from "./operation_cases.js";

/** @typedef {{ what: string, op: string, inputs: any[], options: Record<string, any> }} Made */

/**
 * @param {number} n values in each run
 * @param {number} [turn] which element types and layouts
 * @returns {Made[]}
 */
export function everyCall(n, turn = 0) {
  /** @param {string} name @param {number} i */
  const draw = (name, i) => {
    const { op } = OPERATIONS[name];
    const layouts = layoutsOf(op, n, 3);
    const layout = layouts[(i + turn) % layouts.length];
    const dtype = DTYPES[(i + Math.floor(turn / 2)) % DTYPES.length];
    const kind = hasAffine(op) ? ["all", "none", "weightBias"][turn % 3] : "none";
    return { name, layout, dtype, family: "normal", kind, seed: 2 * i };
  };
  const forward = Object.keys(OPERATIONS).map((name, i) => {
    const drawn = draw(name, i);
    const { op, inputs, options } = makeCase(drawn);
    const returnStats = hasAffine(op) ? { returnStats: true } : {};
    const what = `${name} ${drawn.dtype} ${drawn.layout.name}`;
    return { what, op, inputs, options: { ...options, ...returnStats } };
  });
  const backward = DIFFERENTIABLE.map((name, i) => {
    const drawn = { ...draw(name, i + 1), gradient: "normal" };
    const what = `the gradient of ${name} ${drawn.dtype} ${drawn.layout.name}`;
    return { ...makeBackwardCase(drawn), what };
  });
  return [...forward, ...backward];
}

/** @param {Made} made @returns {any} */
export const call = ({ op, inputs, options }) => ops[op](...inputs, options);

/**
 * The same call on resident tensors; of parameters those that have to be, and those with dimensions of their own, are resident.
 *
 * @param {Made} made
 * @returns {Made}
 */
export function resident(made) {
  const options = Object.fromEntries(
    Object.entries(made.options).map(([key, value]) => [
      key,
      value?.data !== undefined || key.startsWith("running") ? tensor(value) : value,
    ]),
  );
  return { ...made, inputs: made.inputs.map((input) => tensor(input)), options };
}

/** @param {any} result of a call @returns {Record<string, unknown>} all its numbers */
export function numbersOf(result) {
  const parts = result.data === undefined ? result : { output: result };
  return Object.fromEntries(
    Object.entries(parts).map(([name, part]) => {
      const data = part?.data ?? part;
      return [name, ArrayBuffer.isView(data) ? Array.from(/** @type {any} */ (data)) : data];
    }),
  );
}
