/** Which elements of x are normalized together, and which element of a parameter each of them takes. */

/**
 * @typedef {object} Geometry
 * @property {number[]} dims of x
 * @property {number[]} [axes] the normalized dimensions; default the last one
 * @property {boolean} [last] whether the channels stand last
 * @property {number} [numGroups]
 */
/**
 * @typedef {object} Runs
 * @property {Int32Array[]} runs the elements of each run, in x's order; the runs in the order of their statistics
 * @property {Int32Array} own for each element of x the element of a parameter of the normalized dimensions (or the channels)
 * @property {number} ownCount elements of such a parameter
 * @property {Int32Array} item for each element its index of dimension 0
 */

/** @param {readonly number[]} dims @returns {number} */
export const count = (dims) => dims.reduce((product, size) => product * size, 1);

/** @param {string} op @returns {boolean} whether parameters have the channels */
export const isOfChannels = (op) => /group|instance|batch|Response/i.test(op);

/**
 * @param {string} op the name of the public function
 * @param {Geometry} geometry
 * @returns {Runs}
 */
export function runsOf(op, { dims, axes = [dims.length - 1], last = false, numGroups = 1 }) {
  const rank = dims.length;
  const channel = last ? rank - 1 : 1;
  const channels = dims[channel];
  const perGroup = /group/i.test(op) ? channels / numGroups : 1;
  /** What an index along each dimension adds to the number of the run and of the parameter's element. */
  const runStrides = new Array(rank).fill(0);
  const ownStrides = new Array(rank).fill(0);
  let ownCount = channels;
  if (isOfChannels(op)) {
    ownStrides[channel] = 1;
    if (op !== "batchNorm") runStrides[0] = channels / perGroup;
  } else {
    ownCount = 1;
    for (const axis of axes.toReversed()) {
      ownStrides[axis] = ownCount;
      ownCount *= dims[axis];
    }
    let stride = 1;
    for (let d = rank - 1; d >= 0; d--) {
      if (axes.includes(d)) continue;
      runStrides[d] = stride;
      stride *= dims[d];
    }
  }

  const size = count(dims);
  const own = new Int32Array(size);
  const item = new Int32Array(size);
  const runOf = new Int32Array(size);
  const index = new Array(rank).fill(0);
  let total = 0;
  for (let i = 0; i < size; i++) {
    let run = isOfChannels(op) ? Math.floor(index[channel] / perGroup) : 0;
    for (let d = 0; d < rank; d++) {
      run += index[d] * runStrides[d];
      own[i] += index[d] * ownStrides[d];
    }
    runOf[i] = run;
    item[i] = index[0];
    total = Math.max(total, run + 1);
    for (let d = rank - 1; d >= 0 && ++index[d] === dims[d]; d--) index[d] = 0;
  }
  const sizes = new Int32Array(total);
  for (const run of runOf) sizes[run]++;
  const runs = Array.from(sizes, (length) => new Int32Array(length));
  sizes.fill(0);
  for (let i = 0; i < size; i++) runs[runOf[i]][sizes[runOf[i]]++] = i;
  return { runs, own, ownCount, item };
}

/**
 * The elements of a run brought together, or put back.
 * @template {Float32Array | Float64Array | Uint16Array} T
 * @param {T} x
 * @param {Int32Array} run
 * @returns {T}
 */
export function gather(x, run) {
  const values = /** @type {T} */ (x.slice(0, run.length));
  for (let i = 0; i < run.length; i++) values[i] = x[run[i]];
  return values;
}

/**
 * @param {Float32Array | Float64Array | Uint16Array} x
 * @param {Int32Array} run
 * @param {ArrayLike<number>} values
 */
export function scatter(x, run, values) {
  for (let i = 0; i < run.length; i++) x[run[i]] = values[i];
}
