// Uses that have to compile: every kind of x keeps its kind. Without a DOM, and without types of Node.

import {
  addGroupNorm,
  addLayerNorm,
  addLayerNormBackward,
  addRmsNorm,
  addRmsNormBackward,
  type BatchNormOptions,
  batchNorm,
  batchNormBackward,
  dispose,
  type Float16ArrayLike,
  groupNorm,
  groupNormBackward,
  type InitOptions,
  type InitResult,
  init,
  initSync,
  instanceNorm,
  type LayerNormOptions,
  l2Normalize,
  l2NormalizeBackward,
  layerNorm,
  layerNormBackward,
  localResponseNorm,
  lpNormalize,
  meanVarianceNormalize,
  plan,
  type RmsNormOptions,
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
  InstanceNorm,
  type Layer,
  LayerNorm,
  type Parameter,
  parseSafetensors,
  RMSNorm,
} from "layernorm/nn";
import * as slim from "layernorm/slim";
import {
  type GPUCommandEncoderLike,
  type GPUDeviceLike,
  type GpuTensor,
  WebGpuNorm,
} from "layernorm/webgpu";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles if the value's type is exactly the type argument. */
function is<Expected>() {
  return <Actual>(_: Actual, ..._equal: Equal<Actual, Expected> extends true ? [] : [never]) => {};
}

// New typed arrays, in the words of the library that is in use.
type F32 = ReturnType<typeof Float32Array.of>;
type F64 = ReturnType<typeof Float64Array.of>;
type U16 = ReturnType<typeof Uint16Array.of>;

const f32 = new Float32Array(8);
const f64 = new Float64Array(8);

// A flat x.
is<F32>()(layerNorm(f32));
is<F64>()(layerNorm(f64));
is<F32>()(rmsNorm(f32, { shape: [2, 4] }));
is<F64>()(rmsNorm(f64, { normalizedShape: 4, weight: 2, bias: null }));
is<{ output: F32; mean: F64; rstd: F64 }>()(flatten(layerNorm(f32, { returnStats: true })));
is<{ output: F64; rstd: F64 }>()(flatten(rmsNorm(f64, { returnStats: true })));
is<F32>()(layerNorm(f32, { returnStats: false }));

// Views of memory that is shared, and unions of arrays.
declare const shared: SharedArrayBuffer;
is<F32>()(layerNorm(new Float32Array(shared)));
declare const either: Float32Array | Float64Array;
is<F32 | F64>()(layerNorm(either));

// A tensor-like x, in the names of onnxruntime and of others.
is<{ data: F32; dims: number[]; type: "float32" }>()(
  flatten(layerNorm({ data: f32, dims: [2, 4], type: "float32" } as const)),
);
is<{ data: F64; shape: number[]; dtype: string }>()(
  flatten(layerNorm({ data: f64, shape: [2, 4], dtype: "float64" as string })),
);
is<{ data: F32; dims: number[] }>()(flatten(rmsNorm({ data: f32, dims: [2, 4] })));
class OrtTensor {
  readonly type = "float32";
  readonly data = f32;
  readonly dims: readonly number[] = [2, 4];
  readonly size = 8;
}
is<F32>()(layerNorm(new OrtTensor()).data);
declare const untyped: {
  readonly type: "float32" | "float64" | "string";
  readonly data: Float32Array | Float64Array | string[];
  readonly dims: readonly number[];
};
is<F32 | F64>()(layerNorm(untyped).data);
is<number[]>()(layerNorm(new OrtTensor()).dims);
const withStats = layerNorm({ data: f32, shape: [2, 4], dtype: "float32" }, { returnStats: true });
is<F32>()(withStats.output.data);
is<F64>()(withStats.mean.data);
is<number[]>()(withStats.rstd.shape);

// Nested arrays.
is<number[]>()(layerNorm([3, 5, 2, 8]));
is<number[][]>()(
  layerNorm([
    [3, 5],
    [2, 8],
  ]),
);
is<number[][][]>()(
  rmsNorm(
    [
      [
        [3, 5],
        [2, 8],
      ],
    ],
    { eps: 0 },
  ),
);
const frozen: number[][] = layerNorm([
  [3, 5],
  [2, 8],
] as const);
is<number[][]>()(frozen);
is<{ output: number[][]; mean: number[][]; rstd: number[][] }>()(
  flatten(layerNorm([[3, 5]], { returnStats: true })),
);

