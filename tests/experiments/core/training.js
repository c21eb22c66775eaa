// What trains in all experiments. They run in Node and, with a smaller setting, in a worker of the demo page, so nothing here
// imports TensorFlow.js: it is given.

/** @typedef {any} Tensor of TensorFlow.js */

/**
 * @typedef {object} Library
 * @property {any} tf
 * @property {any} tfl
 * @property {typeof import("../../../dist/tfjs.js")} tfjs
 * @property {typeof import("../../../dist/nn.js")} nn
 */

/** @typedef {{ loss: number, gradient: number }} Step gradient: the norm of that of all parameters together */

/**
 * One step of training.
 *
 * @param {Library["tf"]} tf
 * @param {any} optimizer
 * @param {() => Tensor} loss
 * @param {Tensor[]} variables
 * @returns {Step}
 */
export function trainStep(tf, optimizer, loss, variables) {
  return tf.tidy(() => {
    const { value, grads } = tf.variableGrads(loss, variables);
    const norm = normOf(tf, Object.values(grads));
    optimizer.applyGradients(variables.map(({ name }) => ({ name, tensor: grads[name] })));
    return { loss: value.dataSync()[0], gradient: norm };
  });
}

/**
 * @param {Library["tf"]} tf
 * @param {Tensor[]} tensors
 * @returns {number} the root of the sum of all squares
 */
export function normOf(tf, tensors) {
  return tf.tidy(() => {
    const squares = tensors.map((each) => tf.sum(tf.square(each)).dataSync()[0]);
    return Math.sqrt(squares.reduce((a, b) => a + b, 0));
  });
}
