/**
 * Values in memory: by wasm, on a GPU with the way there and back, and that way alone, which no GPU makes shorter. For
 * THRESHOLD_BYTES of bindings/auto.ts.
 */

import { median } from "./stats.js";

const MIB = 2 ** 20;
const SIZES = [1, 4, 16, 64, 256].map((size) => size * MIB);
const FEATURES = 1024;
/** Milliseconds of a call by wasm from which on there is nothing more to learn from larger ones. */
const LONG = 1000;

/** @typedef {"float32" | "float16"} DType */
/** @typedef {(rows: number) => number[]} Shape of so many rows of FEATURES values */
/**
 * @typedef {object} Kind what differs in its cost for each element
 * @property {string} op
 * @property {DType} dtype
 * @property {Shape} shape
 * @property {object} options
 */
/**
 * Milliseconds at a size of x. `copies`: what any way to a GPU and back needs at least, into buffers that are there and out of
 * one; `transfers`: what layernorm/auto does beside computing. For gradients two tensors go there.
 * @typedef {{ bytes: number, wasm: Record<string, number>, webgpu: Record<string, number>, copies: number[], transfers: number[] }} Step
 */

const weight = Float32Array.from({ length: FEATURES }, (_, i) => 1 + 0.1 * Math.sin(i));
const bias = weight.map((value) => 1 - value);
const affine = { weight, bias };

/** @type {Shape} */
const rows = (n) => [n, FEATURES];
/** @type {Shape} */
const channels = (n) => [n / 64, 64, FEATURES];
/** @type {Shape} */
const turned = (n) => [n / 8, 8, FEATURES / 16, 16];

/** @type {(op: string, options?: object, dtype?: DType, shape?: Shape) => Kind} */
const kind = (op, options = affine, dtype = "float32", shape = rows) => ({
  op,
  dtype,
  shape,
  options,
});
const activated = (/** @type {string} */ activation) => ({ ...affine, activation });

/** @type {Record<string, Kind>} */
const KINDS = {
  layerNorm: kind("layerNorm"),
  "layerNorm of float16": kind("layerNorm", affine, "float16"),
  "layerNorm along axes 1 and 3": kind("layerNorm", { axes: [1, 3] }, "float32", turned),
  "layerNorm with silu": kind("layerNorm", activated("silu")),
  "layerNorm with scale and shift": kind("layerNorm", { ...affine, scale: weight, shift: bias }),
  "layerNorm with tanh": kind("layerNorm", activated("tanh")),
  "layerNorm with gelu": kind("layerNorm", activated("gelu")),
  "layerNorm of float16 with tanh": kind("layerNorm", activated("tanh"), "float16"),
  "layerNorm of float16 with gelu": kind("layerNorm", activated("gelu"), "float16"),
  localResponseNorm: kind("localResponseNorm", { size: 5 }, "float32", channels),
  layerNormBackward: kind("layerNormBackward"),
  "layerNormBackward with scale": kind("layerNormBackward", { ...affine, scale: weight }),
  "layerNormBackward with relu": kind("layerNormBackward", activated("relu")),
  "layerNormBackward with silu": kind("layerNormBackward", activated("silu")),
  "layerNormBackward with gelu": kind("layerNormBackward", activated("gelu")),
};

const bytesOf = (/** @type {any} */ view) =>
  ArrayBuffer.isView(view)
    ? new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
    : new Uint8Array(view);

/**
 * The copies that no way there and back does without, between memory that is there.
 * @param {any} device
 * @param {Float32Array} x
 * @param {Float32Array} out
 */
function prepareCopies(device, x, out) {
  const size = x.byteLength;
  const buffers = [0, 1].map(() => device.createBuffer({ size, usage: 0x80 | 0x8 | 0x4 }));
  const staging = device.createBuffer({ size, usage: 0x1 | 0x8 });
  return {
    /** @param {number} inputs */
    async run(inputs) {
      for (const buffer of buffers.slice(0, inputs)) device.queue.writeBuffer(buffer, 0, x);
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(buffers[0], 0, staging, 0, size);
      device.queue.submit([encoder.finish()]);
      await staging.mapAsync(1);
      bytesOf(out).set(bytesOf(staging.getMappedRange()));
      staging.unmap();
    },
    dispose() {
      for (const buffer of [...buffers, staging]) buffer.destroy();
    },
  };
}

/** @param {any} norm @param {Float32Array} x @param {Float32Array} out @param {number} inputs */
async function transfer(norm, x, out, inputs) {
  const tensors = Array.from({ length: inputs }, () => norm.tensor(x));
  out.set(await norm.read(tensors[0]));
  for (const tensor of tensors) tensor.dispose();
}

