/** What is made once: a pipeline for each kind of call, whatever its shape, and a uniform for each descriptor. */
import assert from "node:assert/strict";
import test from "node:test";
import { WebGpuNorm } from "../../dist/webgpu.js";
import { gpu, skip } from "./adapter.js";
import { normal } from "./cases.js";

const UNIFORM = 0x40;

/** A WebGpuNorm whose device counts pipelines and uniform buffers that are made. */
async function counting() {
  const own = /** @type {any} */ (await WebGpuNorm.create({ adapter: await gpu.requestAdapter() }));
  const made = { pipelines: 0, uniforms: 0 };
  const device = new Proxy(own.device, {
    get(target, name) {
      const value = target[name];
      if (typeof value !== "function") return value;
      return (/** @type {any[]} */ ...given) => {
        if (name === "createComputePipeline") made.pipelines++;
        if (name === "createBuffer" && given[0].usage & UNIFORM) made.uniforms++;
        return value.apply(target, given);
      };
    },
  });
  return { norm: /** @type {any} */ (new WebGpuNorm(device)), made, own };
}

test("a new shape compiles nothing, and a call in place is a pipeline of its own", {
  skip,
}, async () => {
  const { norm, made, own } = await counting();
  const weight = own.tensor(normal(4096, 1), [4096]);
  const call = (/** @type {number[]} */ shape, inPlace = false) => {
    const [rows, features] = shape;
    const x = own.tensor(normal(rows * features, 2), shape);
    const given = { buffer: weight.buffer, shape: [features] };
    norm.layerNorm(x, { weight: given, bias: given, ...(inPlace && { out: x }) });
  };
  call([3, 64]);
  const { pipelines } = made;
  assert.ok(pipelines > 0);
  for (const shape of [
    [3, 64],
    [5, 64],
    [700, 96],
    [2, 1024],
    [16, 4096],
  ]) {
    call(shape);
    assert.equal(made.pipelines, pipelines, `[${shape}]`);
  }
  call([3, 64], true);
  assert.ok(made.pipelines > pipelines, "in place");
  const all = made.pipelines;
  call([9, 128], true);
  assert.equal(made.pipelines, all);
  await norm.done();
  norm.dispose();
  own.dispose();
});

test("a call that is as one before makes no uniform; what is cached is bounded", {
  skip,
}, async () => {
  const { norm, made, own } = await counting();
  const x = own.tensor(normal(64, 3), [8, 8]);
  const call = (/** @type {number} */ weight) => norm.layerNorm(x, { weight, out: x });
  call(1);
  const { uniforms } = made;
  assert.ok(uniforms > 0);
  call(1);
  assert.equal(made.uniforms, uniforms, "the same again");
  for (let i = 2; i <= 600; i++) call(i);
  assert.equal(made.uniforms, 600 * uniforms);
  call(600);
  assert.equal(made.uniforms, 600 * uniforms, "the last one");
  call(1);
  assert.equal(made.uniforms, 601 * uniforms, "one that was used long ago");
  await norm.done();
  norm.dispose();
  own.dispose();
});
