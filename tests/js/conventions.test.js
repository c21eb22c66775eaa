/**
 * What other suites call differently or do beside, each expressed in this package's terms: WebNN, onnxruntime, PyTorch,
 * Keras. Expectations are computed here from the definitions, in float64.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  addGroupNorm,
  addLayerNorm,
  addRmsNorm,
  batchNorm,
  groupNorm,
  instanceNorm,
  l2Normalize,
  layerNorm,
  localResponseNorm,
  lpNormalize,
  meanVarianceNormalize,
  rmsNorm,
} from "../../dist/index.js";
import { count } from "./runs.js";

/** @typedef {(...index: number[]) => number} At */

/** @param {number[]} dims @param {(index: number[]) => number} value @returns {Float64Array} */
function make(dims, value) {
  const index = dims.map(() => 0);
  return Float64Array.from({ length: count(dims) }, () => {
    const result = value(index);
    for (let d = dims.length - 1; d >= 0 && ++index[d] === dims[d]; d--) index[d] = 0;
    return result;
  });
}

/** @param {ArrayLike<number>} data @param {number[]} dims @returns {At} */
const reader =
  (data, dims) =>
  (...index) =>
    data[index.reduce((offset, at, d) => offset * dims[d] + at, 0)];

/** Values about a mean of 2, none like another. @param {number[]} dims @param {number} [seed] */
function sample(dims, seed = 1) {
  const data = make(
    dims,
    (index) => 2 + 3 * Math.sin(seed + index.reduce((a, b) => 7.3 * a + b, 1)),
  );
  return { data, dims, type: "float64", at: reader(data, dims) };
}

/** @param {any} got a result @param {Float64Array} expected @param {string} [what] */
function assertClose(got, expected, what = "") {
  const data = got.data ?? got;
  assert.equal(data.length, expected.length, what);
  for (const [i, want] of expected.entries()) {
    const error = Math.abs(data[i] - want);
    assert.ok(error <= 1e-13 * Math.max(1, Math.abs(want)), `${what} ${i}: ${data[i]}, ${want}`);
  }
}

/** @param {number[]} values @param {number} eps */
function moments(values, eps) {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length;
  return { mean, variance, rstd: 1 / Math.sqrt(variance + eps) };
}

/** @param {number} n @param {(i: number) => number[] | number} values @returns {number[]} */
const all = (n, values) => Array.from({ length: n }, (_, i) => values(i)).flat();

