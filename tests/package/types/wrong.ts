// Calls that must not compile.
import {
  addLayerNorm,
  addLayerNormBackward,
  batchNorm,
  groupNorm,
  init,
  instanceNorm,
  l2Normalize,
  layerNorm,
  layerNormBackward,
  localResponseNorm,
  lpNormalize,
  plan,
  rmsNorm,
  rmsNormBackward,
  Tensor,
  tensor,
  zeros,
} from "layernorm";
import * as auto from "layernorm/auto";
import * as lite from "layernorm/lite";
import {
  BatchNorm,
  ConditionalLayerNorm,
  GroupNorm,
  LayerNorm,
  parseSafetensors,
  RMSNorm,
} from "layernorm/nn";
import * as slim from "layernorm/slim";
import type { GpuTensor, WebGpuNorm } from "layernorm/webgpu";

const f32 = new Float32Array(8);
const x = zeros([2, 4]);

// @ts-expect-error x is missing
layerNorm();
// @ts-expect-error not a kind of x
layerNorm("1, 2, 3");
// @ts-expect-error not a kind of x
layerNorm(3);
// @ts-expect-error integers are not normalized
layerNorm(new Int32Array(8));
// @ts-expect-error nested strings
layerNorm([["3"]]);
// @ts-expect-error data without dimensions
layerNorm({ data: f32 });

// @ts-expect-error options come as an object
layerNorm(f32, [8]);
// @ts-expect-error gamma is not the name
layerNorm(f32, { gamma: f32 });
// @ts-expect-error epsilon is not the name
rmsNorm(f32, { epsilon: 1e-6 });
// @ts-expect-error numbers are numbers
layerNorm(f32, { eps: "1e-5" });
// @ts-expect-error a list of numbers
layerNorm(f32, { axes: -1 });
// @ts-expect-error one number
layerNorm(f32, { axis: [-1] });
// @ts-expect-error a list of numbers
layerNorm(f32, { shape: 8 });
// @ts-expect-error an unknown preset
layerNorm(f32, { preset: "caffe" });
// @ts-expect-error a preset of rmsNorm only
layerNorm(f32, { preset: "llama" });
// @ts-expect-error a preset of layerNorm only
rmsNorm(f32, { preset: "bert" });
// @ts-expect-error a flag
layerNorm(f32, { returnStats: 1 });
// @ts-expect-error an integer array as weight
layerNorm(f32, { weight: new Int8Array(8) });

// @ts-expect-error out of another element type
layerNorm(f32, { out: new Float64Array(8) });
// @ts-expect-error out of another kind
layerNorm(f32, { out: x });
// @ts-expect-error out of another kind
layerNorm(x, { out: f32 });
// @ts-expect-error nested arrays are always new
layerNorm([3, 5], { out: [0, 0] });

// @ts-expect-error without returnStats there are no statistics
layerNorm(f32).mean;
// @ts-expect-error rmsNorm has no mean
rmsNorm(f32, { returnStats: true }).mean;

// @ts-expect-error bits of nothing in particular
layerNorm(new Uint16Array(8));
// @ts-expect-error bits of nothing in particular
tensor(new Uint16Array(8));
// @ts-expect-error bits are for 16-bit x
layerNorm(f32, { out: new Uint16Array(8) });
// @ts-expect-error an unknown activation
layerNorm(f32, { activation: "swish" });
// @ts-expect-error not an option of layerNorm
layerNorm(f32, { gate: 1 });
// @ts-expect-error numGroups is missing
groupNorm(f32, { shape: [1, 8] });
// @ts-expect-error options are missing
groupNorm(f32);
// @ts-expect-error an unknown layout
instanceNorm(f32, { shape: [1, 8], layout: "NCHW" });
// @ts-expect-error running statistics are no numbers
batchNorm(f32, { shape: [1, 8], runningMean: 0, runningVar: 1 });
// @ts-expect-error a preset of rmsNorm only
batchNorm(f32, { shape: [1, 8], training: true, preset: "t5" });
// @ts-expect-error not a norm
lpNormalize(f32, { p: "2" });
// @ts-expect-error no weight there
l2Normalize(f32, { weight: f32 });
// @ts-expect-error no statistics there
l2Normalize(f32, { returnStats: true });
// @ts-expect-error size is missing
localResponseNorm(f32, { shape: [1, 8] });
// @ts-expect-error the residual is missing
addLayerNorm(f32);
// @ts-expect-error options are not the residual
addLayerNorm(f32, { eps: 0 });
// @ts-expect-error sumOut of another element type
addLayerNorm(f32, f32, { sumOut: new Float64Array(8) });
// @ts-expect-error without returnStats there are no statistics
addLayerNorm(f32, f32).rstd;
// @ts-expect-error a plan wants the residual
plan("addLayerNorm", x, { eps: 0 });
// @ts-expect-error a plan wants numGroups
plan("groupNorm", x);

