/** layernorm/tfjs as users of TensorFlow.js meet it: its import, its types against TensorFlow.js's own, the README's examples. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { instrument } from "../package/claims.js";
import { examples } from "../package/examples.js";
import { install } from "./installed.js";

const installed = install();
const project = dirname(dirname(installed));
const folder = join(project, `types-${process.pid}`);
cpSync(fileURLToPath(new URL("types", import.meta.url)), folder, { recursive: true });
after(() => rmSync(folder, { recursive: true }));

/** @param {string[]} args */
const spawn = (...args) =>
  spawnSync(process.execPath, args, { cwd: project, encoding: "utf8", timeout: 60_000 });

/** @param {string[]} args @returns {string} what Node prints */
function node(...args) {
  const { stdout, stderr, status } = spawn(...args);
  assert.equal(status, 0, stdout + stderr);
  return stdout;
}

test('import "layernorm/tfjs" registers nothing and compiles nothing', () => {
  const output = node(
    "--input-type=module",
    "--eval",
    `
    import * as tf from "@tensorflow/tfjs-core";
    import "@tensorflow/tfjs-layers";
    const { classNameMap } = tf.serialization.SerializationMap.getMap();
    const state = () => JSON.stringify([
      Object.entries(classNameMap).map(([name, [own]]) => name + own.name),
      Object.getOwnPropertyNames(globalThis),
    ]);
    const before = state();
    WebAssembly.Module = () => { throw new Error("compiled"); };
    await import("layernorm/tfjs");
    console.log(state() === before);
    `,
  );
  assert.equal(output, "true\n");
});

test("it shares its wasm with the other entries", () => {
  const output = node(
    "--input-type=module",
    "--eval",
    `
    import "@tensorflow/tfjs-backend-cpu";
    import * as tf from "@tensorflow/tfjs-core";
    import { dispose, tensor } from "layernorm";
    import { layerNorm } from "layernorm/tfjs";
    let compiled = 0;
    const { Module } = WebAssembly;
    WebAssembly.Module = new Proxy(Module, { construct: (...args) => (compiled++, Reflect.construct(...args)) });
    tf.enableProdMode();
    const x = tensor([1, 2]);
    // The binary, and what unpacks it.
    const before = compiled;
    layerNorm(tf.tensor([[1, 3]]));
    console.log(before, compiled, x.data[1]);
    `,
  );
  assert.equal(output, "2 2 2\n");
});

const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
const { bin } = JSON.parse(readFileSync(manifest, "utf8"));
const tsc = join(dirname(manifest), bin.tsc);

/** @param {string} moduleResolution @param {object} options @returns {string} the path of a project file */
function projectFile(moduleResolution, options) {
  const config = join(folder, `${moduleResolution}.json`);
  const compilerOptions = {
    target: "ES2022",
    lib: ["ES2022", "DOM"],
    module: moduleResolution === "bundler" ? "esnext" : moduleResolution,
    moduleResolution,
    strict: true,
    exactOptionalPropertyTypes: true,
    types: [],
    noEmit: true,
    ...options,
  };
  writeFileSync(config, JSON.stringify({ compilerOptions, files: ["uses.ts"] }));
  return config;
}

for (const moduleResolution of ["node16", "nodenext", "bundler"]) {
  test(`uses compile with TensorFlow.js's types and wrong calls do not: ${moduleResolution}`, () => {
    node(tsc, "--project", projectFile(moduleResolution, { skipLibCheck: true }));
  });
}

test("the package's own declarations hold against TensorFlow.js's", () => {
  // TensorFlow.js's do not pass by themselves.
  const { stdout } = spawn(tsc, "--project", projectFile("nodenext", { skipLibCheck: false }));
  const ours = stdout.split("\n").filter((line) => line.includes("node_modules/layernorm/"));
  assert.deepEqual(ours, []);
});

const ours = examples(installed).filter(({ code }) => code.includes('"layernorm/tfjs"'));

test("the README has examples of layernorm/tfjs", () => assert.ok(ours.length >= 2));

for (const { where, code } of ours) {
  test(`the example of ${where} runs`, () => {
    node("--input-type=module", "--eval", instrument(code));
  });
}
