// Where the policy lets no wasm be compiled: what each way to start says, and that the page goes on.
import * as auto from "../../../dist/auto.js";
import * as layernorm from "../../../dist/index.js";
import * as nn from "../../../dist/nn.js";
import * as slim from "../../../dist/slim.js";
import { describe, describeRejection } from "./checks.js";

async function run() {
  const url = "/dist/layernorm.wasm";
  const bytes = await (await fetch(url)).arrayBuffer();
  return {
    "first call": describe(() => layernorm.layerNorm([1, 2])),
    "second call": describe(() => layernorm.layerNorm([1, 2])),
    zeros: describe(() => layernorm.zeros([2])),
    "initSync()": describe(() => layernorm.initSync()),
    "initSync(bytes)": describe(() => slim.initSync(bytes)),
    "init()": await describeRejection(() => layernorm.init()),
    "a layer": describe(() => new nn.LayerNorm(2).forward(Float32Array.of(1, 2))),
    "auto's call": await describeRejection(() => auto.layerNorm(Float32Array.of(1, 2))),
    "init({ url })": await describeRejection(() => slim.init({ url })),
    "init({ bytes })": await describeRejection(() => slim.init({ bytes })),
  };
}

Object.assign(globalThis, { finished: run() });
