/**
 * layernorm/tfjs: layers under the names of Keras 3, in models of TensorFlow.js: beside its own, loaded, saved, trained.
 * Budget: 20 s.
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import * as tfl from "@tensorflow/tfjs-layers";
import { Random } from "../js/data.js";
import { BACKENDS, tf, use } from "./backends.js";
import { layernorm, tfjs } from "./installed.js";

const { GroupNormalization, InstanceNormalization, LayerNormalization, RMSNormalization } = tfjs;

/** @typedef {any} Tensor of TensorFlow.js */
/** @typedef {Record<string, unknown>} Config */

/** @param {number[]} shape @param {number} seed @returns {Tensor} */
function normals(shape, seed) {
  const random = new Random(seed);
  const size = shape.reduce((a, b) => a * b, 1);
  return tf.tensor(
    Float32Array.from({ length: size }, () => random.normal()),
    shape,
  );
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
const difference = (a, b) =>
  Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);

/** @param {Tensor} t */
const plain = (t) => ({ data: t.dataSync().slice(), shape: t.shape });

/** Runs before `registerLayers`, which is for good. */
const OWN = tf.serialization.SerializationMap.getMap().classNameMap.LayerNormalization[0];

test("nothing is registered by the import alone", () => {
  const { classNameMap } = tf.serialization.SerializationMap.getMap();
  assert.notEqual(classNameMap.LayerNormalization[0], LayerNormalization);
  assert.equal(classNameMap.GroupNormalization, undefined);
  tfjs.registerLayers();
  assert.equal(classNameMap.LayerNormalization[0], LayerNormalization);
});

