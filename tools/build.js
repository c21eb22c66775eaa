// `npm run build`: compiles the core to wasm, and bindings/ to dist/. What is up to date is not built again.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build as bundle } from "esbuild";
import { ensureEmscripten } from "./emscripten.js";
import { patchGlue } from "./glue.js";
import { pack, textOf } from "./pack.js";
import { run, runScript } from "./process.js";
import { shrink } from "./shrink.js";
import { DATA, sections } from "./wasm_reader.js";

/** @typedef {import("./emscripten.js").Emscripten} Emscripten */

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const BIN = join(ROOT, "node_modules", ".bin");
const BUILD = join(ROOT, "build");
/** CMake's presets that ship: what all load, and the folders in generated/ of those that are loaded when asked for. */
const PRESETS = ["wasm", "threads", "relaxed", "relaxed_threads"];
const WGSL = join(ROOT, "src", "wgsl");
const GENERATED = join(ROOT, "bindings", "generated");
const DIST = join(ROOT, "dist");

/**
 * Builds the package.
 *
 * @param {{ log?: (line: string) => void }} [options]
 * @throws {import("./process.js").SetupError} if a step fails
 */
export async function build({ log = console.log } = {}) {
  await buildWasm(log);
  await generate();
  await compile();
  log(`Built ${DIST}`);
}

/** @param {(line: string) => void} log */
async function buildWasm(log) {
  const emscripten = await ensureEmscripten({ log });
  const options = {
    cwd: ROOT,
    // --emit-tsd runs tsc.
    env: {
      ...emscripten.env,
      PATH: [BIN, emscripten.env.PATH ?? process.env.PATH].join(delimiter),
    },
    onLine: log,
  };
  for (const preset of PRESETS) {
    if (!(await isConfiguredFor(emscripten, preset))) {
      await run(emscripten.emcmake, ["cmake", "--fresh", "--preset", preset], options);
    }
    // All binaries are unpacked by the same module.
    const targets = ["layernorm_wasm"];
    if (preset === "wasm") targets.push("layernorm_lite", "layernorm_unpack");
    await run("cmake", ["--build", "--preset", preset, "--target", ...targets], options);
  }
}

/** @param {Emscripten} emscripten @param {string} preset */
async function isConfiguredFor({ emxx }, preset) {
  const rules = join(BUILD, preset, "CMakeFiles", "rules.ninja");
  return existsSync(rules) && (await readFile(rules, "utf8")).includes(`${emxx} `);
}

/** Writes bindings/generated/ from what Emscripten and src/wgsl have. */
async function generate() {
  await Promise.all(
    PRESETS.map((preset) =>
      generateModule(preset, preset === "wasm" ? GENERATED : join(GENERATED, preset)),
    ),
  );
  const lite = await readFile(join(BUILD, "wasm", "lite.wasm"));
  const unpacker = await readFile(join(BUILD, "wasm", "unpack.wasm"));
  await writeFiles(GENERATED, {
    "lite_text.js": `export default ${JSON.stringify(pack(lite))};\n`,
    "lite_text.d.ts": TEXT_TYPES,
    "unpack.js": `export default ${JSON.stringify(textOf(unpacker))};\n`,
    "unpack.d.ts": UNPACK_TYPES,
    "wgsl.js": await wgslModule(),
    "wgsl.d.ts": WGSL_TYPES,
  });
}

/**
 * Writes one module's glue, types and binary.
 *
 * @param {string} preset
 * @param {string} folder
 */
async function generateModule(preset, folder) {
  const read = (/** @type {string} */ name) => readFile(join(BUILD, preset, name));
  const [glue, binary, types] = await Promise.all([
    read("layernorm_raw.js"),
    read("layernorm_raw.wasm"),
    read("layernorm_raw.d.ts"),
  ]);
  const id = createHash("sha256").update(glue).update(binary).digest("hex").slice(0, 12);
  removeSignatures(binary);
  const wasm = Buffer.concat([binary, customSection("layernorm", id)]);
  await writeFiles(folder, {
    "glue.js": `${await patchGlue(glue.toString(), { isShared: preset.endsWith("threads") })}\nexport const buildId = "${id}";\n`,
    "glue.d.ts": GLUE_TYPES,
    "raw.d.ts": types,
    "layernorm.wasm": wasm,
    "wasm_text.js": `export default ${JSON.stringify(pack(wasm))};\n`,
    "wasm_text.d.ts": TEXT_TYPES,
  });
}

/**
 * Embind wants them for declarations alone, and our glue (tools/glue.js) reads none: names of parameters, in strings such as
 * `run(call)`, and types, as addresses before a string of letters such as `vpi`.
 *
 * @param {Buffer} binary is changed
 */
function removeSignatures(binary) {
  const data = sections(binary).get(DATA) ?? new Uint8Array();
  for (const signature of [PARAMETER_NAMES, TYPES]) {
    const text = Buffer.from(data).toString("latin1");
    for (const { 0: found, index } of text.matchAll(signature)) {
      data.fill(0, index, index + found.length);
    }
  }
}

const PARAMETER_NAMES = /(?<=\w)\((?:\w+(?:, \w+)*)?\)(?=\0)/g;
const TYPES = /(?:[^\0][^\0]\0\0){2,}[vip][vipd]+(?=\0)/g;

