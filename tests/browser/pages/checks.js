// What the package has to do in every engine, on the main thread and in Workers.

/** @typedef {typeof import("../../../dist/index.js")} Package */
/** @typedef {Pick<Package, "layerNorm" | "rmsNorm" | "plan" | "tensor" | "zeros">} Functions */

/**
 * @param {Functions} functions
 * @returns {Record<string, unknown>} plain data, to be compared
 */
export function checks({ layerNorm, rmsNorm, plan, tensor, zeros }) {
  const x = [
    [3, 5, 2, 8],
    [1, 3, 5, 8],
  ];
  const options = { weight: 1.5, bias: 0.5, eps: 1e-5 };

  const resident = zeros([2, 4]);
  resident.data.set(x.flat());
  const step = plan("layerNorm", resident, { ...options, weight: tensor([1.5, 1.5, 1.5, 1.5]) });
  const planned = [...step.run().data];
  step.dispose();

  return {
    layerNorm: layerNorm(x, options),
    rmsNorm: rmsNorm(x, options),
    flat: [...layerNorm(Float32Array.from(x.flat()), { ...options, shape: [2, 4] })],
    planned,
    error: describe(() => layerNorm([1, 2], { weight: [1, 2, 3] })),
  };
}

/** @param {() => unknown} call @returns {string} what it throws, in words */
export function describe(call) {
  try {
    call();
    return "nothing was thrown";
  } catch (error) {
    return `${error}`;
  }
}

/** @param {() => Promise<unknown>} call @returns {Promise<string>} how it is rejected, in words */
export async function describeRejection(call) {
  try {
    await call();
    return "nothing was thrown";
  } catch (error) {
    return `${error}`;
  }
}
