// parseSafetensors: files as the reference implementation writes them, and files that are meant to harm.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { layerNorm } from "../../dist/index.js";
import { LayerNorm, parseSafetensors, RMSNorm } from "../../dist/nn.js";

const encoder = new TextEncoder();

/**
 * @param {string | Uint8Array | object} header
 * @param {Uint8Array | ArrayLike<number>} [data]
 * @param {{ length?: bigint, pad?: number }} [options] the length that the file claims; spaces behind the header
 * @returns {Uint8Array}
 */
function file(header, data = [], { length, pad = 0 } = {}) {
  const text = typeof header === "string" ? header : JSON.stringify(header);
  const bytes =
    header instanceof Uint8Array ? header : encoder.encode(text + " ".repeat(Math.max(pad, 0)));
  const result = new Uint8Array(8 + bytes.length + data.length);
  new DataView(result.buffer).setBigUint64(0, length ?? BigInt(bytes.length), true);
  result.set(bytes, 8);
  result.set(data, 8 + bytes.length);
  return result;
}

/** @param {ArrayBufferView} array */
const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/**
 * @param {Record<string, [dtype: string, shape: number[], array: ArrayBufferView]>} tensors
 * @param {{ pad?: number, metadata?: Record<string, string> }} [options]
 */
function fileOf(tensors, { pad, metadata } = {}) {
  /** @type {Record<string, unknown>} */
  const header = metadata ? { __metadata__: metadata } : {};
  /** @type {number[]} */
  const data = [];
  for (const [name, [dtype, shape, array]] of Object.entries(tensors)) {
    const begin = data.length;
    data.push(...bytesOf(array));
    header[name] = { dtype, shape, data_offsets: [begin, data.length] };
  }
  return file(header, data, { pad });
}

/** @type {[dtype: string, name: string, array: any][]} */
const TYPES = [
  ["F64", "float64", Float64Array.of(1.5, -2)],
  ["F32", "float32", Float32Array.of(1.5, -2)],
  ["BF16", "bfloat16", Uint16Array.of(0x3fc0, 0xc000)],
  ["I64", "int64", BigInt64Array.of(-1n, 2n ** 62n)],
  ["U64", "uint64", BigUint64Array.of(1n, 2n ** 63n)],
  ["I32", "int32", Int32Array.of(-1, 2)],
  ["U32", "uint32", Uint32Array.of(1, 2 ** 31)],
  ["I16", "int16", Int16Array.of(-1, 2)],
  ["U16", "uint16", Uint16Array.of(1, 2)],
  ["I8", "int8", Int8Array.of(-1, 2)],
  ["U8", "uint8", Uint8Array.of(1, 255)],
  ["BOOL", "bool", Uint8Array.of(0, 1)],
  ["F8_E4M3", "float8_e4m3fn", Uint8Array.of(0x38, 0xc0)],
  ["F8_E5M2", "float8_e5m2", Uint8Array.of(0x3c, 0xc0)],
];

for (const pad of [0, 1, 3, 8]) {
  test(`parseSafetensors reads every element type, ${pad} spaces behind the header`, () => {
    for (const [dtype, name, array] of TYPES) {
      const { t, ...others } = parseSafetensors(fileOf({ t: [dtype, [2, 1], array] }, { pad }));
      assert.deepEqual(others, {});
      assert.deepEqual(t, { data: array, shape: [2, 1], dtype: name });
    }
  });
}

test("parseSafetensors reads float16 as a Float16Array where there is one, else as its bits", () => {
  const bits = Uint16Array.of(0x3e00, 0xc000);
  const { t } = parseSafetensors(fileOf({ t: ["F16", [2], bits] }));
  assert.equal(t.dtype, "float16");
  const Float16 = /** @type {any} */ (globalThis).Float16Array;
  assert.equal(t.data.constructor, Float16 ?? Uint16Array);
  assert.deepEqual(bytesOf(/** @type {any} */ (t.data)), bytesOf(bits));
});

