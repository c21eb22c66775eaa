// Uses that have to compile against TensorFlow.js's own types.
import * as tf from "@tensorflow/tfjs-core";
import * as tfl from "@tensorflow/tfjs-layers";
import {
  type CellDefinition,
  dispose,
  GroupNormalization,
  groupNorm,
  InstanceNormalization,
  init,
  instanceNorm,
  LayerNormalization,
  LayerNormGRUCell,
  LayerNormLSTMCell,
  type LayerNormOptions,
  layerNorm,
  RMSNormalization,
  registerLayers,
  rmsNorm,
} from "layernorm/tfjs";

declare const x: tf.Tensor2D;
const y: tf.Tensor = layerNorm(x);
const options: LayerNormOptions = { weight: tf.ones([4]), bias: 0, eps: 1e-6, axes: [-1] };
rmsNorm(y, options);
groupNorm(x, { numGroups: 2, layout: "channels_last", bias: null });
instanceNorm(x, { weight: undefined });
tf.grad((each: tf.Tensor) => layerNorm(each))(x);

registerLayers();
const model = tfl.sequential();
model.add(new LayerNormalization({ axis: [1, 2], inputShape: [4, 8], name: "norm" }));
model.add(new GroupNormalization({ groups: 4, gammaInitializer: tfl.initializers.ones() }));
model.add(new InstanceNormalization({ center: false, betaRegularizer: "l1l2" }));
model.add(new RMSNormalization({ epsilon: 1e-6 }));
const definition: CellDefinition = "perGate";
model.add(tfl.layers.rnn({ cell: new LayerNormLSTMCell({ units: 8, definition }) }));
tfl.layers.rnn({ cell: [new LayerNormGRUCell({ units: 8 })], returnSequences: true });
const symbolic = new LayerNormalization().apply(tfl.input({ shape: [4] }));
tfl.layers.dense({ units: 2 }).apply(symbolic);
init().then(dispose);

// @ts-expect-error arrays are no tensors
layerNorm([1, 2]);
// @ts-expect-error numGroups is missing
groupNorm(x);
// @ts-expect-error gamma is not the name
layerNorm(x, { gamma: 1 });
// @ts-expect-error units are missing
new LayerNormLSTMCell({});
// @ts-expect-error an unknown definition
new LayerNormGRUCell({ units: 1, definition: "ba" });
// @ts-expect-error a number of groups
new GroupNormalization({ groups: "all" });
// @ts-expect-error the name is epsilon
new LayerNormalization({ eps: 1e-5 });
// @ts-expect-error the name is groups
new GroupNormalization({ numGroups: 4 });
// @ts-expect-error there are no groups to choose
new InstanceNormalization({ groups: 4 });
// @ts-expect-error there is no beta
new RMSNormalization({ center: true });
// @ts-expect-error only one definition of its activations
new LayerNormLSTMCell({ units: 4, activation: "relu" });
// @ts-expect-error of LSTM cells alone
new LayerNormGRUCell({ units: 4, unitForgetBias: true });
// @ts-expect-error options are no tensors
rmsNorm({ eps: 1 });
// @ts-expect-error a layout of TensorFlow.js's older names
instanceNorm(x, { layout: "channelsLast" });
