// layernorm/lite: the bits and the errors of `layernorm`, for rows of float32. Budget: 15 s.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as full from "../../dist/index.js";
import * as lite from "../../dist/lite.js";
import { assertSameBits, shared, unaligned } from "./bits.js";
import { Random } from "./random.js";
import { check, detached, outOfBounds, rangeError, typeError } from "./rules.js";

/** @typedef {"layerNorm" | "rmsNorm"} Name */

/** @type {Record<Name, any>} */
const OURS = { layerNorm: lite.layerNorm, rmsNorm: lite.rmsNorm };
/** @type {Record<Name, any>} */
const FULL = { layerNorm: full.layerNorm, rmsNorm: full.rmsNorm };
const NAMES = /** @type {Name[]} */ (Object.keys(OURS));
// As bindings/lite.cc has it.
const PIECE = 32768;
const random = new Random(4711);

/** @type {Record<string, (i: number) => number>} */
const VALUES = {
  normal: () => random.normal(),
  "far from 0": () => 1e4 + random.normal(),
  "very far from 0": () => 1e9 + 100 * random.normal(),
  constant: () => 5,
  zero: () => 0,
  huge: () => 1e30 * random.normal(),
  "overflowing squares": () => 3e38 * random.sign() * random.uniform(),
  tiny: () => 1e-38 * random.normal(),
  "one outlier": (i) => (i === 1 ? 1e6 : random.normal()),
  NaN: (i) => (i === 2 ? Number.NaN : random.normal()),
  infinity: (i) => (i === 0 ? -Infinity : random.normal()),
};

/** @param {number} size @param {(i: number) => number} value */
const floats = (size, value) => Float32Array.from({ length: size }, (_, i) => value(i));

/** @type {Record<string, (count: number) => lite.LiteOptions>} */
const PARAMETERS = {
  none: () => ({}),
  numbers: () => ({ weight: 1.1, bias: -0.3 }),
  "null and -0": () => ({ weight: null, bias: -0 }),
  // Each is rounded before they are added.
  "number and offset": () => ({ weight: 1 + 2 ** -25, weightOffset: -1 }),
  vectors: (count) => ({
    weight: floats(count, () => random.normal()),
    bias: floats(count, () => random.normal()),
  }),
  "large weights": (count) => ({ weight: floats(count, () => 100 * random.normal()) }),
  // The last piece alone has what decides how a row is summed.
  "one large weight": (count) => ({ weight: floats(count, (i) => (i === count - 1 ? 1e6 : 1)) }),
  "NaN as weight": (count) => ({ weight: floats(count, (i) => (i === 0 ? Number.NaN : 1)) }),
  "weight and offset": (count) => ({
    weight: floats(count, () => random.normal()),
    weightOffset: 1.1,
    bias: 2,
  }),
  "no eps": () => ({ eps: 0 }),
  "large eps": () => ({ eps: 10 }),
};

/** @param {Float32Array} x @param {lite.LiteOptions} options @param {string} what */
function compare(x, options, what) {
  for (const name of NAMES) {
    const given = x.slice();
    const got = OURS[name](x, { ...options, returnStats: true });
    const expected = FULL[name](x, { ...options, returnStats: true });
    assert.deepEqual(Object.keys(got), Object.keys(expected));
    for (const [key, array] of Object.entries(expected)) {
      assertSameBits(/** @type {any} */ (got)[key], array, `${name} ${what}: ${key}`);
    }
    assertSameBits(OURS[name](x, options), got.output, `${name} ${what}: no statistics`);
    assertSameBits(x, given, `${name} ${what}: x`);
  }
}

