/** Calls of every forward operation in every layout, with the setting that exact arithmetic judges them by. */
import * as layernorm from "../../dist/index.js";
import { families, familyValues, LIMITS, Random } from "./data.js";
import { momentsOf, Normalizer } from "./exact.js";
import { arithmetic, isHalf, load, roundTo, store } from "./half.js";
import { count, gather, isOfChannels, runsOf, scatter } from "./runs.js";

/** @typedef {import("./exact.js").DType} DType */
/** @typedef {import("./exact_operations.js").Setting} Setting */
/** @typedef {Float32Array | Float64Array} Row */
/** @typedef {import("./runs.js").Geometry & { name: string, options: Record<string, any> }} Layout */

/** No type tells what each kind of x gives. @type {Record<string, (...args: any[]) => any>} */
export const ops = /** @type {any} */ (layernorm);

/**
 * Names of operations with what they fix: "lpNormalize 1" is lpNormalize with p 1.
 * @type {Record<string, { op: string, options?: Record<string, any> }>}
 */
export const OPERATIONS = {
  layerNorm: { op: "layerNorm" },
  rmsNorm: { op: "rmsNorm" },
  l2Normalize: { op: "l2Normalize" },
  "lpNormalize 1": { op: "lpNormalize", options: { p: 1 } },
  "lpNormalize 2": { op: "lpNormalize", options: { p: 2 } },
  "lpNormalize Infinity": { op: "lpNormalize", options: { p: Number.POSITIVE_INFINITY } },
  meanVarianceNormalize: { op: "meanVarianceNormalize" },
  groupNorm: { op: "groupNorm" },
  instanceNorm: { op: "instanceNorm" },
  "batchNorm training": { op: "batchNorm", options: { training: true } },
  batchNorm: { op: "batchNorm" },
  localResponseNorm: { op: "localResponseNorm" },
  addLayerNorm: { op: "addLayerNorm" },
  addRmsNorm: { op: "addRmsNorm" },
  addGroupNorm: { op: "addGroupNorm" },
};

/** Lengths of runs and numbers of columns, in turn: around the vector width, the panels and the blocks of a sum. */
export const SIZES = [
  [1, 1],
  [2, 3],
  [3, 4],
  [5, 7],
  [17, 5],
  [64, 2],
  [33, 9],
  [97, 4],
  [12, 65],
  [130, 3],
  [257, 6],
  [4, 130],
];

/** @type {DType[]} */
export const DTYPES = ["float32", "float64", "float16", "bfloat16"];

/** @param {number} n @returns {[number, number]} two factors whose product is near n */
function factors(n) {
  const a = Math.max(1, Math.floor(Math.sqrt(n / 2)));
  return [a, Math.max(1, Math.round(n / a))];
}

/**
 * Every way in which the runs of an operation can lie, with runs of about n values.
 * @param {string} op
 * @param {number} n
 * @param {number} [columns] runs side by side
 * @returns {Layout[]}
 */
export function layoutsOf(op, n, columns = 5) {
  const [a, b] = factors(n);
  /** @param {string} name @param {number[]} dims @param {Record<string, any>} own @returns {Layout} */
  const byChannels = (name, dims, own) => ({
    name,
    dims,
    last: own.layout === "channels_last",
    numGroups: own.numGroups,
    options: own,
  });
  const first = { layout: "channels_first" };
  const last = { layout: "channels_last" };
  if (/group/i.test(op)) {
    const half = Math.max(1, Math.round(n / 2));
    return [
      byChannels("channels first", [2, 6, half], { numGroups: 3 }),
      byChannels("channels last", [2, half, 6], { ...last, numGroups: 3 }),
      byChannels("many channels last", [2, 3, 3, 4 * a], { ...last, numGroups: 4 }),
      byChannels("no positions", [3, 2 * n], { numGroups: 2 }),
    ];
  }
  if (op === "localResponseNorm") {
    return [
      byChannels("channels first", [2, n, columns], first),
      byChannels("channels last", [2, columns, n], last),
      byChannels("no positions", [3, n], {}),
    ];
  }
  if (op === "instanceNorm") {
    return [
      byChannels("channels first", [2, 3, a, b], first),
      byChannels("channels last", [2, a, b, columns], last),
    ];
  }
  if (isOfChannels(op)) {
    return [
      byChannels("channels first", [a, 3, b], first),
      byChannels("channels last", [a, b, columns], last),
      byChannels("no positions", [n, columns], {}),
    ];
  }
  const axes = (
    /** @type {string} */ name,
    /** @type {number[]} */ dims,
    /** @type {number[]} */ list,
  ) => ({
    name,
    dims,
    axes: list,
    options: { axes: list },
  });
  return [
    { name: "rows", dims: [3, n], axes: [1], options: {} },
    axes("columns", [n, columns], [0]),
    axes("columns between", [2, n, 3], [1]),
    axes("first and last axis", [a, 3, b], [0, 2]),
    axes("odd axes turned", [2, a, 3, b], [3, 1]),
    axes("all but the last", [a, b, 3], [1, 0]),
  ];
}

