/**
 * layernorm/tfjs: operations on tensors, and their derivatives, on TensorFlow.js's wasm and cpu backends through the package's
 * wasm and on another made of TensorFlow.js's operations. Budget: 20 s.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Random } from "../js/data.js";
import { BACKENDS, tf, use } from "./backends.js";
import { layernorm, tfjs } from "./installed.js";

/** @typedef {any} Tensor of TensorFlow.js */

/** @param {number[]} shape @param {number} seed @param {{ mean?: number, deviation?: number }} [options] */
function normals(shape, seed, { mean = 0, deviation = 1 } = {}) {
  const random = new Random(seed);
  const size = shape.reduce((a, b) => a * b, 1);
  const values = Float32Array.from({ length: size }, () => mean + deviation * random.normal());
  return tf.tensor(values, shape);
}

/** @param {Tensor} got @param {Tensor} expected @param {number} tolerance of the largest value */
function assertClose(got, expected, tolerance, what = "") {
  assert.deepEqual(got.shape, expected.shape, what);
  const [a, b] = [got.dataSync(), expected.dataSync()];
  const largest = b.reduce(
    (/** @type {number} */ most, /** @type {number} */ value) => Math.max(most, Math.abs(value)),
    1,
  );
  for (let i = 0; i < b.length; i++) {
    const isClose = Math.abs(a[i] - b[i]) <= tolerance * largest;
    assert.ok(isClose, `${what} at ${i}: ${a[i]}, expected ${b[i]}`);
  }
}

/**
 * @typedef {object} Case
 * @property {"layerNorm" | "rmsNorm" | "groupNorm" | "instanceNorm"} op
 * @property {number[]} shape
 * @property {number[]} parameters the dimensions of weight and bias
 * @property {Record<string, unknown>} options
 */

/** @type {Case[]} */
const CASES = [
  { op: "layerNorm", shape: [3, 8], parameters: [8], options: {} },
  { op: "layerNorm", shape: [2, 3, 4], parameters: [3, 4], options: { normalizedShape: [3, 4] } },
  { op: "layerNorm", shape: [2, 3, 4], parameters: [3, 4], options: { axis: 1, eps: 1e-3 } },
  { op: "layerNorm", shape: [2, 3, 4], parameters: [3], options: { axes: [1] } },
  { op: "layerNorm", shape: [2, 3, 4], parameters: [4, 2], options: { axes: [-1, 0] } },
  { op: "rmsNorm", shape: [3, 8], parameters: [8], options: { eps: 1e-6 } },
  {
    op: "rmsNorm",
    shape: [2, 3, 4],
    parameters: [2, 3],
    options: { axes: [0, 1], weightOffset: 1 },
  },
  { op: "groupNorm", shape: [2, 6, 5], parameters: [6], options: { numGroups: 3 } },
  {
    op: "groupNorm",
    shape: [2, 3, 2, 6],
    parameters: [6],
    options: { numGroups: 2, layout: "channels_last" },
  },
  { op: "instanceNorm", shape: [2, 3, 4], parameters: [3], options: {} },
  { op: "instanceNorm", shape: [2, 4, 3], parameters: [3], options: { layout: "channels_last" } },
];

/** @param {Case} testCase */
const nameOf = ({ op, shape, options }) => `${op} [${shape}] ${JSON.stringify(options)}`;

/** @param {Case} testCase @returns {(x: Tensor, weight?: Tensor, bias?: Tensor) => Tensor} */
const normOf =
  ({ op, options }) =>
  (x, weight, bias) =>
    /** @type {any} */ (tfjs)[op](x, { ...options, weight, bias });

