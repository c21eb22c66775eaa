// `npm test`: sets up, builds and checks everything, one step after the other; the first failure ends it.
//
//   node tools/test.js                every step
//   node tools/test.js lint native    the named ones

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { environment } from "../tests/webgpu/environment.js";
import { ensureLavapipe } from "./lavapipe.js";
import { installPeers } from "./peers.js";
import { run, runScript, SetupError } from "./process.js";
import { setup } from "./setup.js";

/** @typedef {import("./emscripten.js").Emscripten} Emscripten */
/**
 * @typedef {object} Step
 * @property {string} name
 * @property {string} what
 * @property {number} minutes what it may take on two cores that are its own, what it installs the first time included
 * @property {(emscripten: Emscripten) => Promise<unknown>} action
 */

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const BIN = join(ROOT, "node_modules", ".bin");

/** @param {string} line */
const print = (line) => console.log(line);

/** A step that takes so many times its minutes hangs: it is stopped, and fails. */
const PATIENCE = 3;
/** @type {AbortSignal | undefined} */
let patience;

/**
 * @param {string} command
 * @param {string[]} args
 * @param {Record<string, string>} [env]
 */
const execute = (command, args, env = {}) =>
  run(command, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    onLine: print,
    signal: patience,
  });

/**
 * @param {string} folder
 * @param {RegExp} pattern of a file's name
 * @returns {string[]} relative paths, those in folders below included
 */
function filesIn(folder, pattern) {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => pattern.test(path) && !/(^|\/)(node_modules|build)\//.test(path))
    .map((path) => join(folder, path))
    .sort();
}

const cppFiles = () =>
  ["src", "bindings", "tests/cpp"].flatMap((folder) => filesIn(folder, /\.(cc|h)$/));

/**
 * @param {string[]} folders
 * @param {Record<string, string>} [env]
 */
const nodeTests = (folders, env) =>
  execute(
    process.execPath,
    [
      "--test",
      "--test-reporter=spec",
      ...folders.flatMap((folder) => filesIn(folder, /\.test\.js$/)),
    ],
    env,
  );

