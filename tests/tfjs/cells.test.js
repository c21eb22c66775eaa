/**
 * layernorm/tfjs: LSTM and GRU cells with layer normalization, against their formulas written out in float64; in `rnn`, saved,
 * loaded and trained. Budget: 20 s.
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import * as tfl from "@tensorflow/tfjs-layers";
import { Random } from "../js/data.js";
import { BACKENDS, tf, use } from "./backends.js";
import { tfjs } from "./installed.js";

const { LayerNormGRUCell, LayerNormLSTMCell } = tfjs;
const CELLS = { LSTM: LayerNormLSTMCell, GRU: LayerNormGRUCell };
const DEFINITIONS = /** @type {const} */ (["ba2016", "perGate", "fusedGates"]);

const UNITS = 3;
const INPUTS = 2;
const EPS = 1e-3;

/** @typedef {number[]} Vector */

/** @param {number} n @param {Random} random */
const normals = (n, random) => Float32Array.from({ length: n }, () => random.normal());

const sigmoid = (/** @type {number} */ v) => 1 / (1 + Math.exp(-v));

/** @param {Vector} x @param {Vector} gamma @param {Vector} beta @returns {Vector} */
function norm(x, gamma, beta) {
  const mean = x.reduce((a, b) => a + b) / x.length;
  const variance = x.reduce((a, b) => a + (b - mean) ** 2, 0) / x.length;
  return x.map((v, i) => ((v - mean) / Math.sqrt(variance + EPS)) * gamma[i] + beta[i]);
}

/** @param {Vector} x @param {Vector} w [x.length, columns] @returns {Vector} */
function times(x, w) {
  const columns = w.length / x.length;
  return Array.from({ length: columns }, (_, j) =>
    x.reduce((sum, v, i) => sum + v * w[i * columns + j], 0),
  );
}

const sum = (/** @type {Vector[]} */ ...all) =>
  all[0].map((_, i) => all.reduce((s, v) => s + v[i], 0));
/** @param {Vector} v @param {number} parts @returns {Vector[]} */
const split = (v, parts) =>
  Array.from({ length: parts }, (_, i) =>
    v.slice((i * v.length) / parts, ((i + 1) * v.length) / parts),
  );

/** Layer normalization of each of some parts. @param {Vector} v @param {Vector} gamma @param {Vector} beta @param {number} parts */
function normParts(v, gamma, beta, parts) {
  const [g, b] = [split(gamma, parts), split(beta, parts)];
  return split(v, parts).flatMap((part, i) => norm(part, g[i], b[i]));
}

/**
 * One step in float64.
 *
 * @param {"LSTM" | "GRU"} kind
 * @param {string} definition
 * @param {Record<string, Vector>} w the weights by name
 * @param {Vector} x
 * @param {{ h: Vector, c: Vector }} state
 * @returns {{ h: Vector, c: Vector }}
 */
function step(kind, definition, w, x, { h, c }) {
  const [fromX, fromH] = [times(x, w.kernel), times(h, w.recurrent_kernel)];
  const ln = (/** @type {string} */ name, /** @type {Vector} */ v, parts = 1) =>
    normParts(v, w[`${name}_gamma`], w[`${name}_beta`], parts);
  const apart = definition === "perGate";
  if (kind === "LSTM") {
    const gates =
      definition === "ba2016"
        ? sum(ln("kernel_norm", fromX), ln("recurrent_norm", fromH), w.bias)
        : ln("gates_norm", sum(fromX, fromH), apart ? 4 : 1);
    const [i, f, g, o] = split(gates, 4);
    const next = c.map((v, k) => sigmoid(f[k]) * v + sigmoid(i[k]) * Math.tanh(g[k]));
    const out = ln("state_norm", next);
    return { h: out.map((v, k) => sigmoid(o[k]) * Math.tanh(v)), c: next };
  }
  const cut = 2 * UNITS;
  const [zrX, nX, zrH, nH] = [
    ...[fromX.slice(0, cut), fromX.slice(cut)],
    ...[fromH.slice(0, cut), fromH.slice(cut)],
  ];
  const zr =
    definition === "ba2016"
      ? sum(ln("kernel_norm", zrX), ln("recurrent_norm", zrH))
      : ln("gates_norm", sum(zrX, zrH), apart ? 2 : 1);
  const [z, r] = split(zr.map(sigmoid), 2);
  const gated = (/** @type {Vector} */ v) => v.map((value, k) => r[k] * value);
  const candidate =
    definition === "ba2016"
      ? sum(ln("kernel_candidate_norm", nX), gated(ln("recurrent_candidate_norm", nH)))
      : ln("gates_candidate_norm", sum(nX, gated(nH)));
  return { h: h.map((v, k) => (1 - z[k]) * v + z[k] * Math.tanh(candidate[k])), c };
}

/** @param {any} layer @returns {Record<string, Vector>} */
const weightsOf = (layer) =>
  Object.fromEntries(
    layer.weights.map((/** @type {any} */ weight) => [
      weight.originalName.split("/").at(-1),
      [...weight.read().dataSync()],
    ]),
  );

/** @param {any} layer sets all its weights to something that shows in the result */
function randomize(layer) {
  const random = new Random(5);
  layer.setWeights(
    layer.getWeights().map((/** @type {any} */ w) => tf.tensor(normals(w.size, random), w.shape)),
  );
}

