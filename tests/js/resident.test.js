/** Resident tensors and plans: lifetime of memory above all. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { before, describe, test } from "node:test";
import { inspect } from "node:util";
import { dispose, layerNorm, plan, rmsNorm, Tensor, tensor, zeros } from "../../dist/index.js";

const values = [3, 5, 2, 8, 1, 7];

/** The bytes of wasm memory that are in use now. */
function memorySize() {
  const probe = zeros([1]);
  const size = probe.data.buffer.byteLength;
  probe.dispose();
  return size;
}

/** @param {() => unknown} call @param {string} message */
function assertTypeError(call, message) {
  assert.throws(call, { name: "TypeError", message });
}

const PACKAGE = new URL("../../dist/index.js", import.meta.url).href;

/** @param {string} script a module that may call gc() @returns {string} what it printed */
function runWithCollector(script) {
  const flags = ["--expose-gc", "--input-type=module", "--eval", script];
  return execFileSync(process.execPath, flags, { encoding: "utf8" });
}

describe("tensor", () => {
  test("copies typed, plain, nested and tensor-like data and other tensors", () => {
    const f64 = Float64Array.from(values);
    for (const [made, shape, dtype] of /** @type {[Tensor, number[], string][]} */ ([
      [tensor(Float32Array.from(values)), [6], "float32"],
      [tensor(f64), [6], "float64"],
      [tensor(f64, [2, 3]), [2, 3], "float64"],
      [tensor(f64, [2, 3], "float32"), [2, 3], "float32"],
      [tensor(values), [6], "float32"],
      [tensor([values]), [1, 6], "float32"],
      [tensor([values], [3, 2], "float64"), [3, 2], "float64"],
      [tensor({ data: f64, dims: [3, 2] }), [3, 2], "float64"],
      [tensor(tensor(f64, [2, 3])), [2, 3], "float64"],
      [tensor(tensor(f64, [2, 3]).data), [6], "float64"],
    ])) {
      assert.deepEqual([made.shape, made.dtype], [shape, dtype]);
      assert.deepEqual([...made.data], values);
      made.dispose();
    }
    assert.deepEqual(tensor([0.1]).data[0], Math.fround(0.1));
    assert.deepEqual(tensor([]).shape, [0]);
  });

  test("copies the data of another tensor even when memory grows meanwhile", () => {
    dispose();
    const source = tensor(Float32Array.from({ length: 1000 }, (_, i) => i));
    let made = [];
    for (let i = 0; i < 12; i++) {
      const size = memorySize();
      const { data } = source;
      made.push(zeros([400_000]));
      const copy = tensor(source.data);
      assert.deepEqual([...copy.data], [...source.data]);
      if (memorySize() > size) assert.equal(data.length, 0, "the kept view is detached");
      made.push(copy);
    }
    for (const each of made) each.dispose();
    made = [];
    // A parameter that is such a view, while the result's memory makes it grow.
    for (let i = 0; i < 8; i++) {
      const x = tensor(
        Float32Array.from({ length: 300_000 }, (_, j) => Math.sin(j)),
        [300, 1000],
      );
      const y = layerNorm(x, { weight: source.data });
      made.push(x, y);
      assert.deepEqual(
        y.data.slice(),
        layerNorm(x.data.slice(), { shape: [300, 1000], weight: source }),
      );
    }
    for (const each of made) each.dispose();
    source.dispose();
  });
});