/** @param {string} folder @param {Record<string, string | Buffer>} files by name */
async function writeFiles(folder, files) {
  await mkdir(folder, { recursive: true });
  await Promise.all(
    Object.entries(files).map(([name, content]) => writeFile(join(folder, name), content)),
  );
}

const GLUE_TYPES = `import type { MainModule } from "./raw.js";

export declare const buildId: string;
/** One instance's glue: imports for the binary, and what makes the raw module of its instance. A memory that is shared is given. */
export default function createGlue(given?: { wasmMemory: WebAssembly.Memory }): {
  readonly imports: WebAssembly.Imports;
  start(instance: WebAssembly.Instance): MainModule & { readonly wasmMemory: WebAssembly.Memory };
};
`;

const TEXT_TYPES = `/** The binary as tools/pack.js writes it. */
declare const text: string;
export default text;
`;

const UNPACK_TYPES = `/** The module of bindings/unpack.cc, its bytes as values in digits of tools/pack.js. */
declare const unpacker: string;
export default unpacker;
`;

const WGSL_TYPES = `/** The files of src/wgsl by name. */
export declare const wgsl: Readonly<Record<string, string>>;
`;

/** The files of src/wgsl as a module, without comments and indentation. */
async function wgslModule() {
  const names = (await readdir(WGSL)).filter((name) => name.endsWith(".wgsl")).sort();
  const files = await Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(WGSL, name), "utf8");
      const lines = text.split("\n").map((line) => line.replace(/\/\/.*/, "").trim());
      return [basename(name, ".wgsl"), `${lines.filter((line) => line !== "").join("\n")}\n`];
    }),
  );
  return `export const wgsl = ${JSON.stringify(Object.fromEntries(files))};\n`;
}

/**
 * A wasm section that engines skip: the mark by which binary and glue know each other.
 *
 * @param {string} name
 * @param {string} text
 */
function customSection(name, text) {
  const content = Buffer.from(`${String.fromCharCode(name.length)}${name}${text}`, "latin1");
  if (content.length > 127) throw new Error("the section's length does not fit in one byte");
  return Buffer.concat([Buffer.from([0, content.length]), content]);
}

/** Compiles bindings/ to dist/: one file for each entry, a shared one for what they have in common, and the types. */
async function compile() {
  await rm(DIST, { recursive: true, force: true });
  const entries = await publicEntries();
  const ownBundles = entries.filter((name) => APART.includes(name));
  await Promise.all([
    bundleEntries(entries.filter((name) => !APART.includes(name))),
    ...ownBundles.map((name) => bundleEntries([name])),
    run(join(BIN, "tsc"), ["-p", "tsconfig.json", "--emitDeclarationOnly"], { cwd: ROOT }),
  ]);
  await copyFile(join(GENERATED, "layernorm.wasm"), join(DIST, "layernorm.wasm"));
  await Promise.all([shrink(DIST), removeInternalTypes(entries)]);
}

/**
 * Entries that share no file with the others: `layernorm` is to load as little as it did without them. What they have of
 * other entries they import from these.
 */
const APART = ["lite", "webgpu", "auto"];

/** @param {string[]} entries whose common parts go to files of their own */
function bundleEntries(entries) {
  return bundle({
    entryPoints: entries.map((name) => join(ROOT, "bindings", `${name}.ts`)),
    outdir: DIST,
    bundle: true,
    splitting: true,
    // Peers, which users have or lack.
    external: ["@tensorflow/*"],
    minify: true,
    format: "esm",
    target: "es2022",
    logLevel: "warning",
    plugins: [
      entries.some((name) => APART.includes(name))
        ? entriesApart(/index|webgpu/)
        : entriesApart(/webgpu/),
    ],
  });
}

/** Entries of some names stay imports. @param {RegExp} names @returns {import("esbuild").Plugin} */
const entriesApart = (names) => ({
  name: "entries-apart",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\.?\/\w+\.js$/ }, ({ path, kind }) => {
      const name = basename(path, ".js");
      if (kind === "entry-point" || !new RegExp(`^(${names.source})$`).test(name)) return undefined;
      return { path: `./${name}.js`, external: true };
    });
  },
});

/** The names of the entries that are code, such as "index". */
async function publicEntries() {
  const { exports } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  return Object.values(exports)
    .filter((entry) => entry.types !== undefined)
    .map((entry) => basename(entry.default, ".js"));
}

/**
 * Removes the declarations that no entry's declarations lead to.
 *
 * @param {string[]} entries
 */
async function removeInternalTypes(entries) {
  const queue = entries.map((name) => join(DIST, `${name}.d.ts`));
  const reached = new Set(queue);
  for (const path of queue) {
    const text = await readFile(path, "utf8");
    for (const [, target] of text.matchAll(/(?:from |import\()"(\.[^"]+)\.js"/g)) {
      const next = join(dirname(path), `${target}.d.ts`);
      if (reached.has(next)) continue;
      reached.add(next);
      queue.push(next);
    }
  }
  const files = await readdir(DIST, { recursive: true });
  const internal = files.filter((name) => name.endsWith(".d.ts") && !reached.has(join(DIST, name)));
  await Promise.all(internal.map((name) => rm(join(DIST, name))));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runScript(build);
}