describe("WebNN", () => {
  test("layerNormalization takes axes in any order, which scale and bias follow", () => {
    const x = sample([2, 3, 4]);
    for (const axes of [
      [1, 2],
      [2, 1],
    ]) {
      const own = axes.map((axis) => x.dims[axis]);
      const [scale, bias] = [sample(own, 5), sample(own, 9)];
      const expected = make(x.dims, ([a, b, c]) => {
        const { mean, rstd } = moments(
          all(3, (i) => all(4, (j) => x.at(a, i, j))),
          1e-5,
        );
        const at = axes.map((axis) => [a, b, c][axis]);
        return (x.at(a, b, c) - mean) * rstd * scale.at(...at) + bias.at(...at);
      });
      assertClose(layerNorm(x, { axes, weight: scale, bias }), expected, `${axes}`);
    }
    const [scale, bias] = [sample([4, 2], 5), sample([4, 2], 9)];
    const apart = make(x.dims, ([a, b, c]) => {
      const { mean, rstd } = moments(
        all(2, (i) => all(4, (j) => x.at(i, b, j))),
        1e-5,
      );
      return (x.at(a, b, c) - mean) * rstd * scale.at(c, a) + bias.at(c, a);
    });
    assertClose(layerNorm(x, { axes: [2, 0], weight: scale, bias }), apart, "apart");
  });

  test("layerNormalization without axes leaves the bias: here a last dimension of 1", () => {
    const x = sample([2, 3]);
    assert.throws(() => layerNorm(x, { axes: [] }), RangeError);
    const y = layerNorm({ ...x, dims: [2, 3, 1] }, { bias: 0.5 });
    assert.deepEqual([...y.data], new Array(6).fill(0.5));
  });

  test("layerNormalization has all dimensions but the first as its default: axis 1", () => {
    const x = sample([2, 3, 4]);
    const expected = make(x.dims, ([a, b, c]) => {
      const { mean, rstd } = moments(
        all(3, (i) => all(4, (j) => x.at(a, i, j))),
        1e-5,
      );
      return (x.at(a, b, c) - mean) * rstd;
    });
    assertClose(layerNorm(x, { axis: 1 }), expected);
  });

  test("instanceNormalization has the layouts nchw and nhwc", () => {
    const x = sample([2, 3, 4, 5]);
    const [scale, bias] = [sample([3], 5), sample([3], 9)];
    /** @param {number} n @param {number} c @param {number} h @param {number} w */
    const value = (n, c, h, w) => {
      const { mean, rstd } = moments(
        all(4, (i) => all(5, (j) => x.at(n, c, i, j))),
        1e-5,
      );
      return (x.at(n, c, h, w) - mean) * rstd * scale.at(c) + bias.at(c);
    };
    const options = { weight: scale.data, bias: bias.data };
    assertClose(
      instanceNorm(x, options),
      make(x.dims, ([n, c, h, w]) => value(n, c, h, w)),
      "nchw",
    );
    const dims = [2, 4, 5, 3];
    const nhwc = { data: make(dims, ([n, h, w, c]) => x.at(n, c, h, w)), dims };
    const expected = make(dims, ([n, h, w, c]) => value(n, c, h, w));
    assertClose(instanceNorm(nhwc, { ...options, layout: "channels_last" }), expected, "nhwc");
  });

  test("batchNormalization has its channels along any axis: dimensions before and after become one", () => {
    const dims = [2, 3, 4, 5];
    const x = sample(dims);
    for (const [axis, channels] of dims.entries()) {
      const [mean, variance] = [sample([channels], 3), sample([channels], 4)];
      const runningVar = variance.data.map(Math.abs);
      const [scale, bias] = [sample([channels], 5), sample([channels], 9)];
      const expected = make(dims, (index) => {
        const c = index[axis];
        const rstd = 1 / Math.sqrt(runningVar[c] + 1e-5);
        return (x.at(...index) - mean.data[c]) * rstd * scale.data[c] + bias.data[c];
      });
      const three = [count(dims.slice(0, axis)), channels, count(dims.slice(axis + 1))];
      const options = { runningMean: mean.data, runningVar, weight: scale.data, bias: bias.data };
      assertClose(batchNorm({ data: x.data, dims: three }, options), expected, `axis ${axis}`);
      if (axis === 1) assertClose(batchNorm(x, options), expected);
      if (axis === 3) assertClose(batchNorm(x, { ...options, layout: "channels_last" }), expected);
    }
  });
});