describe("bits of layernorm", () => {
  const short = [1, 2, 3, 4, 5, 15, 16, 17, 31, 63, 64, 65, 96, 127, 128, 129, 768, 1000];
  const long = [PIECE - 1, PIECE, PIECE + 1, PIECE + 63, 2 * PIECE, 65537, 100_003];
  for (const [values, value] of Object.entries(VALUES)) {
    test(`${values}: short rows`, () => {
      for (const count of short) {
        for (const [parameters, make] of Object.entries(PARAMETERS)) {
          for (const rows of [1, 2, 3, 7]) {
            const x = floats(rows * count, (i) => value(i % (2 * count)));
            const options = { shape: [rows, count], ...make(count) };
            compare(x, options, `[${rows}, ${count}] ${parameters}`);
          }
        }
      }
    });

    test(`${values}: rows in pieces`, () => {
      for (const [i, count] of long.entries()) {
        const [parameters, make] = Object.entries(PARAMETERS)[(3 * i + 4) % 11] ?? assert.fail();
        const x = floats(2 * count, (at) => value(at % (2 * count)));
        compare(x, { shape: [2, count], ...make(count) }, `[2, ${count}] ${parameters}`);
      }
    });
  }

  test("rows in pieces with each kind of parameter", () => {
    const count = PIECE + 4099;
    const x = floats(2 * count, () => 3 + random.normal());
    for (const [parameters, make] of Object.entries(PARAMETERS)) {
      compare(x, { shape: [2, count], ...make(count) }, parameters);
    }
  });

  test("more rows than fit at a time", () => {
    for (const [rows, count] of [
      [5000, 1],
      [4097, 16],
      [100, 768],
      [3, 20_000],
    ]) {
      const x = floats(rows * count, () => random.normal());
      compare(x, { shape: [rows, count], weight: 2 }, `[${rows}, ${count}]`);
    }
  });

  test("dimensions", () => {
    const x = floats(24, () => random.normal());
    for (const options of [
      {},
      { shape: [24] },
      { shape: [2, 3, 4] },
      { shape: [2, 3, 4], normalizedShape: 4 },
      { shape: [2, 3, 4], normalizedShape: [3, 4], weight: floats(12, (i) => i) },
      { normalizedShape: [3, 4] },
      { normalizedShape: 6 },
      { shape: [2, 3, 4], axis: 1 },
      { shape: [2, 3, 4], axis: -1 },
      { shape: [2, 3, 4], axes: [1, 2] },
      { shape: [2, 3, 4], axes: [-1] },
      { shape: [2, 1, 12], axes: [0, 1, 2] },
      { shape: [1, 24, 1] },
    ]) {
      compare(x, options, JSON.stringify(options));
    }
  });

  test("memory of every kind, in place and into out", () => {
    const x = floats(600, () => random.normal());
    const weight = floats(100, () => random.normal());
    const expected = full.layerNorm(x, { normalizedShape: 100, weight });
    for (const make of [shared, unaligned, (/** @type {Float32Array} */ v) => v.slice()]) {
      const own = make(x);
      const options = { normalizedShape: 100, weight: make(weight) };
      assertSameBits(lite.layerNorm(own, options), expected, make.name);
      const out = make(new Float32Array(600));
      assert.equal(lite.layerNorm(own, { ...options, out }), out);
      assertSameBits(out, expected, `${make.name} out`);
      assert.equal(lite.layerNorm(own, { ...options, out: own }), own);
      assertSameBits(own, expected, `${make.name} in place`);
    }
  });

  test("in place, rows in pieces", () => {
    const x = floats(2 * (PIECE + 5), () => 100 + random.normal());
    const options = { normalizedShape: PIECE + 5 };
    const expected = full.layerNorm(x, options);
    assertSameBits(lite.layerNorm(x, { ...options, out: x }), expected, "in place");
  });

  test("an empty batch, also by normalizedShape alone", () => {
    const x = new Float32Array(0);
    compare(x, { normalizedShape: 4 }, "normalizedShape");
    compare(x, { shape: [0, 4], weight: new Float32Array(4) }, "shape");
    assert.equal(lite.layerNorm(x, { shape: [2, 0, 4], out: x }), x);
  });
});

