// Input that was made to break things, for every operation and its gradient: it gets the right result or an error of the package's own, in no
// time; the options stay as they were, nothing is written beside the results, and the next call works. Budget: 20 s.
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { dispose, layerNorm, zeros } from "../../dist/index.js";
import { assertSameBits } from "./bits.js";
import {
  CALLS,
  call,
  detach,
  judge,
  LENGTHS,
  make,
  optionsOf,
  revoked,
  tensors,
  withLength,
} from "./hostile.js";

/** What stands beside the arena: whoever writes out of bounds may hit it. */
let guard = zeros([0]);
beforeEach(() => {
  guard = zeros([4096]);
  guard.data.fill(7);
});
const control = Float32Array.from({ length: 12 }, (_, i) => Math.sin(i));
const controlled = layerNorm(control, { shape: [3, 4] });

afterEach(() => {
  const isWhole = guard.data.every((value) => value === 7);
  assert.ok(isWhole, "a tensor beside was written to");
  guard.dispose();
  assertSameBits(layerNorm(control, { shape: [3, 4] }), controlled, "the next call");
});

for (const name of CALLS) {
  const honest = make(name);
  call(honest);
  const right = honest.out;
  /** What is read and what is written of a call. @type {Record<string, (made: import("./hostile.js").Made) => any>} */
  const parts = Object.fromEntries(
    honest.inputs.map((_, i) => [`input ${i}`, ({ inputs }) => inputs[i].data]),
  );
  if (honest.options.out) parts.out = ({ out }) => out;

  describe(name, () => {
    test("passes on what a getter throws, and has written nothing", () => {
      const thrown = new Error("from a getter");
      /** @type {PropertyDescriptor} */
      const throwing = {
        enumerable: true,
        get() {
          throw thrown;
        },
      };
      for (const option of optionsOf(name)) {
        const made = make(name);
        Object.defineProperty(made.options, option, throwing);
        assert.throws(
          () => call(made),
          (error) => error === thrown,
          option,
        );
        assert.ok(made.out.every((value) => value === -1));
      }
      for (const i of honest.inputs.keys()) {
        for (const field of ["data", "dims", "type"]) {
          const made = make(name);
          made.inputs[i] = Object.defineProperty({ ...made.inputs[i] }, field, throwing);
          assert.throws(
            () => call(made),
            (error) => error === thrown,
            field,
          );
          assert.ok(made.out.every((value) => value === -1));
        }
      }
    });

    test("reads arrays as they are, whatever they say of themselves", () => {
      const never = () => assert.fail("the caller's own method was called");
      /** @type {Record<PropertyKey, unknown>} */
      const lies = {
        length: 2 ** 40,
        byteLength: 2 ** 40,
        byteOffset: 2 ** 40,
        buffer: new ArrayBuffer(0),
        BYTES_PER_ELEMENT: 1,
        constructor: never,
        [Symbol.toStringTag]: "Float64Array",
        [Symbol.iterator]: never,
      };
      for (const method of ["set", "subarray", "slice", "fill", "copyWithin", "map", "keys"]) {
        lies[method] = never;
      }
      /** @param {any} array */
      const lying = (array) => {
        for (const key of Reflect.ownKeys(lies)) {
          Object.defineProperty(array, key, { value: lies[key] });
        }
        return array;
      };
      class Liar extends Float32Array {
        static get [Symbol.species]() {
          return never();
        }
        /** @override */
        get length() {
          return 2 ** 40;
        }
      }
      for (const liar of [lying, (/** @type {any} */ array) => Liar.from(array)]) {
        const made = make(name);
        for (const input of made.inputs) input.data = liar(input.data.slice());
        for (const [option, value] of Object.entries(made.options)) {
          const isRead = option !== "out" && ArrayBuffer.isView(value);
          if (isRead) made.options[option] = liar(/** @type {any} */ (value).slice());
        }
        if (made.options.out === undefined) {
          call(made);
          assertSameBits(made.out, right, "gradients");
          continue;
        }
        const out = liar(new Float32Array(right.length));
        made.options.out = out;
        assert.equal(call(made)?.output ?? out, out);
        const written = new Float32Array(right.length);
        Float32Array.prototype.set.call(written, new Float32Array(bufferOf(out), 0, right.length));
        assertSameBits(written, right, "out");
      }
    });

    test("refuses dimensions whose length or numbers lie", () => {
      for (const length of LENGTHS) {
        const made = make(name);
        const { data, dims } = made.inputs[0];
        made.inputs[0] = { data, dims: withLength([...dims], length), type: "float32" };
        judge(made, `dims of length ${String(length)}`);
      }
      const { dims } = honest.inputs[0];
      for (const size of [NaN, 2 ** 53, 1e308, Infinity, -1, 0.5, "8", 8n, null, [8], {}, -0]) {
        for (const d of dims.keys()) {
          const made = make(name);
          const lying = dims.with(d, size);
          made.inputs[0] = { ...made.inputs[0], dims: lying };
          judge(made, `dims [${lying.map(String)}]`);
          const flat = make(name);
          flat.inputs[flat.xAt] = flat.inputs[flat.xAt].data;
          flat.options.shape = lying;
          judge(flat, `shape [${lying.map(String)}]`);
        }
      }
      for (const many of [
        Array(65).fill(1),
        Array(1e6).fill(1),
        [2 ** 27, 2 ** 27],
        [2 ** 31, 2 ** 31, 2 ** 31],
        [2 ** 52, 4, 0.25],
        [0, 2 ** 53 - 1, 2 ** 53 - 1],
      ]) {
        const made = make(name);
        made.inputs[0] = { ...made.inputs[0], dims: many };
        judge(made, `dims of ${many.length}`);
      }
      // Another answer each time: every one is read once.
      let reads = 0;
      const made = make(name);
      const { data } = made.inputs[0];
      const changing = new Proxy([...dims], {
        get: (object, key) => {
          reads++;
          return Reflect.get(reads > dims.length + 1 ? [1e9] : object, key);
        },
      });
      made.inputs[0] = { data, dims: changing, type: "float32" };
      judge(made, "changing dims", right);
    });

    test("refuses nested arrays whose length lies, at once", () => {
      for (const length of LENGTHS) {
        for (const nest of [
          withLength([1, 2], length),
          withLength([[1, 2]], length),
          [withLength([1, 2], length)],
          withLength([withLength([], length)], length),
        ]) {
          for (const [place, put] of tensors(make(name))) {
            const made = make(name);
            const own = tensors(made).find(([other]) => other === place)?.[1];
            own?.(nest);
            judge(made, `${place} nested, of length ${String(length)}`);
            put(nest);
          }
        }
      }
      // Proxies of arrays that are honest are arrays.
      const endless = make(name);
      /** @type {any[]} */
      const cycle = [];
      cycle.push(cycle);
      endless.inputs[0] = cycle;
      judge(endless, "a cycle");
    });

    test("finds memory that has gone, also while it reads", () => {
      for (const [place] of tensors(make(name))) {
        const made = make(name);
        const gone = new Float32Array(8);
        tensors(made).find(([other]) => other === place)?.[1](gone);
        detach(gone);
        judge(made, `${place} detached`);
      }
      for (const [late, find] of Object.entries(parts)) {
        const made = make(name);
        const array = find(made);
        const { preset, ...options } = made.options;
        made.options = Object.defineProperty(options, "preset", {
          enumerable: true,
          get: () => void detach(array),
        });
        judge(made, `${late} detached by a getter`);
      }
    });

    test("finds memory that has shrunk, also while it reads", () => {
      for (const fixed of [true, false]) {
        for (const when of ["before", "meanwhile"]) {
          for (const [i, what] of Object.keys(parts).entries()) {
            const made = make(name);
            const { length } = parts[what](made);
            const buffer = /** @type {any} */ (
              new /** @type {any} */ (ArrayBuffer)(4 * length, { maxByteLength: 8 * length })
            );
            const view = fixed ? new Float32Array(buffer, 0, length) : new Float32Array(buffer);
            if (what !== "out") {
              view.set(made.inputs[i].data);
              made.inputs[i].data = view;
            } else {
              made.options.out = view;
            }
            const shrink = () => buffer.resize(4 * length - 4);
            if (when === "before") shrink();
            Object.defineProperty(made.options, "preset", {
              enumerable: true,
              get: () => void (when === "meanwhile" && shrink()),
            });
            judge(made, `${what} ${fixed ? "fixed" : "tracking"}, shrunk ${when}`);
          }
        }
      }
    });

    test("refuses proxies that are no arrays, and revoked ones", () => {
      for (const [place] of tensors(make(name))) {
        const made = make(name);
        tensors(made).find(([other]) => other === place)?.[1](new Proxy(new Float32Array(8), {}));
        judge(made, `${place} a proxy of a typed array`);
        const ended = make(name);
        tensors(ended).find(([other]) => other === place)?.[1](revoked());
        // Whatever asks a revoked proxy gets the engine's TypeError.
        assert.throws(() => call(ended), TypeError, place);
      }
      const made = make(name);
      made.options = revoked();
      assert.throws(() => call(made), TypeError);
    });

    test("neither changes nor needs to change what it is given", () => {
      const made = make(name);
      const copies = structuredClone({ inputs: made.inputs, options: made.options });
      for (const input of made.inputs) {
        Object.freeze(input.dims);
        Object.freeze(input);
      }
      Object.freeze(made.options);
      call(made);
      assertSameBits(made.out, right, "frozen");
      assert.deepEqual(made.inputs, copies.inputs);
      const isTrained = made.options.training && made.xAt === 0;
      const changed = isTrained ? ["out", "runningMean", "runningVar"] : ["out"];
      for (const option of Object.keys(copies.options)) {
        if (changed.includes(option)) continue;
        assert.deepEqual(made.options[option], copies.options[option], option);
      }
    });

    test("is the same where prototypes are polluted", () => {
      const object = /** @type {any} */ (Object.prototype);
      const names = [
        ...optionsOf(name).filter((option) => !(option in {})),
        ...["get", "set", "value", "enumerable", "configurable", "writable", "index", "size"],
        ...["bytes", "array", "kind", "address", "own", "tensor", "fields", "constructed"],
      ];
      const made = make(name);
      const own = Object.keys(made.options);
      for (const polluted of names) {
        // Of its own alone: after the first ones any other object is a descriptor of both kinds.
        const descriptor = Object.assign(Object.create(null), {
          value: "polluted",
          writable: true,
          enumerable: true,
          configurable: true,
        });
        Object.defineProperty(object, polluted, descriptor);
      }
      const array = /** @type {any} */ (Array.prototype);
      array.polluted = "polluted";
      try {
        call(made);
      } finally {
        for (const polluted of names) delete object[polluted];
        delete array.polluted;
      }
      assertSameBits(made.out, right, "polluted");
      assert.deepEqual(Object.keys(made.options), own);
    });

    test("refuses wrong kinds for every option", () => {
      const wrong = [
        Symbol("wrong"),
        () => 1,
        10n,
        new Date(0),
        /wrong/,
        new Map(),
        new Set([1]),
        Promise.resolve(1),
        new ArrayBuffer(8),
        new DataView(new ArrayBuffer(8)),
        new Int32Array(8),
        new BigInt64Array(8),
        Object.create(null),
        new Number(1),
        new String("relu"),
        "wrong",
        NaN,
        [[], {}],
        [Symbol("wrong")],
      ];
      // What any number may be, or any string is; they are right or refused elsewhere.
      const numbers = /^(weight|bias|scale|shift|gate|sumBias|alpha|beta|k|returnStats|training)$/;
      for (const option of optionsOf(name)) {
        if (option === "out") continue;
        for (const value of wrong) {
          if (typeof value === "number" && numbers.test(option)) continue;
          const made = make(name);
          made.options[option] = value;
          judge(made, `${option} ${typeof value} ${Object.prototype.toString.call(value)}`);
        }
      }
    });
  });
}

test("dispose() in any getter leaves a package that works", () => {
  for (const name of CALLS) {
    const made = make(name);
    const honest = make(name);
    call(honest);
    Object.defineProperty(made.options, "preset", { enumerable: true, get: () => dispose() });
    call(made);
    assertSameBits(made.out, honest.out, name);
  }
  guard = zeros([1]);
  guard.data.fill(7);
});

/** @param {any} array @returns {ArrayBuffer} what its own property hides */
function bufferOf(array) {
  const prototype = Object.getPrototypeOf(Float32Array.prototype);
  return Object.getOwnPropertyDescriptor(prototype, "buffer")?.get?.call(array);
}
