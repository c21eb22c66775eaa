// TensorFlow.js on one of the backends that the page has.

import { setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import simd from "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm";

/** @param {"wasm" | "cpu"} name */
export async function useBackend(name) {
  tf.enableProdMode();
  if (name === "wasm") {
    // The page has the one binary that every browser of its own requirements takes.
    tf.env().set("WASM_HAS_MULTITHREAD_SUPPORT", false);
    const url = new URL(simd, import.meta.url).href;
    setWasmPaths({
      "tfjs-backend-wasm.wasm": url,
      "tfjs-backend-wasm-simd.wasm": url,
      "tfjs-backend-wasm-threaded-simd.wasm": url,
    });
  }
  if (!(await tf.setBackend(name))) throw new Error(`TensorFlow.js cannot start "${name}"`);
}
