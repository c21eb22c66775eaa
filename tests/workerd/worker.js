// A Cloudflare Worker: layernorm/slim with the wasm as a module, for this runtime compiles no bytes.

import * as auto from "../../dist/auto.js";
import * as layernorm from "../../dist/index.js";
// @ts-expect-error: the runtime makes a WebAssembly.Module of it.
import wasm from "../../dist/layernorm.wasm";
import * as lite from "../../dist/lite.js";
import * as nn from "../../dist/nn.js";
import * as slim from "../../dist/slim.js";
import * as webgpu from "../../dist/webgpu.js";
import { checks, describe, describeRejection } from "../browser/pages/checks.js";
import { checkEntries } from "../runtimes/entries.js";

const { init, initSync, layerNorm } = slim;
/** @type {Record<string, unknown>} */
const ENTRIES = {
  layernorm,
  "layernorm/slim": slim,
  "layernorm/nn": nn,
  "layernorm/auto": auto,
  "layernorm/webgpu": webgpu,
};

export default {
  /** @param {{ url: string }} request */
  async fetch({ url }) {
    /** @type {Record<string, () => unknown>} */
    const replies = {
      // Before initSync: the default entry can only say what to do.
      "/blocked": async () => ({
        "first call": describe(() => layernorm.layerNorm([1, 2])),
        "init()": await describeRejection(() => layernorm.init()),
        "slim's first call": describe(() => layerNorm([1, 2])),
        "lite's first call": describe(() => lite.layerNorm(Float32Array.of(1, 2))),
      }),
      "/init": async () => {
        const result = url.includes("sync") ? initSync(wasm) : await init({ module: wasm });
        return { result, checks: checks(slim) };
      },
      // All entries share the instance.
      "/default": () => checks(layernorm),
      "/entries": () =>
        checkEntries(
          { load: async (name) => ENTRIES[name], wasm: { module: wasm } },
          Object.keys(ENTRIES),
        ),
      "/dispose": () => layernorm.dispose(),
    };
    const reply = await replies[new URL(url).pathname]?.();
    return Response.json(reply ?? null);
  },
};