// A resident x.
const x = zeros([2, 4]);
is<Tensor<"float32">>()(x);
is<Tensor<"float64">>()(zeros([2, 4], "float64"));
is<Tensor<"float32">>()(tensor(f32));
is<Tensor<"float64">>()(tensor(f64, [2, 4]));
is<Tensor<"float32">>()(
  tensor([
    [3, 5],
    [2, 8],
  ]),
);
is<Tensor<"float64">>()(
  tensor(
    [
      [3, 5],
      [2, 8],
    ],
    undefined,
    "float64",
  ),
);
is<Tensor<"float32">>()(layerNorm(x));
is<Tensor<"float64">>()(rmsNorm(zeros([4], "float64")));
is<{ output: Tensor<"float32">; mean: Tensor<"float64">; rstd: Tensor<"float64"> }>()(
  flatten(layerNorm(x, { returnStats: true })),
);
is<readonly number[]>()(x.shape);
is<"float32">()(x.dtype);
is<F32>()(x.data);
is<Tensor<"float32">>()(x.rows(0, 1));
is<void>()(x.dispose());
const any: Tensor = x;
is<boolean>()(any instanceof Tensor);

// out, of x's kind; a typed array for a tensor-like.
is<F32>()(layerNorm(f32, { out: new Float32Array(8) }));
is<Tensor<"float32">>()(layerNorm(x, { out: x }));
layerNorm({ data: f32, dims: [8] }, { out: f32 });

// Parameters of any kind.
layerNorm(f32, {
  normalizedShape: [2, 4],
  weight: [
    [1, 1, 1, 1],
    [2, 2, 2, 2],
  ],
  bias: f64,
});
layerNorm(f32, { weight: x, bias: { data: f32, dims: [8] }, weightOffset: 1 });
layerNorm(f32, { axis: -1, preset: "keras" });
rmsNorm(f32, { axes: [-2, -1], shape: [1, 2, 4], preset: "gemma", eps: 1e-6 });

// Options may be undefined, also under exactOptionalPropertyTypes, and declared beforehand.
layerNorm(f32, undefined);
layerNorm(f32, { weight: undefined, eps: undefined, preset: null, out: undefined });
const layerOptions: LayerNormOptions = { eps: 1e-6 };
const rmsOptions: RmsNormOptions = { preset: "llama" };
layerNorm(f32, layerOptions);
rmsNorm(f32, rmsOptions);

// Plans.
const step = plan("layerNorm", x, { weight: 2, out: x });
is<Tensor<"float32">>()(step.run());
is<Tensor<"float32">>()(step.output);
is<void>()(step.dispose());
const rmsStep = plan("rmsNorm", x, { returnStats: true });
is<Tensor<"float64">>()(rmsStep.rstd);
is<Tensor<"float64">>()(rmsStep.run().rstd);
plan("rmsNorm", x);

// The other operations.
is<F32>()(groupNorm(f32, { shape: [1, 4, 2], numGroups: 2 }));
is<number[][]>()(instanceNorm([[3, 5]], { layout: "channels_last", activation: "silu" }));
is<F64>()(batchNorm(f64, { shape: [2, 4], training: true, momentum: 0.9, preset: "keras" }));
batchNorm(x, { runningMean: f32, runningVar: [1, 1, 1, 1], scale: 1, shift: x });
const batchOptions: BatchNormOptions = { training: true, runningMean: null };
batchNorm(x, batchOptions);
is<F32>()(groupNorm(f32, { shape: [1, 4, 2], numGroups: 2, out: f32, returnStats: true }).output);
is<F64>()(instanceNorm(f32, { shape: [1, 4, 2], returnStats: true }).mean);
is<F32>()(l2Normalize(f32));
is<F32>()(l2Normalize(f32, { axes: [-1], out: f32 }));
is<Tensor<"float32">>()(lpNormalize(x, { p: Infinity, preset: "onnx" }));
is<number[]>()(meanVarianceNormalize([3, 5], { eps: 0 }));
is<F32>()(localResponseNorm(f32, { shape: [1, 8], size: 5, alpha: 1e-4, beta: 0.75, k: 1 }));

// Add forms.
is<{ output: F32; sum: F32 }>()(addLayerNorm(f32, f64));
is<{ output: F32; sum: F32 }>()(addLayerNorm(f32, [1], { gate: 2, sumBias: null }));
is<{ output: F64; sum: F64 }>()(addRmsNorm(f64, x, { preset: "llama", out: f64, sumOut: f64 }));
is<Tensor<"float32">>()(addLayerNorm(x, f32, { sumOut: x }).sum);
is<number[]>()(addGroupNorm([[3, 5]], [[1, 1]], { numGroups: 1 }).output[0]!);
is<F64>()(addLayerNorm(f32, f32, { returnStats: true }).mean);
is<F64>()(addRmsNorm(f32, f32, { returnStats: true, out: f32 }).rstd);

