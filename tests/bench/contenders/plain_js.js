/** The loop that one writes without a library: float32 in and out, float64 between, as numbers in JavaScript are. */

/** @typedef {import("./contender.js").Contender} Contender */

/**
 * @param {Float32Array} x
 * @param {Float32Array} y
 * @param {{ rows: number, features: number, weight: Float32Array, bias: Float32Array, eps: number }} options
 */
function layerNorm(x, y, { rows, features, weight, bias, eps }) {
  for (let row = 0; row < rows; row++) {
    const begin = row * features;
    let sum = 0;
    for (let j = 0; j < features; j++) sum += x[begin + j];
    const mean = sum / features;
    let squares = 0;
    for (let j = 0; j < features; j++) {
      const difference = x[begin + j] - mean;
      squares += difference * difference;
    }
    const rstd = 1 / Math.sqrt(squares / features + eps);
    for (let j = 0; j < features; j++) {
      y[begin + j] = (x[begin + j] - mean) * rstd * weight[j] + bias[j];
    }
  }
  return y;
}

/**
 * @param {Float32Array} x
 * @param {Float32Array} y
 * @param {{ rows: number, features: number, weight: Float32Array, eps: number }} options
 */
function rmsNorm(x, y, { rows, features, weight, eps }) {
  for (let row = 0; row < rows; row++) {
    const begin = row * features;
    let squares = 0;
    for (let j = 0; j < features; j++) squares += x[begin + j] * x[begin + j];
    const rstd = 1 / Math.sqrt(squares / features + eps);
    for (let j = 0; j < features; j++) y[begin + j] = x[begin + j] * rstd * weight[j];
  }
  return y;
}

/** @type {Record<import("./contender.js").Task["operation"], (x: Float32Array, y: Float32Array, options: any) => () => Float32Array>} */
const runners = {
  layerNorm: (x, y, options) => () => layerNorm(x, y, options),
  rmsNorm: (x, y, options) => () => rmsNorm(x, y, options),
};

/**
 * While there is one closure of a runner, V8 builds its shape into the code, which makes one row half again as fast; a
 * program's calls do not have that. Closures for two other shapes end it.
 */
function exercise() {
  for (const rows of [2, 3]) {
    const row = new Float32Array(64).fill(0.5);
    const x = new Float32Array(rows * row.length).fill(0.5);
    const options = { rows, features: row.length, eps: 1, weight: row, bias: row };
    for (const runner of Object.values(runners)) {
      const run = runner(x, new Float32Array(x.length), options);
      for (let i = 0; i < 100; i++) run();
    }
  }
}

/** @type {Contender} */
export const plainJs = {
  id: "plain-js",
  name: "plain JavaScript loop",
  detail: "two passes in float64, a reused Float32Array out",
  kind: "baseline",
  column: "plain JavaScript loop",
  async prepare({ operation, x, ...options }) {
    exercise();
    return { run: runners[operation](x, new Float32Array(x.length), options), read: (y) => y };
  },
};