for (const backend of BACKENDS) {
  describe(`on the backend ${backend}`, () => {
    before(() => use(backend));

    for (const [shape, axis] of /** @type {[number[], number | number[]][]} */ ([
      [[8, 64], -1],
      [[4, 6, 10], -1],
      [
        [4, 6, 10],
        [1, 2],
      ],
      [[4, 6, 10], 1],
      [
        [4, 6, 10],
        [2, 1],
      ],
      [
        [2, 3, 4, 5],
        [-1, -3],
      ],
    ])) {
      for (const affine of [{}, { center: false }, { scale: false }]) {
        test(`LayerNormalization is TensorFlow.js's to 1e-5: [${shape}], axis ${axis}, ${JSON.stringify(affine)}`, () => {
          const x = normals(shape, 1);
          const args = { axis, ...affine };
          const own = new OWN({ ...args });
          const layer = new LayerNormalization(args);
          const expected = own.apply(x);
          layer.apply(x);
          const weights = own
            .getWeights()
            .map((/** @type {Tensor} */ w, /** @type {number} */ i) => normals(w.shape, 2 + i));
          own.setWeights(weights);
          /** @type {any} */ (layer).setWeights(weights);
          const got = /** @type {any} */ (layer).apply(x);
          assert.deepEqual(got.shape, expected.shape);
          assert.ok(difference(got.dataSync(), own.apply(x).dataSync()) <= 1e-5);
        });
      }
    }

    test("LayerNormalization with rms_scaling is Keras's formula", () => {
      const x = normals([3, 4, 5], 1);
      const layer = /** @type {any} */ (new LayerNormalization({ axis: [1, 2], rmsScaling: true }));
      layer.apply(x);
      const gamma = normals([4, 5], 2);
      layer.setWeights([gamma]);
      const got = layer.apply(x).dataSync();
      const { rstd } = layernorm.layerNorm(plain(x), { axis: 1, eps: 1e-3, returnStats: true });
      const g = gamma.dataSync();
      const expected = x
        .dataSync()
        .map(
          (/** @type {number} */ value, /** @type {number} */ i) =>
            value * rstd.data[Math.floor(i / 20)] * g[i % 20],
        );
      assert.ok(difference(got, expected) <= 1e-5);
    });

    test("GroupNormalization normalizes groups of channels, wherever they stand", () => {
      const x = normals([2, 6, 4, 8], 1);
      for (const [axis, groups, channels] of /** @type {const} */ ([
        [-1, 4, 8],
        [3, -1, 8],
        [1, 3, 6],
        [2, 2, 4],
        [-2, 4, 4],
      ])) {
        const layer = /** @type {any} */ (new GroupNormalization({ groups, axis }));
        layer.apply(x);
        const [gamma, beta] = [normals([channels], 2), normals([channels], 3)];
        layer.setWeights([gamma, beta]);
        // Channels first, by hand.
        const at = axis < 0 ? axis + 4 : axis;
        const order = [0, at, ...[1, 2, 3].filter((i) => i !== at)];
        const back = [0, 1, 2, 3].map((i) => order.indexOf(i));
        const first = layernorm.groupNorm(plain(tf.transpose(x, order)), {
          numGroups: groups === -1 ? channels : groups,
          weight: gamma.dataSync(),
          bias: beta.dataSync(),
          eps: 1e-3,
        });
        const expected = tf.transpose(tf.tensor(first.data, first.shape), back).dataSync();
        assert.ok(difference(layer.apply(x).dataSync(), expected) <= 1e-5, `axis ${axis}`);
      }
    });

    test("InstanceNormalization is GroupNormalization with groups -1, RMSNormalization the formula", () => {
      const x = normals([2, 4, 6], 1);
      const apply = (/** @type {any} */ layer) => layer.apply(x).dataSync();
      assert.deepEqual(
        apply(new InstanceNormalization()),
        apply(new GroupNormalization({ groups: -1 })),
      );
      const rms = /** @type {any} */ (new RMSNormalization({ axis: [2, 1], epsilon: 0.5 }));
      rms.apply(x);
      const scale = normals([4, 6], 2);
      rms.setWeights([scale]);
      const { data } = layernorm.rmsNorm(plain(x), { axis: 1, weight: plain(scale), eps: 0.5 });
      assert.ok(difference(apply(rms), data) <= 2e-6);
      assert.equal(rms.weights[0].originalName.split("/").at(-1), "scale");
    });

    test("a saved Keras model with them loads, with its weights", async () => {
      const names = ["layer", "group", "addons_group", "rms", "addons_instance", "instance"];
      const { topology, weights } = kerasModel(names);
      const model = await tfl.loadLayersModel(
        tf.io.fromMemory({
          modelTopology: topology,
          weightSpecs: weights.map(({ name, shape }) => ({ name, shape, dtype: "float32" })),
          weightData: Float32Array.from(weights.flatMap(({ values }) => [...values])).buffer,
        }),
      );
      assert.ok(model.layers[1] instanceof LayerNormalization);
      const x = normals([3, 4, 4, 8], 9);
      const weight = (/** @type {string} */ name) =>
        weights.find((each) => each.name === name)?.values;
      const affine = (/** @type {string} */ layer) => ({
        weight: weight(`${layer}/gamma`),
        bias: weight(`${layer}/beta`),
      });
      const layout = /** @type {const} */ ("channels_last");
      let y = layernorm.layerNorm(plain(x), { ...affine("layer"), eps: 2e-3 });
      y = layernorm.groupNorm(y, { ...affine("group"), numGroups: 4, layout, eps: 1e-3 });
      y = layernorm.groupNorm(y, { ...affine("addons_group"), numGroups: 2, layout, eps: 1e-3 });
      y = layernorm.rmsNorm(y, { weight: weight("rms/scale"), eps: 1e-6 });
      y = layernorm.instanceNorm(y, { ...affine("addons_instance"), layout, eps: 1e-3 });
      y = layernorm.instanceNorm(y, { ...affine("instance"), layout, eps: 1e-3 });
      const got = model.predict(x);
      assert.deepEqual(got.shape, [3, 4, 4, 8]);
      assert.ok(difference(got.dataSync(), y.data) <= 2e-5);
    });

    test("models with them are saved and loaded again, and are the same", async () => {
      const model = tfl.sequential();
      const inputShape = [4, 4, 8];
      model.add(new LayerNormalization({ inputShape, axis: [1, 2], gammaRegularizer: "l1l2" }));
      model.add(new GroupNormalization({ groups: 4, epsilon: 0.01, betaConstraint: "nonNeg" }));
      model.add(new InstanceNormalization({ scale: false, betaInitializer: "glorotNormal" }));
      model.add(new RMSNormalization({ axis: [3, 1] }));
      const saved = /** @type {any} */ ({});
      await model.save(
        tf.io.withSaveHandler(async (/** @type {any} */ artifacts) => {
          Object.assign(saved, artifacts);
          return { modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: "JSON" } };
        }),
      );
      // As a file has it.
      const modelTopology = JSON.parse(JSON.stringify(saved.modelTopology));
      const configs = modelTopology.config.layers.map((/** @type {any} */ layer) => layer.config);
      assert.deepEqual(configs[0].axis, [1, 2]);
      assert.equal(configs[0].gamma_regularizer.class_name, "L1L2");
      assert.equal(configs[1].groups, 4);
      assert.equal(configs[1].beta_constraint.class_name, "NonNeg");
      assert.equal(configs[2].groups, undefined);
      assert.deepEqual(configs[3].axis, [1, 3]);
      const loaded = await tfl.loadLayersModel(tf.io.fromMemory({ ...saved, modelTopology }));
      const x = normals([2, ...inputShape], 1);
      assert.deepEqual(loaded.predict(x).dataSync(), model.predict(x).dataSync());
    });

    test("models with them train, and keep no tensors", async () => {
      const model = tfl.sequential();
      const dense = (/** @type {object} */ args, /** @type {number} */ seed) =>
        tfl.layers.dense({
          ...args,
          kernelInitializer: tfl.initializers.glorotUniform({ seed }),
        });
      model.add(dense({ units: 16, inputShape: [4] }, 1));
      model.add(new LayerNormalization());
      model.add(tfl.layers.reshape({ targetShape: [4, 4] }));
      model.add(new GroupNormalization({ groups: 2 }));
      model.add(new InstanceNormalization());
      model.add(new RMSNormalization());
      model.add(tfl.layers.flatten());
      model.add(dense({ units: 1 }, 2));
      const optimizer = tf.train.adam(0.05);
      model.compile({ optimizer, loss: "meanSquaredError" });
      const x = normals([32, 4], 1);
      const target = tf.sum(tf.abs(x), [1], true);
      const fit = (/** @type {number} */ epochs) =>
        model.fit(x, target, { epochs, batchSize: 32, shuffle: false, verbose: 0 });
      const first = (await fit(1)).history.loss[0];
      await fit(5);
      const { numTensors } = tf.memory();
      const { history } = await fit(60);
      assert.equal(tf.memory().numTensors, numTensors);
      assert.ok(history.loss.at(-1) < first / 5, `${first} to ${history.loss.at(-1)}`);
      assert.equal(model.trainableWeights.length, 2 * 5 + 1);
    });
  });
}

