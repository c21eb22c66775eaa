/** Error rules of tensor, zeros, rows and plan. */
import { describe, test } from "node:test";
import { plan, tensor, zeros } from "../../dist/index.js";
import {
  check,
  DTYPES,
  disposed,
  KINDS,
  LAYER_OPTIONS,
  OP_LIST,
  rangeError,
  typeError,
  x,
} from "./rules.js";

describe("tensor, zeros, rows and plan refuse", () => {
  const t = () => tensor([1, 2, 3, 4, 5, 6], [3, 2]);
  /** @type {any} */
  const anyPlan = plan;
  /** @type {any} */
  const anyTensor = tensor;
  /** @type {any} */
  const anyZeros = zeros;
  const rules = [
    typeError(() => anyZeros(8), 'zeros: "shape" expected an array of integers, got 8'),
    typeError(() => anyZeros(), 'zeros: "shape" expected an array of integers, got undefined'),
    rangeError(() => anyZeros([-1]), 'zeros: "shape" expected integers >= 0, got [-1]'),
    typeError(() => anyZeros([1], 32), 'zeros: "dtype" expected a string, got 32'),
    rangeError(() => anyZeros([1], "int8"), `zeros: "dtype" expected one of ${DTYPES}, got "int8"`),
    rangeError(
      () => anyZeros([1], "toString"),
      `zeros: "dtype" expected one of ${DTYPES}, got "toString"`,
    ),
    typeError(() => anyTensor(3), `tensor: "data" expected ${KINDS}, got 3`),
    typeError(() => anyTensor(["3"]), 'tensor: "data" expected numbers, got "3" in it'),
    rangeError(
      () => anyTensor([1, 2], [3]),
      'tensor: "data" expected 3 elements for shape [3], got 2',
    ),
    typeError(
      () => anyTensor(disposed()),
      'tensor: "data" expected a live tensor, got a disposed tensor',
    ),
    typeError(
      () => /** @type {any} */ (t()).rows("0"),
      'rows: "begin" expected an integer, got "0"',
    ),
    rangeError(() => t().rows(-1), 'rows: "begin" expected an integer from 0 to 3, got -1'),
    rangeError(() => t().rows(0, 4), 'rows: "end" expected an integer from 0 to 3, got 4'),
    rangeError(() => t().rows(2, 1), 'rows: "begin" expected an integer from 0 to 1, got 2'),
    rangeError(() => t().rows(0.5), 'rows: "begin" expected an integer from 0 to 3, got 0.5'),
    rangeError(() => zeros([]).rows(), 'rows: "shape" expected at least one dimension, got []'),
    typeError(
      () => disposed().rows(),
      'Tensor: "rows" expected a live tensor, got a disposed tensor',
    ),
    typeError(
      () => disposed().data,
      'Tensor: "data" expected a live tensor, got a disposed tensor',
    ),
    typeError(() => anyPlan(), 'plan: "op" expected a string, got undefined'),
    rangeError(
      () => anyPlan("softmax", t()),
      `plan: "op" expected one of ${OP_LIST}, got "softmax"`,
    ),
    rangeError(
      () => anyPlan("toString", t()),
      `plan: "op" expected one of ${OP_LIST}, got "toString"`,
    ),
    typeError(
      () => anyPlan("layerNorm", t(), {}, {}),
      'plan: "options" expected to be the last argument, got 4 arguments',
    ),
    typeError(() => anyPlan("layerNorm"), `layerNorm: "x" expected ${KINDS}, got undefined`),
    typeError(
      () => anyPlan("layerNorm", x),
      'layerNorm: "x" expected a Tensor, in a plan, got a Float32Array',
    ),
    typeError(
      () => anyPlan("layerNorm", [1, 2]),
      'layerNorm: "x" expected a Tensor, in a plan, got nested arrays',
    ),
    typeError(
      () => anyPlan("layerNorm", { data: x, dims: [6] }),
      'layerNorm: "x" expected a Tensor, in a plan, got a tensor-like object',
    ),
    typeError(
      () => anyPlan("layerNorm", t(), { out: new Float32Array(6) }),
      'layerNorm: "out" expected a Tensor, in a plan, got a Float32Array',
    ),
    typeError(
      () => anyPlan("rmsNorm", t(), { epsilon: 1 }),
      `rmsNorm: "options" expected only ${LAYER_OPTIONS}, got "epsilon"`,
    ),
    rangeError(
      () => anyPlan("layerNorm", t(), { weight: [1, 2, 3] }),
      'layerNorm: "weight" expected shape [2], got [3]',
    ),
    rangeError(
      () => anyPlan("layerNorm", t(), { axis: 0, weight: tensor([[1], [2]]) }),
      'layerNorm: "weight" expected shape [3, 2], got [2, 1]',
    ),
    typeError(
      () => anyPlan("addLayerNorm", t()),
      `addLayerNorm: "residual" expected ${KINDS}, got undefined`,
    ),
    typeError(
      () => anyPlan("addLayerNorm", t(), x),
      'addLayerNorm: "residual" expected a Tensor, in a plan, got a Float32Array',
    ),
    typeError(
      () => anyPlan("addLayerNorm", t(), t(), { sumOut: new Float32Array(6) }),
      'addLayerNorm: "sumOut" expected a Tensor, in a plan, got a Float32Array',
    ),
    typeError(
      () => anyPlan("addLayerNorm", t(), t(), {}, {}),
      'plan: "options" expected to be the last argument, got 5 arguments',
    ),
    typeError(
      () => anyPlan("batchNorm", t(), { training: true, runningMean: new Float32Array(2) }),
      'batchNorm: "runningMean" expected a Tensor, in a plan, got a Float32Array',
    ),
    typeError(
      () => anyPlan("batchNorm", t(), { training: true, runningVar: [1, 1] }),
      'batchNorm: "runningVar" expected a Tensor, in a plan, got nested arrays',
    ),
  ];
  for (const rule of rules) test(rule.message, () => check(rule));
});
