/** This package: typed arrays in and out, and resident tensors with a plan. */

import { geometryOf } from "../geometry.js";
import { inputsOf } from "./contender.js";

/** @typedef {import("./contender.js").Contender} Contender */
/** @typedef {import("./contender.js").Prepared} Prepared */
/** @typedef {import("./contender.js").Task} Task */

/** @returns {Promise<any>} by any, since the operations are called by their names */
const load = () => import("../../../dist/index.js");

/**
 * @param {Task} task
 * @returns {{ name: string, data: Float32Array, dims: number[] }[]}
 */
function parametersOf(task) {
  const { items } = geometryOf(task);
  return Object.entries(task.values).map(([name, data]) => {
    const perItem = name === "scale" || name === "shift";
    return { name, data, dims: perItem ? items.filter((length) => length > 1) : [data.length] };
  });
}

/**
 * @param {Task} task
 * @param {boolean} reuse the arrays that results are written to
 * @returns {Promise<Prepared & { x: Float32Array | Uint16Array, out: Float32Array | Uint16Array | undefined }>}
 */
export async function prepareArrays(task, reuse) {
  const { operation, dims, dtype, options, eps } = task;
  const norm = (await load())[operation];
  const [x, residual] = inputsOf(task);
  const isFlat = dtype === "float32";
  const others = residual ? [{ data: residual, dims }] : [];
  const input = isFlat ? x : { data: x, dims, type: dtype };
  /** @type {Record<string, any>} */
  const all = { ...options, eps, ...(isFlat && { shape: dims }) };
  for (const { name, data, dims } of parametersOf(task)) {
    const [stored] = inputsOf({ ...task, x: data, residual: null });
    // The running statistics are the caller's to keep: they are updated in place.
    if (name.startsWith("running")) all[name] = data.slice();
    else all[name] = isFlat && dims.length === 1 ? data : { data: stored, dims, type: dtype };
  }
  if (reuse) {
    all.out = x.slice();
    if (residual) all.sumOut = x.slice();
  }
  return {
    run: residual ? () => norm(x, others[0], all) : () => norm(input, all),
    read: (y) => (residual ? [y.output, y.sum] : [y.data ?? y]),
    x,
    out: all.out,
  };
}

/**
 * @param {Task} task
 * @returns {Promise<Prepared & { x: any, out: any }>} x and out are resident tensors
 */
export async function preparePlan(task) {
  const { plan, tensor, zeros } = await load();
  const { operation, dims, dtype, options, eps } = task;
  const inputs = [task.x, task.residual].flatMap((values) =>
    values ? [tensor(values, dims, dtype)] : [],
  );
  const out = zeros(dims, dtype);
  const sums = task.residual ? { sumOut: zeros(dims, dtype) } : {};
  const parameters = Object.fromEntries(
    parametersOf(task).map(({ name, data, dims }) => [
      name,
      name.startsWith("running") ? tensor(data, dims) : tensor(data, dims, dtype),
    ]),
  );
  const step = plan(operation, ...inputs, { ...options, eps, ...parameters, out, ...sums });
  const held = [...inputs, ...Object.values({ ...parameters, ...sums }), out];
  return {
    run: () => step.run(),
    read: () => [out, ...Object.values(sums)].map(({ data }) => data),
    dispose() {
      for (const one of [step, ...held]) one.dispose();
    },
    x: inputs[0],
    out,
  };
}

/** @type {Contender} */
export const layernormPlan = {
  id: "plan",
  name: "layernorm, plan",
  detail: "resident tensors, plan.run()",
  kind: "package",
  prepare: preparePlan,
};

/** @type {Contender} */
export const layernormOut = {
  id: "out",
  name: "layernorm, typed arrays with out",
  detail: "Float32Array in, a reused Float32Array out (16-bit types: tensors of bits)",
  kind: "package",
  column: "layernorm",
  prepare: (task) => prepareArrays(task, true),
};

/** @type {Contender} */
export const layernormNew = {
  id: "new",
  name: "layernorm, typed arrays",
  detail: "Float32Array in, a new Float32Array out",
  kind: "package",
  prepare: (task) => prepareArrays(task, false),
};

/** @type {Contender} */
export const layernormPlan32 = {
  id: "plan-float32",
  name: "layernorm, plan on float32",
  detail: "the same values in float32 where x has 16 bits (its GB/s, too, are of the 16-bit bytes)",
  kind: "package",
  applies: ({ dtype }) => dtype !== "float32",
  prepare: (task) => preparePlan({ ...task, dtype: "float32" }),
};