test("LayerNormalization is faster than TensorFlow.js's on its wasm backend at 512x768", async (t) => {
  await use("wasm");
  const x = normals([512, 768], 1);
  /** @param {any} layer */
  const time = (layer) => {
    const start = performance.now();
    const y = layer.apply(x);
    y.dataSync();
    y.dispose();
    return performance.now() - start;
  };
  const layers = [new OWN({}), new LayerNormalization()];
  /** @type {number[][]} */
  const times = [[], []];
  for (let i = 0; i < 9; i++) for (const [j, layer] of layers.entries()) times[j].push(time(layer));
  const [own, ours] = times.map((each) => each.sort((a, b) => a - b)[4]);
  t.diagnostic(`median ms: TensorFlow.js's ${own.toFixed(2)}, layernorm's ${ours.toFixed(2)}`);
  assert.ok(ours < own);
});

test("arguments that are wrong get an error in the package's grammar", () => {
  /** @type {[() => unknown, RegExp][]} */
  const wrong = [
    [
      () => new LayerNormalization({ axis: /** @type {any} */ ("last") }),
      /^LayerNormalization: "axis" expected an integer, got "last"$/,
    ],
    [
      () => new LayerNormalization({ epsilon: -1 }),
      /^LayerNormalization: "epsilon" expected a finite/,
    ],
    [
      () => new GroupNormalization({ groups: 0 }),
      /^GroupNormalization: "groups" expected an integer >= 1, or -1/,
    ],
    [
      () => new GroupNormalization({ groups: 3 }).build([null, 4]),
      /"groups" expected a divisor of 4 channels, got 3$/,
    ],
    [
      () => new GroupNormalization({ axis: 0 }).build([2, 4]),
      /a dimension behind that of the batch/,
    ],
    [
      () => new GroupNormalization({ groups: 1 }).build([2, null]),
      /"axis" expected one of known size in \[2, null\], got -1$/,
    ],
    [
      () => new RMSNormalization({ axis: 2 }).build([2, 4]),
      /^RMSNormalization: "axis" expected one of known/,
    ],
    [
      () => new InstanceNormalization(/** @type {any} */ ({ axis: null })),
      /^InstanceNormalization: "axis" expected the/,
    ],
    [
      () => new LayerNormalization(/** @type {any} */ ({ center: 1 })),
      /"center" expected a boolean/,
    ],
  ];
  for (const [call, message] of wrong) assert.throws(call, { message });
});