/** Kinds of parameters; the last two only where there is a scale. */
export const KINDS = ["none", "weight", "weightBias", "numbers", "offset", "cancel"];
export const CONDITIONAL_KINDS = ["scale", "scaleShift", "all", "items", "offsetScale"];

/** Where derivatives of activations nearly vanish: the second less than float32 is trusted with. @type {Record<string, number[]>} */
const FLAT = { gelu: [-8, -10.2], gelu_tanh: [-5, -8], tanh: [-15, -26] };

/** @param {string} op @returns {boolean} */
export const hasAffine = (op) => !/Normalize|Response/.test(op);

/**
 * @typedef {object} Draw
 * @property {string} name of OPERATIONS
 * @property {Layout} layout
 * @property {DType} dtype
 * @property {string} family of x's runs
 * @property {string} [kind] of parameters
 * @property {number} [eps]
 * @property {import("./transcendental.js").ActivationName | null} [activation]
 * @property {string} [preset]
 * @property {number} seed
 */
/**
 * @typedef {object} Case
 * @property {string} op
 * @property {any[]} inputs x, and the residual of add forms, as tensor-like objects
 * @property {Record<string, any>} options
 * @property {Setting} setting
 * @property {Row} x what is normalized, in the arithmetic type
 * @property {Record<string, { given: number | Float32Array, index: (i: number) => number }>} places of parameters: what was
 *   given, and which element of it each of x takes
 * @property {{ x: Row, residual: Row, gate: any, sumBias: any } | undefined} added what the sum is made of
 * @property {() => any} call
 */

/** @param {string} op @returns {number} */
export const defaultEps = (op) => (/^(l2|lp)/.test(op) ? 1e-12 : /^mean/.test(op) ? 1e-9 : 1e-5);

