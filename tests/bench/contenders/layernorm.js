/** This package: typed arrays in and out, and resident tensors with a plan. */

/** @typedef {import("./contender.js").Contender} Contender */
/** @typedef {import("./contender.js").Task} Task */

/** @returns {Promise<typeof import("../../../dist/index.js")>} */
const load = () => import("../../../dist/index.js");

/**
 * @param {Task} task
 * @returns {Promise<(x: Float32Array, options: object) => Float32Array>}
 */
async function loadNorm({ operation }) {
  return /** @type {any} */ ((await load())[operation]);
}

/** @param {Task} task */
function optionsOf({ rows, features, weight, bias, eps }) {
  return { shape: [rows, features], weight, bias, eps };
}

/** @type {Contender} */
export const layernormPlan = {
  id: "plan",
  name: "layernorm, plan",
  detail: "resident tensors, plan.run()",
  kind: "package",
  async prepare(task) {
    const { plan, tensor, zeros } = await load();
    const { operation, rows, features, weight, bias, eps } = task;
    const x = tensor(task.x, [rows, features]);
    const out = zeros([rows, features]);
    const parameters = [weight, bias].map((parameter) => (parameter ? tensor(parameter) : null));
    const [w, b] = parameters;
    const step = plan(operation, x, { weight: w, bias: b, eps, out });
    return {
      run: () => step.run(),
      read: () => /** @type {Float32Array} */ (out.data),
      dispose() {
        step.dispose();
        for (const held of [x, out, ...parameters]) held?.dispose();
      },
    };
  },
};

/** @type {Contender} */
export const layernormOut = {
  id: "out",
  name: "layernorm, typed arrays with out",
  detail: "Float32Array in, a reused Float32Array out",
  kind: "package",
  column: "layernorm",
  async prepare(task) {
    const norm = await loadNorm(task);
    const { x } = task;
    const options = { ...optionsOf(task), out: new Float32Array(x.length) };
    return { run: () => norm(x, options), read: (y) => y };
  },
};

/** @type {Contender} */
export const layernormNew = {
  id: "new",
  name: "layernorm, typed arrays",
  detail: "Float32Array in, a new Float32Array out",
  kind: "package",
  async prepare(task) {
    const norm = await loadNorm(task);
    const { x } = task;
    const options = optionsOf(task);
    return { run: () => norm(x, options), read: (y) => y };
  },
};
