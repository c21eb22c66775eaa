/**
 * Hashes as in hash_cases.js of the operations, layouts, element types and options that are not there, for engines that run
 * JavaScript: tests/golden/hashes_operations.json. `node tests/js/hashes.js --write` stores them too.
 *
 * Generator, draw() and uniform() are those of hash_cases.js, case c starts with s = 2463534242 + c.
 *
 * Case c of 180 (integer division, % is the remainder):
 *   op, dims, options   CALLS[c % 15], or for odd c / 15 its second form, with channels last or columns
 *   dtype               (c / 30 + c) % 4     0 float32, 1 float64, 2 float16, 3 bfloat16
 *   kind                (c / 15 + c) % 9     of x: as in hash_cases.js with the last dimension for channels; of 16-bit types
 *                       the bits are next() & 0x83ff | 10 + (next() & 7) << 10 (float16),
 *                       next() & 0x807f | 120 + (next() & 7) << 7 (bfloat16), the left factor drawn first
 *   params              (c / 4) % 5          none; weight, bias; scale, shift; all four with weightOffset 1; weight, bias,
 *                       activation ACTIVATIONS[c % 6]. Nothing for operations without them
 *
 * x is drawn first, then for add forms the residual, of kind 0 as x, then gate (uniform()), then the parameters in the order
 * above, as float32 vectors of 24-bit 2 * uniform(), and for batchNorm the running mean (uniform()) and variance
 * (1 + uniform()), all of the length that the call's row has.
 *
 * Hash: over the bytes of output, sum, mean and rstd, those of them that there are, and of running statistics after a
 * training call.
 */
import { fnv1a, Xorshift } from "./hash_cases.js";

/** @typedef {Record<string, (...args: any[]) => any>} Functions */
/** @typedef {[number[], number, Record<string, unknown>?]} Form dimensions, length of parameters, options */

const CASES = 180;
const KINDS = ["uniform", "offset", "two", "wide", "constant", "spike", "tiny", "huge", "ramp"];
const ACTIVATIONS = ["relu", "silu", "gelu", "gelu_tanh", "sigmoid", "tanh"];
const DTYPES = /** @type {const} */ (["float32", "float64", "float16", "bfloat16"]);
const LAST = { layout: "channels_last" };

/** @type {[string, Form, Form][]} */
const CALLS = [
  ["layerNorm", [[6, 97], 97], [[33, 7], 33, { axes: [0] }]],
  ["rmsNorm", [[3, 5, 31], 155, { axis: 1 }], [[4, 9, 6], 24, { axes: [2, 0] }]],
  ["groupNorm", [[2, 6, 5, 4], 6, { numGroups: 3 }], [[2, 9, 12], 12, { numGroups: 4, ...LAST }]],
  ["instanceNorm", [[3, 4, 37], 4], [[2, 5, 6, 7], 7, LAST]],
  ["batchNorm", [[5, 3, 17], 3, { training: true }], [[4, 9, 6], 6, { training: true, ...LAST }]],
  ["batchNorm", [[3, 5, 11], 5], [[3, 11, 5], 5, LAST]],
  ["l2Normalize", [[5, 67], 0], [[19, 6], 0, { axes: [0] }]],
  ["lpNormalize", [[5, 67], 0, { p: 1 }], [[19, 6], 0, { axes: [0], p: 1 }]],
  ["lpNormalize", [[5, 67], 0, { p: Infinity }], [[3, 19, 2], 0, { axes: [1], p: Infinity }]],
  ["meanVarianceNormalize", [[2, 3, 4, 5], 0], [[19, 6], 0, { axes: [0] }]],
  ["localResponseNorm", [[2, 9, 7], 0, { size: 4 }], [[2, 7, 9], 0, { size: 5, ...LAST }]],
  ["addLayerNorm", [[6, 97], 97], [[33, 7], 33, { axes: [0] }]],
  ["addRmsNorm", [[6, 97], 97], [[3, 17, 4], 17, { axes: [1] }]],
  ["addGroupNorm", [[2, 6, 20], 6, { numGroups: 2 }], [[2, 9, 12], 12, { numGroups: 4, ...LAST }]],
  // Beyond the arena's chunk and the kernels' stage.
  ["layerNorm", [[2, 20_001], 20_001], [[9001, 5], 9001, { axes: [0] }]],
];