/** @param {Draw} draw @returns {Case} */
export function makeCase({ name, layout, dtype, family, kind, eps, activation, preset, seed }) {
  const { op, options: fixed = {} } = OPERATIONS[name];
  const { dims } = layout;
  const random = new Random(seed);
  const geometry = { dims, axes: layout.axes, last: layout.last, numGroups: layout.numGroups };
  const { runs, own, ownCount, item } = runsOf(op, geometry);
  const size = count(dims);
  const wide = arithmetic(dtype);

  /** @type {Row} */
  let x = wide === "float32" ? new Float32Array(size) : new Float64Array(size);
  // Every other case has runs of any kind beside one of this.
  const mixed = runs.length > 1 && seed % 2 === 1 ? random.below(runs.length) : -1;
  for (const [r, run] of runs.entries()) {
    const kindOfRun = mixed < 0 || r === mixed ? family : random.pick(families(dtype));
    scatter(x, run, familyValues(kindOfRun, dtype, run.length, random));
  }
  const like = (/** @type {Row} */ values) => ({ data: store(values, dtype), dims, type: dtype });
  const inputs = [like(x)];
  /** What the sum is made of. @type {any} */
  let added;
  /** @type {Record<string, any>} */
  const places = {};
  /** @type {Record<string, any>} */
  const options = { ...fixed, ...layout.options };
  if (eps !== undefined && op !== "localResponseNorm") options.eps = eps;
  if (preset) options.preset = preset;

  /** A vector that a call takes, and its values for each element of x. */
  const vector = (
    /** @type {number} */ length,
    /** @type {(i: number) => number} */ value,
    /** @type {(i: number) => number} */ index,
  ) => {
    const values = Float32Array.from({ length }, (_, i) => value(i));
    return { given: values, field: Float32Array.from(x, (_, i) => values[index(i)]), index };
  };
  const ofOwn = (/** @type {() => number} */ value) => vector(ownCount, value, (i) => own[i]);

  if (op.startsWith("add")) {
    const residual = familyValues("normal", dtype, size, random);
    inputs.push(like(residual));
    const gate = random.pick([undefined, 0.5, ofOwn(() => random.normal())]);
    const sumBias = random.pick([undefined, ofOwn(() => random.normal())]);
    if (typeof gate === "number") options.gate = gate;
    else if (gate) options.gate = gate.given;
    if (sumBias) options.sumBias = sumBias.given;
    added = { x, residual, gate, sumBias };
    const to = (/** @type {number} */ value) => roundTo(value, wide);
    x = x.map((value, i) => {
      const factor = gate === undefined ? 1 : typeof gate === "number" ? gate : gate.field[i];
      const sum = to(residual[i] + to(factor * value));
      return roundTo(to(sum + (sumBias?.field[i] ?? 0)), dtype);
    });
  }

  /** @type {Setting} */
  const setting = { op, dtype, ...geometry, eps: eps ?? defaultEps(op), p: fixed.p };
  if (op === "localResponseNorm") {
    const window = {
      size: random.pick([1, 2, 3, 4, 5, 8]),
      alpha: random.pick([1e-4, 0.5, 3]),
      beta: random.pick([0.75, 0.5, 1, 2.3]),
      k: random.pick([1, 2, 1e-3]),
    };
    Object.assign(options, window);
    setting.window = window;
  }
  if (name === "batchNorm") {
    const most = LIMITS[wide].max;
    const statistics = runs.map((run) => {
      const moments = momentsOf(gather(x, run));
      const { mean, var: variance } = new Normalizer(moments, { eps: 0, centered: true });
      const near = mean * (1 + 0.01 * random.normal());
      return [
        Math.max(-most, Math.min(most, near)),
        Math.min(most, variance * (0.5 + random.uniform())),
      ];
    });
    const array = wide === "float32" ? Float32Array : Float64Array;
    options.runningMean = new array(statistics.map(([mean]) => mean));
    options.runningVar = new array(statistics.map(([, variance]) => variance));
    setting.runningMean = options.runningMean;
    setting.runningVar = options.runningVar;
  }

  /** @param {string} key @param {{ given: any, field: any, index?: (i: number) => number }} value */
  const set = (key, { given, field, index = () => 0 }) => {
    options[key] = given;
    places[key] = { given, index };
    /** @type {any} */ (setting)[key] = field;
  };
  /** @param {string} key @param {number} value */
  const number = (key, value) => set(key, { given: value, field: roundTo(value, wide) });
  const affine = (/** @type {number} */ centre) => {
    set(
      "weight",
      ofOwn(() => centre + 0.3 * random.normal()),
    );
    set(
      "bias",
      ofOwn(() => random.normal()),
    );
  };
  const conditional = () => {
    set(
      "scale",
      ofOwn(() => 0.3 * random.normal()),
    );
    set(
      "shift",
      ofOwn(() => random.normal()),
    );
  };
  switch (kind) {
    case "weight":
      set(
        "weight",
        ofOwn(() => random.normal()),
      );
      break;
    case "weightBias":
      affine(1);
      break;
    case "farBias":
      affine(1);
      set(
        "bias",
        ofOwn(() => random.pick([0, -1.3, 90, ...(FLAT[activation ?? ""] ?? [-30, -55])])),
      );
      break;
    case "numbers":
      number("weight", 2 * random.normal());
      number("bias", random.normal());
      break;
    case "offset":
      affine(0);
      options.weightOffset = setting.weightOffset = 1;
      break;
    case "cancel":
      set(
        "weight",
        ofOwn(() => 5 * random.normal()),
      );
      set(
        "bias",
        ofOwn(() => -4 * random.normal()),
      );
      break;
    case "far":
      // Results from near 0 to thousands, for activations.
      set(
        "weight",
        ofOwn(() => random.sign() * 10 ** (4 * random.uniform() - 2)),
      );
      set(
        "bias",
        ofOwn(() => 3 * random.normal()),
      );
      break;
    case "scale":
      number("scale", random.normal());
      break;
    case "scaleShift":
      conditional();
      break;
    case "all":
      affine(1);
      conditional();
      break;
    case "items": {
      affine(1);
      const items = dims[0];
      const flat = (/** @type {number} */ i) => item[i] * ownCount + own[i];
      // Only where dimension 0 is not normalized is there one for each item.
      if (op === "batchNorm" || !layout.axes || !layout.axes.includes(0)) {
        const draw = () => vector(items * ownCount, () => random.normal(), flat);
        set("scale", draw());
        set("shift", draw());
      }
      break;
    }
    case "offsetScale":
      affine(0);
      conditional();
      options.weightOffset = setting.weightOffset = 1;
      break;
    default:
  }
  if (activation) options.activation = setting.activation = activation;
  if (preset === "llama" || preset === "t5") setting.rounds = isHalf(dtype);
  const call = () => ops[op](...inputs, options);
  return { op, inputs, options, setting, x, places, added, call };
}

/**
 * The output, and statistics where there are any, of a call as numbers.
 * @param {Case} made
 * @returns {{ output: Row, mean?: Float64Array, rstd?: Float64Array, sum?: Row }}
 */
export function resultsOf({ op, inputs, options, setting: { dtype } }) {
  if (!hasAffine(op)) return { output: load(ops[op](...inputs, options).data, dtype) };
  const { output, sum, mean, rstd } = ops[op](...inputs, { ...options, returnStats: true });
  return {
    output: load(output.data, dtype),
    mean: mean?.data,
    rstd: rstd?.data,
    sum: sum && load(sum.data, dtype),
  };
}