test("parseSafetensors reads scalars, empty tensors, complex numbers and types below a byte", () => {
  const header = {
    __metadata__: { format: "pt" },
    scalar: { dtype: "I64", shape: [], data_offsets: [0, 8] },
    empty: { dtype: "F32", shape: [0, 4], data_offsets: [8, 8] },
    complex: { dtype: "C64", shape: [1], data_offsets: [8, 16] },
    nibbles: { dtype: "F4", shape: [4], data_offsets: [16, 18] },
    sixes: { dtype: "F6_E2M3", shape: [4], data_offsets: [18, 21] },
  };
  const data = [...bytesOf(BigInt64Array.of(7n)), ...bytesOf(Float32Array.of(1, 2)), 1, 2, 3, 4, 5];
  const tensors = parseSafetensors(file(header, data));
  assert.deepEqual(tensors.scalar, { data: BigInt64Array.of(7n), shape: [], dtype: "int64" });
  assert.deepEqual(tensors.empty.data, new Float32Array());
  assert.deepEqual(tensors.complex.data, Float32Array.of(1, 2));
  assert.deepEqual(tensors.nibbles.data, Uint8Array.of(1, 2));
  assert.deepEqual(tensors.sixes.data, Uint8Array.of(3, 4, 5));
  assert.ok(!("__metadata__" in tensors));
});

test("parseSafetensors takes ArrayBuffers, views at any offset, shared memory and a file without tensors", () => {
  const whole = fileOf({ t: ["F32", [2], Float32Array.of(1, 2)] });
  const expected = { t: { data: Float32Array.of(1, 2), shape: [2], dtype: "float32" } };
  assert.deepEqual(parseSafetensors(/** @type {ArrayBuffer} */ (whole.buffer)), expected);
  for (const offset of [0, 1, 2, 4]) {
    const memory = new Uint8Array(whole.length + 16);
    memory.set(whole, offset);
    assert.deepEqual(parseSafetensors(memory.subarray(offset, offset + whole.length)), expected);
  }
  const shared = new Uint8Array(new SharedArrayBuffer(whole.length));
  shared.set(whole);
  assert.deepEqual([.../** @type {any} */ (parseSafetensors(shared).t.data)], [1, 2]);
  assert.deepEqual(parseSafetensors(shared.buffer).t.shape, [2]);
  assert.deepEqual(parseSafetensors(file({})), {});
});

test("parseSafetensors reads a Buffer, whose slice copies nothing, at any offset", () => {
  for (const pad of [0, 1, 2, 3]) {
    const whole = fileOf({ t: ["F64", [2], Float64Array.of(1, 2)] }, { pad });
    const { t } = parseSafetensors(Buffer.from(whole));
    assert.deepEqual(t.data, Float64Array.of(1, 2));
  }
});

test("parseSafetensors refuses memory that was detached with a TypeError", () => {
  for (const [kind, of] of /** @type {[string, (memory: ArrayBuffer) => any][]} */ ([
    ["ArrayBuffer", (memory) => memory],
    ["Uint8Array", (memory) => new Uint8Array(memory)],
  ])) {
    const memory = /** @type {ArrayBuffer} */ (
      fileOf({ t: ["F32", [1], Float32Array.of(1)] }).buffer
    );
    const bytes = of(memory);
    structuredClone(memory, { transfer: [memory] });
    assert.throws(() => parseSafetensors(bytes), {
      name: "TypeError",
      message: `parseSafetensors: "bytes" expected memory that is there, got a detached ${kind}`,
    });
  }
});

test("parseSafetensors reads files of many tensors", () => {
  const n = 20_000;
  const names = Array.from({ length: n }, (_, i) => `model.layers.${i}.input_layernorm.weight`);
  const header = Object.fromEntries(
    names.map((name, i) => [name, { dtype: "F32", shape: [1], data_offsets: [4 * i, 4 * i + 4] }]),
  );
  const text = JSON.stringify(header);
  const data = new Uint8Array(Float32Array.from({ length: n }, (_, i) => i).buffer);
  const tensors = parseSafetensors(file(text, data, { pad: 8 - (text.length % 8) }));
  assert.deepEqual(Object.keys(tensors), names);
  for (const [i, name] of names.entries()) assert.equal(tensors[name]?.data[0], i);
});

