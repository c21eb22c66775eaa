/** The add forms: the sum, its norm, and their options. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tensor } from "../../dist/index.js";
import {
  anyPlan,
  checkCall,
  DTYPES,
  free,
  ops,
  parameter,
  sample,
  store,
} from "./operation_checks.js";
import { count, indices, nest } from "./reference.js";

describe("add forms", () => {
  for (const op of ["addLayerNorm", "addRmsNorm", "addGroupNorm"]) {
    const part = /** @type {Record<string, string>} */ ({
      addLayerNorm: "layerNorm",
      addRmsNorm: "rmsNorm",
      addGroupNorm: "groupNorm",
    })[op];
    const own = op === "addGroupNorm" ? { numGroups: 2 } : {};
    const dims = [2, 4, 6];
    const channels = op === "addGroupNorm" ? 4 : 6;

    test(`${op} against the reference`, () => {
      for (const [residualDims, to] of /** @type {[number[], (i: number[]) => number[]][]} */ ([
        [dims, (i) => i],
        [[6], ([, , c]) => [c]],
        [[4, 1], ([, b]) => [b, 0]],
        [[1, 4, 6], ([, b, c]) => [0, b, c]],
        [[2, 1, 1], ([a]) => [a, 0, 0]],
      ])) {
        const list = parameter(count(residualDims), 2);
        const at = new Map(indices(residualDims).map((index, i) => [index.join(), list[i]]));
        const residual = nest(list, residualDims);
        const field = (/** @type {number[]} */ index) =>
          /** @type {number} */ (at.get(to(index).join()));
        const setting = { op, ...own, residual: field };
        checkCall({ dims, options: { ...own, residual }, setting });
        const gated = {
          ...setting,
          gate: () => 0.5,
          sumBias: (/** @type {number[]} */ index) =>
            parameter(channels)[index[channels === 4 ? 1 : 2]],
        };
        const options = { ...own, residual, gate: 0.5, sumBias: parameter(channels) };
        checkCall({ dims, options, setting: gated });
      }
    });

    test(`${op} takes a gate for each item`, () => {
      const gate = nest(parameter(2 * channels), [2, channels]);
      const at = (/** @type {number[]} */ index) => gate[index[0]][index[channels === 4 ? 1 : 2]];
      const residual = nest(parameter(48), dims);
      const setting = {
        op,
        ...own,
        gate: at,
        residual: (/** @type {any} */ [a, b, c]) => residual[a][b][c],
      };
      checkCall({ dims, options: { ...own, residual, gate }, setting });
    });

    test(`${op} has the bits of its parts`, () => {
      for (const dtype of DTYPES) {
        const data = store(sample(48, dtype), dtype);
        const x = { data, dims, type: dtype };
        const residual = { data: store(sample(48, dtype, 5), dtype), dims, type: dtype };
        const options = {
          ...own,
          weight: parameter(channels),
          bias: 0.5,
          scale: nest(parameter(2 * channels), [2, channels]),
          activation: "gelu",
        };
        const fused = ops[op](x, residual, { ...options, returnStats: true });
        const alone = ops[part](fused.sum, { ...options, returnStats: true });
        const { sum, ...rest } = fused;
        assert.deepEqual(rest, alone);
        assert.deepEqual([sum.dims, sum.type], [dims, dtype]);
      }
    });

    test(`${op} writes to out and sumOut, which may be x and the residual`, () => {
      const x = Float32Array.from(sample(48, "float32"));
      const residual = Float32Array.from(sample(48, "float32", 5));
      const options = { ...own, shape: dims };
      const expected = ops[op](x, residual, options);
      for (const [a, b] of [
        [0, 1],
        [1, 0],
        [2, 0],
        [0, 2],
        [1, 2],
        [2, 1],
        [2, 3],
      ]) {
        const memory = [x.slice(), residual.slice(), new Float32Array(48), new Float32Array(48)];
        const [out, sumOut] = [memory[a], memory[b]];
        const result = ops[op](memory[0], memory[1], { ...options, out, sumOut });
        assert.equal(result.output, out);
        assert.equal(result.sum, sumOut);
        assert.deepEqual(result, expected);
      }
      const inPlace = x.slice();
      assert.deepEqual(ops[op](inPlace, inPlace, { ...options, sumOut: inPlace }).sum, inPlace);
    });

    test(`${op} in a plan sees changes of a broadcast residual, gate and weight`, () => {
      const residual = tensor(nest(parameter(6), [1, 1, 6]));
      const [x, gate] = [tensor(nest(parameter(48), dims)), tensor(parameter(1))];
      const weight = tensor(nest(parameter(4), [4, 1]));
      const options = { ...own, gate: tensor([[[1]]]), weight };
      const step = anyPlan(op, x, residual, options);
      for (const each of [residual, weight, x]) each.data.reverse();
      const { output, sum } = step.run();
      const now = ops[op](x, residual, options);
      assert.deepEqual(output.data, now.output.data);
      assert.deepEqual(sum.data, now.sum.data);
      assert.equal(step.sum, sum);
      assert.ok(Object.isFrozen(step.run()));
      step.dispose();
      free({ ...now, residual, x, gate, weight });
    });
  }
});
