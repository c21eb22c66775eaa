// The entry without inlined wasm, and the ways to bring it.
import * as slim from "../../../dist/slim.js";
import { checks, describe, describeRejection } from "./checks.js";

const URL_OF_WASM = "/dist/layernorm.wasm";

async function run() {
  const before = describe(() => slim.layerNorm([1, 2]));
  /** @type {Record<string, string>} */
  const rejections = {};
  for (const url of [
    "/page-not-wasm.wasm",
    "/missing.wasm",
    "/not-wasm.wasm",
    "http://127.0.0.1:1/",
  ]) {
    rejections[url] = await describeRejection(() => slim.init({ url }));
  }

  // Streaming compilation is counted: it is what a served application/wasm is for.
  let streamed = 0;
  const { compileStreaming } = WebAssembly;
  WebAssembly.compileStreaming = (source) => {
    streamed++;
    return compileStreaming(source);
  };
  const bytes = await (await fetch(URL_OF_WASM)).arrayBuffer();
  const module = await WebAssembly.compile(bytes);
  /** @type {[string, () => unknown][]} */
  const ways = [
    ["url", () => slim.init({ url: URL_OF_WASM })],
    ["URL", () => slim.init({ url: new URL(URL_OF_WASM, location.href) })],
    ["wrong type", () => slim.init({ url: "/wrong-type.wasm" })],
    ["bytes", () => slim.init({ bytes })],
    ["module", () => slim.init({ module })],
    ["initSync(bytes)", () => slim.initSync(new Uint8Array(bytes))],
    ["initSync(module)", () => slim.initSync(module)],
  ];
  /** @type {Record<string, unknown>} */
  const results = {};
  /** @type {Record<string, number>} */
  const streams = {};
  for (const [name, start] of ways) {
    streamed = 0;
    await start();
    streams[name] = streamed;
    results[name] = checks(slim);
    slim.dispose();
  }
  return { before, rejections, results, streams, after: describe(() => slim.layerNorm([1, 2])) };
}

Object.assign(globalThis, { finished: run() });