/** @type {Step[]} */
export const STEPS = [
  {
    name: "format",
    what: "clang-format and biome",
    minutes: 0.5,
    action: async () => {
      await execute("clang-format", ["--dry-run", "-Werror", ...cppFiles()]);
      await execute(join(BIN, "biome"), ["check", "--error-on-warnings", "."]);
    },
  },
  {
    name: "native",
    what: "the core's tests, native, optimized; another project uses the library",
    minutes: 2,
    action: () => cmakeTest("release"),
  },
  {
    name: "sanitize",
    what: "the core's tests under AddressSanitizer and UndefinedBehaviorSanitizer",
    minutes: 2.5,
    action: () => cmakeTest("sanitize"),
  },
  {
    name: "fuzz",
    what: "the core under libFuzzer for some seconds",
    minutes: 2,
    action: async () => {
      await execute("cmake", ["--preset", "fuzz", "--log-level=WARNING"]);
      await execute("cmake", ["--build", "--preset", "fuzz"]);
      await execute("build/fuzz/tests/cpp/layernorm_fuzz", [
        "-seed=1",
        "-max_len=256",
        "-max_total_time=20",
        "-verbosity=0",
        "-artifact_prefix=build/fuzz/",
      ]);
    },
  },
  {
    name: "tidy",
    what: "clang-tidy on the core",
    minutes: 3,
    action: () =>
      execute("clang-tidy", ["--quiet", "-p", "build/release", ...filesIn("src", /\.cc$/)]),
  },
  {
    name: "build",
    what: "the package and the page",
    minutes: 2,
    action: async () => {
      // In processes of their own: they import packages that the set-up has only just installed.
      await execute(process.execPath, ["tools/build.js"]);
      await execute(process.execPath, ["tools/build_web.js"]);
    },
  },
  {
    name: "types",
    what: "TypeScript, strict, the scripts and tests included",
    minutes: 0.5,
    action: async () => {
      await execute(join(BIN, "tsc"), ["--noEmit", "-p", "tsconfig.json"]);
      await execute(join(BIN, "tsc"), ["--noEmit", "-p", "tsconfig.scripts.json"]);
    },
  },
  {
    name: "wasm",
    what: "the core's tests as WebAssembly under Node",
    minutes: 2.5,
    action: async ({ env }) => {
      await execute("cmake", ["--build", "--preset", "wasm", "--target", "layernorm_tests"], env);
      await execute("ctest", ["--preset", "wasm"], env);
    },
  },
  {
    name: "js",
    what: "the package",
    minutes: 7,
    action: () => nodeTests(["tests/js"]),
  },
  {
    name: "package",
    what: "the packed tarball, as users meet it",
    minutes: 0.5,
    action: () => nodeTests(["tests/package", "tests/workerd"]),
  },
  {
    name: "browser",
    what: "real browsers and the page",
    minutes: 10,
    action: async () => {
      // The page's experiments are compared with Node's.
      await installPeers("tests/tfjs", print);
      await nodeTests(["tests/browser", "tests/web"]);
    },
  },
  {
    name: "webgpu",
    what: "WebGPU, in Node with Dawn",
    minutes: 6,
    action: async () => {
      // Dawn: 132 MB.
      await installPeers("tests/webgpu", print);
      await ensureLavapipe(print);
      await nodeTests(["tests/webgpu"], environment());
    },
  },
  {
    name: "runtimes",
    what: "the packed tarball in every run-time and engine",
    minutes: 1,
    action: async () => {
      // Deno, Bun and the newest Node, 405 MB.
      await installPeers("tests/runtimes", print);
      await nodeTests(["tests/runtimes"]);
    },
  },
  {
    name: "apps",
    what: "applications built by bundlers and frameworks",
    minutes: 1,
    action: async () => {
      // Next.js alone is more than half of 469 MB.
      await installPeers("tests/apps", print);
      await nodeTests(["tests/apps"]);
    },
  },
  {
    name: "model",
    what: "a real model with the package's norms",
    minutes: 0.5,
    action: async () => {
      // A model and what runs it: 104 MB.
      await installPeers("tests/model", print);
      await nodeTests(["tests/model"]);
    },
  },
  {
    name: "tfjs",
    what: "layernorm/tfjs with TensorFlow.js",
    minutes: 1,
    action: async () => {
      // TensorFlow.js and data: 180 MB.
      await installPeers("tests/tfjs", print);
      await nodeTests(["tests/tfjs"]);
    },
  },
];

/** @param {string} preset */
async function cmakeTest(preset) {
  await execute("cmake", ["--preset", preset, "--log-level=WARNING"]);
  await execute("cmake", ["--build", "--preset", preset]);
  await execute("ctest", ["--preset", preset]);
}

/** @param {number} since */
const secondsSince = (since) => Math.round((performance.now() - since) / 1000);

/** Runs a step and says how long it took. @param {Step} step @param {Emscripten} emscripten */
async function take({ name, what, minutes, action }, emscripten) {
  print(`\n== ${name}: ${what}`);
  const start = performance.now();
  patience = AbortSignal.timeout(PATIENCE * minutes * 60_000);
  try {
    await action(emscripten);
  } catch (error) {
    throw new SetupError(
      `\n== ${name} failed: ${error instanceof Error ? error.message : error}\n` +
        `   Once more, this step alone: node tools/test.js ${name}`,
    );
  }
  const seconds = secondsSince(start);
  return `${name} ${seconds} s${seconds > 60 * minutes ? ` (meant to take ${60 * minutes} at most)` : ""}`;
}

/** @param {string[]} names */
async function main(names) {
  const unknown = names.filter((name) => !STEPS.some((step) => step.name === name));
  if (unknown.length > 0) {
    throw new SetupError(
      `Unknown step: ${unknown.join(", ")}. There are ${STEPS.map(({ name }) => name).join(", ")}.`,
    );
  }
  const start = performance.now();
  print("== set-up");
  const emscripten = await setup();
  const times = [`set-up ${secondsSince(start)} s`];
  for (const step of STEPS) {
    if (names.length === 0 || names.includes(step.name)) times.push(await take(step, emscripten));
  }
  print(`\n== passed in ${secondsSince(start)} s: ${times.join(", ")}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runScript(() => main(process.argv.slice(2)));
}