describe("Tensor", () => {
  test("has a frozen shape and is made by tensor and zeros alone", () => {
    const t = zeros([2, 3]);
    assert.ok(Object.isFrozen(t.shape));
    assertTypeError(
      () => new /** @type {any} */ (Tensor)(),
      "Tensor: expected a call of tensor() or zeros(), got new Tensor",
    );
    assert.throws(() => Object.create(Tensor.prototype).data, TypeError);
    assert.equal(Tensor.name, "Tensor");
  });

  test("data is one live view until memory grows, then another", () => {
    dispose();
    const t = zeros([4]);
    const { data } = t;
    assert.equal(t.data, data);
    data.set([1, 2, 3, 4]);
    const grown = [];
    while (data.length !== 0) grown.push(zeros([100_000]));
    assert.notEqual(t.data, data);
    assert.deepEqual([...t.data], [1, 2, 3, 4]);
    for (const each of [t, ...grown]) each.dispose();
  });

  test("zeros are zero also where memory was used before", () => {
    const used = tensor(new Float32Array(1000).fill(7));
    used.dispose();
    for (let i = 0; i < 4; i++) assert.ok(zeros([1000]).data.every((v) => v === 0));
  });

  test("rows shares memory and keeps it", () => {
    const t = tensor(values, [3, 2]);
    const rows = t.rows(1, 3);
    assert.deepEqual(
      [rows.shape, [...rows.data]],
      [
        [2, 2],
        [2, 8, 1, 7],
      ],
    );
    t.data[2] = -1;
    assert.equal(rows.data[0], -1);
    assert.deepEqual(t.rows().shape, [3, 2]);
    assert.deepEqual(t.rows(2).shape, [1, 2]);
    assert.deepEqual(t.rows(3).shape, [0, 2]);
    assert.deepEqual(zeros([0, 2]).rows().shape, [0, 2]);
    t.dispose();
    // Would take the memory if it were free.
    const others = Array.from({ length: 10 }, () => zeros([6]));
    assert.deepEqual([...rows.data], [-1, 8, 1, 7]);
    const same = Float32Array.of(-1, 8, 1, 7);
    assert.deepEqual(layerNorm(rows).data, layerNorm(same, { shape: [2, 2] }));
    for (const each of [rows, ...others]) each.dispose();
  });

  test("dispose frees memory, and is harmless when done twice", () => {
    const t = zeros([100_000]);
    const size = memorySize();
    for (let i = 0; i < 1000; i++) {
      const a = layerNorm(t, { returnStats: true });
      const b = a.output.rows(10, 20);
      for (const each of [a.output, a.mean, a.rstd, b, b]) each.dispose();
    }
    assert.equal(memorySize(), size);
    t.dispose();
    t.dispose();
    assert.deepEqual(t.shape, [100_000]);
    assertTypeError(() => t.data, 'Tensor: "data" expected a live tensor, got a disposed tensor');
  });

  test("is disposed by Symbol.dispose, where the engine has it", () => {
    for (const object of [zeros([2]), plan("rmsNorm", zeros([2]))]) {
      if (Symbol.dispose === undefined) assert.ok(!("undefined" in object));
      else object[Symbol.dispose]();
    }
  });

  test("and plans that are forgotten are freed once the event loop turns", () => {
    const script = `
      import { layerNorm, plan, tensor, zeros } from ${JSON.stringify(PACKAGE)};
      const turn = () => new Promise((resolve) => setTimeout(resolve));
      const size = () => zeros([1]).data.buffer.byteLength;
      const round = async () => {
        for (let i = 0; i < 20; i++) {
          const x = zeros([100, 100]);
          layerNorm(x).rows(0, 1);
          plan("layerNorm", x, { weight: new Float32Array(100), returnStats: true }).run();
        }
        for (let i = 0; i < 4; i++) { gc(); await turn(); }
      };
      for (let i = 0; i < 5; i++) await round();
      const before = size();
      for (let i = 0; i < 50; i++) await round();
      console.log(size() - before);
    `;
    assert.equal(runWithCollector(script), "0\n");
  });

  test("keep their memory as long as a view of it is held", () => {
    const script = `
      import { tensor } from ${JSON.stringify(PACKAGE)};
      const sevens = () => tensor(new Float32Array(1000).fill(7)).data;
      const view = sevens();
      for (let i = 0; i < 5; i++) { gc(); await new Promise((resolve) => setTimeout(resolve)); }
      for (let i = 0; i < 20; i++) tensor(new Float32Array(1000).fill(-1));
      console.log(view.every((value) => value === 7));
    `;
    assert.equal(runWithCollector(script), "true\n");
  });
});