for (const backend of BACKENDS) {
  describe(`on the backend ${backend}`, () => {
    for (const [i, testCase] of CASES.entries()) {
      const { op, shape, parameters, options } = testCase;
      const norm = normOf(testCase);

      test(`${nameOf(testCase)} is the package's`, async () => {
        await use(backend);
        const x = normals(shape, i);
        const [weight, bias] = [normals(parameters, 50 + i), normals(parameters, 100 + i)];
        const plain = (/** @type {Tensor} */ t) => ({ data: t.dataSync().slice(), shape: t.shape });
        for (const affine of [
          {},
          { weight },
          { bias },
          { weight, bias },
          { weight: 2, bias: 0.5 },
        ]) {
          const given = Object.fromEntries(
            Object.entries(affine).map(([name, t]) => [name, typeof t === "number" ? t : plain(t)]),
          );
          const y = /** @type {any} */ (tfjs)[op](x, { ...options, ...affine });
          const { data } = /** @type {any} */ (layernorm)[op](plain(x), { ...options, ...given });
          assert.equal(y.dtype, "float32");
          assert.deepEqual(y.shape, shape);
          if (backend === "operations") assertClose(y, tf.tensor(data, shape), 2e-6);
          else assert.deepEqual(y.dataSync(), data);
        }
      });

      test(`${nameOf(testCase)} has the derivatives of its formula, up to the third`, async () => {
        await use(backend);
        const inputs = [
          normals(shape, i),
          normals(parameters, 50 + i),
          normals(parameters, 100 + i),
        ];
        const target = normals(shape, 150 + i);
        // Not linear in y, so that no derivative vanishes; TensorFlow.js lacks second derivatives of tanh and the like.
        const loss = (/** @type {Tensor[]} */ ...all) =>
          tf.sum(tf.mul(target, tf.square(norm(.../** @type {[Tensor]} */ (all)))));
        const gradientsOf = (/** @type {(...all: Tensor[]) => Tensor} */ f) => tf.grads(f)(inputs);
        /** @type {((...all: Tensor[]) => Tensor)[]} */
        const functions = [loss];
        for (let order = 1; order < 3; order++) {
          const below = functions[order - 1];
          functions.push((...all) => {
            const gradients = tf.grads(below)(all);
            return gradients
              .map((/** @type {Tensor} */ g, /** @type {number} */ j) =>
                tf.sum(tf.square(tf.add(g, 0.1 * j + 0.3))),
              )
              .reduce((/** @type {Tensor} */ a, /** @type {Tensor} */ b) => tf.add(a, b));
          });
        }
        const got = functions.map(gradientsOf);
        const values = inputs.map((t) => ({ data: t.dataSync().slice(), shape: t.shape }));
        const found = got.map((gradients) =>
          gradients.map((/** @type {Tensor} */ t) => ({
            data: t.dataSync().slice(),
            shape: t.shape,
          })),
        );
        // TensorFlow.js's own derivatives of the same formula.
        await use("operations");
        for (const [at, { data, shape }] of values.entries()) inputs[at] = tf.tensor(data, shape);
        for (const [order, f] of functions.entries()) {
          for (const [at, expected] of gradientsOf(f).entries()) {
            const { data, shape } = found[order][at];
            const what = `derivative ${order + 1} of input ${at}`;
            assertClose(tf.tensor(data, shape), expected, 3e-5 * 4 ** order, what);
          }
        }
      });
    }

    test("gradients are those of finite differences", async () => {
      await use(backend);
      const x = normals([2, 6], 3, { mean: 5 });
      const weight = normals([6], 4);
      const target = normals([2, 6], 5);
      const loss = (/** @type {Tensor} */ x) =>
        tf.sum(tf.mul(target, tfjs.layerNorm(x, { weight })));
      const gradient = tf.grad(loss)(x).dataSync();
      const step = 2 ** -6;
      for (let i = 0; i < 12; i++) {
        const [up, down] = [step, -step].map((by) => {
          const moved = x.dataSync().slice();
          moved[i] += by;
          return loss(tf.tensor(moved, [2, 6])).dataSync()[0];
        });
        const difference = (up - down) / (2 * step);
        assert.ok(
          Math.abs(gradient[i] - difference) <= 2e-3,
          `${i}: ${gradient[i]}, ${difference}`,
        );
      }
    });

    test("second derivatives are those of finite differences of gradients", async () => {
      await use(backend);
      const [x, weight] = [normals([2, 6], 3), normals([6], 4)];
      const [target, direction] = [normals([2, 6], 5), normals([2, 6], 6)];
      const gradient = tf.grad((/** @type {Tensor} */ x) =>
        tf.sum(tf.mul(target, tf.square(tfjs.layerNorm(x, { weight })))),
      );
      const along = tf.grad((/** @type {Tensor} */ x) => tf.sum(tf.mul(direction, gradient(x))))(x);
      const step = 2 ** -7;
      for (let i = 0; i < 12; i++) {
        const [up, down] = [step, -step].map((by) => {
          const moved = x.dataSync().slice();
          moved[i] += by;
          return tf.sum(tf.mul(direction, gradient(tf.tensor(moved, [2, 6])))).dataSync()[0];
        });
        const difference = (up - down) / (2 * step);
        const got = along.dataSync()[i];
        const isClose = Math.abs(got - difference) <= 2e-2 * Math.max(1, Math.abs(difference));
        assert.ok(isClose, `${i}: ${got}, by differences ${difference}`);
      }
    });

    test("gradients of x alone, with numbers as parameters", async () => {
      await use(backend);
      const x = normals([2, 6], 3);
      const own = tf.grad((/** @type {Tensor} */ x) => tf.tanh(tfjs.layerNorm(x)))(x);
      const twice = tf.grad((/** @type {Tensor} */ x) =>
        tf.tanh(tfjs.layerNorm(x, { weight: 3, weightOffset: -2, bias: 0 })),
      )(x);
      assertClose(twice, own, 1e-6);
    });

    test("calls and gradients keep no tensors, and change none", async () => {
      await use(backend);
      const inputs = [normals([4, 16], 1), normals([16], 2), normals([16], 3)];
      const before = inputs.map((t) => t.dataSync().slice());
      const step = () => {
        const gradients = tf.grads(
          (/** @type {Tensor} */ x, /** @type {Tensor} */ w, /** @type {Tensor} */ b) =>
            tf.square(tfjs.layerNorm(x, { weight: w, bias: b })),
        )(inputs);
        for (const gradient of gradients) gradient.dispose();
        tfjs.layerNorm(inputs[0], { weight: inputs[1] }).dispose();
      };
      step();
      const { numTensors, numDataBuffers } = tf.memory();
      for (let i = 0; i < 50; i++) step();
      const after = tf.memory();
      assert.deepEqual([after.numTensors, after.numDataBuffers], [numTensors, numDataBuffers]);
      for (const [i, t] of inputs.entries()) assert.deepEqual(t.dataSync(), before[i]);
    });

    test("tensors may be reshaped, empty, or come from another backend", async () => {
      await use("cpu");
      const elsewhere = normals([4, 3], 1);
      await use(backend);
      const here = normals([4, 3], 1);
      const x = tf.reshape(elsewhere, [2, 6]);
      assertClose(tfjs.layerNorm(x), tfjs.layerNorm(tf.reshape(here, [2, 6])), 0);
      const empty = tfjs.layerNorm(tf.zeros([0, 4]));
      assert.deepEqual(empty.shape, [0, 4]);
    });

    test("a large mean costs no digits", async (t) => {
      await use(backend);
      const x = normals([8, 64], 7, { mean: 1e4 });
      const y = tfjs.layerNorm(x);
      const exact = layernorm.layerNorm(Float64Array.from(x.dataSync()), { shape: [8, 64] });
      const error = y
        .dataSync()
        .reduce(
          (/** @type {number} */ most, /** @type {number} */ value, /** @type {number} */ i) =>
            Math.max(most, Math.abs(value - exact[i])),
          0,
        );
      t.diagnostic(`largest error ${error.toExponential(1)}`);
      assert.ok(error <= (backend === "operations" ? 8 : 3) * 2 ** -23 * 4);
    });

    test("what is wrong gets an error in the package's grammar, and leaves no tensor", async () => {
      await use(backend);
      const x = normals([2, 4], 1);
      const weight = normals([3], 2);
      const { numTensors } = tf.memory();
      /** @type {[() => unknown, string, RegExp][]} */
      const wrong = [
        [
          () => tfjs.layerNorm(/** @type {any} */ ([1, 2])),
          "TypeError",
          /^layerNorm: "x" expected a float32 tensor of TensorFlow.js, got an array$/,
        ],
        [
          () => tf.tidy(() => tfjs.layerNorm(tf.tensor([1, 2], [2], "int32"))),
          "TypeError",
          /got one of int32$/,
        ],
        [
          () => {
            const gone = tf.tensor([1, 2]);
            gone.dispose();
            tfjs.layerNorm(gone);
          },
          "TypeError",
          /^layerNorm: "x" expected a live tensor, got a disposed tensor$/,
        ],
        [
          () => tfjs.layerNorm(x, { weight }),
          "RangeError",
          /^layerNorm: "weight" expected shape \[4\], got \[3\]$/,
        ],
        [
          () => tfjs.layerNorm(x, { bias: /** @type {any} */ ([1, 2, 3, 4]) }),
          "TypeError",
          /"bias" expected a float32/,
        ],
        [
          () => tfjs.layerNorm(x, /** @type {any} */ ({ gamma: weight })),
          "TypeError",
          /only normalizedShape, axis, axes, weight, bias, weightOffset, eps, got "gamma"$/,
        ],
        [
          () => tfjs.layerNorm(x, { axis: 2 }),
          "RangeError",
          /"axis" expected an integer from -2 to 1/,
        ],
        [() => tfjs.layerNorm(x, { axis: 1, axes: [1] }), "TypeError", /at most one of/],
        [() => tfjs.rmsNorm(x, { eps: -1 }), "RangeError", /"eps" expected a finite number >= 0/],
        [() => tfjs.groupNorm(x, /** @type {any} */ ({})), "TypeError", /"numGroups" expected/],
        [() => tfjs.groupNorm(x, { numGroups: 3 }), "RangeError", /a divisor of 4 channels, got 3/],
        [
          () =>
            tfjs.instanceNorm(
              tf.tidy(() => x),
              { layout: /** @type {any} */ ("NHWC") },
            ),
          "RangeError",
          /"channels_last"/,
        ],
        [
          () => tfjs.layerNorm(x, /** @type {any} */ (3)),
          "TypeError",
          /"options" expected an object, got 3/,
        ],
      ];
      for (const [call, name, message] of wrong) assert.throws(call, { name, message });
      assert.equal(tf.memory().numTensors, numTensors);
    });
  });
}
