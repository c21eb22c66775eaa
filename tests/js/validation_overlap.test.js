/** What is written is apart from what is read, or refused. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as layernorm from "../../dist/index.js";
import { layerNorm, tensor, zeros } from "../../dist/index.js";
import { check, norm, rangeError } from "./rules.js";

/** @type {Record<string, any>} */
const ops = layernorm;

describe("layerNorm refuses out that overlaps", () => {
  const message = (/** @type {string} */ name) =>
    `layerNorm: "out" expected x itself or memory apart, got an overlap with "${name}"`;

  /** @param {Float32Array} memory @param {() => unknown} call @param {string} name */
  const unwritten = (memory, call, name) => {
    const copy = memory.slice();
    check(rangeError(call, message(name)));
    assert.deepEqual(memory, copy);
  };

  test("x in part", () => {
    const memory = Float32Array.from({ length: 10 }, (_, i) => i * i);
    const [a, b] = [memory.subarray(0, 6), memory.subarray(2, 8)];
    unwritten(memory, () => norm({ out: b }, a), "x");
    unwritten(memory, () => norm({ out: a }, b), "x");
    unwritten(memory, () => norm({ out: b }, { data: a, dims: [6] }), "x");
  });

  test("a parameter in part or whole", () => {
    const memory = Float32Array.from({ length: 10 }, (_, i) => i * i);
    const out = memory.subarray(0, 6);
    unwritten(memory, () => norm({ out, weight: memory.subarray(0, 6) }), "weight");
    unwritten(memory, () => norm({ out, bias: memory.subarray(4, 10) }), "bias");
    const like = { data: memory.subarray(5, 6), dims: [1] };
    unwritten(memory, () => norm({ out, bias: like }), "bias");
    unwritten(memory, () => norm({ weight: out, out }, out), "weight");
  });

  test("shared memory in part", () => {
    const memory = new SharedArrayBuffer(40);
    const a = new Float32Array(memory, 0, 6);
    const b = new Float32Array(memory, 16, 6);
    check(rangeError(() => norm({ out: b }, a), message("x")));
  });

  test("a view of other elements on the same memory", () => {
    const memory = new ArrayBuffer(48);
    const weight = new Float64Array(memory);
    const out = new Float32Array(memory, 0, 6);
    check(rangeError(() => norm({ out, weight }), message("weight")));
  });

  test("resident rows in part, and a resident parameter through its data", () => {
    const all = tensor([1, 2, 3, 4, 5, 6], [3, 2]);
    check(rangeError(() => norm({ out: all.rows(1, 3) }, all.rows(0, 2)), message("x")));
    check(
      rangeError(
        () => norm({ out: all, weight: all.rows(0, 1) }, zeros([3, 2])),
        message("weight"),
      ),
    );
    const flat = tensor([1, 2, 3, 4, 5, 6]);
    check(rangeError(() => norm({ out: flat.data, weight: flat }), message("weight")));
    assert.deepEqual([...all.data], [1, 2, 3, 4, 5, 6]);
    for (const used of [all, flat]) used.dispose();
  });

  test("but x itself and neighbours are allowed", () => {
    const memory = Float32Array.from({ length: 12 }, (_, i) => i * i);
    const [a, b] = [memory.subarray(0, 6), memory.subarray(6)];
    const expected = layerNorm(a);
    assert.equal(layerNorm(a, { out: b }), b);
    assert.deepEqual(b.slice(), expected);
    const same = new Float32Array(memory.buffer, 0, 6);
    assert.equal(layerNorm(a, { out: same }), same);
    assert.deepEqual(a.slice(), expected);
  });
});

