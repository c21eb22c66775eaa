/** Presets of layerNorm and rmsNorm. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { layerNorm, rmsNorm } from "../../dist/index.js";

const weights = [1, 0.5, -2, 0.25];
const f64 = Float64Array.from({ length: 24 }, (_, i) => Math.sin(3 * i) * 4 + i / 5);
const shape = [2, 3, 4];

describe("presets set what their framework does, and explicit options win", () => {
  const layer = {
    pytorch: 1e-5,
    keras: 1e-3,
    tensorflow: 1e-3,
    flax: 1e-6,
    onnx: 1e-5,
    bert: 1e-12,
  };
  const rms = {
    keras: 1e-6,
    tensorflow: 1e-6,
    flax: 1e-6,
    onnx: 1e-5,
    llama: 1e-6,
    t5: 1e-6,
    gemma: 1e-6,
  };
  const small = f64.map((v) => v / 1000);
  test("layerNorm", () => {
    for (const [preset, eps] of Object.entries(layer)) {
      const options = /** @type {any} */ ({ shape, preset });
      assert.deepEqual(layerNorm(small, options), layerNorm(small, { shape, eps }));
      assert.deepEqual(
        layerNorm(small, { ...options, eps: 1 }),
        layerNorm(small, { shape, eps: 1 }),
      );
    }
    assert.deepEqual(layerNorm(small), layerNorm(small, { eps: 1e-5 }));
  });

  test("rmsNorm", () => {
    for (const [preset, eps] of Object.entries(rms)) {
      const options = /** @type {any} */ ({ shape, preset });
      assert.deepEqual(rmsNorm(small, options), rmsNorm(small, { shape, eps }));
    }
    for (const [x, eps] of /** @type {[Float64Array, number][]} */ ([
      [small, 2 ** -52],
      [Float32Array.from(small), 2 ** -23],
    ])) {
      assert.deepEqual(rmsNorm(x, { preset: "pytorch" }), rmsNorm(x, { eps }));
    }
    const gemma = rmsNorm(small, { shape, preset: "gemma", weight: weights });
    assert.deepEqual(gemma, rmsNorm(small, { shape, eps: 1e-6, weight: weights, weightOffset: 1 }));
    assert.notDeepEqual(gemma, rmsNorm(small, { shape, eps: 1e-6, weight: weights }));
    const plain = {
      shape,
      preset: /** @type {const} */ ("gemma"),
      weight: weights,
      weightOffset: 0,
    };
    assert.deepEqual(rmsNorm(small, plain), rmsNorm(small, { shape, eps: 1e-6, weight: weights }));
    assert.deepEqual(rmsNorm(small, { weightOffset: 5 }), rmsNorm(small));
  });
});
