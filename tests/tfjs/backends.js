// TensorFlow.js's backends for the tests: wasm and cpu, and `operations`, which is cpu under a name that the package does not
// know, so that it takes TensorFlow.js's own operations there.
import { MathBackendCPU } from "@tensorflow/tfjs-backend-cpu";
import { setThreadsCount } from "@tensorflow/tfjs-backend-wasm";
import * as tf from "@tensorflow/tfjs-core";
import * as tfl from "@tensorflow/tfjs-layers";

// Else TensorFlow.js recommends its native package.
tf.enableProdMode();
setThreadsCount(1);
tf.registerBackend("operations", () => new MathBackendCPU());
tf.copyRegisteredKernels("cpu", "operations");

export const BACKENDS = ["wasm", "cpu", "operations"];

/** @param {string} name */
export async function use(name) {
  await tf.setBackend(name);
  await tf.ready();
  if (tf.getBackend() !== name) throw new Error(`TensorFlow.js has no backend ${name}`);
}

export { tf, tfl };
