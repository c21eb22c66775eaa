// Uses that have to compile: every kind of x keeps its kind. Without a DOM, and without types of Node.
import {
  dispose,
  type InitOptions,
  type InitResult,
  init,
  initSync,
  type LayerNormOptions,
  layerNorm,
  plan,
  type RmsNormOptions,
  rmsNorm,
  Tensor,
  tensor,
  zeros,
} from "layernorm";
import * as slim from "layernorm/slim";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles if the value's type is exactly the type argument. */
function is<Expected>() {
  return <Actual>(_: Actual, ..._equal: Equal<Actual, Expected> extends true ? [] : [never]) => {};
}

// New typed arrays, in the words of the library that is in use.
type F32 = ReturnType<typeof Float32Array.of>;
type F64 = ReturnType<typeof Float64Array.of>;

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
is<typeof Tensor>()(slim.Tensor);

/** The same type with its intersections resolved. */
function flatten<T>(value: T): { [K in keyof T]: T[K] } {
  return value;
}