/**
 * @param {number} c
 * @param {Functions} functions
 * @returns {{ name: string, hash: string }}
 */
function hashCase(c, functions) {
  const round = Math.floor(c / CALLS.length);
  const [op, ...forms] = /** @type {[string, Form, Form]} */ (CALLS[c % CALLS.length]);
  const [dims, length, own = {}] = /** @type {Form} */ (forms[round % 2]);
  const dtype = DTYPES[(Math.floor(round / 2) + c) % 4];
  const kind = String(KINDS[(c + round) % KINDS.length]);
  const params = length === 0 ? 0 : Math.floor(c / 4) % 5;
  const size = dims.reduce((a, b) => a * b, 1);
  const last = Number(dims[dims.length - 1]);
  const random = new Xorshift(c, dtype === "float64" ? "float64" : "float32");
  const narrow = new Xorshift(c + CASES, "float32");

  /** @param {string} elements */
  const tensor = (elements) => {
    if (dtype === "float16" || dtype === "bfloat16") {
      const bits = dtype === "float16" ? [0x83ff, 10, 10] : [0x807f, 120, 7];
      const data = Uint16Array.from({ length: size }, () => {
        const rest = random.next() & Number(bits[0]);
        return rest | ((Number(bits[1]) + (random.next() & 7)) << Number(bits[2]));
      });
      return { data, dims, type: dtype };
    }
    const data = dtype === "float32" ? new Float32Array(size) : new Float64Array(size);
    for (let i = 0; i < size; i++) data[i] = random.element(elements, i % last, last);
    return { data, dims, type: dtype };
  };
  /** @param {(u: number) => number} value */
  const vector = (value) => Float32Array.from({ length }, () => value(narrow.uniform()));
  const double = () => vector((u) => 2 * u);

  const inputs = [tensor(kind)];
  /** @type {Record<string, any>} */
  const options = { ...own };
  if (op.startsWith("add")) {
    inputs.push(tensor("uniform"));
    options.gate = vector((u) => u);
  }
  if (params === 1 || params >= 3) Object.assign(options, { weight: double(), bias: double() });
  if (params === 2 || params === 3) Object.assign(options, { scale: double(), shift: double() });
  if (params === 3) options.weightOffset = 1;
  if (params === 4) options.activation = ACTIVATIONS[c % 6];
  if (op === "batchNorm") {
    options.runningMean = vector((u) => u);
    options.runningVar = vector((u) => 1 + u);
  }
  if (length !== 0) options.returnStats = true;

  const result = /** @type {any} */ (functions[op])(...inputs, options);
  const { output, sum, mean, rstd } = length === 0 ? { output: result } : result;
  const views = [output, sum, mean, rstd].filter(Boolean).map(({ data }) => data);
  if (options.training) views.push(options.runningMean, options.runningVar);
  const shown = Object.entries(own).map(([key, value]) => `${key} ${value}`);
  const what = [op, dtype, kind, `[${dims}]`, ...shown].join(" ");
  const name = `${c} ${what}, params ${params}`;
  return { name, hash: fnv1a(views) };
}

/**
 * @param {Functions} functions the package's, however they were loaded
 * @returns {Record<string, string>} the hash of each case by its name, which begins with its number
 */
export function hashOperations(functions) {
  /** @type {Record<string, string>} */
  const result = {};
  for (let c = 0; c < CASES; c++) {
    const { name, hash } = hashCase(c, functions);
    result[name] = hash;
  }
  return result;
}
