/** The object of options: what it may be, and when it is read. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { dispose, init, layerNorm, rmsNorm, tensor, zeros } from "../../dist/index.js";
import { check, detached, LAYER_OPTIONS, norm, rangeError, typeError, x } from "./rules.js";

describe("options", () => {
  test("are an object of their names: what PyTorch takes in order, and a Map, are refused", () => {
    for (const [given, got] of /** @type {[unknown, string][]} */ ([
      [new Map([["eps", 1]]), "a Map"],
      [tensor([1, 1, 1, 1, 1, 1]), "a Tensor"],
      [new Float32Array(6), "Float32Array"],
      [6, "6"],
    ])) {
      const message = `layerNorm: "options" expected an object, got ${got}`;
      assert.throws(() => norm(given), { name: "TypeError", message });
    }
  });

  test("undefined means absent, null for preset, weight and bias too", () => {
    const absent = Object.fromEntries(LAYER_OPTIONS.split(", ").map((name) => [name, undefined]));
    const expected = layerNorm(x);
    assert.deepEqual(norm(absent), expected);
    assert.deepEqual(norm({ preset: null, weight: null, bias: null }), expected);
    assert.deepEqual(norm({ numGroups: undefined }), expected);
    assert.deepEqual(norm(undefined), expected);
    assert.deepEqual(norm(Object.create(null)), expected);
  });

  test("count only as own properties", () => {
    const expected = layerNorm(x);
    assert.deepEqual(norm(Object.create({ eps: "wrong", wrong: 1 })), expected);
    const prototype = /** @type {any} */ (Object.prototype);
    const names = ["weight", "shape", "eps", "weightOffset", "returnStats", "out", "rms", "wrong"];
    for (const name of names) prototype[name] = "polluted";
    try {
      assert.deepEqual(norm({}), expected);
      assert.deepEqual(norm({ preset: "pytorch" }), expected);
      assert.deepEqual(norm({ weight: 1, bias: 0 }), expected);
    } finally {
      for (const name of names) delete prototype[name];
    }
  });

  test("and their arrays are read once, and before anything is written", () => {
    /** @type {string[]} */
    const reads = [];
    /** @param {string} name @param {any} target */
    const watched = (name, target) =>
      new Proxy(target, {
        get(object, key) {
          if (typeof key === "string") reads.push(`${name}.${key}`);
          return object[key];
        },
      });
    const out = Float32Array.from({ length: 6 }, () => -1);
    const given = watched("options", {
      out,
      weight: watched("weight", { data: x, dims: watched("dims", [6]), type: "float32" }),
      bias: watched("bias", [1, 2, 3, 4, 5, 6]),
      axes: watched("axes", [0]),
    });
    layerNorm(watched("x", { data: x, shape: watched("shape", [6]), dtype: "float32" }), given);
    assert.equal(new Set(reads).size, reads.length, reads.join(" "));

    /** @type {any} */
    const late = {
      out,
      get eps() {
        assert.deepEqual(out, layerNorm(x, { weight: x, bias: [1, 2, 3, 4, 5, 6] }));
        throw new Error("from a getter");
      },
    };
    assert.throws(() => layerNorm(x, late), /^Error: from a getter$/);
  });

  test("a getter that detaches x or calls the package itself does no harm", () => {
    const mine = new Float32Array(6);
    const evil = {
      get eps() {
        detached(mine);
        return 0;
      },
    };
    check(
      typeError(
        () => layerNorm(mine, evil),
        'layerNorm: "x" expected memory that is there, got a detached Float32Array',
      ),
    );
    const nested = {
      get eps() {
        rmsNorm(new Float64Array(100_000).fill(3), { weight: 7, bias: 2 });
        return 1e-5;
      },
    };
    assert.deepEqual(layerNorm(x, nested), layerNorm(x));
    const resident = zeros([2, 3]);
    const disposing = {
      get eps() {
        dispose();
        return 1e-5;
      },
    };
    check(
      typeError(
        () => layerNorm(resident, disposing),
        'layerNorm: "x" expected a live tensor, got a tensor lost by dispose()',
      ),
    );
    assert.deepEqual(layerNorm(x, disposing), layerNorm(x));
  });
});

test("init refuses wrong options with a rejection", async () => {
  const anyInit = /** @type {any} */ (init);
  const cases = [
    typeError(() => anyInit(4), 'init: "options" expected an object, got 4'),
    typeError(
      () => anyInit({ wasm: 1 }),
      'init: "options" expected only threads, relaxedSimd, module, url, bytes, got "wasm"',
    ),
    typeError(() => anyInit({ threads: "4" }), 'init: "threads" expected a number, got "4"'),
    rangeError(() => anyInit({ threads: 0 }), 'init: "threads" expected an integer >= 1, got 0'),
    typeError(() => anyInit({ relaxedSimd: 1 }), 'init: "relaxedSimd" expected a boolean, got 1'),
    typeError(
      () => anyInit({ module: {} }),
      'init: "module" expected a WebAssembly.Module, got an object',
    ),
    typeError(() => anyInit({ url: 3 }), 'init: "url" expected a string or URL, got 3'),
    typeError(
      () => anyInit({ bytes: [0] }),
      'init: "bytes" expected an ArrayBuffer or a view of one, got an array',
    ),
    typeError(
      () => anyInit({ url: "a", bytes: x }),
      'init: "options" expected one of module, url, bytes, got 2',
    ),
    typeError(
      () => anyInit({ url: "a", threads: 2 }),
      'init: "options" expected threads and relaxedSimd without module, url and bytes, got both',
    ),
  ];
  for (const { call, type, message } of cases) {
    await assert.rejects(/** @type {any} */ (call), (/** @type {any} */ error) => {
      assert.equal(error.message, message);
      assert.equal(error.constructor, type);
      return true;
    });
  }
});