test("parseSafetensors copies nothing where the file is aligned", () => {
  const plain = fileOf({ t: ["F32", [2], Float32Array.of(1, 2)] });
  const bytes = fileOf({ t: ["F32", [2], Float32Array.of(1, 2)] }, { pad: 8 - (plain.length % 8) });
  const { t } = parseSafetensors(bytes);
  assert.equal(/** @type {Float32Array} */ (t.data).buffer, bytes.buffer);
});

test("parseSafetensors' tensors are parameters as they are", () => {
  const weight = Uint16Array.of(0x3f80, 0x4000, 0x4040, 0x4080); // bfloat16: 1 2 3 4
  const { w } = parseSafetensors(fileOf({ w: ["BF16", [4], weight] }));
  const x = Float32Array.of(3, 5, 2, 8);
  const expected = layerNorm(x, { weight: Float32Array.of(1, 2, 3, 4) });
  assert.deepEqual(layerNorm(x, { weight: /** @type {any} */ (w) }), expected);
});

test("layers load from a model's file by their prefix", () => {
  const bytes = fileOf(
    {
      "model.embed_tokens.weight": ["BF16", [2, 2], new Uint16Array(4)],
      "model.layers.0.input_layernorm.weight": ["BF16", [4], Uint16Array.of(0x3f80, 0x4000, 0, 0)],
      "model.layers.0.post_attention_layernorm.weight": ["F32", [4], Float32Array.of(1, 2, 3, 4)],
      "model.layers.1.input_layernorm.weight": ["F16", [4], Uint16Array.of(0x3c00, 0x4000, 0, 0)],
      "encoder.layer.0.output.LayerNorm.weight": ["F32", [4], Float32Array.of(5, 6, 7, 8)],
      "encoder.layer.0.output.LayerNorm.bias": ["F64", [4], Float64Array.of(1, 2, 3, 0.1)],
    },
    { metadata: { format: "pt" } },
  );
  const tensors = parseSafetensors(bytes);
  const norm = new RMSNorm(4, { eps: 1e-6 });
  for (const [prefix, expected] of /** @type {[string, number[]][]} */ ([
    ["model.layers.0.input_layernorm.", [1, 2, 0, 0]],
    ["model.layers.0.post_attention_layernorm.", [1, 2, 3, 4]],
    ["model.layers.1.input_layernorm.", [1, 2, 0, 0]],
  ])) {
    const result = norm.loadStateDict(tensors, { prefix });
    assert.deepEqual(result, { missingKeys: [], unexpectedKeys: [] });
    assert.deepEqual([...(norm.weight?.data ?? [])], expected);
  }
  const bert = new LayerNorm(4, { eps: 1e-12 });
  bert.loadStateDict(tensors, { prefix: "encoder.layer.0.output.LayerNorm." });
  assert.deepEqual(bert.weight?.data, Float32Array.of(5, 6, 7, 8));
  assert.deepEqual(bert.bias?.data, Float32Array.of(1, 2, 3, 0.1));
});

const F32 = { dtype: "F32", shape: [1], data_offsets: [0, 4] };
const FOUR = [0, 0, 0, 0];

