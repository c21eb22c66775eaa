/** init({ threads }): the same bits by any number of threads, the life of the workers, and why there are none. Budget: 60 s. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { afterEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import workerThreads from "node:worker_threads";
import * as layernorm from "../../dist/index.js";
import * as slim from "../../dist/slim.js";
import {
  backwardHashes,
  goldenBackwardHashes,
  goldenHashes,
  goldenOperationHashes,
  hashes,
  operationHashes,
} from "./hashes.js";

/** No type tells what each operation takes. @type {any} */
const { init, layerNorm, plan, tensor, zeros } = layernorm;
const INDEX = new URL("../../dist/index.js", import.meta.url);

/** @param {number} threads @param {string[]} [reasons] */
const result = (threads, reasons = []) => ({ threads, relaxedSimd: false, reasons });

/** @param {Float32Array} values */
const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

/** The workers that were started, and whether each has ended. @type {{ worker: workerThreads.Worker, ended: Promise<unknown> }[]} */
const started = [];
const { Worker } = workerThreads;
// The package takes it from there.
workerThreads.Worker = class extends Worker {
  /** @param {ConstructorParameters<typeof Worker>} args */
  constructor(...args) {
    super(...args);
    started.push({ worker: this, ended: new Promise((resolve) => this.once("exit", resolve)) });
  }
};

afterEach(async () => {
  layernorm.dispose();
  await Promise.all(started.splice(0).map(({ ended }) => ended));
});

/** @param {number} n @param {number} step @param {number} [offset] */
const wave = (n, step, offset = 0) =>
  Float32Array.from({ length: n }, (_, i) => offset + Math.sin(i * step) * (1 + (i % 7)));

/**
 * Calls that are large enough to be shared, of every kind of loop: operation, shape, options made of a function that
 * gives tensors.
 * @type {[op: string, dims: number[], options?: (of: (dims: number[], offset?: number) => any) => object][]}
 */