for (const backend of BACKENDS) {
  describe(`on the backend ${backend}`, () => {
    before(() => use(backend));

    for (const [kind, Cell] of Object.entries(CELLS)) {
      for (const definition of DEFINITIONS) {
        test(`${kind}, ${definition}: rnn gives the formula's states`, () => {
          const [batch, steps] = [2, 4];
          const cell = new Cell({ units: UNITS, definition, epsilon: EPS });
          const rnn = /** @type {any} */ (
            tfl.layers.rnn({ cell: /** @type {any} */ (cell), returnSequences: true })
          );
          const x = tf.tensor(normals(batch * steps * INPUTS, new Random(1)), [
            batch,
            steps,
            INPUTS,
          ]);
          rnn.apply(x);
          randomize(rnn);
          const weights = weightsOf(rnn);
          const got = rnn.apply(x);
          assert.deepEqual(got.shape, [batch, steps, UNITS]);
          const values = [...x.dataSync()];
          const expected = [];
          for (let n = 0; n < batch; n++) {
            let state = { h: new Array(UNITS).fill(0), c: new Array(UNITS).fill(0) };
            for (let t = 0; t < steps; t++) {
              const at = (n * steps + t) * INPUTS;
              const input = values.slice(at, at + INPUTS);
              state = step(/** @type {any} */ (kind), definition, weights, input, state);
              expected.push(...state.h);
            }
          }
          for (const [i, value] of got.dataSync().entries()) {
            assert.ok(
              Math.abs(value - expected[i]) <= 1e-5,
              `${i}: ${value}, expected ${expected[i]}`,
            );
          }
        });

        test(`${kind}, ${definition}: a model with it is saved, loaded and trained`, async () => {
          const model = tfl.sequential();
          const cell = new Cell({
            units: 8,
            definition,
            kernelInitializer: tfl.initializers.glorotUniform({ seed: 1 }),
            recurrentInitializer: tfl.initializers.glorotUniform({ seed: 2 }),
          });
          model.add(tfl.layers.rnn({ cell: /** @type {any} */ (cell), inputShape: [5, 1] }));
          const kernelInitializer = tfl.initializers.glorotUniform({ seed: 3 });
          model.add(tfl.layers.dense({ units: 1, kernelInitializer }));
          tfjs.registerLayers();
          const saved = /** @type {any} */ ({});
          await model.save(
            tf.io.withSaveHandler(async (/** @type {any} */ artifacts) => {
              Object.assign(saved, artifacts);
              return { modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: "JSON" } };
            }),
          );
          const modelTopology = JSON.parse(JSON.stringify(saved.modelTopology));
          const { class_name, config } = modelTopology.config.layers[0].config.cell;
          assert.equal(class_name, `LayerNorm${kind}Cell`);
          assert.equal(config.definition, definition.replace("G", "_g"));
          const loaded = await tfl.loadLayersModel(tf.io.fromMemory({ ...saved, modelTopology }));
          // The sum of five numbers.
          const values = normals(32 * 5, new Random(3));
          const x = tf.tensor(values, [32, 5, 1]);
          const target = tf.sum(x, [1]);
          assert.deepEqual(loaded.predict(x).dataSync(), model.predict(x).dataSync());
          loaded.compile({ optimizer: tf.train.adam(0.03), loss: "meanSquaredError" });
          const fit = (/** @type {number} */ epochs) =>
            loaded.fit(x, target, { epochs, batchSize: 32, shuffle: false, verbose: 0 });
          const first = (await fit(1)).history.loss[0];
          await fit(2);
          const { numTensors } = tf.memory();
          const last = (await fit(25)).history.loss.at(-1);
          assert.equal(tf.memory().numTensors, numTensors);
          assert.ok(last < first / 2, `${first} to ${last}`);
        });
      }
    }
  });
}

test("the forget gate begins open, unless told otherwise", () => {
  for (const [definition, name] of /** @type {const} */ ([
    ["ba2016", "bias"],
    ["perGate", "gates_norm_beta"],
    ["fusedGates", "gates_norm_beta"],
  ])) {
    for (const unitForgetBias of [true, false]) {
      const cell = new LayerNormLSTMCell({ units: 2, definition, unitForgetBias });
      cell.build([null, 3]);
      const f = unitForgetBias ? 1 : 0;
      assert.deepEqual(weightsOf(cell)[name], [0, 0, f, f, 0, 0, 0, 0]);
    }
  }
});

test("arguments that are wrong get an error in the package's grammar", () => {
  const x = tf.zeros([1, 2]);
  /** @type {[() => unknown, RegExp][]} */
  const wrong = [
    [
      () => new LayerNormLSTMCell(/** @type {any} */ ({})),
      /^LayerNormLSTMCell: "units" expected a number/,
    ],
    [
      () => new LayerNormGRUCell({ units: 0 }),
      /^LayerNormGRUCell: "units" expected an integer >= 1, got 0$/,
    ],
    [
      () => new LayerNormGRUCell({ units: 1, definition: /** @type {any} */ ("ba") }),
      /one of "ba2016", "perGate", "fusedGates", got "ba"$/,
    ],
    [
      () => new LayerNormLSTMCell(/** @type {any} */ ({ units: 1, dropout: 0.5 })),
      /"dropout" expected 0, since there is none, got 0.5$/,
    ],
    [
      () => new LayerNormLSTMCell(/** @type {any} */ ({ units: 1, eps: 1 })),
      /^LayerNormLSTMCell: "args" expected only units, definition, epsilon, .*, got "eps"$/,
    ],
    [
      () => new LayerNormGRUCell(/** @type {any} */ ({ units: 1, unitForgetBias: true })),
      /^LayerNormGRUCell: "args" expected only .*, got "unitForgetBias"$/,
    ],
    [
      () => new LayerNormGRUCell(/** @type {any} */ (undefined)),
      /^LayerNormGRUCell: "args" expected an object, got undefined$/,
    ],
    [() => new LayerNormLSTMCell({ units: 2 }).call([x], {}), /"inputs" expected 3 tensors/],
  ];
  for (const [call, message] of wrong) assert.throws(call, { message });
});