/** @type {Record<string, [bytes: any, message: RegExp, type?: ErrorConstructor]>} */
const BROKEN = {
  "not bytes": ["file.safetensors", /"bytes" expected a Uint8Array or an ArrayBuffer/, TypeError],
  "an array of another type": [new Float32Array(8), /got a? ?Float32Array/, TypeError],
  "no bytes": [new Uint8Array(), /at least 8 bytes, got 0/],
  "seven bytes": [new Uint8Array(7), /at least 8 bytes, got 7/],
  "no header": [new Uint8Array(8), /begins with "\{", got an empty one/],
  "a header that is cut": [file({ t: F32 }, []).subarray(0, 30), /header has \d+, got 30/],
  "a length beyond the file": [file("{}", [], { length: 3n }), /11 bytes or more/],
  "a length beyond 100 MB": [file("{}", [], { length: 100_000_001n }), /at most 100000000 bytes/],
  "the largest length": [file("{}", [], { length: 2n ** 64n - 1n }), /18446744073709551615/],
  "a list": [file("[]"), /begins with "\{", got one that begins with byte 91/],
  "a space before it": [file(" {}"), /begins with byte 32/],
  "no JSON": [file("{t: 1}"), /a header in JSON/],
  "JSON that is cut": [file('{"t":'), /a header in JSON/],
  "two objects": [file("{}{}"), /a header in JSON/],
  "zeros behind it": [file(encoder.encode("{}\0\0")), /a header in JSON/],
  "no UTF-8": [file(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d)), /a header in UTF-8/],
  "a surrogate as UTF-8": [
    file(Uint8Array.of(0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d)),
    /a header in UTF-8/,
  ],
  "a name given twice": [
    file(`{"t":${JSON.stringify(F32)},"t":${JSON.stringify(F32)}}`, FOUR),
    /each name once, got "t" twice/,
  ],
  "the same name in other letters": [
    file(`{"t":${JSON.stringify(F32)},"\\u0074":${JSON.stringify(F32)}}`, FOUR),
    /"t" twice/,
  ],
  "a name given twice beside strings that look like JSON": [
    file(`{"__metadata__":{"a":"\\\\","b":"\\":{,:"},"t":${JSON.stringify(F32)},"t":1}`, FOUR),
    /each name once, got "t" twice/,
  ],
  "a name given twice in what it does not read": [
    file(`{"t":{"more":[[{"a":1,"a":2}]],${JSON.stringify(F32).slice(1)}}`, FOUR),
    /each name once, got "a" twice/,
  ],
  "a nest without end": [file(`{"t":${"[".repeat(1e5)}${"]".repeat(1e5)}}`), /"t" expected dtype/],
  "an option given twice": [
    file('{"t":{"dtype":"F32","dtype":"I32","shape":[1],"data_offsets":[0,4]}}', FOUR),
    /"dtype" twice/,
  ],
  "the name __proto__": [
    file(`{"__proto__":${JSON.stringify(F32)}}`, FOUR),
    /"__proto__" expected another name/,
  ],
  "a tensor that is none": [file({ t: 1 }), /"t" expected dtype, shape and data_offsets, got 1/],
  "a null tensor": [file({ t: null }), /"t" expected .* got null/],
  "an unknown type": [file({ t: { ...F32, dtype: "F128" } }, FOUR), /"t" .*"F64".*got "F128"/],
  "a type that is none": [file({ t: { ...F32, dtype: ["F32"] } }, FOUR), /got an array/],
  "a type of objects": [file({ t: { ...F32, dtype: "constructor" } }, FOUR), /"constructor"/],
  "no shape": [file({ t: { ...F32, shape: undefined } }, FOUR), /a shape of integers >= 0/],
  "a fraction": [file({ t: { ...F32, shape: [0.5, 2] } }, FOUR), /integers >= 0, got \[0.5,2\]/],
  "a negative size": [file({ t: { ...F32, shape: [-1, -1] } }, FOUR), /integers >= 0/],
  "a size as text": [file({ t: { ...F32, shape: ["1"] } }, FOUR), /integers >= 0/],
  "a shape beyond 2^53": [
    file({ t: { ...F32, shape: [2 ** 40, 2 ** 40] } }, FOUR),
    /"t" expected .* bytes for shape/,
  ],
  "a shape that overflows to what there is": [
    file({ t: { ...F32, shape: [2 ** 33, 2 ** 33, 2 ** 33, 1] } }, FOUR),
    /"t" expected/,
  ],
  "another size than the offsets": [
    file({ t: { ...F32, shape: [2] } }, FOUR),
    /"t" expected 8 bytes for shape \[2\] of F32, got 4/,
  ],
  "half a byte": [
    file({ t: { dtype: "F4", shape: [1], data_offsets: [0, 1] } }, [0]),
    /a whole number of bytes/,
  ],
  "one offset": [file({ t: { ...F32, data_offsets: [0] } }, FOUR), /two data_offsets/],
  "negative offsets": [file({ t: { ...F32, data_offsets: [-4, 0] } }, FOUR), /two data_offsets/],
  "offsets in disorder": [file({ t: { ...F32, data_offsets: [4, 0] } }, FOUR), /in order/],
  "offsets beyond the file": [
    file({ t: { ...F32, data_offsets: [4, 8] } }, FOUR),
    /"t" expected data_offsets within 4 bytes, got \[4, 8\]/,
  ],
  "data that is cut": [file({ t: F32 }, [0, 0, 0]), /within 3 bytes, got \[0, 4\]/],
  "data behind the last tensor": [file({ t: F32 }, [...FOUR, 0]), /4 bytes of data.*got 5/],
  "data without tensors": [file({}, [0]), /0 bytes of data/],
  "tensors that overlap": [
    file({ a: F32, b: { ...F32, data_offsets: [2, 6] } }, [...FOUR, 0, 0]),
    /"b" expected data_offsets that share nothing/,
  ],
  "tensors in the same place": [file({ a: F32, b: F32 }, FOUR), /share nothing/],
  "a hole": [
    file({ a: F32, b: { ...F32, data_offsets: [8, 12] } }, new Uint8Array(12)),
    /"b" expected data_offsets from 4 on, without a hole, got \[8, 12\]/,
  ],
  "a hole at the start": [
    file({ t: { ...F32, data_offsets: [4, 8] } }, new Uint8Array(8)),
    /from 0 on, without a hole/,
  ],
  "metadata of numbers": [file({ __metadata__: { format: 1 } }), /"__metadata__" expected strings/],
  "metadata that is none": [file({ __metadata__: [] }), /"__metadata__" expected strings/],
};