describe("onnxruntime", () => {
  test("SkipLayerNormalization broadcasts skip over the batch, and adds bias before", () => {
    const x = sample([2, 3, 4]);
    const [gamma, beta, bias] = [sample([4], 5), sample([4], 9), sample([4], 2)];
    for (const dims of [
      [2, 3, 4],
      [1, 3, 4],
      [3, 4],
    ]) {
      const skip = sample(dims, 8);
      const at = (/** @type {number[]} */ [a, b, c]) =>
        dims.length === 2 ? skip.at(b, c) : skip.at(dims[0] === 1 ? 0 : a, b, c);
      const sum = make(x.dims, (index) => x.at(...index) + at(index) + bias.at(index[2]));
      const s = reader(sum, x.dims);
      const expected = make(x.dims, ([a, b, c]) => {
        const { mean, rstd } = moments(
          all(4, (j) => s(a, b, j)),
          1e-12,
        );
        return (s(a, b, c) - mean) * rstd * gamma.at(c) + beta.at(c);
      });
      const options = { weight: gamma.data, bias: beta.data, sumBias: bias.data, eps: 1e-12 };
      const result = addLayerNorm(x, skip, options);
      assertClose(result.sum, sum, `[${dims}] sum`);
      assertClose(result.output, expected, `[${dims}]`);
    }
  });

  test("SimplifiedLayerNormalization and its skip form are rmsNorm and addRmsNorm", () => {
    const x = sample([2, 3, 4]);
    const [gamma, skip] = [sample([4], 5), sample([2, 3, 4], 8)];
    /** @param {At} at */
    const expected = (at) =>
      make(x.dims, ([a, b, c]) => {
        const square = all(4, (j) => at(a, b, j) ** 2).reduce((p, q) => p + q) / 4;
        return (at(a, b, c) / Math.sqrt(square + 1e-5)) * gamma.at(c);
      });
    assertClose(rmsNorm(x, { weight: gamma.data }), expected(x.at));
    const sum = (/** @type {number[]} */ ...index) => x.at(...index) + skip.at(...index);
    assertClose(addRmsNorm(x, skip, { weight: gamma.data }).output, expected(sum));
  });

  test("GroupNorm has channels last and SiLU; SkipGroupNorm adds a skip of each channel and a bias", () => {
    const dims = [2, 3, 2, 4];
    const x = sample(dims);
    const [gamma, beta, bias] = [sample([4], 5), sample([4], 9), sample([4], 2)];
    const skip = sample([2, 1, 1, 4], 8);
    /** @param {At} at */
    const expected = (at) =>
      make(dims, ([n, h, w, c]) => {
        const first = 2 * Math.floor(c / 2);
        const group = all(3, (i) => all(2, (j) => [at(n, i, j, first), at(n, i, j, first + 1)]));
        const { mean, rstd } = moments(group, 1e-5);
        const y = (at(n, h, w, c) - mean) * rstd * gamma.at(c) + beta.at(c);
        return y / (1 + Math.exp(-y));
      });
    const options = /** @type {const} */ ({
      numGroups: 2,
      layout: "channels_last",
      activation: "silu",
      weight: gamma.data,
      bias: beta.data,
    });
    assertClose(groupNorm(x, options), expected(x.at));
    const sum = (
      /** @type {number} */ n,
      /** @type {number} */ h,
      /** @type {number} */ w,
      /** @type {number} */ c,
    ) => x.at(n, h, w, c) + skip.at(n, 0, 0, c) + bias.at(c);
    const result = addGroupNorm(x, skip, { ...options, sumBias: bias.data });
    assertClose(result.output, expected(/** @type {At} */ (sum)));
  });

  test("LpNormalization and MeanVarianceNormalization of zeros and of equal values are 0", () => {
    for (const p of /** @type {const} */ ([1, 2])) {
      assert.deepEqual(
        lpNormalize(
          [
            [0, 0],
            [3, 4],
          ],
          { p, preset: "onnx" },
        )[0],
        [0, 0],
      );
    }
    const y = meanVarianceNormalize({ data: new Float32Array(8).fill(3), dims: [2, 1, 2, 2] });
    assert.ok(y.data.every((value) => value === 0));
  });
});