describe("errors", () => {
  const x = floats(6, (i) => i);
  const OPTIONS =
    "shape, normalizedShape, axis, axes, weight, bias, weightOffset, eps, out, returnStats";
  const VECTOR = "null, a number or a Float32Array";

  for (const name of NAMES) {
    /** @param {any} [options] @param {any} [input] */
    const norm = (options, input = x) => OURS[name](input, options);
    /** @param {string} text */
    const say = (text) => `${name}: ${text}`;

    test(`${name}: wrong kinds`, () => {
      for (const [value, got] of /** @type {[any, string][]} */ ([
        [undefined, "undefined"],
        [null, "null"],
        [[1, 2], "an array"],
        [new Float64Array(2), "Float64Array"],
        [new Uint16Array(2), "Uint16Array"],
        [{ data: x, dims: [6] }, "an object"],
      ])) {
        check(typeError(() => OURS[name](value), say(`"x" expected a Float32Array, got ${got}`)));
      }
      check(
        typeError(() => norm({ weight: [1] }), say(`"weight" expected ${VECTOR}, got an array`)),
      );
      const wide = new Float64Array(6);
      check(
        typeError(() => norm({ bias: wide }), say(`"bias" expected ${VECTOR}, got Float64Array`)),
      );
      check(
        typeError(
          () => norm({ out: wide }),
          say('"out" expected a Float32Array, got Float64Array'),
        ),
      );
      check(typeError(() => norm({ eps: "1" }), say('"eps" expected a number, got "1"')));
      check(
        typeError(() => norm({ returnStats: 1 }), say('"returnStats" expected a boolean, got 1')),
      );
      for (const [value, got] of /** @type {[any, string][]} */ ([
        [null, "null"],
        [1e-6, "0.000001"],
        [[], "an array"],
        [x, "Float32Array"],
        [new Map(), "an object"],
      ])) {
        check(typeError(() => norm(value), say(`"options" expected an object, got ${got}`)));
      }
    });

    test(`${name}: options that there are not, here or at all`, () => {
      for (const option of ["epsilon", "scale", "activation", "preset", "__proto__x", "toString"]) {
        const message = say(`"options" expected only ${OPTIONS}, got "${option}"`);
        check(typeError(() => norm({ [option]: 1 }), message));
      }
      assertSameBits(norm({ activation: undefined }), norm(), "undefined counts as absent");
      assertSameBits(norm(Object.create({ eps: -1 })), norm(), "only own properties count");
    });

    test(`${name}: wrong values and shapes`, () => {
      const y = new Float32Array(6).fill(7);
      /** @param {any} options @param {string} text @param {any} [input] */
      const refused = (options, text, input) => {
        check(rangeError(() => norm({ out: y, ...options }, input), say(text)));
        assert.ok(y.every((value) => value === 7));
      };
      refused({ eps: -1 }, '"eps" expected a finite number >= 0, got -1');
      refused({ weightOffset: Infinity }, '"weightOffset" expected a finite number, got Infinity');
      refused({ weight: x.subarray(1) }, '"weight" expected shape [6], got [5]');
      refused({ normalizedShape: [2], bias: x }, '"bias" expected shape [2], got [6]');
      refused({ weight: x.subarray(0, 1) }, '"weight" expected shape [6], got [1]');
      refused({ shape: [4] }, '"x" expected 4 elements for shape [4], got 6');
      refused({ normalizedShape: 4 }, '"x" expected a multiple of 4 elements, got 6');
      refused(
        { shape: [6], axis: 1 },
        '"axis" expected an integer from -1 to 0 for shape [6], got 1',
      );
      refused({ shape: [2, 3], axes: [0] }, '"axes" expected trailing dimensions, got [0]');
      refused({ shape: [2, 3], axes: [1, 0] }, '"axes" expected trailing dimensions, got [1, 0]');
      refused({ out: y.subarray(1) }, '"out" expected 6 elements, got 5');
      refused({}, '"x" expected at least one element to normalize, got shape [0]', y.subarray(6));
      const clash = "at most one of normalizedShape, axis, axes, got normalizedShape and axis";
      check(
        typeError(() => norm({ axis: 0, normalizedShape: 6 }), say(`"axis" expected ${clash}`)),
      );
    });

    test(`${name}: out that overlaps`, () => {
      const memory = floats(10, (i) => i * i);
      const copy = memory.slice();
      const [a, b] = [memory.subarray(0, 6), memory.subarray(4, 10)];
      /** @param {any} options @param {Float32Array} input @param {string} other */
      const refused = (options, input, other) => {
        const text = `"out" expected x itself or memory apart, got an overlap with "${other}"`;
        check(rangeError(() => norm(options, input), say(text)));
        assert.deepEqual(memory, copy);
      };
      refused({ out: b }, a, "x");
      refused({ out: a }, b, "x");
      refused({ out: a, weight: memory.subarray(0, 6) }, x, "weight");
      refused({ out: a, bias: b }, x, "bias");
      refused({ out: b, bias: a }, x, "bias");
      // What stands right beside it is apart.
      const out = memory.subarray(3, 6);
      norm({ out, weight: memory.subarray(6, 9), bias: memory.subarray(0, 3) }, x.subarray(0, 3));
      assert.notDeepEqual(memory, copy);
    });

    test(`${name}: memory that is gone`, () => {
      const text = (/** @type {string} */ which) =>
        say(`"${which}" expected memory that is there, got a detached Float32Array`);
      check(typeError(() => norm({}, detached(x.slice())), text("x")));
      check(typeError(() => norm({}, outOfBounds()), text("x")));
      check(typeError(() => norm({ weight: detached(x.slice()) }), text("weight")));
      check(typeError(() => norm({ bias: detached(x.slice()) }), text("bias")));
      check(typeError(() => norm({ out: detached(x.slice()) }), text("out")));
      // By a getter, after x was read.
      const lost = x.slice();
      const options = {
        get eps() {
          detached(lost);
          return 1;
        },
      };
      check(typeError(() => norm(options, lost), text("x")));
    });

    test(`${name}: each option is read once`, () => {
      /** @type {string[]} */
      const read = [];
      const given = { weight: 2, bias: 1, eps: 1e-3, shape: [2, 3], returnStats: false };
      const options = new Proxy(given, {
        get: (target, key) => {
          read.push(String(key));
          return Reflect.get(target, key);
        },
      });
      const expected = norm(given);
      assertSameBits(norm(options), expected, "by a proxy");
      const names = read.filter((key) => key in given);
      assert.deepEqual(names.sort(), Object.keys(given).sort());
    });
  }

  test("the next call works", () => {
    assert.throws(() => lite.layerNorm(x, { eps: -1 }), RangeError);
    compare(x, {}, "after an error");
  });
});

test("init() is harmless before and after the first call", async () => {
  const fresh = `../../dist/lite.js?${Math.random()}`;
  const { init, layerNorm } = await import(fresh);
  const x = floats(8, (i) => i);
  await Promise.all([init(), init()]);
  assertSameBits(layerNorm(x), full.layerNorm(x), "after init");
  await init();
  assertSameBits(layerNorm(x), full.layerNorm(x), "after another");
});