for (const [what, [bytes, message, type = RangeError]] of Object.entries(BROKEN)) {
  test(`parseSafetensors refuses ${what}`, () => {
    assert.throws(
      () => parseSafetensors(bytes),
      (/** @type {Error} */ error) => {
        assert.equal(error.constructor, type);
        assert.match(error.message, /^parseSafetensors: "/);
        assert.match(error.message, message);
        return true;
      },
    );
  });
}

test("parseSafetensors leaves the prototype of objects alone", () => {
  const bytes = fileOf(/** @type {any} */ ({ constructor: ["F32", [1], Float32Array.of(3)] }));
  assert.deepEqual(/** @type {any} */ (parseSafetensors(bytes)).constructor, {
    data: Float32Array.of(3),
    shape: [1],
    dtype: "float32",
  });
  assert.equal(/** @type {any} */ ({}).data, undefined);
});

test("parseSafetensors throws its own errors or returns what lies in the file, whatever the bytes", () => {
  const sound = fileOf({
    a: ["F32", [2, 2], new Float32Array(4)],
    b: ["I64", [], BigInt64Array.of(1n)],
  });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(sound.length - 1), fc.nat(255)), { maxLength: 4 }),
      fc.nat(sound.length),
      (changes, length) => {
        const bytes = sound.slice();
        for (const [at, value] of changes) bytes[at] = value;
        const cut = length % 3 === 0 ? bytes.subarray(0, length) : bytes;
        try {
          for (const { data } of Object.values(parseSafetensors(cut))) {
            assert.ok(/** @type {Uint8Array} */ (data).byteLength <= cut.length);
          }
        } catch (error) {
          assert.ok(error instanceof RangeError, String(error));
          assert.match(error.message, /^parseSafetensors: /);
        }
      },
    ),
    { numRuns: 3000, seed: 6 },
  );
});
