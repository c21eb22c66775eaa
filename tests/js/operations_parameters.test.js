/** Which parameters match x, and how. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tensor } from "../../dist/index.js";
import { CHANNELS, checkCall, free, parameter, UNARY } from "./operation_checks.js";
import { count, indices, nest } from "./reference.js";

/** @typedef {import("./reference.js").Setting} Setting */

describe("parameters match", () => {
  /** A tensor of dimensions, and what it is at an index of them. @param {number[]} dims */
  const make = (dims, seed = 0) => {
    const values = parameter(count(dims), seed);
    const at = new Map(indices(dims).map((index, i) => [index.join(), values[i]]));
    return {
      tensor: { data: Float32Array.from(values), dims },
      flat: Float32Array.from(values),
      /** @param {number[]} index @returns {number} */
      at: (index) => at.get(index.join()) ?? assert.fail(`no index ${index}`),
    };
  };

  /**
   * @typedef {object} Match
   * @property {string} op
   * @property {number[]} dims
   * @property {any} [options]
   * @property {Partial<Setting>} [setting]
   * @property {number[]} own the parameter's dimensions
   * @property {(index: number[]) => number[]} to from an index of x to one of the parameter
   * @property {boolean} [flat] whether a flat array of the length does as well
   */

  /** @param {Match} match @param {string[]} names */
  const check = ({ op, dims, options = {}, setting = {}, own, to, flat }, names) => {
    for (const name of names) {
      const { tensor: like, flat: array, at } = make(own, name.length);
      /** @type {any[]} */
      const values = [like, tensor(like), nest(like.data, own)];
      if (flat) values.push(array, [...array]);
      for (const value of own.length === 0 ? values.slice(0, 2) : values) {
        checkCall({
          dims,
          options: { ...options, [name]: value },
          setting: { op, ...setting, [name]: (/** @type {number[]} */ index) => at(to(index)) },
          dtypes: ["float32", "float64"],
        });
        free(value);
      }
    }
  };
  const CONDITIONAL = ["scale", "shift"];
  const ALL = ["weight", "bias", ...CONDITIONAL];

  /** @type {[string, Match, string[]][]} */
  const matches = [
    [
      "exactly the normalized dimensions",
      { op: "layerNorm", dims: [2, 3, 4], own: [4], to: ([, , c]) => [c], flat: true },
      ALL,
    ],
    [
      "exactly several normalized dimensions",
      {
        op: "rmsNorm",
        dims: [2, 3, 4],
        options: { axis: 1 },
        setting: { axes: [1, 2] },
        own: [3, 4],
        to: ([, b, c]) => [b, c],
        flat: true,
      },
      ALL,
    ],
    [
      "the normalized dimensions in the order of axes",
      {
        op: "layerNorm",
        dims: [2, 3, 4],
        options: { axes: [2, 0] },
        setting: { axes: [2, 0] },
        own: [4, 2],
        to: ([a, , c]) => [c, a],
        flat: true,
      },
      ALL,
    ],
    [
      "the order of axes before broadcasting, where both fit",
      {
        op: "layerNorm",
        dims: [2, 3, 3],
        options: { axes: [2, 1] },
        setting: { axes: [2, 1] },
        own: [3, 3],
        to: ([, b, c]) => [c, b],
        flat: true,
      },
      ALL,
    ],
    [
      "all of x by broadcasting",
      { op: "layerNorm", dims: [2, 3, 4], own: [2, 3, 4], to: (index) => index },
      ALL,
    ],
    [
      "one value for each row by broadcasting",
      { op: "layerNorm", dims: [2, 3, 4], own: [2, 3, 1], to: ([a, b]) => [a, b, 0] },
      ALL,
    ],
    [
      "leading dimensions of 1 by broadcasting",
      { op: "rmsNorm", dims: [2, 3, 4], own: [1, 1, 4], to: ([, , c]) => [0, 0, c] },
      ALL,
    ],
    [
      "positions by broadcasting",
      { op: "layerNorm", dims: [2, 3, 4], own: [1, 3, 4], to: ([, b, c]) => [0, b, c] },
      ALL,
    ],
    [
      "a tensor without dimensions",
      { op: "layerNorm", dims: [2, 3], own: [], to: () => [] },
      ["weight", "shift"],
    ],
    [
      "part of the normalized dimensions by broadcasting",
      {
        op: "layerNorm",
        dims: [2, 3, 4],
        options: { axis: 1 },
        setting: { axes: [1, 2] },
        own: [3, 1],
        to: ([, b]) => [b, 0],
      },
      ALL,
    ],
    [
      "each item of N",
      { op: "layerNorm", dims: [2, 3, 4], own: [2, 4], to: ([a, , c]) => [a, c], flat: true },
      CONDITIONAL,
    ],
    [
      "each item of N before broadcasting, where both fit",
      { op: "rmsNorm", dims: [3, 3, 4], own: [3, 4], to: ([a, , c]) => [a, c], flat: true },
      CONDITIONAL,
    ],
    [
      "x's positions by broadcasting, where N does not fit",
      { op: "layerNorm", dims: [2, 3, 4], own: [3, 4], to: ([, b, c]) => [b, c] },
      ALL,
    ],
    [
      "each row",
      { op: "layerNorm", dims: [2, 3, 4], own: [2, 3, 4], to: (index) => index, flat: true },
      CONDITIONAL,
    ],
    [
      "each row of several dimensions",
      {
        op: "rmsNorm",
        dims: [2, 3, 2, 4],
        own: [2, 3, 2, 4],
        to: (index) => index,
        flat: true,
      },
      CONDITIONAL,
    ],
    [
      "each position",
      { op: "layerNorm", dims: [2, 3, 4], own: [1, 3, 4], to: ([, b, c]) => [0, b, c], flat: true },
      CONDITIONAL,
    ],
    [
      "each item of N in the order of axes",
      {
        op: "layerNorm",
        dims: [2, 3, 4, 2],
        options: { axes: [3, 1] },
        setting: { axes: [3, 1] },
        own: [2, 2, 3],
        to: ([a, b, , d]) => [a, d, b],
        flat: true,
      },
      CONDITIONAL,
    ],
    ...CHANNELS.flatMap((op) => {
      const options = {
        ...(op === "groupNorm" ? { numGroups: 2 } : {}),
        ...(op === "batchNorm" ? { training: true } : {}),
      };
      const setting = { numGroups: 2 };
      /** @type {[string, Match, string[]][]} */
      const rows = [
        [
          `${op}: the channels`,
          { op, dims: [2, 4, 3], options, setting, own: [4], to: ([, c]) => [c], flat: true },
          ALL,
        ],
        [
          `${op}: the channels of each item`,
          {
            op,
            dims: [2, 4, 3],
            options,
            setting,
            own: [2, 4],
            to: ([n, c]) => [n, c],
            flat: true,
          },
          CONDITIONAL,
        ],
        [
          `${op}: the channels of each item, channels last`,
          {
            op,
            dims: [3, 2, 3, 4],
            options: { ...options, layout: "channels_last" },
            setting: { ...setting, last: true },
            own: [3, 4],
            to: ([n, , , c]) => [n, c],
            flat: true,
          },
          CONDITIONAL,
        ],
        [
          `${op}: the channels of each row, channels last`,
          {
            op,
            dims: [2, 3, 4],
            options: { ...options, layout: "channels_last" },
            setting: { ...setting, last: true },
            own: [2, 3, 4],
            to: (index) => index,
            flat: true,
          },
          CONDITIONAL,
        ],
        [
          `${op}: by broadcasting`,
          { op, dims: [2, 4, 3], options, setting, own: [4, 1], to: ([, c]) => [c, 0] },
          ALL,
        ],
        [
          `${op}: positions by broadcasting`,
          { op, dims: [2, 4, 3], options, setting, own: [1, 1, 3], to: ([, , s]) => [0, 0, s] },
          ALL,
        ],
      ];
      return rows;
    }),
  ];
  for (const [name, match, names] of matches) test(name, () => check(match, names));

  test("numbers stand for all elements", () => {
    const options = { weight: 2, bias: -1, scale: 0.5, shift: 3, weightOffset: 1 };
    /** @type {any} */
    const fields = Object.fromEntries(
      Object.entries(options).map(([name, value]) => [name, () => value]),
    );
    for (const op of UNARY) {
      const setting = { ...fields, op, weightOffset: 1 };
      checkCall({ dims: [3, 5], options, setting });
    }
  });
});