/**
 * A call of layernorm/auto, which gives what it wrote.
 * @param {any} auto
 * @param {Kind} kind
 * @param {Record<DType, { x: any, out: any }>} values
 * @param {string} backend
 */
function prepareCall(auto, { op, dtype, shape: shapeOf, options }, values, backend) {
  const { x, out } = values[dtype];
  const shape = shapeOf(x.length / FEATURES);
  const isGradient = op.endsWith("Backward");
  const like = dtype === "float16" ? { data: x, dims: shape, type: dtype } : x;
  const given = {
    ...options,
    backend,
    ...(dtype === "float16" ? {} : { shape }),
    ...(isGradient ? {} : { out }),
  };
  return async () => {
    const y = await (isGradient ? auto[op](like, like, given) : auto[op](like, given));
    return isGradient ? y.gradInput : out;
  };
}

/** Throws where a GPU and wasm differ. @param {any} auto */
async function check(auto) {
  const values = valuesOf(MIB);
  for (const [name, each] of Object.entries(KINDS)) {
    const ours = (await prepareCall(auto, each, values, "wasm")()).slice();
    const theirs = await prepareCall(auto, each, values, "webgpu")();
    // Bits of float16 as they stand: neighbouring numbers have neighbouring bits.
    const most = each.dtype === "float16" ? 1 : 1e-4;
    for (let i = 0; i < ours.length; i += 97) {
      if (!(Math.abs(ours[i] - theirs[i]) <= most))
        throw new Error(`${name}: ${theirs[i]} at ${i} on the GPU, ${ours[i]} by wasm`);
    }
  }
}

/** @param {number} bytes */
function valuesOf(bytes) {
  const x = Float32Array.from({ length: bytes / 4 }, (_, i) => Math.sin(i * 1.7) + 0.1);
  // The bits of numbers from 0.5 to 2.
  const halves = Uint16Array.from({ length: bytes / 2 }, (_, i) => 0x3800 + ((i * 7919) & 0x7ff));
  return { float32: { x, out: x.slice() }, float16: { x: halves, out: halves.slice() } };
}

/**
 * @param {number} rounds
 * @param {boolean} whole whether to time calls on the GPU, too, which are those of a CPU on SwiftShader
 * @param {(step: Step) => unknown} tell
 */
export async function benchRoundTrips(rounds, whole, tell) {
  // A name in a variable: the types are those of the source.
  const name = "/dist/auto.js";
  const auto = await import(name);
  const norm = await auto.webgpu();
  await check(auto);
  /** Kinds that larger tensors are too long for. @type {Set<string>} */
  const done = new Set();
  for (const bytes of SIZES) {
    const values = valuesOf(bytes);
    const { x, out } = values.float32;
    const copies = prepareCopies(norm.device, x, out);
    /** @type {Record<string, () => Promise<unknown>>} */
    const ways = {};
    for (const inputs of [1, 2]) {
      ways[`copies ${inputs}`] = () => copies.run(inputs);
      ways[`transfers ${inputs}`] = () => transfer(norm, x, out, inputs);
    }
    for (const [label, each] of Object.entries(KINDS)) {
      if (done.has(label)) continue;
      ways[`wasm ${label}`] = prepareCall(auto, each, values, "wasm");
      if (whole) ways[`webgpu ${label}`] = prepareCall(auto, each, values, "webgpu");
    }
    /** @type {Record<string, number[]>} */
    const times = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
    for (let round = -1; round < rounds; round++) {
      // The first to use a GPU after a while waits for it to wake.
      await copies.run(1);
      for (const [way, run] of Object.entries(ways)) {
        const start = performance.now();
        await run();
        // The first round is for warming up.
        if (round >= 0) times[way].push(performance.now() - start);
      }
    }
    copies.dispose();
    const of = (/** @type {string} */ prefix) =>
      Object.fromEntries(
        Object.entries(times).flatMap(([way, each]) =>
          way.startsWith(`${prefix} `) ? [[way.slice(prefix.length + 1), median(each)]] : [],
        ),
      );
    const wasm = of("wasm");
    for (const [label, ms] of Object.entries(wasm)) {
      // A call four times as large takes about four times as long.
      if (4 * ms > LONG) done.add(label);
    }
    await tell({
      bytes,
      wasm,
      webgpu: of("webgpu"),
      copies: Object.values(of("copies")),
      transfers: Object.values(of("transfers")),
    });
  }
}
