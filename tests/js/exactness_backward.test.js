/**
 * Guarantee 1 for every backward operation, layout and element type: each gradient within its bound of exact arithmetic, for
 * every kind of run.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { layerNormBackward } from "../../dist/index.js";
import { DIFFERENTIABLE, GRADIENTS, gradientsOf, makeBackwardCase } from "./backward_cases.js";
import { families } from "./data.js";
import { judgeGradients } from "./exact_backward.js";
import { isHalf } from "./half.js";
import {
  CONDITIONAL_KINDS,
  DTYPES,
  hasAffine,
  KINDS,
  layoutsOf,
  OPERATIONS,
  SIZES,
} from "./operation_cases.js";

const ACTIVATIONS = /** @type {const} */ (["relu", "silu", "gelu", "gelu_tanh", "sigmoid", "tanh"]);

/** @type {Map<string, { error: number, where: string }>} */
const maxima = new Map();

for (const name of DIFFERENTIABLE) {
  const { op } = OPERATIONS[name];
  for (const [l, { name: layoutName }] of layoutsOf(op, 4).entries()) {
    for (const dtype of DTYPES) {
      test(`the gradients of ${name} are exact to their bounds: ${layoutName} (${dtype}, seed = turn)`, () => {
        const kinds = hasAffine(op) ? [...KINDS, ...CONDITIONAL_KINDS] : ["none"];
        for (const [turn, family] of families(dtype).entries()) {
          const seed = 2 * turn + l;
          if (isHalf(dtype) && turn % 2 === l % 2) continue;
          const [n, columns] = SIZES[(seed + l) % SIZES.length];
          const layout = layoutsOf(op, n, columns)[l];
          const eps = [undefined, 0, 1e-5, 1e-12][(turn + l) % 4];
          const kind = kinds[(3 * turn + l) % kinds.length];
          const gradient = GRADIENTS[(turn + 3 * l) % GRADIENTS.length];
          const given = hasAffine(op) && name !== "batchNorm" && turn % 5 === 1;
          const broadcast = turn % 2 === 1;
          check(
            { name, layout, dtype, family, kind, eps, seed, gradient, given, broadcast },
            `${name} ${dtype} ${family} [${layout.dims}] ${layout.name} eps ${eps} ${kind} gradient ${gradient} given ${given} seed ${seed}`,
          );
        }
      });
    }
  }
}

/** Judges a case and keeps the largest error. @param {any} draw @param {string} where */
function check(draw, where) {
  const made = makeBackwardCase(draw);
  if (!made.problem.x.every(Number.isFinite)) return;
  const found = judgeGradients(made.problem, gradientsOf(made));
  const key = `${draw.name} ${draw.dtype}${draw.activation ? " with activations" : ""}`;
  if (!(found.error <= (maxima.get(key)?.error ?? -1)))
    maxima.set(key, { error: found.error, where });
  assert.ok(
    found.error <= 1,
    `${where}: ${found.where} got ${found.got}, expected ${found.expected}, ${found.error} of its bound`,
  );
}

/** Rows whose gradients of parameters are summed four at a time in float32, and some beside them that float32 does not do for. */
const ROWS = [
  [8, 768],
  [9, 96],
  [7, 1001],
  [5, 2049],
  [13, 130],
];

for (const name of ["layerNorm", "rmsNorm", "l2Normalize"]) {
  for (const dtype of /** @type {const} */ (["float32", "bfloat16"])) {
    test(`the gradients of ${name} are exact to their bounds for rows that float32 does for (${dtype}, seed = turn)`, () => {
      for (const [turn, family] of families(dtype).entries()) {
        const [rows, n] = ROWS[turn % ROWS.length];
        const layout = { name: "rows", dims: [rows, n], axes: [1], options: {} };
        const kind = name === "l2Normalize" ? "none" : KINDS[turn % KINDS.length];
        for (const seed of isHalf(dtype) ? [2 * turn] : [2 * turn, 2 * turn + 1]) {
          const gradient = GRADIENTS[(turn + seed) % GRADIENTS.length];
          const draw = { name, layout, dtype, family, kind, eps: undefined, seed, gradient };
          check(
            draw,
            `${name} ${dtype} ${family} [${rows}, ${n}] ${kind} ${gradient} seed ${seed}`,
          );
        }
      }
    });
  }
}

/** Parameters of rows, and of items of several rows. */
const ROW_KINDS = [
  "none",
  "weightBias",
  "farBias",
  "numbers",
  "offset",
  "scale",
  "scaleShift",
  "items",
];

