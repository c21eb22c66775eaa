/**
 * A model with norms in the form in which Keras 3 writes its configuration, field by field as in the `get_config` of
 * keras/src/layers, in a model.json of TensorFlow.js's converter. Budget: 10 s.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import * as tfl from "@tensorflow/tfjs-layers";
import { Random } from "../js/data.js";
import { BACKENDS, tf, use } from "./backends.js";
import { layernorm, tfjs } from "./installed.js";

const file = JSON.parse(readFileSync(new URL("keras3_model.json", import.meta.url), "utf8"));
const random = new Random(5);
/** @type {Record<string, Float32Array>} */
const weights = {};
for (const { name, shape } of file.weightsManifest[0].weights) {
  const length = shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b);
  weights[name] = Float32Array.from({ length }, () => 1 + 0.3 * random.normal());
}
const x = {
  data: Float32Array.from({ length: 2 * 4 * 4 * 8 }, () => random.normal() + 3),
  dims: [2, 4, 4, 8],
  type: "float32",
};

/** The file, for TensorFlow.js's loader. */
function handler() {
  const modelTopology = structuredClone(file.modelTopology);
  // TensorFlow.js knows the name that this has in Keras 2 alone, whatever the layers are.
  const { config } = modelTopology.model_config.config.layers[0];
  config.batch_input_shape = config.batch_shape;
  delete config.batch_shape;
  return tf.io.fromMemory({
    modelTopology,
    weightSpecs: file.weightsManifest[0].weights,
    weightData: Float32Array.from(Object.values(weights).flatMap((each) => [...each])).buffer,
  });
}

/** What the model computes, by the package's operations and Keras's formulas. */
function expected() {
  const images = /** @type {const} */ ({ preset: "keras", layout: "channels_last" });
  const of = (/** @type {string} */ name) => ({
    weight: weights[`${name}/gamma`],
    bias: weights[`${name}/beta`],
  });
  let y = layernorm.groupNorm(x, { ...images, numGroups: 4, ...of("group_normalization") });
  y = layernorm.instanceNorm(y, { ...images, ...of("instance_normalization") });
  y = layernorm.layerNorm(y, { preset: "keras", ...of("layer_normalization") });
  y = layernorm.rmsNorm(y, { preset: "keras", weight: weights["rms_normalization/scale"] });
  // rms_scaling: x itself, by the rstd about the mean.
  const { rstd } = layernorm.layerNorm(y, { preset: "keras", returnStats: true });
  const gamma = weights["rms_scaled/gamma"];
  const scaled = y.data.map((value, i) => value * rstd.data[Math.floor(i / 8)] * gamma[i % 8]);
  const [kernel, bias] = [weights["dense/kernel"], weights["dense/bias"]];
  return Array.from({ length: (scaled.length / 8) * 3 }, (_, i) => {
    const [row, column] = [Math.floor(i / 3), i % 3];
    let sum = bias[column];
    for (let k = 0; k < 8; k++) sum += scaled[row * 8 + k] * kernel[k * 3 + column];
    return sum;
  });
}

for (const backend of BACKENDS) {
  describe(`on the backend ${backend}`, () => {
    test("a model as Keras 3 writes it loads, computes what Keras does, and is saved and loaded again", async () => {
      await use(backend);
      tfjs.registerLayers();
      const model = await tfl.loadLayersModel(handler());
      assert.ok(model.layers[3] instanceof tfjs.LayerNormalization);
      const input = tf.tensor(x.data, x.dims);
      const right = expected();
      const check = (/** @type {any} */ of) => {
        const y = of.predict(input).dataSync();
        assert.equal(y.length, right.length);
        for (const [i, value] of right.entries()) {
          assert.ok(Math.abs(y[i] - value) <= 1e-4, `${i}: ${y[i]}, expected ${value}`);
        }
      };
      check(model);
      /** @type {any} */
      let saved;
      await model.save(
        tf.io.withSaveHandler(async (/** @type {any} */ artifacts) => {
          saved = artifacts;
          return { modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: "JSON" } };
        }),
      );
      check(await tfl.loadLayersModel(tf.io.fromMemory(saved)));
    });
  });
}