// @ts-expect-error no gradient
layerNormBackward(f32);
// @ts-expect-error a backward call writes to new memory
layerNormBackward(f32, f32, { out: f32 });
// @ts-expect-error rmsNorm has no mean
rmsNormBackward(f32, f32, { mean: f32, rstd: f32 });
// @ts-expect-error an unknown option
layerNormBackward(f32, f32, { wieght: f32 });
// @ts-expect-error the gradient of a number is a number
layerNormBackward(f32, f32, { weight: 2 }).gradWeight.length;
// @ts-expect-error the residual is missing
addLayerNormBackward(f32, f32, { eps: 0 });
// @ts-expect-error a plan takes resident tensors
plan("layerNormBackward", f32, x);

// @ts-expect-error an unknown operation
plan("softmax", x);
// @ts-expect-error a plan takes resident tensors
plan("layerNorm", f32);
// @ts-expect-error a plan writes to resident tensors
plan("layerNorm", x, { out: f32 });
// @ts-expect-error without returnStats there are no statistics
plan("layerNorm", x).mean;

// @ts-expect-error made by tensor() and zeros()
new Tensor();
// @ts-expect-error an unknown element type
zeros([8], "int8");
// @ts-expect-error dimensions are a list
zeros(8);
// @ts-expect-error strings are no elements
tensor(["3"]);
// @ts-expect-error shape is read-only
x.shape = [8];
// @ts-expect-error dimensions are read-only
x.shape[0] = 8;
// @ts-expect-error an element type is no number
x.dtype.toFixed();

// @ts-expect-error a number of threads
init({ threads: "many" });
// @ts-expect-error not an option
init({ wasm: f32 });

// @ts-expect-error a size is missing
new LayerNorm();
// @ts-expect-error epsilon is not the name
new LayerNorm(4, { epsilon: 1e-6 });
// @ts-expect-error no bias there
new RMSNorm(4, { bias: true });
// @ts-expect-error the number of channels is missing
new GroupNorm(4);
// @ts-expect-error an unknown element type
new BatchNorm(4, { dtype: "int8" });
// @ts-expect-error data is read-only
new LayerNorm(4).weight!.data = f32;
// @ts-expect-error not bytes
parseSafetensors("file");
// @ts-expect-error state is a dict
new LayerNorm(4).loadStateDict([f32]);
// @ts-expect-error the condition is missing
new ConditionalLayerNorm(4, 2).forward(f32);

// @ts-expect-error plans read what their tensors hold
plan("layerNorm", x).run(f32);
// @ts-expect-error not an option
slim.layerNorm(f32, { epsilon: 1e-6 });
// @ts-expect-error lite has Float32Arrays alone
lite.layerNorm(new Float64Array(8));
// @ts-expect-error and no activation
lite.rmsNorm(f32, { activation: "silu" });
// @ts-expect-error rmsNorm has no mean
lite.rmsNorm(f32, { returnStats: true }).mean;
// @ts-expect-error neither a module nor bytes
slim.initSync("layernorm.wasm");

// @ts-expect-error a promise has no elements
auto.layerNorm(f32).length;
// @ts-expect-error an unknown backend
auto.layerNorm(f32, { backend: "gpu" });
// @ts-expect-error not a kind of x
auto.rmsNorm(new Int32Array(8));

declare const gpu: WebGpuNorm;
declare const y: GpuTensor;
// @ts-expect-error x stands in memory
gpu.layerNorm(f32);
// @ts-expect-error a GPU has no float64
gpu.tensor(f32, [8], "float64");
// @ts-expect-error not an option
gpu.layerNorm(y, { epsilon: 1e-6 });
// @ts-expect-error numGroups is missing
gpu.groupNorm(y, {});
// @ts-expect-error the residual is missing
gpu.addRmsNorm(y);
// @ts-expect-error out stands in memory
gpu.layerNorm(y, { out: f32 });