for (const activation of [undefined, ...ACTIVATIONS]) {
  for (const dtype of /** @type {const} */ (["float32", "float16"])) {
    const what = activation ?? "scale and shift";
    test(`gradients through ${what} are exact to their bounds for rows that float32 does for (${dtype}, seed = turn)`, () => {
      for (const [turn, family] of [...families(dtype), "normal", "normal", "normal"].entries()) {
        for (const [k, kind] of ROW_KINDS.entries()) {
          // The kinds without scale and shift have a test above.
          if (activation === undefined && k < 5) continue;
          if (family !== "normal" && (turn + k) % 3 !== 0) continue;
          // Products with normalized values of nearly nothing are less than what difference quotients resolve.
          if (kind === "farBias" && family !== "normal") continue;
          const [rows, n] = ROWS[(turn + k) % ROWS.length];
          const dims = kind === "items" ? [3, rows, Math.min(n, 200)] : [rows, Math.min(n, 400)];
          const layout = { name: "rows", dims, axes: [dims.length - 1], options: {} };
          const name = ["layerNorm", "rmsNorm"][(turn + k) % 2];
          const gradient = GRADIENTS[(turn + k) % GRADIENTS.length];
          const seed = 2 * turn + (k % 2);
          const draw = {
            name,
            layout,
            dtype,
            family,
            kind,
            eps: undefined,
            seed,
            gradient,
            activation,
          };
          check(
            draw,
            `${name} ${dtype} ${activation} ${family} [${dims}] ${kind} ${gradient} seed ${seed}`,
          );
        }
      }
    });
  }
}

test("gradients of groups through activations are exact to their bounds (seed = turn)", () => {
  for (const [turn, activation] of [...ACTIVATIONS, ...ACTIVATIONS].entries()) {
    const layout = {
      name: "channels first",
      dims: [2, 4, [70, 9000][turn % 2]],
      numGroups: 2,
      options: { numGroups: 2 },
    };
    for (const kind of ["weightBias", "farBias", "scaleShift"]) {
      const family = ["normal", "mean1e4", "outlierHuge"][turn % 3];
      const draw = { name: "groupNorm", layout, dtype: "float32", family, kind, activation };
      check(
        { ...draw, seed: 2 * turn, gradient: "normal" },
        `groupNorm ${activation} ${family} [${layout.dims}] ${kind} seed ${2 * turn}`,
      );
    }
  }
});

test("terms that float32 would round to a multiple of its smallest number are summed as they are", () => {
  const [rows, n] = [4096, 65];
  const x = Float64Array.from({ length: rows * n }, (_, i) => Math.fround(Math.sin(i % n)));
  const bias = Float64Array.from({ length: n }, (_, i) => (i === 3 ? -97 : 0));
  const ones = new Float64Array(rows * n).fill(1);
  const options = { shape: [rows, n], bias, activation: /** @type {const} */ ("silu") };
  const wide = layerNormBackward(ones, x, options).gradBias;
  const narrow = layerNormBackward(Float32Array.from(ones), Float32Array.from(x), options).gradBias;
  assert.ok(Math.abs(wide[3]) < 1e-35 && wide[3] !== 0);
  assert.ok(Math.abs(narrow[3] / wide[3] - 1) <= 4 * 2 ** -23, `${narrow[3]} beside ${wide[3]}`);
});

test("the gradients of long runs are exact to their bounds (seed = turn)", () => {
  const forms = [
    ["layerNorm", [1, 100_000], {}],
    ["rmsNorm", [2, 20_001], {}],
    ["groupNorm", [1, 4, 10_000], { numGroups: 2 }],
    ["batchNorm training", [3, 2, 7001], { layout: "channels_first" }],
    ["layerNorm", [30_000, 2], { axes: [0] }],
  ];
  for (const [turn, [name, dims, options]] of /** @type {any[]} */ (forms).entries()) {
    for (const family of ["normal", "mean1e4", "heavySigned", "twoRare", "outlierHuge"]) {
      for (const dtype of /** @type {const} */ (["float32", "float64"])) {
        if (dtype === "float64" && family !== "twoRare") continue;
        if (dims[1] === 100_000 && !/normal|Rare/.test(family)) continue;
        const axes = /batch|group/.test(name) ? undefined : (options.axes ?? [1]);
        const layout = { name: "long", dims, axes, numGroups: options.numGroups, options };
        const draw = {
          name,
          layout,
          dtype,
          family,
          kind: "weightBias",
          seed: 2 * turn,
          gradient: "normal",
        };
        check(draw, `${name} ${dtype} ${family} [${dims}]`);
      }
    }
  }
});

for (const dtype of DTYPES) {
  test(`gradients through activations are exact to their bounds (${dtype}, seed = turn)`, () => {
    const names = ["layerNorm", "rmsNorm", "groupNorm", "batchNorm training", "addLayerNorm"];
    for (const [turn, activation] of [...ACTIVATIONS, ...ACTIVATIONS].entries()) {
      for (const [k, kind] of ["none", "weightBias", "all", "scaleShift"].entries()) {
        const name = names[(turn + k) % names.length];
        const layouts = layoutsOf(OPERATIONS[name].op, 11, 3);
        const layout = layouts[(turn + 2 * k) % layouts.length];
        const seed = 2 * turn + 24 * k;
        const draw = {
          name,
          layout,
          dtype,
          family: "normal",
          kind,
          eps: 1e-5,
          seed,
          gradient: "normal",
          activation,
        };
        check(draw, `${name} ${dtype} ${activation} [${layout.dims}] ${kind} seed ${seed}`);
      }
    }
  });
}

test("the largest errors of the gradients above, as multiples of their bounds", (t) => {
  for (const [key, { error, where }] of maxima)
    t.diagnostic(`${key}: ${error.toFixed(3)} (${where})`);
});
