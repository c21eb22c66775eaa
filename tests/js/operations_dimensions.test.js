/** Dimensions: which are normalized together, and those of the statistics. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CHANNELS, checkCall, ops, sample, UNARY } from "./operation_checks.js";
import { count } from "./reference.js";

describe("dimensions: any set in any order", () => {
  for (const op of [...UNARY, "l2Normalize", "lpNormalize", "meanVarianceNormalize"]) {
    for (const axes of [[0], [1], [2], [0, 1], [1, 0], [0, 2], [2, 0], [1, 2], [2, 1], [2, 0, 1]]) {
      test(`${op} over [${axes}]`, () => {
        checkCall({ dims: [3, 4, 5], options: { axes }, setting: { op, axes } });
      });
    }
    test(`${op} over negative axes, and by default over the last`, () => {
      const setting = { op, axes: [0, 3] };
      checkCall({ dims: [3, 2, 2, 4], options: { axes: [-1, -4] }, setting });
      checkCall({ dims: [3, 4, 5], setting: { op } });
      checkCall({ dims: [7], setting: { op } });
      checkCall({ dims: [1, 1, 1], options: { axes: [1] }, setting: { op, axes: [1] } });
      checkCall({ dims: [3, 1, 2], options: { axes: [1] }, setting: { op, axes: [1] } });
    });
  }

  test("meanVarianceNormalize takes images' dimensions by default", () => {
    const op = "meanVarianceNormalize";
    checkCall({ dims: [3, 2, 4, 5], setting: { op, axes: [0, 2, 3] } });
  });

  for (const op of CHANNELS) {
    for (const dims of [
      [2, 6],
      [3, 6, 5],
      [2, 6, 3, 4],
      [1, 6, 2, 3, 2],
    ]) {
      // A batch of one value for each channel, or instances of one, have variance 0: for others.
      test(`${op} of [${dims}] in both layouts`, () => {
        const numGroups = op === "groupNorm" ? 3 : undefined;
        const training = op === "batchNorm" ? true : undefined;
        for (const layout of ["channels_first", "channels_last"]) {
          const last = layout === "channels_last";
          const own = last ? [dims[0], ...dims.slice(2), 6] : dims;
          const options = { layout, numGroups, training };
          checkCall({ dims: own, options, setting: { op, last, numGroups } });
        }
      });
    }
  }

  test("groupNorm with one group, and with as many as channels", () => {
    for (const numGroups of [1, 6]) {
      const setting = { op: "groupNorm", numGroups };
      checkCall({ dims: [2, 6, 3], options: { numGroups }, setting });
    }
  });
});

describe("statistics have the dimensions", () => {
  const x = { data: Float32Array.from(sample(120, "float32")), shape: [2, 6, 5, 2] };
  const cases = /** @type {[string, any, number[]][]} */ ([
    ["layerNorm", {}, [2, 6, 5, 1]],
    ["layerNorm", { axes: [3, 1] }, [2, 1, 5, 1]],
    ["rmsNorm", { axis: 0 }, [1, 1, 1, 1]],
    ["groupNorm", { numGroups: 3 }, [2, 3]],
    ["groupNorm", { numGroups: 2, layout: "channels_last" }, [2, 2]],
    ["instanceNorm", {}, [2, 6]],
    ["instanceNorm", { layout: "channels_last" }, [2, 2]],
    ["batchNorm", { training: true }, [6]],
    ["batchNorm", { training: true, layout: "channels_last" }, [2]],
    ["batchNorm", { runningMean: new Float32Array(6), runningVar: new Float32Array(6) }, [6]],
  ]);
  for (const [op, options, shape] of cases) {
    test(`[${shape}] for ${op} with ${Object.keys(options)}`, () => {
      const { rstd, mean } = ops[op](x, { ...options, returnStats: true });
      assert.deepEqual(rstd.shape, shape);
      assert.equal(rstd.data.length, count(shape));
      assert.ok(rstd.data instanceof Float64Array);
      if (op !== "rmsNorm") assert.deepEqual(mean.shape, shape);
    });
  }
});
