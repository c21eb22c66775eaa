/**
 * How the cost of each operation grows: GB/s of reading x and writing y once, over the length of a run and over the number of runs,
 * for resident plans of float32 with weight and bias where there are any.
 *
 *   node tests/bench/growth.js                     every operation, a minute or two each
 *   node tests/bench/growth.js layerNorm groupNorm --typed     plain calls with typed arrays and `out` instead
 *
 * Each length is timed beside its two neighbours, in turn: what one of them takes for an element, over what another one takes, is the
 * cliff there. At the end stand tables in Markdown, with the steepest cliff beyond 64 elements.
 */
import { parseArgs } from "node:util";
import * as layernorm from "../../dist/index.js";
import { Random } from "../js/data.js";
import { describeMachine, ensureBuilt } from "./machine.js";
import { table } from "./markdown.js";
import { median } from "./stats.js";
import { timeInterleaved } from "./timing.js";

/** @typedef {{ dims: number[], channels: number, options?: Record<string, unknown>, parameters?: string[] }} Shape */
/** @typedef {(runs: number, length: number) => Shape} Geometry the shape of so many runs of a length */

/** @type {Geometry} */
const rows = (runs, length) => ({ dims: [runs, length], channels: length });
/** The positions of one of a group's eight channels. @type {Geometry} */
const groups = (runs, length) => ({
  dims: [Math.max(1, Math.round(runs / 8)), 8, length],
  channels: 8,
  options: { numGroups: 1 },
});
/** @type {Geometry} */
const planes = (runs, length) => ({ dims: [1, runs, length], channels: runs });
/** Runs whose values lie apart. @type {Geometry} */
const columns = (runs, length) => ({
  dims: [length, runs],
  channels: length,
  options: { axes: [0] },
});
/** @type {Geometry} */
const unweighted = (runs, length) => ({ dims: [runs, length], channels: 0 });

/** @type {Record<string, { operation: string, geometry: Geometry, options?: Record<string, unknown>, inputs?: number }>} */
const OPERATIONS = {
  layerNorm: { operation: "layerNorm", geometry: rows },
  rmsNorm: { operation: "rmsNorm", geometry: rows },
  layerNormOverColumns: { operation: "layerNorm", geometry: columns },
  groupNorm: { operation: "groupNorm", geometry: groups },
  instanceNorm: { operation: "instanceNorm", geometry: planes },
  batchNormTraining: { operation: "batchNorm", geometry: planes, options: { training: true } },
  l2Normalize: { operation: "l2Normalize", geometry: unweighted },
  meanVarianceNormalize: { operation: "meanVarianceNormalize", geometry: unweighted },
  addRmsNorm: { operation: "addRmsNorm", geometry: rows, inputs: 2 },
  layerNormSilu: { operation: "layerNorm", geometry: rows, options: { activation: "silu" } },
  layerNormBackward: { operation: "layerNormBackward", geometry: rows, inputs: 2 },
  rmsNormBackward: { operation: "rmsNormBackward", geometry: rows, inputs: 2 },
  groupNormBackward: { operation: "groupNormBackward", geometry: groups, inputs: 2 },
  addRmsNormBackward: { operation: "addRmsNormBackward", geometry: rows, inputs: 3 },
  layerNormSiluBackward: {
    operation: "layerNormBackward",
    geometry: rows,
    options: { activation: "silu" },
    inputs: 2,
  },
};

const ELEMENTS = 1 << 20;
const LONGEST = 1e7;
const CLIFF_FROM = 64;
const SETTINGS = {
  sampleMs: 4,
  warmUpMs: 30,
  budgetMs: 400,
  minRounds: 11,
  maxRounds: 41,
  slowMs: 2000,
  minSamples: 5,
};

const { values, positionals } = parseArgs({
  options: { typed: { type: "boolean", default: false } },
  allowPositionals: true,
});

