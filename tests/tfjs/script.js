// What layernorm/tfjs computes beside TensorFlow.js, as text; in any run-time. Its argument is the installed package's folder.
import { writeSync } from "node:fs";
import { pathToFileURL } from "node:url";
import "@tensorflow/tfjs-backend-cpu";
import * as tf from "@tensorflow/tfjs-core";
import * as tfl from "@tensorflow/tfjs-layers";

tf.enableProdMode();
const { layerNorm, groupNorm, GroupNormalization, LayerNormLSTMCell, registerLayers } =
  await import(`${pathToFileURL(`${process.argv[2]}/dist/tfjs.js`)}`);

await tf.setBackend("cpu");
registerLayers();
const values = Float32Array.from({ length: 48 }, (_, i) => Math.fround(((i * 37) % 23) / 8 - 1));
const x = tf.tensor(values, [2, 2, 3, 4]);
const weight = tf.tensor([1.5, 1, 1, 0.5]);
const options = { weight, bias: 0.5 };
const results = [
  layerNorm(x, options),
  groupNorm(x, { numGroups: 2, layout: "channels_last", ...options }),
  tf.grad((/** @type {any} */ each) => layerNorm(each, options))(x),
  new GroupNormalization({ groups: 2 }).apply(x),
];
const model = tfl.sequential();
const cell = new LayerNormLSTMCell({ units: 4 });
model.add(tfl.layers.rnn({ cell, inputShape: [6, 4] }));
const states = model.predict(tf.tensor(values, [2, 6, 4]));
const bits = results.map((each) => [
  ...new Uint32Array(/** @type {any} */ (each).dataSync().slice().buffer),
]);
const finite = [.../** @type {any} */ (states).dataSync()].every(Number.isFinite);
writeSync(1, `${JSON.stringify({ bits, finite })}\n`);
