/** jax-js on its wasm device: nn.standardize and an affine part under jit; its RMS norm is composed in the same way. */

/** @typedef {import("./contender.js").Contender} Contender */

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
  async prepare({ operation, rows, features, eps, x, weight, bias }) {
    const { jit, nn, numpy: np } = await load();
    const input = np.array(x).reshape([rows, features]);
    const w = np.array(weight);
    const b = bias === null ? null : np.array(bias);
    // An argument is consumed where it is used without `.ref`.
    const layerNorm = jit((/** @type {any} */ x, /** @type {any} */ w, /** @type {any} */ b) =>
      nn.standardize(x, -1, { epsilon: eps }).mul(w).add(b),
    );
    const rmsNorm = jit((/** @type {any} */ x, /** @type {any} */ w) => {
      const meanSquare = np.square(x.ref).mean(-1, { keepdims: true });
      return x.div(np.sqrt(meanSquare.add(eps))).mul(w);
    });
    const call =
      operation === "layerNorm"
        ? () => layerNorm(input.ref, w.ref, b.ref)
        : () => rmsNorm(input.ref, w.ref);
    /** @type {any} */
    let last = null;
    return {
      async run() {
        last?.dispose();
        last = call();
        await last.blockUntilReady();
        return last;
      },
      read: (y) => y.ref.data(),
      dispose() {
        for (const array of [last, input, w, b]) array?.dispose();
      },
    };
  },
};