const CALLS = [
  ["layerNorm", [411, 769], (of) => ({ weight: of([769]), bias: of([769]), returnStats: true })],
  ["layerNorm", [9001, 33], (of) => ({ weight: of([33]), activation: "silu" })],
  ["layerNorm", [3, 100_003], (of) => ({ weight: of([100_003]), returnStats: true })],
  ["layerNorm", [2, 150, 1025], (of) => ({ scale: of([2, 1, 1025]), shift: of([2, 150, 1025]) })],
  ["layerNorm", [300, 1025], (of) => ({ axes: [0], weight: of([300]), returnStats: true })],
  [
    "layerNorm",
    [5, 61, 7, 160],
    (of) => ({ axes: [1, 3], bias: of([61, 160]), returnStats: true }),
  ],
  ["rmsNorm", [290, 1030], (of) => ({ weight: of([1030]), weightOffset: 1, returnStats: true })],
  ["l2Normalize", [290, 1030]],
  ["lpNormalize", [290, 1030], () => ({ p: 1 })],
  ["meanVarianceNormalize", [3, 5, 150, 140]],
  ["groupNorm", [3, 64, 41, 40], (of) => ({ numGroups: 8, weight: of([64]), returnStats: true })],
  [
    "groupNorm",
    [1, 512, 25, 25],
    (of) => ({ numGroups: 16, bias: of([512]), layout: "channels_first" }),
  ],
  [
    "groupNorm",
    [1, 25, 25, 1024],
    (of) => ({ numGroups: 64, weight: of([1024]), layout: "channels_last" }),
  ],
  ["instanceNorm", [3, 64, 41, 40], (of) => ({ weight: of([64]), activation: "gelu" })],
  [
    "batchNorm",
    [5, 63, 31, 31],
    (of) => ({ runningMean: of([63]), runningVar: of([63], 9), training: true, returnStats: true }),
  ],
  ["batchNorm", [300, 1025], (of) => ({ runningMean: of([1025]), runningVar: of([1025], 9) })],
  ["batchNorm", [600, 513], (of) => ({ weight: of([513]), training: true, returnStats: true })],
  ["localResponseNorm", [3, 50, 31, 31], () => ({ size: 5 })],
  [
    "addLayerNorm",
    [290, 1030],
    (of) => ({ weight: of([1030]), gate: of([1030]), returnStats: true }),
  ],
  ["addRmsNorm", [290, 1030], (of) => ({ sumBias: of([1030]) })],
  ["addGroupNorm", [3, 64, 41, 40], (of) => ({ numGroups: 8, weight: of([64]) })],
  ["layerNormBackward", [290, 1030]],
  ["layerNormBackward", [290, 1030], (of) => ({ weight: of([1030]), bias: of([1030]) })],
  [
    "layerNormBackward",
    [290, 1030],
    (of) => ({ weight: of([1030]), bias: of([1030]), activation: "silu" }),
  ],
  ["rmsNormBackward", [523, 1023], (of) => ({ scale: of([1023]), shift: of([1023]) })],
  ["layerNormBackward", [290, 1030], (of) => ({ scale: of([1030]), activation: "gelu" })],
  ["l2NormalizeBackward", [290, 1030]],
  ["addRmsNormBackward", [290, 1030], (of) => ({ weight: of([1030]) })],
  ["layerNormBackward", [9001, 33], (of) => ({ weight: of([33]), bias: of([33]) })],
  ["layerNormBackward", [19, 8192], (of) => ({ weight: of([8192]) })],
  ["layerNormBackward", [7, 30_011], (of) => ({ weight: of([30_011]), bias: of([30_011]) })],
  ["layerNormBackward", [300, 1025], (of) => ({ axes: [0], weight: of([300]) })],
  [
    "layerNormBackward",
    [6, 57, 1025],
    (of) => ({ scale: of([6, 1, 1025]), shift: of([6, 1, 1025]) }),
  ],
  ["rmsNormBackward", [523, 1023], (of) => ({ weight: of([1023]), weightOffset: 1 })],
  ["groupNormBackward", [3, 64, 41, 40], (of) => ({ numGroups: 8, weight: of([64]) })],
  [
    "groupNormBackward",
    [1, 512, 25, 25],
    (of) => ({ numGroups: 16, weight: of([512]), bias: of([512]) }),
  ],
  [
    "groupNormBackward",
    [1, 25, 25, 640],
    (of) => ({ numGroups: 32, weight: of([640]), bias: of([640]), layout: "channels_last" }),
  ],
  [
    "instanceNormBackward",
    [3, 64, 41, 40],
    (of) => ({ weight: of([64]), bias: of([64]), scale: of([3, 64]) }),
  ],
  [
    "batchNormBackward",
    [5, 63, 31, 31],
    (of) => ({ weight: of([63]), bias: of([63]), training: true }),
  ],
  ["batchNormBackward", [300, 1025], (of) => ({ weight: of([1025]), training: true })],
  [
    "addLayerNormBackward",
    [290, 1030],
    (of) => ({ weight: of([1030]), gate: of([1030]), sumBias: of([1030]) }),
  ],
];

/** @param {any} value @param {string} name @param {Map<string, Uint8Array>} into the bytes of all tensors in a result */
function collect(value, name, into) {
  if (value instanceof layernorm.Tensor) {
    const { buffer, byteOffset, byteLength } = value.data;
    into.set(name, new Uint8Array(buffer, byteOffset, byteLength).slice());
  } else if (typeof value === "object" && value !== null) {
    for (const [key, each] of Object.entries(value)) collect(each, `${name} ${key}`, into);
  }
}