// 16-bit elements.
declare const f16: Float16ArrayLike;
const y16: Float16ArrayLike = layerNorm(f16, { weight: f16 });
layerNorm(f16, { out: y16 });
layerNorm(f16, { out: new Uint16Array(8) });
const bits = new Uint16Array(8);
is<{ data: U16; dims: number[]; type: "bfloat16" }>()(
  flatten(layerNorm({ data: bits, dims: [8], type: "bfloat16" } as const, { weight: f16 })),
);
layerNorm({ data: bits, shape: [8], dtype: "float16" }, { out: bits });
is<Tensor<"bfloat16">>()(zeros([8], "bfloat16"));
is<U16>()(zeros([8], "bfloat16").data);
is<Tensor<"float16">>()(tensor(f16));
is<Tensor<"bfloat16">>()(tensor(bits, [2, 4], "bfloat16"));
is<Tensor<"float16">>()(tensor([1, 2], [2], "float16"));
zeros([8], "float16").data.fill(0).set(bits);

// Plans of them.
is<Tensor<"float32">>()(plan("groupNorm", x, { numGroups: 2 }).output);
is<Tensor<"float64">>()(plan("batchNorm", x, { training: true, returnStats: true }).mean);
is<Tensor<"float32">>()(plan("l2Normalize", x).run());
is<Tensor<"float32">>()(plan("localResponseNorm", x, { size: 3, out: x }).run());
const addStep = plan("addLayerNorm", x, x, { sumOut: x });
is<Tensor<"float32">>()(addStep.sum);
is<Tensor<"float32">>()(addStep.run().output);
is<Tensor<"float64">>()(plan("addRmsNorm", x, x, { returnStats: true }).rstd);

// Gradients.
const grads = layerNormBackward(f64, f32, { weight: f64, bias: 2, scale: null, shift: [1] });
is<F32>()(grads.gradInput);
is<F64>()(grads.gradWeight);
is<number>()(grads.gradBias);
is<null>()(grads.gradScale);
is<number[]>()(grads.gradShift);
is<Tensor<"float32">>()(rmsNormBackward(f32, x, { weight: x, rstd: f64 }).gradWeight);
is<number[][]>()(groupNormBackward([[1, 2]], [[3, 5]], { numGroups: 1 }).gradInput);
is<null>()(batchNormBackward(f32, f32, { shape: [2, 4], training: true }).gradWeight);
is<F32>()(l2NormalizeBackward(f32, f32, { axes: [0] }).gradInput);
const sumGrads = addRmsNormBackward(f32, f32, f64, { gate: 2, sumBias: f64, gradSum: f32 });
is<F64>()(sumGrads.gradResidual);
is<number>()(sumGrads.gradGate);
is<F64>()(sumGrads.gradSumBias);
is<F32>()(addLayerNormBackward(f32, f32, f32).gradInput);
const backwardStep = plan("layerNormBackward", x, x, { weight: f32, bias: 1 });
is<Tensor<"float32">>()(backwardStep.gradInput);
is<Tensor>()(backwardStep.run().gradWeight);
is<number>()(backwardStep.gradBias);
is<null>()(backwardStep.gradShift);
is<Tensor>()(plan("addGroupNormBackward", x, x, x, { numGroups: 1, gradSum: x }).gradResidual);

// Loading.
is<Promise<InitResult>>()(init());
const initOptions: InitOptions = { url: "layernorm.wasm" };
is<Promise<InitResult>>()(slim.init(initOptions));
declare const url: { readonly href: string };
slim.init({ url });
slim.init({ bytes: new Uint8Array(8) });
declare const wasmModule: object;
slim.init({ module: wasmModule });
initSync();
slim.initSync(new Uint8Array(8));
slim.initSync(wasmModule);
is<void>()(dispose());
is<typeof layerNorm>()(slim.layerNorm);

