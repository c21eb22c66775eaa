/** One view of all operations: x in a shape of up to four dimensions, statistics over some of them, parameters that broadcast. */

/** @typedef {import("./tasks.js").Spec} Spec */
/**
 * @typedef {object} Geometry
 * @property {number[]} view a shape of x
 * @property {number[]} axes those of view that are normalized together
 * @property {number[]} channels shape of weight and bias, to be broadcast against view
 * @property {number[]} items shape of scale and shift, to be broadcast against view; empty where they are not measured
 */

/** @param {readonly number[]} numbers */
export function productOf(numbers) {
  return numbers.reduce((product, number) => product * number, 1);
}

/** @param {string} operation @returns {boolean} whether it divides by the root mean square, without a mean */
export function isRms(operation) {
  return operation === "rmsNorm" || operation === "addRmsNorm";
}

/** @param {Pick<Spec, "operation" | "dims" | "options">} spec @returns {Geometry} */
export function geometryOf({ operation, dims, options: { numGroups = 1, layout, axes } }) {
  const items = dims[0];
  if (axes === undefined && (operation === "layerNorm" || isRms(operation))) {
    const features = dims[dims.length - 1];
    const between = dims.slice(1, -1).map(() => 1);
    return {
      view: dims,
      axes: [dims.length - 1],
      channels: [features],
      items: [items, ...between, features],
    };
  }
  const channels = layout === "channels_last" ? dims[dims.length - 1] : dims[1];
  const positions = productOf(dims) / items / channels;
  if (operation === "groupNorm") {
    const members = channels / numGroups;
    return layout === "channels_last"
      ? {
          view: [items, positions, numGroups, members],
          axes: [1, 3],
          channels: [numGroups, members],
          items: [],
        }
      : {
          view: [items, numGroups, members, positions],
          axes: [2, 3],
          channels: [numGroups, members, 1],
          items: [],
        };
  }
  const AXES = { instanceNorm: [2], batchNorm: [0, 2], layerNorm: [1] };
  return {
    view: [items, channels, positions],
    axes: AXES[/** @type {keyof typeof AXES} */ (operation)],
    channels: [channels, 1],
    items: [],
  };
}

/** @param {Geometry} geometry @returns {number[]} shape of the statistics */
export function statisticsShape({ view, axes }) {
  return view.map((length, axis) => (axes.includes(axis) ? 1 : length));
}