/** @param {string} dtype @returns {Map<string, Uint8Array>} the bytes of all results of CALLS */
function runCalls(dtype) {
  /** @type {Map<string, Uint8Array>} */
  const bytes = new Map();
  for (const [i, [op, dims, make]] of CALLS.entries()) {
    const size = dims.reduce((a, b) => a * b);
    /** @type {any[]} */
    const own = [];
    const of = (/** @type {number[]} */ shape, offset = 1) => {
      const made = tensor(
        wave(
          shape.reduce((a, b) => a * b),
          1.3,
          offset,
        ),
        shape,
        dtype,
      );
      own.push(made);
      return made;
    };
    const inputs = [tensor(wave(size, 1.7), dims, dtype)];
    if (op.endsWith("Backward")) inputs.push(tensor(wave(size, 0.9, 2), dims, dtype));
    if (op.startsWith("add")) inputs.push(tensor(wave(size, 0.3), dims, dtype));
    const options = make?.(of) ?? {};
    const step = plan(op, ...inputs, options);
    // Until the workers are awake, and once more.
    let got = step.run();
    got = step.run();
    const where = `${i} ${op} ${dtype}`;
    collect(got, where, bytes);
    collect(options, `${where} options`, bytes);
    step.dispose();
    for (const each of [...inputs, ...own]) each.dispose();
  }
  return bytes;
}