test("Arguments that a layer does not know are refused, with those that it knows", () => {
  /** @type {Record<string, [new (args: any) => unknown, unknown, RegExp]>} */
  const wrong = {
    eps: [
      LayerNormalization,
      { eps: 1 },
      /only axis, rmsScaling, center, .*, epsilon, name, .*"eps"$/,
    ],
    numGroups: [GroupNormalization, { numGroups: 2 }, /only groups, axis, .*"numGroups"$/],
    activation: [
      RMSNormalization,
      { activation: "relu" },
      /only axis, epsilon, name, .*"activation"/,
    ],
    affine: [InstanceNormalization, { affine: true }, /got "affine"$/],
    groups: [InstanceNormalization, { groups: 2 }, /"groups" expected none, or -1, got 2$/],
    null: [LayerNormalization, null, /"args" expected an object, got null$/],
    number: [GroupNormalization, 5, /"args" expected an object, got 5$/],
    nothing: [InstanceNormalization, null, /"args" expected an object, got null$/],
  };
  for (const [layer, args, message] of Object.values(wrong)) {
    assert.throws(
      () => new layer(args),
      (/** @type {Error} */ error) => {
        assert.ok(
          error.message.startsWith(`${/** @type {any} */ (layer).className}: `),
          error.message,
        );
        assert.match(error.message, message);
        return true;
      },
    );
  }
  assert.equal(`${new GroupNormalization()}`, "[object GroupNormalization]");
  // As Keras writes what is not used.
  new LayerNormalization(/** @type {any} */ ({ activityRegularizer: null, eps: undefined }));
});

/**
 * A model as Keras writes it, with its weights.
 *
 * @param {string[]} names
 */
function kerasModel(names) {
  const initializer = (/** @type {string} */ name) => ({
    module: "keras.initializers",
    class_name: name,
    config: {},
    registered_name: null,
  });
  const affine = {
    epsilon: 0.001,
    center: true,
    scale: true,
    beta_initializer: initializer("Zeros"),
    gamma_initializer: initializer("Ones"),
    beta_regularizer: null,
    gamma_regularizer: null,
    beta_constraint: null,
    gamma_constraint: null,
  };
  const policy = {
    module: "keras",
    class_name: "DTypePolicy",
    config: { name: "float32" },
    registered_name: null,
  };
  /** @type {Record<string, [string, Config]>} */
  const layers = {
    layer: ["LayerNormalization", { ...affine, axis: [3], epsilon: 0.002, rms_scaling: false }],
    group: ["GroupNormalization", { ...affine, groups: 4, axis: -1, dtype: policy }],
    addons_group: ["Addons>GroupNormalization", { ...affine, groups: 2, axis: -1 }],
    rms: ["RMSNormalization", { axis: [-1], epsilon: 1e-6, dtype: policy }],
    addons_instance: ["Addons>InstanceNormalization", { ...affine, groups: -1, axis: -1 }],
    instance: ["InstanceNormalization", { ...affine, axis: -1 }],
  };
  const topology = {
    keras_version: "3.5.0",
    backend: "tensorflow",
    model_config: {
      class_name: "Sequential",
      config: {
        name: "sequential",
        layers: [
          {
            class_name: "InputLayer",
            config: { batch_input_shape: [null, 4, 4, 8], dtype: "float32", name: "input" },
          },
          ...names.map((name) => ({
            class_name: layers[name][0],
            config: { dtype: "float32", ...layers[name][1], name, trainable: true },
          })),
        ],
      },
    },
  };
  const weights = names.flatMap((name, i) =>
    (name === "rms" ? ["scale"] : ["gamma", "beta"]).map((weight, j) => {
      const random = new Random(10 * i + j);
      const values = Float32Array.from({ length: 8 }, () => 1 + 0.3 * random.normal());
      return { name: `${name}/${weight}`, shape: [8], values };
    }),
  );
  return { topology, weights };
}
