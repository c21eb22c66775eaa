/** What layers own: memory that was detached or is missing, disposal, the wasm instance. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { dispose, tensor } from "../../dist/index.js";
import {
  BatchNorm,
  ConditionalLayerNorm,
  GroupNorm,
  InstanceNorm,
  LayerNorm,
  RMSNorm,
} from "../../dist/nn.js";
import { detach, LAYERS, normals, STATE } from "./nn_layers.js";

/** A layer's forward on a batch for 4 features. @param {string} name @param {any} layer @param {unknown} [options] */
function forwardOf(name, layer, options) {
  const x = { data: normals(2 * 4 * 6), dims: DIMS[name] ?? [12, 4] };
  return name === "ConditionalLayerNorm"
    ? layer.forward(x, [1, 2, 3], options)
    : layer.forward(x, options);
}

/** The dimensions of a batch for layers of channels. @type {Record<string, number[]>} */
const DIMS = { GroupNorm: [2, 4, 6], InstanceNorm: [2, 4, 6], BatchNorm: [2, 4, 6] };

for (const [name, make] of Object.entries(LAYERS)) {
  test(`${name}'s forward takes the option shape alone`, () => {
    const layer = make();
    const expected = forwardOf(name, make());
    for (const options of [undefined, {}, { shape: undefined }, { shap: undefined }]) {
      assert.deepEqual(forwardOf(name, layer, options), expected);
    }
    const inherited = Object.create({ shap: [2, 2, 2] });
    assert.deepEqual(forwardOf(name, layer, inherited), expected, "own properties alone count");
    const before = layer.stateDict();
    for (const wrong of [null, 3, "text", [2, 4], Float32Array.of(2, 4), tensor([1])]) {
      assert.throws(() => forwardOf(name, layer, wrong), {
        name: "TypeError",
        message: new RegExp(`^${name}: "options" expected an object, got `),
      });
    }
    assert.throws(() => forwardOf(name, layer, { shap: [2, 4, 6] }), {
      name: "TypeError",
      message: `${name}: "options" expected only shape, got "shap"`,
    });
    assert.throws(() => forwardOf(name, layer, { shape: 3 }), {
      name: "TypeError",
      message: `${name}: "shape" expected an array of integers, got 3`,
    });
    assert.deepEqual(layer.stateDict(), before);
  });

  test(`${name} refuses a mode and options of state that are none`, () => {
    const layer = make();
    assert.throws(() => layer.train("yes"), {
      name: "TypeError",
      message: `${name}: "mode" expected a boolean, got "yes"`,
    });
    assert.equal(layer.training, true);
    for (const wrong of [null, 3, [1]]) {
      assert.throws(() => layer.loadStateDict(layer.stateDict(), wrong), {
        name: "TypeError",
        message: new RegExp(`^${name}: "options" expected an object, got `),
      });
    }
  });

  test(`${name} whose memory was detached says so, and changes nothing`, () => {
    const dict = make().stateDict();
    for (const { data } of Object.values(dict)) data.fill(data instanceof BigInt64Array ? 5n : 5);
    for (const key of STATE[name]) {
      const layer = make();
      const parts = partsOf(layer);
      const others = () =>
        Object.entries(partsOf(layer)).map(([each, { data }]) => each === key || [...data]);
      const before = others();
      detach(parts[key].data);
      const option = key.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
      const message = new RegExp(
        `"(${key}|${option})" expected memory that is there, got a detached`,
      );
      const uses = [() => layer.loadStateDict(dict), () => layer.stateDict()];
      // The one state that a forward has no use for.
      if (name !== "InstanceNorm" || key !== "num_batches_tracked") {
        uses.push(() => forwardOf(name, layer));
      }
      for (const use of uses) assert.throws(use, { name: "TypeError", message });
      assert.deepEqual(others(), before);
    }
  });

  test(`${name} whose gradients were detached says so, and adds up none`, () => {
    for (const { name: key } of make().parameters()) {
      const layer = make();
      forwardOf(name, layer);
      const parameters = layer.parameters();
      for (const { grad } of parameters) grad.fill(1);
      detach(partsOf(layer)[key].grad);
      const gradOutput = { data: normals(48, 5), dims: DIMS[name] ?? [12, 4] };
      for (const use of [() => layer.backward(gradOutput), () => layer.zeroGrad()]) {
        assert.throws(use, {
          name: "TypeError",
          message: `${name}: "${key}.grad" expected memory that is there, got a detached Float32Array`,
        });
      }
      for (const { name: own, grad } of parameters) {
        if (own !== key) assert.deepEqual(grad, new Float32Array(grad.length).fill(1));
      }
    }
  });
}

