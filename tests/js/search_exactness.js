/**
 * Looks for the rows with the largest errors: `node tests/js/search_exactness.js [seconds] [seed]`. Not a test.
 *
 * Half of the time random rows of every kind and of two values; the other half changes the worst rows so far a little and
 * keeps what makes them worse. Every row found is printed as JSON with all that is needed to make it again.
 */
import { families, fillFamily, LIMITS, newRow, Random } from "./data.js";
import { momentsOf, Normalizer } from "./exact.js";
import { judge, operations, parameters } from "./judge.js";

/** @typedef {import("./data.js").DType} DType */
/** @typedef {import("./data.js").Row} Row */
/** @typedef {import("./judge.js").Operation} Operation */
/**
 * @typedef {object} Trial
 * @property {Operation} operation
 * @property {DType} dtype
 * @property {Row} x
 * @property {number} eps
 * @property {string} kind of parameters
 * @property {import("./exact.js").AffineOptions} options
 * @property {string} origin how x was made
 */
/** @typedef {Trial & { verdict: import("./judge.js").Verdict, value: number }} Found */

const seconds = Number(process.argv[2] ?? 60);
const seed = Number(process.argv[3] ?? 1);
const KEPT = 4;

const random = new Random(seed);

/** Lengths where the scheme changes: tails of a vector, short runs, flush intervals. */
const SPECIAL = [
  1, 2, 3, 4, 5, 16, 31, 32, 33, 64, 95, 96, 97, 98, 128, 129, 191, 192, 193, 256, 257, 768, 1024,
];

/** @returns {number} */
function length() {
  if (random.uniform() < 0.3) return random.pick(SPECIAL);
  return Math.max(1, Math.floor(2000 ** random.uniform()));
}

/** @param {DType} dtype @returns {number} any magnitude, most of them ordinary */
function magnitude(dtype) {
  if (random.uniform() < 0.7) return 1;
  const range = dtype === "float32" ? 125 : 1020;
  return 2 ** Math.round((2 * random.uniform() - 1) * range);
}

/** Ways to make a row. @type {Record<string, (x: Row, dtype: DType) => void>} */
const makers = {
  family: (x, dtype) => fillFamily(random.pick(families(dtype)), x, random),
  twoValues: (x, dtype) => {
    const scale = magnitude(dtype);
    const a = scale * (1 + random.uniform());
    const b = random.pick([
      -a,
      0,
      -scale * (1 + random.uniform()),
      a * (1 + 2 ** -random.below(24)),
      a * 2 ** random.below(40),
    ]);
    const share = random.pick([0.5, 0.5, 0.25, 0.1, 2 / x.length, random.uniform()]);
    for (let i = 0; i < x.length; i++) x[i] = random.uniform() < share ? a : b;
  },
  twoBlocks: (x, dtype) => {
    const scale = magnitude(dtype);
    const cut = random.below(x.length + 1);
    x.fill(scale * (1 + random.uniform()), 0, cut);
    x.fill(random.sign() * scale * (1 + random.uniform()) * 2 ** (random.below(9) - 4), cut);
  },
  fewValues: (x, dtype) => {
    const scale = magnitude(dtype);
    const values = Array.from({ length: 2 + random.below(4) }, () => scale * random.normal());
    for (let i = 0; i < x.length; i++) x[i] = random.pick(values);
  },
  // A pattern that repeats with the blocks of a sum: every block rounds the same way.
  periodic: (x, dtype) => {
    const scale = magnitude(dtype);
    const pattern = newRow(dtype, random.pick([4, 8, 16, 32, 64]));
    const mean = random.pick([0, 0, 0.4, random.normal()]);
    const few = random.pick([0, 2, 3, 4]);
    const values = Array.from({ length: few }, () => random.sign() * 2 ** (3 * random.uniform()));
    for (let i = 0; i < pattern.length; i++) {
      pattern[i] = scale * (mean + (few ? random.pick(values) : random.normal()));
    }
    for (let i = 0; i < x.length; i++) x[i] = pattern[i % pattern.length];
  },
  meanAndDeviation: (x, dtype) => {
    const scale = magnitude(dtype);
    const mean = 2 ** (random.uniform() * 30 - 6);
    const uniform = random.bits() & 1;
    for (let i = 0; i < x.length; i++)
      x[i] = scale * (mean + (uniform ? random.uniform() : random.normal()));
  },
  outliers: (x) => {
    const far = 2 ** (random.uniform() * 60);
    for (let i = 0; i < x.length; i++)
      x[i] = random.normal() * (random.uniform() < 3 / x.length ? far : 1);
  },
  // Sums of squares that all round the same way: one mantissa a little beside a power of two.
  equalMantissas: (x) => {
    const a = 1 + random.uniform() * 2 ** -random.below(20);
    for (let i = 0; i < x.length; i++) x[i] = random.sign() * a * (random.uniform() < 0.1 ? 2 : 1);
  },
};

/** @param {DType} dtype @returns {number} 0, usual ones, or about the variance */
function anyEps(dtype) {
  if (random.uniform() < 0.8) return random.pick([0, 0, 1e-5, 1e-12]);
  return 2 ** (random.uniform() * 40 - 30) * (dtype === "float32" ? 1 : 2 ** -20);
}