describe("plan", () => {
  /** @type {Tensor<"float32">} */
  let x;
  const expected = layerNorm(Float32Array.from(values), { shape: [2, 3] });
  before(() => {
    x = tensor(values, [2, 3]);
  });

  test("runs again and again on what its tensors hold then, and returns the same object", () => {
    const step = plan("layerNorm", x);
    const y = step.run();
    assert.ok(y instanceof Tensor);
    assert.equal(step.output, y);
    assert.equal(step.run(), y);
    assert.deepEqual(y.data, expected);
    x.data.reverse();
    step.run();
    assert.deepEqual(y.data, Float32Array.from(expected).reverse());
    x.data.set(values);
    step.dispose();
  });

  test("with statistics has what the function returns", () => {
    for (const [name, call] of /** @type {["layerNorm" | "rmsNorm", any][]} */ ([
      ["layerNorm", layerNorm],
      ["rmsNorm", rmsNorm],
    ])) {
      const step = plan(name, x, { returnStats: true, weight: 2, axis: 0 });
      const result = /** @type {any} */ (step.run());
      const wanted = call(x, { returnStats: true, weight: 2, axis: 0 });
      assert.deepEqual(Object.keys(result), Object.keys(wanted));
      for (const key of Object.keys(wanted)) {
        assert.equal(/** @type {any} */ (step)[key], result[key]);
        assert.deepEqual(result[key].shape, wanted[key].shape);
        assert.deepEqual(result[key].data, wanted[key].data);
      }
      assert.equal(step.run(), result);
      step.dispose();
    }
  });

  test("writes to out, which may be x and rows", () => {
    const out = zeros([6]);
    const step = plan("layerNorm", x, { out });
    assert.equal(step.run(), out);
    assert.equal(step.output, out);
    assert.deepEqual(out.data, expected);
    step.dispose();
    assert.deepEqual(out.data, expected, "out is not the plan's to free");

    const y = tensor(values, [2, 3]);
    const inPlace = plan("layerNorm", y.rows(1, 2), { out: y.rows(1, 2) });
    inPlace.run();
    assert.deepEqual([...y.data], [3, 5, 2, ...expected.subarray(3)]);
    inPlace.dispose();
    y.dispose();
  });

  test("uses resident parameters where they stand, and copies others", () => {
    const weight = tensor([1, 1, 1], undefined, "float64");
    const bias = Float32Array.of(0, 0, 0);
    const step = plan("layerNorm", x, { weight, bias });
    assert.deepEqual(step.run().data, expected);
    weight.data.fill(2);
    bias.fill(100);
    assert.deepEqual(
      step.run().data,
      expected.map((v) => 2 * v),
    );
    step.dispose();

    const copied = plan("layerNorm", x, { weight: weight.data });
    weight.data.fill(3);
    assert.deepEqual(
      copied.run().data,
      expected.map((v) => 2 * v),
    );
    copied.dispose();
  });

  test("copies parameters of any length", () => {
    const n = 50_000;
    const wide = tensor(Float32Array.from({ length: n }, (_, i) => Math.sin(i)));
    const weight = Float64Array.from({ length: n }, (_, i) => i);
    const step = plan("layerNorm", wide, { weight, bias: weight });
    assert.deepEqual(
      step.run().data.slice(),
      layerNorm(wide.data.slice(), { weight, bias: weight }),
    );
    step.dispose();
    wide.dispose();
  });

  test("keeps the memory of its tensors until it is disposed", () => {
    const input = tensor(values, [2, 3]);
    const weight = tensor([1, 2, 3]);
    const out = zeros([2, 3]);
    const step = plan("layerNorm", input, { weight, out });
    const rows = out.rows(0, 2);
    for (const each of [input, weight, out]) each.dispose();
    const others = Array.from({ length: 20 }, () => zeros([6]));
    step.run();
    assert.deepEqual(
      rows.data,
      layerNorm(Float32Array.from(values), { shape: [2, 3], weight: [1, 2, 3] }),
    );
    for (const each of others) assert.ok(each.data.every((v) => v === 0));
    step.dispose();
    step.dispose();
    for (const each of [rows, ...others]) each.dispose();
    assertTypeError(() => step.run(), 'plan: "run" expected a live plan, got a disposed plan');
    assertTypeError(() => out.data, 'Tensor: "data" expected a live tensor, got a disposed tensor');
  });

  test("frees what it made", () => {
    const big = zeros([100_000]);
    const round = () => {
      const step = plan("layerNorm", big, { returnStats: true, weight: new Float32Array(100_000) });
      const { output } = step.run();
      step.dispose();
      assertTypeError(
        () => output.data,
        'Tensor: "data" expected a live tensor, got a disposed tensor',
      );
    };
    round();
    const size = memorySize();
    for (let i = 0; i < 1000; i++) round();
    assert.equal(memorySize(), size);
    big.dispose();
  });

  test("refuses values to run on, which it would not look at", () => {
    const step = plan("layerNorm", zeros([1, 4]));
    const run = /** @type {(...args: unknown[]) => unknown} */ (step.run);
    const message = 'plan: "run" expected no arguments: write to x.data, got 1';
    assertTypeError(() => run.call(step, Float32Array.of(1, 2, 3, 4)), message);
    step.dispose();
  });

  test("of an empty batch does nothing", () => {
    const step = plan("rmsNorm", zeros([0, 4]), { returnStats: true });
    assert.deepEqual(step.run().output.shape, [0, 4]);
    assert.deepEqual(step.rstd.shape, [0, 1]);
    step.dispose();
  });
});

