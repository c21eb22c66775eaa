/** Serves the repository to the benchmark's page, isolated: only then have a page's timers a resolution of 5 microseconds. */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../../", import.meta.url);

const TYPES = /** @type {Record<string, string>} */ ({
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
  ".json": "application/json",
});

const MODULES = "/tests/bench/node_modules";
const TFJS = `${MODULES}/@tensorflow/tfjs`;
/** Stands for Node's modules, which TensorFlow.js's wasm backend names and uses in Node only. */
const EMPTY = "data:text/javascript,export default {}";

const IMPORTS = {
  "onnxruntime-web": `${MODULES}/onnxruntime-web/dist/ort.wasm.bundle.min.mjs`,
  "onnxruntime-web/webgpu": `${MODULES}/onnxruntime-web/dist/ort.webgpu.bundle.min.mjs`,
  "@tensorflow/tfjs-backend-webgpu": `${TFJS}-backend-webgpu/dist/tf-backend-webgpu.fesm.js`,
  "@tensorflow/tfjs-core": `${TFJS}-core/dist/tf-core.fesm.js`,
  "@tensorflow/tfjs-layers": `${TFJS}-layers/dist/tf-layers.fesm.js`,
  "@tensorflow/tfjs-backend-wasm": `${TFJS}-backend-wasm/dist/tf-backend-wasm.fesm.js`,
  "@jax-js/jax": `${MODULES}/@jax-js/jax/dist/index.js`,
  ...Object.fromEntries(
    ["fs", "path", "perf_hooks", "os", "worker_threads"].map((n) => [n, EMPTY]),
  ),
};

const PAGE = `<!doctype html>
<meta charset="utf-8">
<title>layernorm benchmark</title>
<link rel="icon" href="data:,">
<script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>
`;

const HEADERS = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cache-Control": "no-store",
};

/**
 * @param {string} path
 * @returns {Promise<{ status: number, type: string, body: string | Buffer }>}
 */
async function answer(path) {
  if (path === "/") return { status: 200, type: "text/html", body: PAGE };
  const url = new URL(`.${path}`, ROOT);
  const type = TYPES[extname(path)];
  const inside = fileURLToPath(url).startsWith(fileURLToPath(ROOT));
  const body = inside && type ? await readFile(url).catch(() => null) : null;
  return body === null
    ? { status: 404, type: "text/plain", body: `${path} is not there` }
    : { status: 200, type, body };
}

/** @returns {Promise<{ address: string, close: () => void }>} */
export async function serve() {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const { status, type, body } = await answer(pathname);
    response.writeHead(status, { ...HEADERS, "Content-Type": type }).end(body);
  });
  await new Promise((listening) => {
    server.listen(0, "127.0.0.1", () => listening(undefined));
  });
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { address: `http://localhost:${port}/`, close: () => server.close() };
}