/** @returns {Trial} */
function anyTrial() {
  const operation = random.pick(/** @type {Operation[]} */ (["layerNorm", "rmsNorm"]));
  const dtype = random.pick(/** @type {DType[]} */ (["float32", "float32", "float64"]));
  const x = newRow(dtype, length());
  const origin = random.pick(Object.keys(makers));
  do makers[origin](x, dtype);
  while (!x.every(Number.isFinite));
  const kind = random.pick(Object.keys(parameters));
  return withParameters({ operation, dtype, x, eps: anyEps(dtype), kind, options: {}, origin });
}

/** @param {Trial} trial @returns {Trial} with new parameters for its x */
function withParameters(trial) {
  const { x, eps, kind, operation } = trial;
  const normalizer = new Normalizer(momentsOf(x), {
    eps,
    centered: operations[operation].centered,
  });
  return { ...trial, options: parameters[kind](x, random, normalizer) };
}

/** @param {Row} x @param {number} factor @returns {Row} */
function scaled(x, factor) {
  return x.map((value) => value * factor);
}

/** @param {Found} found @returns {Trial} a little changed */
function mutated(found) {
  const x = found.x.slice();
  const { tiny } = LIMITS[found.dtype];
  const at = random.below(x.length);
  /** @type {Trial} */
  let trial = { ...found, x };
  switch (random.below(8)) {
    case 0:
      // The same row in another mantissa.
      trial.x = scaled(x, 1 + random.uniform());
      break;
    case 1:
      x[at] *= 1 + (random.uniform() - 0.5) * 2 ** -random.below(24);
      break;
    case 2:
      x[at] = x[random.below(x.length)];
      break;
    case 3: {
      // One place of all blocks of 64.
      const value = x[at] * (1 + random.normal() * 2 ** -random.below(24));
      for (let i = at % 64; i < x.length; i += 64) x[i] = value;
      break;
    }
    case 4:
      // All elements of one value move together.
      for (
        let i = 0,
          value = x[at],
          next = value * (1 + random.normal() * 2 ** -random.below(24)) + tiny;
        i < x.length;
        i++
      ) {
        if (x[i] === value) x[i] = next;
      }
      break;
    case 5:
      trial.eps = random.pick([0, trial.eps, trial.eps * (0.5 + random.uniform())]);
      break;
    case 6: {
      // Another weight and bias at the worst element.
      const { index } = found.verdict;
      const options = { ...trial.options };
      for (const name of /** @type {const} */ (["weight", "bias"])) {
        const value = options[name];
        if (value === undefined || value === null) continue;
        const factor = 1 + (random.uniform() - 0.5) * 2 ** -random.below(20);
        if (typeof value === "number") {
          options[name] = value * factor;
        } else {
          const copy = /** @type {Row} */ (value).slice();
          copy[index] *= factor;
          options[name] = copy;
        }
      }
      trial.options = options;
      break;
    }
    default:
      trial = withParameters(trial);
  }
  if (!trial.x.every(Number.isFinite)) return found;
  // These parameters are made for the values of x.
  return trial.kind === "edge" || trial.kind === "canceling" ? withParameters(trial) : trial;
}

/** The worst so far for each operation, type and kind of error. @type {Map<string, Found[]>} */
const worst = new Map();
let rows = 0;

/** @param {Trial} trial @param {string | null} only the list that it came from */
function consider(trial, only) {
  rows++;
  const verdict = judge(trial.operation, trial.x, trial.eps, trial.options);
  for (const measure of /** @type {const} */ (["error", "mean", "rstd"])) {
    const affine = measure === "error" ? (trial.kind === "none" ? " plain" : " affine") : "";
    const size = trial.x.length <= 96 ? " short" : "";
    const key = `${trial.operation} ${trial.dtype} ${measure}${affine}${size}`;
    if (only !== null && key !== only) continue;
    let list = worst.get(key);
    if (list === undefined) {
      list = [];
      worst.set(key, list);
    }
    const value = verdict[measure];
    if (list.length === KEPT && value <= list[KEPT - 1].value) continue;
    list.push({ ...trial, verdict, value });
    list.sort((a, b) => b.value - a.value);
    list.length = Math.min(list.length, KEPT);
  }
}

const end = performance.now() + 1000 * seconds;
while (performance.now() < end) {
  for (let i = 0; i < 100; i++) {
    const key = worst.size > 0 && i % 2 === 1 ? random.pick(Array.from(worst.keys())) : null;
    const list = key === null ? undefined : worst.get(key);
    if (list === undefined) consider(anyTrial(), null);
    else consider(mutated(random.pick(list)), key);
  }
}

console.log(`${rows} rows in ${seconds} s, seed ${seed}`);
for (const key of Array.from(worst.keys()).sort()) {
  const [found] = /** @type {Found[]} */ (worst.get(key));
  const { x, eps, kind, origin, verdict, value } = found;
  const { index, got, expected } = verdict;
  console.log(
    `${key}: ${value.toFixed(4)} (n ${x.length}, ${origin}, ${kind}, eps ${eps}, index ${index} got ${got}, expected ${expected})`,
  );
}
if (process.argv.includes("--rows")) {
  for (const [key, [{ x, eps, options, value }]] of worst) {
    /** @param {unknown} _ @param {unknown} item */
    const plain = (_, item) =>
      ArrayBuffer.isView(item) ? Array.from(/** @type {Row} */ (item)) : item;
    console.log(JSON.stringify({ key, value, eps, x, options }, plain));
  }
}