describe("PyTorch", () => {
  test("F.normalize has p, dim and eps", () => {
    const x = sample([2, 3, 4]);
    const norms = /** @type {[1 | 2 | typeof Infinity, (values: number[]) => number][]} */ ([
      [1, (values) => values.reduce((a, b) => a + Math.abs(b), 0)],
      [2, (values) => Math.hypot(...values)],
      [Infinity, (values) => Math.max(...values.map(Math.abs))],
    ]);
    for (const [p, norm] of norms) {
      for (const eps of [1e-12, 9]) {
        const expected = make(x.dims, ([a, b, c]) => {
          const values = all(3, (i) => x.at(a, i, c));
          return x.at(a, b, c) / Math.max(norm(values), eps);
        });
        assertClose(lpNormalize(x, { p, axes: [1], eps }), expected, `p ${p} eps ${eps}`);
        if (p === 2) assertClose(l2Normalize(x, { axes: [1], eps }), expected);
      }
    }
  });

  test("F.local_response_norm's window is ONNX's for odd sizes, turned round for even ones", () => {
    const dims = [2, 6, 3];
    const x = sample(dims);
    const turned = make(dims, ([n, c, i]) => x.at(n, 5 - c, i));
    for (const size of [1, 2, 3, 4, 5, 6]) {
      const constants = { size, alpha: 0.3, beta: 0.75, k: 2 };
      // It pads size / 2 channels before and (size - 1) / 2 after, rounded down, and takes the mean.
      const expected = make(dims, ([n, c, i]) => {
        let sum = 0;
        for (let j = c - Math.floor(size / 2); j <= c + Math.floor((size - 1) / 2); j++) {
          if (j >= 0 && j < 6) sum += x.at(n, j, i) ** 2;
        }
        return x.at(n, c, i) / (2 + (0.3 * sum) / size) ** 0.75;
      });
      const y = localResponseNorm({ data: turned, dims }, constants);
      const back = reader(y.data, dims);
      assertClose(
        make(dims, ([n, c, i]) => back(n, 5 - c, i)),
        expected,
        `size ${size} turned`,
      );
      if (size % 2) assertClose(localResponseNorm(x, constants), expected, `size ${size}`);
    }
  });

  test("BatchNorm with momentum None keeps the mean of all batches: momentum 1 / their number", () => {
    const runningMean = new Float64Array(2);
    const runningVar = new Float64Array(2).fill(1);
    const batches = [1, 2, 3, 4].map((seed) => sample([5, 2, 3], seed));
    for (const [k, x] of batches.entries()) {
      batchNorm(x, { training: true, runningMean, runningVar, momentum: 1 / (k + 1) });
    }
    for (let c = 0; c < 2; c++) {
      const each = batches.map(({ at }) =>
        moments(
          all(5, (n) => all(3, (i) => at(n, c, i))),
          0,
        ),
      );
      const mean = each.reduce((sum, one) => sum + one.mean, 0) / 4;
      const variance = each.reduce((sum, one) => sum + (one.variance * 15) / 14, 0) / 4;
      assert.ok(Math.abs(runningMean[c] - mean) < 1e-14, `mean ${runningMean[c]}, ${mean}`);
      assert.ok(Math.abs(runningVar[c] - variance) < 1e-14, `var ${runningVar[c]}, ${variance}`);
    }
  });

  test("batch_norm's momentum weights the new value, Keras's, Flax's and ONNX's the old", () => {
    const x = sample([5, 2, 3]);
    for (const [preset, ofNew, divisor] of /** @type {const} */ ([
      ["pytorch", 0.25, 14],
      ["keras", 0.75, 15],
      ["tensorflow", 0.75, 14],
      ["flax", 0.75, 15],
      ["onnx", 0.75, 15],
    ])) {
      const runningMean = Float64Array.of(4, -4);
      const runningVar = Float64Array.of(2, 3);
      batchNorm(x, { training: true, runningMean, runningVar, momentum: 0.25, preset });
      for (const [c, [mean, variance]] of [
        [4, 2],
        [-4, 3],
      ].entries()) {
        const batch = moments(
          all(5, (n) => all(3, (i) => x.at(n, c, i))),
          0,
        );
        const wanted = [
          (1 - ofNew) * mean + ofNew * batch.mean,
          (1 - ofNew) * variance + (ofNew * batch.variance * 15) / divisor,
        ];
        assertClose(
          Float64Array.of(runningMean[c], runningVar[c]),
          Float64Array.from(wanted),
          preset,
        );
      }
    }
  });

  test("F.group_norm and F.instance_norm of [N, C, L], and of [N, C] in groups", () => {
    const x = sample([3, 4]);
    const expected = make(x.dims, ([n, c]) => {
      const first = 2 * Math.floor(c / 2);
      const { mean, rstd } = moments([x.at(n, first), x.at(n, first + 1)], 1e-5);
      return (x.at(n, c) - mean) * rstd;
    });
    assertClose(groupNorm(x, { numGroups: 2 }), expected);
  });
});