describe("threads", () => {
  for (const dtype of ["float32", "float64", "float16", "bfloat16"]) {
    test(`give the bits of one, of all operations on ${dtype}`, async () => {
      const expected = runCalls(dtype);
      assert.ok(expected.size > CALLS.length);
      layernorm.dispose();
      for (const threads of [2, 3]) {
        assert.deepEqual(await init({ threads }), result(threads));
        const got = runCalls(dtype);
        assert.deepEqual([...got.keys()], [...expected.keys()]);
        for (const [name, bytes] of expected) {
          assert.equal(
            Buffer.compare(bytes, got.get(name) ?? Buffer.of()),
            0,
            `${name}, ${threads} threads`,
          );
        }
        layernorm.dispose();
      }
    });
  }

  test("give the bits of one where rows of gradients are 0, as those of padding, overflow or are not finite", async () => {
    const run = () => {
      const [rows, n] = [203, 769];
      const x = tensor(wave(rows * n, 1.7), [rows, n]);
      const gradient = wave(rows * n, 0.9, 2);
      for (let row = 0; row < rows; row += 5) gradient.fill(0, row * n, (row + 1) * n);
      // Sums of float32 overflow over rows, not within one; and one row is beyond that.
      for (let i = 16 * n; i < 24 * n; i++) gradient[i] = 3e37 * Math.sign(gradient[i]);
      for (let row = 41; row < 47; row++) gradient[row * n + 7] = 1e38;
      gradient[100 * n + 3] = Number.NaN;
      const [weight, bias] = [tensor(wave(n, 1.3, 1)), tensor(wave(n, 0.7))];
      const step = plan("layerNormBackward", tensor(gradient, [rows, n]), x, { weight, bias });
      /** @type {Map<string, Uint8Array>} */
      const bytes = new Map();
      step.run();
      collect(step.run(), "", bytes);
      return bytes;
    };
    const expected = run();
    assert.equal(expected.size, 3);
    for (const threads of [2, 3, 4]) {
      layernorm.dispose();
      await init({ threads });
      assert.deepEqual(run(), expected);
    }
  });

  test("give the stored bits", async () => {
    await init({ threads: 2 });
    assert.deepEqual(hashes(), goldenHashes());
    assert.deepEqual(operationHashes(), goldenOperationHashes());
    assert.deepEqual(backwardHashes(), goldenBackwardHashes());
  });

  test("run a plan thousands of times, now in turn, now far from each other, and always the whole of it", async () => {
    await init({ threads: 3 });
    const rows = 200;
    const x = zeros([rows, 512]);
    const out = zeros([rows, 512]);
    const step = plan("layerNorm", x, { out });
    for (let i = 1; i <= 3000; i++) {
      const row = (i * 7919) % rows;
      x.data[row * 512] = i;
      out.data.fill(7);
      step.run();
      const sum = sumOf(out.data);
      assert.ok(Math.abs(sum) < 1, `run ${i}: ${sum}`);
      if (i % 500 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    }
  });

  test("results are ordinary arrays, and data a view of shared memory that stays one when memory grows", async () => {
    await init({ threads: 2 });
    const x = new Float32Array([3, 5, 2, 8]);
    assert.ok(layerNorm(x).buffer instanceof ArrayBuffer);
    const t = tensor(x);
    const held = t.data;
    assert.ok(held.buffer instanceof SharedArrayBuffer);
    assert.equal(t.data, held);
    const large = zeros([64, 1024, 1024]);
    assert.notEqual(t.data, held);
    t.data[1] = 7;
    assert.equal(held[1], 7);
    large.data[64 * 1024 * 1024 - 1] = 1;
    assert.equal(layerNorm(large).data.length, large.data.length);
    assert.deepEqual([...layerNorm(x)], [...layerNorm(tensor(x)).data]);
    assert.throws(() => zeros([2 ** 30]), { name: "RangeError", message: /out of memory/ });
    assert.deepEqual([...t.data], [3, 7, 2, 8]);
  });
});

describe("workers", () => {
  test("one for each further thread is started, and dispose() ends them", async () => {
    assert.deepEqual(await init({ threads: 3 }), result(3));
    assert.equal(started.length, 2);
    const t = tensor([1, 2]);
    layernorm.dispose();
    await Promise.all(started.map(({ ended }) => ended));
    assert.throws(() => t.data, /lost by dispose\(\)/);
    layernorm.dispose();
    assert.deepEqual([...layerNorm(new Float64Array([1, 1]))], [0, 0]);
    assert.deepEqual(await init(), result(1));
  });

  test("dispose() while init() is pending ends them too", async () => {
    const promise = init({ threads: 2 });
    layernorm.dispose();
    await assert.rejects(promise, /dispose\(\) was called while init\(\) was pending/);
    assert.equal(started.length, 1);
    await started[0].ended;
    assert.deepEqual(await init({ threads: 2 }), result(2));
  });

  test("Node ends by itself while they wait, asleep or awake", () => {
    for (const last of [
      "await new Promise((resolve) => setTimeout(resolve, 50));",
      "step.run();",
    ]) {
      const script = `import { init, plan, zeros } from ${JSON.stringify(INDEX.href)};
        console.log((await init({ threads: 3 })).threads);
        const step = plan("layerNorm", zeros([512, 768]));
        step.run();
        ${last}`;
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        ["--input-type=module", "--eval", script],
        { encoding: "utf8", timeout: 20_000 },
      );
      assert.deepEqual([status, stdout.trim()], [0, "3"], stderr);
    }
  });
});