test("dispose() of the package loses tensors and plans, and the next call starts anew", () => {
  const t = tensor(values, [2, 3]);
  const rows = t.rows(0, 1);
  const step = plan("layerNorm", t);
  dispose();
  const lost = "got a tensor lost by dispose()";
  for (const each of [t, rows, step.output]) {
    assertTypeError(() => each.data, `Tensor: "data" expected a live tensor, ${lost}`);
    assertTypeError(() => each.rows(), `Tensor: "rows" expected a live tensor, ${lost}`);
    assertTypeError(() => layerNorm(each), `layerNorm: "x" expected a live tensor, ${lost}`);
  }
  assertTypeError(() => plan("layerNorm", t), `layerNorm: "x" expected a live tensor, ${lost}`);
  assertTypeError(
    () => layerNorm([1, 2, 3], { weight: rows }),
    `layerNorm: "weight" expected a live tensor, ${lost}`,
  );
  assertTypeError(
    () => step.run(),
    'plan: "run" expected a live plan, got a plan lost by dispose()',
  );
  assert.deepEqual(layerNorm([3, 5, 2, 8]).length, 4);
  assertTypeError(() => layerNorm(t), `layerNorm: "x" expected a live tensor, ${lost}`);
  step.dispose();
  t.dispose();
  rows.dispose();
});

test("a tensor and a plan say what they are when they are printed", () => {
  const x = tensor([1, 3]);
  const shown = "Tensor { shape: [ 2 ], dtype: 'float32', data: Float32Array(2) [ 1, 3 ] }";
  const text = (/** @type {unknown} */ value) => inspect(value, { breakLength: Infinity });
  assert.equal(text(x), shown);
  assert.equal(text([x]), `[ ${shown} ]`);
  assert.equal(text([[[x]]]), `[ [ [ ${shown} ] ] ]`);
  assert.equal(`${x}`, "[object Tensor]");
  const step = plan("layerNorm", x, { eps: 0 });
  step.run();
  assert.equal(text(step), `Step { output: ${shown.replace("1, 3", "-1, 1")} }`);
  step.dispose();
  x.dispose();
  assert.equal(text(x), "Tensor { shape: [ 2 ], dtype: 'float32', gone: 'a disposed tensor' }");
});