/** What a layer owns, by name. @param {any} layer @returns {Record<string, any>} */
function partsOf(layer) {
  const { runningMean, runningVar, numBatchesTracked } = layer;
  return Object.fromEntries(
    [...layer.parameters(), runningMean, runningVar, numBatchesTracked]
      .filter((part) => part)
      .map((part) => [part.name, part]),
  );
}

test("a layer that does not fit in memory is a RangeError", () => {
  for (const make of [
    () => new LayerNorm(2 ** 40),
    () => new RMSNorm([2 ** 26, 2 ** 26], { dtype: "float16" }),
    () => new GroupNorm(2, 2 ** 40),
    () => new InstanceNorm(2 ** 40, { affine: true }),
    () => new BatchNorm(2 ** 40, { affine: false, dtype: "float64" }),
    () => new ConditionalLayerNorm(2 ** 26, 2 ** 26),
  ]) {
    assert.throws(make, {
      name: "RangeError",
      message: /^[A-Z]\w+Norm: out of memory, \d+ bytes are not available$/,
    });
  }
  assert.equal(new LayerNorm(2).forward([1, 2]).length, 2, "the next one works");
});

for (const [name, make] of Object.entries(LAYERS)) {
  test(`${name} throws a TypeError once disposed`, () => {
    const layer = make();
    layer.dispose();
    layer.dispose();
    for (const use of [
      () => layer.forward([[1, 2, 3, 4]], [1, 2, 3]),
      () => layer.backward([[1, 2, 3, 4]]),
      () => layer.parameters(),
      () => layer.stateDict(),
      () => layer.loadStateDict({}),
      () => layer.zeroGrad(),
      () => layer.train(),
    ]) {
      assert.throws(use, {
        name: "TypeError",
        message: /expected a live layer, got a disposed one$/,
      });
    }
    if (Symbol.dispose) make()[Symbol.dispose]();
  });
}

test("layers outlive the wasm instance", () => {
  const norm = new LayerNorm(4);
  norm.loadStateDict({ weight: [1, 2, 3, 4], bias: [0, 0, 0, 1] });
  const x = Float32Array.of(3, 5, 2, 8);
  const y = norm.forward(x);
  dispose();
  assert.deepEqual(norm.backward(new Float32Array(4)), new Float32Array(4));
  assert.deepEqual(norm.forward(x), y);
});

test("layernorm/nn takes the instance that layernorm/slim has made, and has init of its own", () => {
  const path = new URL("../../dist/", import.meta.url);
  const code = `
    import { init as slimInit, tensor } from "${path}slim.js";
    import { init, LayerNorm } from "${path}nn.js";
    import { readFileSync } from "node:fs";
    await slimInit({ bytes: readFileSync(new URL("${path}layernorm.wasm")) });
    WebAssembly.Module = () => { throw new Error("compiled again"); };
    const x = tensor([3, 5, 2, 8]);
    new LayerNorm(4).forward(x).dispose();
    console.log((await init()).threads);
  `;
  const args = ["--input-type=module", "--eval", code];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  assert.equal(stdout + stderr, "1\n");
});

test("a parameter that was set in place of a layer's own is refused", () => {
  for (const layer of [new LayerNorm(2), new RMSNorm(2), new GroupNorm(1, 2), new BatchNorm(2)]) {
    const { name } = layer.constructor;
    layer.forward([
      [1, 2],
      [3, 5],
    ]);
    Object.assign(layer, { weight: new Float32Array(2) });
    const expected = {
      name: "TypeError",
      message: /"weight" expected the layer's own parameter, .* got Float32Array$/,
    };
    assert.throws(
      () =>
        layer.forward([
          [1, 2],
          [3, 5],
        ]),
      expected,
      name,
    );
    assert.throws(
      () =>
        layer.backward([
          [1, 2],
          [3, 5],
        ]),
      expected,
      name,
    );
    layer.dispose();
  }
});