// What lite has.
is<F32>()(lite.layerNorm(f32));
is<F32>()(lite.rmsNorm(f32, { shape: [2, 4], weight: f32, bias: 1, eps: 0 }));
const float32Array: Float32Array = f32;
is<Float32Array>()(lite.layerNorm(f32, { out: float32Array }));
is<{ output: F32; mean: F64; rstd: F64 }>()(
  flatten(lite.layerNorm(float32Array, { returnStats: true, axes: [-1] })),
);
is<F64>()(lite.rmsNorm(f32, { returnStats: true, out: float32Array }).rstd);
const liteOptions: lite.LiteOptions = { normalizedShape: 4, weightOffset: 1 };
const liteResult = lite.layerNorm(f32, liteOptions);
if (liteResult instanceof Float32Array) is<number>()(liteResult.length);
else is<F64>()(liteResult.mean);
is<Promise<void>>()(lite.init());
is<typeof Tensor>()(slim.Tensor);

// Layers.
const norm = new LayerNorm(4, { eps: 1e-6, bias: false });
is<LayerNorm<"float32">>()(norm);
is<Parameter<"float32"> | null>()(norm.weight);
is<F32 | undefined>()(norm.weight?.data);
is<F32>()(norm.forward(f32));
is<F64>()(norm.backward(f64));
is<Tensor<"float32">>()(norm.forward(x));
is<number[][]>()(norm.forward([[1, 2]], { shape: [1, 2] }));
const norm64 = new LayerNorm([2, 2], { dtype: "float64" });
is<F64 | undefined>()(norm64.bias?.data);
new LayerNorm(4, 1e-6, true, false);
new RMSNorm(4, { eps: null });
new GroupNorm(2, 4, { affine: false, layout: "channels_last" });
new BatchNorm(4, { momentum: null, trackRunningStats: false }).eval().train();
new InstanceNorm(4, 1e-5, 0.1, true, true);
const conditional = new ConditionalLayerNorm(4, 2);
is<F32>()(conditional.forward(f32, [[1, 2]]));
is<F32>()(conditional.backward(f32).gradInput);
const layers: Layer[] = [norm, norm64, conditional];
for (const { data, grad, name } of layers.flatMap((layer) => layer.parameters())) {
  data.fill(grad[0] ?? name.length);
}
const file = parseSafetensors(new Uint8Array(8));
norm.loadStateDict(file, { prefix: "model.norm.", strict: false }).missingKeys.join();
norm.loadStateDict(norm.stateDict());
norm.loadStateDict({ weight: [1, 2, 3, 4], bias: f32, num_batches_tracked: 1 });
is<void>()(norm.dispose());

/** The same type with its intersections resolved. */
function flatten<T>(value: T): { [K in keyof T]: T[K] } {
  return value;
}

// On a GPU.
export async function onGpu(device: GPUDeviceLike, encoder: GPUCommandEncoderLike): Promise<void> {
  const own: WebGpuNorm = await WebGpuNorm.create();
  const gpu = new WebGpuNorm(device);
  const x: GpuTensor = gpu.tensor(new Float32Array(8), [2, 4], "float16");
  const y: GpuTensor = gpu.layerNorm(x, { weight: new Float32Array(4), bias: x, encoder });
  const mine = { buffer: x.buffer, offset: 4, shape: [2, 4] };
  const same: typeof mine = gpu.rmsNorm(x, { out: mine });
  const tfjs = { tensorRef: { shape: [2, 4], dtype: "float32" as const }, buffer: x.buffer };
  gpu.layerNorm(tfjs, { weight: tfjs }).dispose();
  const { output, mean, rstd } = gpu.groupNorm(x, { numGroups: 2, returnStats: true });
  const { sum } = gpu.addLayerNorm(x, y, { gate: 2 });
  const all: GpuTensor[] = [output, mean, rstd, sum];
  await gpu.read(all[0] ?? same);
  const { gradInput, gradWeight, gradBias } = gpu.layerNormBackward(y, x, { weight: x, encoder });
  const none: null = gradBias;
  const gradients: GpuTensor[] = [gradInput, gradWeight];
  const allocate = (bytes: number) => (bytes > 4 ? x.buffer : undefined);
  gpu.rmsNormBackward(gradients[0] ?? x, x, { rstd, allocate });
  void none;
  own.dispose();
}

export async function wherever(x: Float32Array): Promise<void> {
  const y: Float32Array = await auto.layerNorm(x, { backend: "wasm" });
  const { output, rstd } = await auto.rmsNorm(x, { returnStats: true });
  const both: Float32Array[] = [y, output];
  const statistics: Float64Array = rstd;
  const norm: WebGpuNorm = await auto.webgpu();
  const there: GpuTensor = await auto.layerNorm(norm.tensor(both[0] ?? statistics));
  there.dispose();
}
