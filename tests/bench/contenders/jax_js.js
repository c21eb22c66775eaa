/** jax-js on its wasm device: nn.standardize and an affine part under jit; its RMS norm is composed in the same way. */

import { geometryOf, isRms } from "../geometry.js";

/** @typedef {import("./contender.js").Contender} Contender */
/** @typedef {import("./contender.js").Task} Task */

/** @type {Promise<any> | undefined} */
let loading;

function load() {
  loading ??= (async () => {
    // The name in a variable: the types of peers need not be installed.
    const name = "@jax-js/jax";
    const jax = await import(name);
    // Named, because looking for all devices throws where there is no `navigator`.
    await jax.init("wasm");
    jax.defaultDevice("wasm");
    return jax;
  })();
  return loading;
}

/**
 * An argument is consumed where it is used without `.ref`.
 * @param {any} jax
 * @param {Task} task
 * @returns {(args: any) => any[]} from the inputs and the parameters by their names
 */
function composed({ nn, numpy: np }, task) {
  const { operation, eps, options } = task;
  const { axes } = geometryOf(task);
  return ({ x, residual, weight, bias, scale, shift, runningMean, runningVar }) => {
    const sum = residual ? x.add(residual) : x;
    let y;
    if (runningMean) y = sum.sub(runningMean).div(np.sqrt(runningVar.add(eps)));
    else if (isRms(operation)) {
      const meanSquare = np.square(sum.ref).mean(axes, { keepdims: true });
      y = (residual ? sum.ref : sum).div(np.sqrt(meanSquare.add(eps)));
    } else y = nn.standardize(sum, axes, { epsilon: eps });
    if (weight) y = y.mul(weight);
    if (bias) y = y.add(bias);
    if (scale) y = y.mul(scale.add(1));
    if (shift) y = y.add(shift);
    if (options.activation === "silu") y = nn.silu(y);
    return residual ? [y, sum] : [y];
  };
}

/** @type {Contender} */
export const jaxJs = {
  id: "jax-js",
  name: "jax-js",
  detail:
    "wasm, under jit on a resident array, then blockUntilReady (in a browser it uses its own workers)",
  kind: "peer",
  packages: ["@jax-js/jax"],
  async: true,
  column: "jax-js",
  async prepare(task) {
    const jax = await load();
    const { jit, numpy: np } = jax;
    const { dtype, options, x, residual, values } = task;
    const { view, channels, items } = geometryOf(task);
    /** @param {Float32Array} data @param {number[]} shape */
    const stored = (data, shape) => np.array(data).astype(dtype).reshape(shape);
    /** @type {Record<string, any>} */
    const held = { x: stored(x, view) };
    if (residual) held.residual = stored(residual, view);
    for (const [name, data] of Object.entries(values)) {
      if (name.startsWith("running") && options.training) continue;
      const shape = name === "scale" || name === "shift" ? items : channels;
      held[name] = stored(data, shape);
    }
    const call = jit(composed(jax, task));
    /** @type {any[]} */
    let last = [];
    return {
      async run() {
        for (const array of last) array.dispose();
        last = call(Object.fromEntries(Object.entries(held).map(([name, { ref }]) => [name, ref])));
        for (const array of last) await array.blockUntilReady();
        return last;
      },
      read: (outputs) =>
        Promise.all(outputs.map((/** @type {any} */ y) => y.ref.astype("float32").data())),
      dispose() {
        for (const array of [...last, ...Object.values(held)]) array.dispose();
      },
    };
  },
};
