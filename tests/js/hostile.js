/** Calls of every operation, forward and backward, to be given what was made to break them; and how they may answer. */
import assert from "node:assert/strict";
import { DIFFERENTIABLE, makeBackwardCase } from "./backward_cases.js";
import { assertSameBits } from "./bits.js";
import { layoutsOf, makeCase, OPERATIONS, ops } from "./operation_cases.js";

const LONGEST_MS = 2000;

/**
 * @typedef {object} Made
 * @property {string} op
 * @property {any[]} inputs
 * @property {Record<string, any>} options
 * @property {number} xAt where x is among the inputs
 * @property {Float32Array} out all -1, until the call writes its result there
 */

const GRADIENT_OF = "gradient of ";

/** What can be called: operations, and the gradients of those that have some. */
export const CALLS = [
  ...Object.keys(OPERATIONS),
  ...DIFFERENTIABLE.map((name) => `${GRADIENT_OF}${name}`),
];

/** @param {string} name of CALLS @returns {Made} the same call each time */
export function make(name) {
  const isBackward = name.startsWith(GRADIENT_OF);
  const forward = isBackward ? name.slice(GRADIENT_OF.length) : name;
  const { op } = OPERATIONS[forward];
  const [layout] = layoutsOf(op, 8);
  const kind = /Normalize|Response/.test(op) ? "none" : "all";
  const draw = { name: forward, layout, family: "normal", kind, seed: 2 };
  if (isBackward) {
    const made = makeBackwardCase({ ...draw, dtype: "float32", gradient: "normal" });
    return { ...made, xAt: 1, out: new Float32Array(made.inputs[1].data.length).fill(-1) };
  }
  const made = makeCase({ ...draw, dtype: "float32" });
  const out = new Float32Array(made.inputs[0].data.length).fill(-1);
  return { op, inputs: made.inputs, options: { ...made.options, out }, xAt: 0, out };
}

/** @param {Made} made @returns {any} what it returns; of gradients, all stand in `out` then */
export function call(made) {
  const { op, inputs, options, xAt } = made;
  const result = ops[op](...inputs, options);
  if (xAt === 1) {
    const gradients = Object.values(result).filter((gradient) => gradient !== null);
    made.out = Float32Array.from(gradients.flatMap((each) => [...(each.data ?? [each].flat())]));
  }
  return result;
}

/** @param {string} name of CALLS @returns {string[]} the options that it knows, as its message lists them */
export function optionsOf(name) {
  const { op, inputs } = make(name);
  try {
    ops[op](...inputs, { wrong: 1 });
  } catch (error) {
    const list = /expected only (.*), got/.exec(String(error))?.[1];
    if (list) return list.split(", ");
  }
  throw new Error(`${op} does not list its options`);
}

/**
 * Fails unless a call is refused by an error of the package's, or gives the right result where that may be.
 *
 * @param {Made} made
 * @param {string} what
 * @param {Float32Array} [right]
 */
export function judge(made, what, right) {
  const start = performance.now();
  try {
    call(made);
  } catch (error) {
    assert.ok(error instanceof TypeError || error instanceof RangeError, `${what}: ${error}`);
    assert.ok(error.message.startsWith(`${made.op}: `), `${what}: ${error}`);
    if (made.out.length > 0)
      assert.ok(
        made.out.every((value) => value === -1),
        `${what} wrote`,
      );
    return;
  } finally {
    const time = performance.now() - start;
    assert.ok(time < LONGEST_MS, `${what} took ${time} ms`);
  }
  assert.ok(right, `${what} was taken`);
  assertSameBits(made.out, right, what);
}

/** @param {any} array typed, its buffer taken away */
export const detach = (array) => structuredClone(array.buffer, { transfer: [array.buffer] });

/** @param {any[]} target @param {unknown} length @returns {any[]} */
export const withLength = (target, length) =>
  new Proxy(target, {
    get: (object, key) =>
      key === "length" ? length : key in object ? Reflect.get(object, key) : 1,
  });

export const LENGTHS = [
  ...[NaN, -1, 1.5, -0, 2 ** 32, 2 ** 53, 1e300, Infinity],
  ...["2", null, undefined, {}],
];

/** @returns {any} */
export function revoked() {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** @param {Made} made @returns {[string, (value: any) => void][]} every tensor that is read: its name, and what puts another in its place */
export function tensors({ inputs, options }) {
  /** @type {[string, (value: any) => void][]} */
  const places = inputs.map((_, i) => [
    `input ${i}`,
    (value) => {
      inputs[i] = value;
    },
  ]);
  for (const [name, value] of Object.entries(options)) {
    if (name === "out" || !ArrayBuffer.isView(value)) continue;
    places.push([
      name,
      (other) => {
        options[name] = other;
      },
    ]);
  }
  return places;
}
