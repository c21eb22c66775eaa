/**
 * Hashes of gradients for fixed inputs, as hash_cases.js has them of results: tests/golden/hashes_backward.json.
 * `node tests/js/hashes.js --write` stores them. Generator, draw(), uniform() and the kinds of x are those of hash_cases.js,
 * and the C++ tests make the cases below 60 as well.
 *
 * Case c of 60 (integer division, % is the remainder), starting with s = 2463534242 + c:
 *   op        c % 3         0 layer_norm, 1 rms_norm, 2 l2_normalize
 *   dtype     c / 3 % 2     0 float32, 1 float64
 *   kind      c % 9         of x
 *   rows      1 + c % 7     channels CHANNELS[c % 10]
 *   eps       1e-5
 * x [rows, channels] is drawn first, then the gradient of the output, each uniform(), then for layer_norm and rms_norm weight
 * [channels], each 2 * uniform(); all of x's dtype; bias is the number 0.
 * Hash: over gradInput, then for layer_norm and rms_norm gradWeight and the float64 gradBias.
 *
 * Case 60 + c of 72, for engines that run JavaScript, starting with s = 2463534242 + c:
 *   op, dims, options   CALLS[c % 8], or for odd c / 8 its second form
 *   dtype               c / 16 % 2    0 float32, 1 float64
 *   params              c % 3         0 none; 1 weight, bias; 2 all four of EPILOGUE and activation ACTIVATIONS[c % 6]
 * x, the gradient of the output, and for add forms the residual and gradSum are drawn, each uniform(), then the parameters,
 * float32 vectors of uniform() by a float32 generator of s + 1000, for add forms gate before them, for batchNorm running mean
 * and variance (1 + uniform()) after them.
 * Hash: over all gradients that there are, in the order of the result.
 */
import { fnv1a, Xorshift } from "./hash_cases.js";

/** @typedef {Record<string, (...args: any[]) => any>} Functions */
/** @typedef {[number[], number, Record<string, unknown>?]} Form dimensions, length of parameters, options */

const ROWS = 60;
const CASES = 72;
const CHANNELS = [1, 3, 4, 17, 64, 97, 130, 768, 1023, 2049];
const KINDS = ["uniform", "offset", "two", "wide", "constant", "spike", "tiny", "huge", "ramp"];
const ACTIVATIONS = ["relu", "silu", "gelu", "gelu_tanh", "sigmoid", "tanh"];
const EPILOGUE = ["weight", "bias", "scale", "shift"];
const LAST = { layout: "channels_last" };

/** @type {[string, Form, Form][]} */
const CALLS = [
  ["layerNorm", [[33, 7], 33, { axes: [0] }], [[4, 9, 6], 24, { axes: [2, 0] }]],
  ["rmsNorm", [[3, 5, 31], 155, { axis: 1 }], [[19, 70], 19, { axes: [0] }]],
  ["groupNorm", [[2, 6, 5, 40], 6, { numGroups: 3 }], [[2, 9, 12], 12, { numGroups: 4, ...LAST }]],
  ["instanceNorm", [[3, 4, 137], 4], [[2, 5, 6, 7], 7, LAST]],
  ["batchNorm", [[5, 3, 67], 3, { training: true }], [[4, 9, 6], 6, { training: true, ...LAST }]],
  ["batchNorm", [[3, 5, 11], 5], [[3, 11, 5], 5, LAST]],
  ["addLayerNorm", [[6, 97], 97], [[33, 7], 33, { axes: [0] }]],
  ["addGroupNorm", [[2, 6, 20], 6, { numGroups: 2 }], [[2, 9, 12], 12, { numGroups: 4, ...LAST }]],
];

/** @param {any} result @returns {ArrayBufferView[]} the gradients as arrays */
const arraysOf = (result) =>
  Object.values(result)
    .filter((value) => value !== null)
    .map((value) => (typeof value === "number" ? Float64Array.of(value) : (value.data ?? value)));

/** @param {number} c @param {Functions} functions */
function hashRows(c, functions) {
  const op = ["layerNorm", "rmsNorm", "l2Normalize"][c % 3];
  const dtype = Math.floor(c / 3) % 2 ? "float64" : "float32";
  const kind = String(KINDS[c % KINDS.length]);
  const rows = 1 + (c % 7);
  const channels = Number(CHANNELS[c % CHANNELS.length]);
  const random = new Xorshift(c, dtype);
  /** @param {number} n @param {(i: number) => number} value */
  const make = (n, value) => {
    const data = dtype === "float32" ? new Float32Array(n) : new Float64Array(n);
    for (let i = 0; i < n; i++) data[i] = value(i);
    return data;
  };
  const x = make(rows * channels, (i) => random.element(kind, i % channels, channels));
  const grad = make(rows * channels, () => random.uniform());
  /** @type {Record<string, any>} */
  const options = { shape: [rows, channels], eps: 1e-5 };
  if (op !== "l2Normalize") {
    options.weight = make(channels, () => 2 * random.uniform());
    options.bias = 0;
  }
  const result = /** @type {any} */ (functions[`${op}Backward`])(grad, x, options);
  const name = `${c} ${op} ${dtype} ${kind} ${rows}x${channels}`;
  return { name, hash: fnv1a(arraysOf(result)) };
}

/** @param {number} c @param {Functions} functions */
function hashOperation(c, functions) {
  const [op, ...forms] = /** @type {[string, Form, Form]} */ (CALLS[c % CALLS.length]);
  const [dims, length, own = {}] = /** @type {Form} */ (forms[Math.floor(c / CALLS.length) % 2]);
  const dtype = Math.floor(c / 16) % 2 ? "float64" : "float32";
  const params = c % 3;
  const size = dims.reduce((a, b) => a * b, 1);
  const random = new Xorshift(c, dtype);
  const narrow = new Xorshift(c + 1000, "float32");
  const tensor = () => {
    const data = dtype === "float32" ? new Float32Array(size) : new Float64Array(size);
    for (let i = 0; i < size; i++) data[i] = random.uniform();
    return { data, dims };
  };
  /** @param {(u: number) => number} value */
  const vector = (value) => Float32Array.from({ length }, () => value(narrow.uniform()));
  const x = tensor();
  const inputs = [tensor(), x];
  /** @type {Record<string, any>} */
  const options = { ...own };
  if (op.startsWith("add")) {
    inputs.push(tensor());
    options.gradSum = tensor();
    options.gate = vector((u) => u);
  }
  for (const name of EPILOGUE.slice(0, 2 * params)) options[name] = vector((u) => u);
  if (params === 2) options.activation = ACTIVATIONS[c % 6];
  if (op === "batchNorm") {
    options.runningMean = vector((u) => u);
    options.runningVar = vector((u) => 1 + u);
  }
  const result = /** @type {any} */ (functions[`${op}Backward`])(...inputs, options);
  const shown = Object.entries(own).map(([key, value]) => `${key} ${value}`);
  const name = `${ROWS + c} ${[op, dtype, `[${dims}]`, ...shown].join(" ")}, params ${params}`;
  return { name, hash: fnv1a(arraysOf(result)) };
}

/**
 * @param {Functions} functions the package's, however they were loaded
 * @returns {Record<string, string>} the hash of each case by its name, which begins with its number
 */
export function hashBackward(functions) {
  /** @type {Record<string, string>} */
  const result = {};
  for (let c = 0; c < ROWS + CASES; c++) {
    const { name, hash } = c < ROWS ? hashRows(c, functions) : hashOperation(c - ROWS, functions);
    result[name] = hash;
  }
  return result;
}
