/**
 * A real model with this package's norms: on sentences, each agrees with float64 on what the graph gives it, and the
 * embeddings that come of all of them are those of the untouched graph. Budget: 20 s.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { profile } from "@tensorflow/tfjs-core";
import { instrument } from "../package/claims.js";
import { examples } from "../package/examples.js";
import { ROOT } from "../package/pack.js";
import { readEncoder } from "./model_files.js";
import { cosine, loadModel, norms } from "./use_lite.js";

/** @typedef {import("./use_lite.js").Activation} Activation */

const RELATED = [
  ["How old are you?", "What is your age?"],
  ["The cat is sleeping on the sofa.", "A kitten naps on the couch."],
  ["It will rain heavily tomorrow.", "The forecast for the next day is a downpour."],
  [
    "Global markets fell sharply on Monday.",
    "Stocks around the world lost value at the week's start.",
  ],
];
const SENTENCES = [
  ...RELATED.flat(),
  "Hello!",
  "Café or naïve, 3.14 % of it: “quoted” – and 中文, which no piece of the vocabulary stands for.",
];

const EPS32 = 2 ** -23;
const BOUND = 3;

/** @type {import("./use_lite.js").Model} */
let model;
/** @type {Activation[]} */
let activations;
before(async () => {
  model = await loadModel();
  activations = await model.activations(SENTENCES);
});

/** @typedef {{ exact: number, terms: number[] }} Exact a value in float64, and the terms that it is made of */

/**
 * The formulas in float64, from the same inputs.
 *
 * @type {Record<import("./graph_norms.js").NormOp, (row: Float32Array, ...parameters: any[]) => Exact[]>}
 */
const float64 = {
  LayerNorm(row, weight, bias, [eps]) {
    const mean = row.reduce((sum, value) => sum + value, 0) / row.length;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length;
    return Array.from(row, (value, i) => {
      const scaled = ((value - mean) / Math.sqrt(variance + eps)) * weight[i];
      return { exact: scaled + bias[i], terms: [scaled, bias[i]] };
    });
  },
  L2Normalize(row, [floor]) {
    const squares = row.reduce((sum, value) => sum + value ** 2, 0);
    const norm = Math.sqrt(Math.max(squares, floor));
    return Array.from(row, (value) => ({ exact: value / norm, terms: [] }));
  },
};

/**
 * @param {Float32Array} got
 * @param {Activation} activation
 * @returns {number} the largest error, in eps times the largest of 1, the result and its terms
 */
function largestError(got, { op, inputs: [x, ...parameters] }) {
  const data = x.dataSync();
  const values = parameters.map((parameter) => parameter.dataSync());
  const features = /** @type {number} */ (x.shape.at(-1));
  let largest = 0;
  for (let begin = 0; begin < data.length; begin += features) {
    const expected = float64[op](data.subarray(begin, begin + features), ...values);
    for (const [i, { exact, terms }] of expected.entries()) {
      const scale = Math.max(1, Math.abs(exact), ...terms.map(Math.abs));
      const error = Math.abs(got[begin + i] - exact) / (EPS32 * scale);
      // NaN has to count as well.
      if (!(error <= largest)) largest = error;
    }
  }
  return largest;
}

test("the tokenizer gives the pieces that SentencePiece gives", async () => {
  const encode = await readEncoder();
  const ids = (/** @type {string} */ text) => Array.from(encode([text]).values.dataSync());
  // https://github.com/tensorflow/tfjs-models/tree/master/universal-sentence-encoder
  assert.deepEqual(ids("Hello, how are you?"), [341, 4125, 8, 140, 31, 19, 54]);
  // https://github.com/tensorflow/hub/issues/443
  assert.deepEqual(ids("."), [30, 6]);
  // Unknown characters beside one another are one piece.
  assert.deepEqual(ids("中文"), [30, 0]);
});

test("the graph has four layer norms and one l2 norm", () => {
  assert.deepEqual(
    activations.map(({ op, inputs: [x] }) => `${op} ${x.shape.at(-1)}`),
    ["LayerNorm 256", "LayerNorm 512", "LayerNorm 512", "LayerNorm 512", "L2Normalize 512"],
  );
  for (const { inputs } of activations) {
    const eps = /** @type {number} */ (inputs.at(-2)?.dataSync()[0]);
    assert.ok([Math.fround(1e-6), Math.fround(1e-12)].includes(eps), `eps ${eps}`);
  }
});

describe("on the graph's own activations", () => {
  for (const index of [0, 1, 2, 3, 4]) {
    test(`norm ${index} agrees with float64`, (t) => {
      const { op, inputs, output } = activations[index];
      const got = norms[op](...inputs);
      const error = largestError(got, activations[index]);
      const graph = largestError(output.dataSync(), activations[index]);
      t.diagnostic(
        `${op}, ${got.length} values: ${error.toFixed(2)} units of 2^-23, the graph's own ${graph.toFixed(2)}`,
      );
      assert.ok(error <= BOUND, `error ${error}`);
      // The formulas above are the graph's.
      assert.ok(graph <= 8, `the graph's error ${graph}`);
    });
  }
});

/**
 * @param {"layernorm" | "graph"} whose norms
 * @returns {Promise<{ vectors: Float32Array[], roots: number }>} `roots` is how many the graph took for norms of its own
 */
async function embed(whose) {
  const { kernels, result } = await profile(() => model.embed(SENTENCES, { norms: whose }));
  const names = kernels.map((/** @type {{ name: string }} */ { name }) => name);
  return {
    vectors: result,
    roots: names.filter((/** @type {string} */ name) => name === "Rsqrt").length,
  };
}

test("the embeddings with all five norms replaced are those of the untouched graph to 1e-5", async (t) => {
  const { vectors: expected, roots } = await embed("graph");
  const { vectors: got, roots: left } = await embed("layernorm");
  assert.deepEqual([roots, left], [5, 0]);

  assert.equal(got.length, SENTENCES.length);
  const differences = got.flatMap((vector, i) =>
    Array.from(vector, (value, j) => Math.abs(value - expected[i][j])),
  );
  const difference = Math.max(...differences);
  t.diagnostic(`largest difference ${difference.toExponential(1)}`);
  assert.ok(difference <= 1e-5);
  for (const vector of got) assert.ok(Math.abs(cosine(vector, vector) - 1) <= 1e-6);
});

test("sentences that mean the same are closer than others", async (t) => {
  const vectors = await model.embed(RELATED.flat());
  for (const [i, pair] of RELATED.entries()) {
    const related = cosine(vectors[2 * i], vectors[2 * i + 1]);
    const others = vectors.filter((_, j) => j >> 1 !== i);
    const closest = Math.max(...others.map((vector) => cosine(vectors[2 * i], vector)));
    t.diagnostic(
      `${pair.join(" | ")}: ${related.toFixed(3)}, the closest other ${closest.toFixed(3)}`,
    );
    assert.ok(related > closest + 0.1);
  }
});

test("the README's example runs", () => {
  const ours = examples(ROOT).filter(({ code }) => code.includes('"./tests/model/'));
  assert.equal(ours.length, 1, "one example of the README is of this model");
  const [code] = ours.map((example) =>
    instrument(example.code)
      .replaceAll('"layernorm"', '"../../dist/index.js"')
      .replaceAll('"./tests/model/', '"./'),
  );
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
});