/** @param {string} name @param {number} runs @param {number} length */
function prepare(name, runs, length) {
  const { operation, geometry, options, inputs = 1 } = OPERATIONS[name];
  const shape = geometry(runs, length);
  const elements = shape.dims.reduce((a, b) => a * b);
  const random = new Random(3);
  const some = (/** @type {number} */ n) =>
    Float32Array.from({ length: n }, () => random.uniform() - 0.5);
  /** @type {any} */
  const { plan, tensor, zeros } = layernorm;
  /** @type {any[]} */
  const held = [];
  const hold = (/** @type {Float32Array} */ data, /** @type {number[]} */ dims) => {
    if (values.typed) return data;
    const made = tensor(data, dims);
    held.push(made);
    return made;
  };
  const given = Array.from({ length: inputs }, () => hold(some(elements), shape.dims));
  /** @type {Record<string, unknown>} */
  const all = { ...shape.options, ...options };
  if (shape.channels > 0) {
    all.weight = hold(some(shape.channels), [shape.channels]);
    all.bias = hold(some(shape.channels), [shape.channels]);
  }
  const outs = operation.endsWith("Backward") ? [] : ["out", "sumOut"].slice(0, inputs);
  for (const out of outs) {
    all[out] = values.typed ? new Float32Array(elements) : zeros(shape.dims);
    if (!values.typed) held.push(all[out]);
  }
  if (values.typed) {
    /** @type {any} */
    const call = Reflect.get(layernorm, operation);
    all.shape = shape.dims;
    return { elements, run: () => call(...given, all), dispose: () => {} };
  }
  const step = plan(operation, ...given, all);
  return {
    elements,
    run: () => step.run(),
    dispose() {
      step.dispose();
      for (const each of held) each.dispose();
    },
  };
}

/**
 * @param {string} name
 * @param {[runs: number, length: number][]} sizes
 * @returns {Promise<number[]>} nanoseconds for an element of each
 */
async function measure(name, sizes) {
  const prepared = sizes.map(([runs, length]) => prepare(name, runs, length));
  const times = await timeInterleaved(
    prepared.map(({ run }, i) => ({ id: `${i}`, run, async: false })),
    SETTINGS,
  );
  for (const { dispose } of prepared) dispose();
  return prepared.map(({ elements }, i) => (median(times.get(`${i}`) ?? []) * 1e6) / elements);
}

/** @param {number} ns for an element of 4 bytes read and 4 written */
const speed = (ns) => (8 / ns).toPrecision(3).padStart(7);

/**
 * @typedef {object} Growth GB/s by the length of 2^20 elements' runs, and by the number of runs of 768
 * @property {string} name
 * @property {Map<number, string>} lengths
 * @property {Map<number, string>} runs
 * @property {{ cliff: number, length: number }} steepest
 */

/** @param {string} name @returns {Promise<Growth>} */
async function grow(name) {
  console.log(`\n${name}, GB/s\n`);
  const steepest = { cliff: 0, length: 0 };
  const growth = { name, lengths: new Map(), runs: new Map(), steepest };
  for (let length = 1; length <= LONGEST; length = length < 64 ? length * 2 : length * 4) {
    const lengths = [length - 1, length, length + 1].filter((n) => n > 0);
    const each = await measure(
      name,
      lengths.map((n) => [Math.max(1, Math.round(ELEMENTS / length)), n]),
    );
    const cliff = Math.max(...each) / Math.min(...each);
    if (length > CLIFF_FROM && cliff > steepest.cliff) Object.assign(steepest, { cliff, length });
    growth.lengths.set(length, speed(each[lengths.indexOf(length)]));
    const cells = lengths.map((n, i) => `${`${n}`.padStart(9)} ${speed(each[i])}`);
    console.log(`  runs of ${cells.join("")}   ${cliff.toFixed(2)}`);
  }
  for (let runs = 1; runs <= 65536; runs *= 4) {
    const [ns] = await measure(name, [[runs, 768]]);
    growth.runs.set(runs, speed(ns));
    console.log(`  ${`${runs}`.padStart(6)} runs of 768 ${speed(ns)}`);
  }
  return growth;
}

/**
 * A row for each size, a column for each operation.
 *
 * @param {string} head
 * @param {Growth[]} all
 * @param {(growth: Growth) => Map<number, string>} of
 */
function tableOf(head, all, of) {
  const sizes = [...of(all[0]).keys()];
  return [
    [head, ...all.map(({ name }) => name)],
    ...sizes.map((size) => [`${size}`, ...all.map((each) => of(each).get(size)?.trim() ?? "")]),
  ];
}

const names = positionals.length > 0 ? positionals : Object.keys(OPERATIONS);
for (const name of names) {
  if (!(name in OPERATIONS)) throw new Error(`There are ${Object.keys(OPERATIONS).join(", ")}`);
}
ensureBuilt(console.log);
const machine = describeMachine(`Node.js ${process.versions.node}`);
console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.system}, ${machine.engine}`);
/** @type {Growth[]} */
const all = [];
for (const name of names) all.push(await grow(name));
const cliffs = all.map(({ steepest: { cliff, length } }) => `${cliff.toFixed(2)} at ${length}`);
const lengths = tableOf("length of a run", all, (growth) => growth.lengths);
console.log(`\n${table([...lengths, ["steepest cliff", ...cliffs]])}`);
console.log(`\n${table(tableOf("runs of 768", all, (growth) => growth.runs))}`);
