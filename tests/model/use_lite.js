/**
 * Client-side inference with the Universal Sentence Encoder Lite (Cer et al. 2018, https://arxiv.org/abs/1803.11175): two
 * transformer layers in a graph for TensorFlow.js, which runs with this package's norms in place of its own.
 */
import "@tensorflow/tfjs-backend-cpu";
import { loadGraphModel, registerOp } from "@tensorflow/tfjs-converter";
import { enableProdMode, io, tensor } from "@tensorflow/tfjs-core";
import { l2Normalize, layerNorm } from "../../dist/index.js";
import { findNorms, replaceNorms } from "./graph_norms.js";
import { readEncoder, readModel } from "./model_files.js";

/** @typedef {import("./graph_norms.js").GraphNorm} GraphNorm */
/** @typedef {import("./graph_norms.js").NormOp} NormOp */
/** @typedef {import("./model_files.js").TfTensor} TfTensor */
/**
 * @typedef {object} Activation what a norm of the graph got and gave
 * @property {NormOp} op
 * @property {TfTensor[]} inputs
 * @property {TfTensor} output
 */
/**
 * @typedef {object} Model
 * @property {GraphNorm[]} norms of the graph
 * @property {(sentences: string[], options?: { norms?: "layernorm" | "graph" }) => Promise<Float32Array[]>} embed gives a
 *   vector of 512 for each sentence; `norms` says whose compute it, this package's by default
 * @property {(sentences: string[]) => Promise<Activation[]>} activations of the graph's own norms
 */

const FEATURES = 512;

/**
 * The package's norms on tensors of TensorFlow.js, with the inputs that `findNorms` lists.
 *
 * @type {Record<NormOp, (...inputs: TfTensor[]) => Float32Array>}
 */
export const norms = {
  LayerNorm: (x, weight, bias, eps, axes) =>
    layerNorm(x.dataSync(), {
      shape: x.shape,
      axes: [...axes.dataSync()],
      weight: weight.dataSync(),
      bias: bias.dataSync(),
      eps: eps.dataSync()[0],
    }),
  // The graph limits the sum of squares from below, l2Normalize its root.
  L2Normalize: (x, floor, axes) =>
    l2Normalize(x.dataSync(), {
      shape: x.shape,
      axes: [...axes.dataSync()],
      eps: Math.sqrt(floor.dataSync()[0]),
    }),
};

for (const [op, norm] of Object.entries(norms)) {
  registerOp(op, (/** @type {{ inputs: TfTensor[] }} */ { inputs }) =>
    tensor(norm(...inputs), inputs[0].shape),
  );
}
// Else TensorFlow.js recommends its native package.
enableProdMode();

/** @returns {Promise<Model>} */
export async function loadModel() {
  const [artifacts, encode] = await Promise.all([readModel(), readEncoder()]);
  const { modelTopology } = artifacts;
  const replaced = { ...artifacts, modelTopology: replaceNorms(modelTopology) };
  const models = {
    graph: await loadGraphModel(io.fromMemory(artifacts)),
    layernorm: await loadGraphModel(io.fromMemory(replaced)),
  };
  const found = findNorms(modelTopology);

  return {
    norms: found,
    async embed(sentences, { norms: whose = "layernorm" } = {}) {
      const feeds = encode(sentences);
      const embeddings = await models[whose].executeAsync(feeds);
      const data = embeddings.dataSync();
      for (const held of [embeddings, ...Object.values(feeds)]) held.dispose();
      return sentences.map((_, i) => data.slice(i * FEATURES, (i + 1) * FEATURES));
    },
    async activations(sentences) {
      const names = found.flatMap(({ inputs, output }) => [...inputs, output]);
      const tensors = await models.graph.executeAsync(encode(sentences), names);
      return found.map(({ op, inputs }) => {
        const taken = tensors.splice(0, inputs.length + 1);
        return { op, inputs: taken.slice(0, -1), output: taken.at(-1) };
      });
    },
  };
}

/** @param {Float32Array} a @param {Float32Array} b @returns {number} of two unit vectors */
export const cosine = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
