/**
 * The network of the documents with this package's LayerNorm: as with TensorFlow.js's own, and trained on digits, with and
 * without it. Budget: 20 s.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as tfl from "@tensorflow/tfjs-layers";
import { Random } from "../js/data.js";
import { BACKENDS, tf, use } from "./backends.js";
import { FEATURES, loadDigits } from "./digits.js";
import { nn, tfjs } from "./installed.js";
import { accuracy, makeNetwork, train } from "./network.js";

const BATCH = 10;

/** @param {number} n @param {number} seed */
function normals(n, seed) {
  const random = new Random(seed);
  return Float32Array.from({ length: n }, () => random.normal());
}

for (const backend of BACKENDS) {
  test(`on a (10, 64) batch it gives what it gives with TensorFlow.js's own, to 1e-5 (${backend})`, async (t) => {
    await use(backend);
    const epsilon = 1e-5;
    const model = makeNetwork(new tfjs.LayerNormalization({ epsilon }), 1);
    const own = makeNetwork(tfl.layers.layerNormalization({ epsilon }), 1);
    const weights = model.getWeights();
    const [gamma, beta] = [normals(128, 2), normals(128, 3)].map((values) => tf.tensor(values));
    const given = [...weights.slice(0, 2), gamma, beta, ...weights.slice(4)];
    for (const each of [model, own]) each.setWeights(given);
    const x = tf.tensor(normals(BATCH * FEATURES, 4), [BATCH, FEATURES]);
    const got = model.predict(x);
    assert.deepEqual(got.shape, [BATCH, 10]);
    const expected = own.predict(x).dataSync();
    const difference = Math.max(
      ...got
        .dataSync()
        .map((/** @type {number} */ v, /** @type {number} */ i) => Math.abs(v - expected[i])),
    );
    t.diagnostic(`largest difference ${difference.toExponential(1)}`);
    assert.ok(difference <= 1e-5);

    // The same with the layer of layernorm/nn.
    const norm = new nn.LayerNorm(128);
    norm.loadStateDict({ weight: gamma.dataSync(), bias: beta.dataSync() });
    const [w1, b1, , , w2, b2] = model.getWeights();
    const hidden = tf.add(tf.matMul(x, w1), b1);
    const normed = norm.forward(hidden.dataSync());
    const y = tf.add(tf.matMul(tf.relu(tf.tensor(normed, hidden.shape)), w2), b2).dataSync();
    assert.ok(
      Math.max(
        ...y.map((/** @type {number} */ v, /** @type {number} */ i) => Math.abs(v - expected[i])),
      ) <= 1e-5,
    );
  });
}

test("trained on digits it reads nine of ten that it has not seen", async (t) => {
  await use("wasm");
  const { train: seen, test: unseen } = loadDigits();
  const results = [];
  for (const name of ["with LayerNorm", "without"]) {
    const norm = name === "without" ? null : new tfjs.LayerNormalization({ epsilon: 1e-5 });
    const model = makeNetwork(norm, 1);
    /** @type {number[]} */
    const course = [];
    const onEpoch = () => course.push(accuracy(model, unseen));
    await train(model, seen, { epochs: 4, rate: 0.01, batch: 64, onEpoch });
    t.diagnostic(
      `${name}: ${course.map((share) => `${(100 * share).toFixed(1)} %`).join(", ")} of ${unseen.labels.length} digits`,
    );
    results.push(course.at(-1) ?? 0);
  }
  assert.ok(results[0] >= 0.9, `${results[0]}`);
});