describe("init({ threads })", () => {
  test("is one promise for concurrent calls; others and calls wait for it", async () => {
    const first = init({ threads: 2 });
    assert.equal(init({ threads: 2 }), first);
    assert.equal(init(), first);
    assert.equal(init({ relaxedSimd: false }), first);
    const pending = "init: another init() with other options is pending";
    await assert.rejects(init({ threads: 3 }), { name: "Error", message: pending });
    await assert.rejects(init({ threads: 1 }), { name: "Error", message: pending });
    assert.throws(() => layerNorm([1, 2]), /init\(\) is pending/);
    assert.deepEqual(await first, result(2));
    assert.deepEqual(await init({ threads: 2 }), result(2));
    assert.deepEqual(await init(), result(2));
    await assert.rejects(init({ threads: 1 }), /got others/);
    assert.equal(started.length, 1);
  });

  test("of layernorm/slim needs no other source, and all entries share it", async () => {
    assert.deepEqual(await slim.init({ threads: 2 }), result(2));
    assert.deepEqual(slim.layerNorm([1, 1]), [0, 0]);
    assert.deepEqual(await init({ threads: 2 }), result(2));
  });

  /** @param {string} name @param {unknown} value of a global, until what it returns is called */
  function replaceGlobal(name, value) {
    const own = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    return () => {
      delete (/** @type {any} */ (globalThis)[name]);
      if (own !== undefined) Object.defineProperty(globalThis, name, own);
    };
  }

  const ISOLATION = "threads: this page is not cross-origin isolated, by the headers COOP and COEP";
  for (const [name, value] of [
    ["crossOriginIsolated", false],
    ["SharedArrayBuffer", undefined],
  ]) {
    test(`is one thread where ${name} is ${value}, and says why`, async () => {
      const restore = replaceGlobal(`${name}`, value);
      try {
        for (const entry of [layernorm, slim]) {
          assert.deepEqual(await entry.init({ threads: 2 }), result(1, [ISOLATION]));
          assert.deepEqual(await entry.init({ threads: 2 }), result(1, [ISOLATION]));
          assert.deepEqual(await entry.init({ threads: 1 }), result(1, [ISOLATION]));
          await assert.rejects(entry.init({ threads: 3 }), /got others/);
          assert.deepEqual(entry.layerNorm([1, 1]), [0, 0]);
          layernorm.dispose();
        }
      } finally {
        restore();
      }
    });
  }

  test("is one thread where workers are refused or fail, and says why", async () => {
    const own = workerThreads.Worker;
    /** @type {[why: string, constructor: unknown][]} */
    const refusals = [
      [
        "no leave",
        class {
          constructor() {
            throw new Error("no leave");
          }
        },
      ],
      [
        "broken",
        class extends own {
          constructor() {
            super("throw new Error('broken')", { eval: true });
          }
        },
      ],
    ];
    try {
      for (const [why, refusal] of refusals) {
        workerThreads.Worker = /** @type {any} */ (refusal);
        assert.deepEqual(await init({ threads: 3 }), result(1, [`threads: ${why}`]));
        assert.ok(tensor([1]).data.buffer instanceof ArrayBuffer);
        layernorm.dispose();
      }
    } finally {
      workerThreads.Worker = own;
    }
    const { getBuiltinModule } = process;
    try {
      process.getBuiltinModule = /** @type {any} */ (undefined);
      const [reason] = (await init({ threads: 2 })).reasons;
      assert.equal(reason, "threads: this engine starts no workers here");
    } finally {
      process.getBuiltinModule = getBuiltinModule;
    }
  });

  test("gives at most 64 threads, and says so", async () => {
    const own = workerThreads.Worker;
    let count = 0;
    // Stand-ins: so many threads take seconds to start.
    workerThreads.Worker = /** @type {any} */ (
      class {
        constructor() {
          count++;
        }
        once(/** @type {string} */ event, /** @type {() => void} */ listener) {
          if (event === "message") listener();
        }
        unref() {}
        terminate() {}
      }
    );
    try {
      assert.deepEqual(await init({ threads: 1000 }), result(64, ["threads: at most 64"]));
      assert.equal(count, 63);
      const x = zeros([512, 1024]);
      x.data[512 * 1024 - 1] = 1;
      assert.ok(layerNorm(x).data[512 * 1024 - 1] > 31, "nobody is waited for");
    } finally {
      workerThreads.Worker = own;
    }
  });
});

test("importing the package starts and reads nothing", () => {
  const script = `
    for (const name of ["SharedArrayBuffer", "crossOriginIsolated", "Worker", "Blob"]) {
      Object.defineProperty(globalThis, name, { get() { throw new Error(name); }, configurable: true });
    }
    await import(${JSON.stringify(INDEX.href)});`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--input-type=module", "--eval", script],
    { encoding: "utf8", cwd: fileURLToPath(new URL(".", import.meta.url)) },
  );
  assert.equal(status, 0, stderr);
});