describe("what is written is apart from what is read", () => {
  const memory = Float32Array.from({ length: 60 }, (_, i) => (i * i) % 7);
  const copy = memory.slice();
  const part = (/** @type {number} */ begin, n = 6) => memory.subarray(begin, begin + n);
  const shape = [2, 3];
  const message = (
    /** @type {string} */ op,
    /** @type {string} */ name,
    /** @type {string} */ other,
    itself = "",
  ) => `${op}: "${name}" expected ${itself}memory apart, got an overlap with "${other}"`;
  const OWN = "x itself or ";
  const BOTH = "x or residual itself or ";
  const far = { shape, runningMean: part(40, 3), runningVar: part(50, 3) };
  /** @type {[() => unknown, string][]} */
  const cases = [
    ...["scale", "shift"].map(
      (name) =>
        /** @type {[() => unknown, string]} */ ([
          () => norm({ out: part(0), [name]: part(4) }, part(20)),
          message("layerNorm", "out", name, OWN),
        ]),
    ),
    [
      () => ops.groupNorm(part(0), { shape, numGroups: 1, out: part(3) }),
      message("groupNorm", "out", "x", OWN),
    ],
    [() => ops.l2Normalize(part(0), { out: part(3) }), message("l2Normalize", "out", "x", OWN)],
    [
      () => ops.localResponseNorm(part(0), { shape, size: 1, out: part(3) }),
      message("localResponseNorm", "out", "x", OWN),
    ],
    ...["out", "sumOut"].flatMap((name) =>
      /** @type {[any, any, any, string][]} */ ([
        [part(0), part(20), {}, "x"],
        [part(20), part(0), {}, "residual"],
        [part(20), part(30), { gate: part(2) }, "gate"],
        [part(20), part(30), { sumBias: part(2) }, "sumBias"],
        [part(20), part(30), { weight: part(3) }, "weight"],
        // The residual repeats, so it is not the one that is written.
        [part(20), part(3, 3), {}, "residual"],
      ]).map(
        ([a, b, options, other]) =>
          /** @type {[() => unknown, string]} */ ([
            () =>
              ops.addLayerNorm(a, b, {
                shape,
                normalizedShape: shape,
                ...options,
                [name]: part(3),
              }),
            message("addLayerNorm", name, other, BOTH),
          ]),
      ),
    ),
    [
      () => ops.addRmsNorm(part(0), part(10), { out: part(0), sumOut: part(0) }),
      message("addRmsNorm", "sumOut", "out"),
    ],
    [
      () => ops.addRmsNorm(part(0), part(10), { out: part(20), sumOut: part(22) }),
      message("addRmsNorm", "sumOut", "out"),
    ],
    ...["runningMean", "runningVar"].flatMap((name) =>
      /** @type {[any, string][]} */ ([
        [{}, "x"],
        [{ weight: part(2, 3) }, "weight"],
        [{ shift: part(2, 3) }, "shift"],
      ]).map(
        ([options, other]) =>
          /** @type {[() => unknown, string]} */ ([
            () =>
              ops.batchNorm(other === "x" ? part(0) : part(20), {
                ...far,
                training: true,
                ...options,
                [name]: part(1, 3),
              }),
            message("batchNorm", name, other),
          ]),
      ),
    ),
    [
      () => ops.batchNorm(part(0), { ...far, training: true, runningVar: part(40, 3) }),
      message("batchNorm", "runningMean", "runningVar"),
    ],
    [
      () => ops.batchNorm(part(0), { ...far, training: true, out: part(38) }),
      message("batchNorm", "out", "runningMean", OWN),
    ],
    [
      () => ops.batchNorm(part(0), { ...far, out: part(48) }),
      message("batchNorm", "out", "runningVar", OWN),
    ],
  ];
  for (const [i, [call, text]] of cases.entries()) {
    test(`${i}: ${text}`, () => {
      check(rangeError(call, text));
      assert.deepEqual(memory, copy);
    });
  }

  test("bits of another element type are not x itself", () => {
    const bits = new Uint16Array(6);
    const residual = { data: bits, dims: [6], type: "bfloat16" };
    const input = { data: new Uint16Array(6), dims: [6], type: "float16" };
    check(
      rangeError(
        () => ops.addLayerNorm(input, residual, { out: bits }),
        message("addLayerNorm", "out", "residual", BOTH),
      ),
    );
  });

  test("but reading twice, running statistics without training and nothing at all are allowed", () => {
    const options = { shape, runningMean: part(0, 3), runningVar: part(0, 3), weight: part(0, 3) };
    assert.equal(ops.batchNorm(part(0), options).length, 6);
    const none = memory.subarray(3, 3);
    assert.equal(layerNorm(none, { shape: [0, 3], out: none, weight: part(2, 3) }), none);
    assert.deepEqual(memory, copy);
  });
});
