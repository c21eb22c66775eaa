// The tarball: what is in it, how much of it an import loads, and that it works where it is installed. Budget: 25 s.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { graph, pack, ROOT } from "./pack.js";

/**
 * Of what an entry has that `layernorm` lacks. `layernorm/tfjs` has the kernels for a GPU with it: its operations are
 * synchronous, so nothing could be loaded later.
 */
const BESIDE_BUDGETS = { "layernorm/nn": 8 * 1024, "layernorm/tfjs": 44 * 1024 };
/** Of all that an entry loads. */
const BUDGETS = { layernorm: 55 * 1024, "layernorm/lite": 15 * 1024 };

const { tarball, files, project, installed } = pack();
const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
const scripts = files.filter((file) => file.endsWith(".js"));
/** @type {string[]} */
const ENTRIES = Object.keys(manifest.exports).filter((entry) => manifest.exports[entry].types);
const names = ENTRIES.map((entry) => entry.replace(".", manifest.name));
/** Those that load without TensorFlow.js; tests/tfjs has the other. */
const alone = names.filter((name) => name !== "layernorm/tfjs");

/** @param {string} file a path in the tarball */
const read = (file) => readFileSync(join(installed, file), "utf8");

/** @param {string} path a path in the installed package @returns {string} as the tarball has it */
const inTarball = (path) => relative(installed, path);

/**
 * @param {string} code
 * @param {{ cwd?: string, type?: "module" | "commonjs", flags?: string[] }} [options]
 * @returns {string} what it prints
 */
function run(code, { cwd = project, type = "module", flags = [] } = {}) {
  const { stdout, stderr, status, signal } = spawnSync(
    process.execPath,
    [...flags, `--input-type=${type}`, "--eval", code],
    { cwd, encoding: "utf8", timeout: 20_000 },
  );
  assert.equal(stderr, "");
  assert.equal(status, 0, `ended with ${status ?? signal}`);
  return stdout;
}

// --- Files -----------------------------------------------------------------------------------------------------------

test("the tarball has the documents and what the exports reach, nothing else", () => {
  const reached = new Set(["package.json", "README.md", "LICENSE", "CHANGELOG.md"]);
  for (const target of Object.values(manifest.exports)) {
    const paths = typeof target === "string" ? [target] : Object.values(target);
    for (const path of paths) {
      for (const file of graph(join(installed, path), { dynamic: true })) {
        reached.add(inTarball(file));
      }
    }
  }
  assert.deepEqual(files, [...reached].sort());
  for (const file of files) {
    assert.match(file, /^(dist\/(\w+\/)?[\w.-]+\.(js|d\.ts|wasm)|package\.json|LICENSE|\w+\.md)$/);
  }
});

test("package.json promises no dependencies, no side effects and no scripts at installation", () => {
  for (const name of ["dependencies", "optionalDependencies", "bundledDependencies", "bin"]) {
    assert.equal(manifest[name], undefined, name);
  }
  assert.equal(manifest.sideEffects, false);
  for (const name of ["preinstall", "install", "postinstall", "prepare"]) {
    assert.equal(manifest.scripts?.[name], undefined, name);
  }
});

test("the tarball's scripts are plain text that content security policies and bundlers take", () => {
  assert.ok(scripts.length >= 2);
  for (const file of [...scripts, ...files.filter((name) => name.endsWith(".d.ts"))]) {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      readFileSync(join(installed, file)),
    );
    const control = [...text].find(
      (c) => (c < " " && c !== "\n") || c === "\x7f" || c === "\ufeff",
    );
    assert.equal(control, undefined, `${file} has a control character`);
    assert.doesNotMatch(text, /sourceMappingURL/, file);
  }
  for (const file of scripts) {
    // Layers have a method eval(), as PyTorch's do, which takes nothing.
    const code = /new\s+Function\b|\bFunction\s*\(|\beval\s*\(\s*[^\s)]/;
    assert.doesNotMatch(read(file), code, file);
  }
});

for (const [i, entry] of ENTRIES.entries()) {
  test(`import "${names[i]}" names nothing that a bundler would chase`, () => {
    const modules = graph(join(installed, manifest.exports[entry].default), { dynamic: true });
    for (const file of modules.map(inTarball)) {
      const text = read(file);
      assert.doesNotMatch(text, /new\s+URL\s*\([^)]*import\.meta\.url/, file);
      // A bundler for the web stops at the name of a Node module, also within import().
      assert.doesNotMatch(text, /\b(?:from|import|require)\s*\(?\s*["'`]node:/, file);
      // Neither a package nor anything computed, which bundlers warn about.
      for (const [, argument = ""] of text.matchAll(/\bimport\s*\(\s*([^)]*)\)/g)) {
        assert.match(argument, /^["']\.\//, `${file}: import(${argument.slice(0, 40)})`);
      }
    }
  });
}

for (const [entry, budget] of Object.entries(BUDGETS)) {
  test(`import "${entry}" loads at most ${budget} bytes gzip`, (t) => {
    const { default: path } = manifest.exports[entry.replace(manifest.name, ".")];
    const modules = graph(join(installed, path), { dynamic: false });
    const sizes = modules.map((file) => {
      const content = readFileSync(file);
      return {
        name: basename(file),
        bytes: content.length,
        gzip: gzipSync(content, { level: 9 }).length,
      };
    });
    const total = sizes.reduce((sum, { gzip }) => sum + gzip, 0);
    sizes.sort((a, b) => b.gzip - a.gzip);
    for (const { name, bytes, gzip } of sizes) {
      t.diagnostic(`${String(gzip).padStart(6)} gzip ${String(bytes).padStart(7)} bytes  ${name}`);
    }
    t.diagnostic(`${String(total).padStart(6)} gzip in all, of ${budget} allowed`);
    assert.ok(total <= budget, `${total} bytes`);
  });
}

test(`import "${manifest.name}" has the wasm with it`, () => {
  const modules = graph(join(installed, manifest.exports["."].default), { dynamic: false });
  const whole = modules.reduce((sum, file) => sum + readFileSync(file).length, 0);
  const wasm = readFileSync(join(installed, "dist/layernorm.wasm")).length;
  assert.ok(whole > wasm, "the modules that were found cannot hold it");
});

for (const [name, budget] of Object.entries(BESIDE_BUDGETS)) {
  test(`import "${name}" loads at most ${budget} bytes gzip beside "${manifest.name}"`, (t) => {
    const load = (/** @type {string} */ entry) =>
      graph(join(installed, manifest.exports[entry].default), { dynamic: false });
    const base = load(".");
    const own = load(name.replace("layernorm", ".")).filter((path) => !base.includes(path));
    const total = own.reduce(
      (sum, path) => sum + gzipSync(readFileSync(path), { level: 9 }).length,
      0,
    );
    t.diagnostic(`${total} gzip`);
    assert.ok(total <= budget, `${total} bytes`);
  });
}

// --- Loading ---------------------------------------------------------------------------------------------------------

for (const name of alone) {
  test(`import "${name}" touches nothing and starts nothing`, () => {
    const state = run(`
      // Own properties of every global and of its prototype, without calling getters.
      const snapshot = () => {
        const seen = [];
        for (const key of Reflect.ownKeys(globalThis)) {
          const value = Object.getOwnPropertyDescriptor(globalThis, key).value;
          const keys = (object) => {
            const isObject = typeof object === "object" ? object !== null : typeof object === "function";
            return isObject ? Reflect.ownKeys(object).map(String) : [];
          };
          const prototype = typeof value === "function" ? value.prototype : undefined;
          seen.push([String(key), keys(value), keys(prototype)]);
        }
        return JSON.stringify(seen);
      };
      const state = () => JSON.stringify([
        process.getActiveResourcesInfo(),
        process.eventNames().map((name) => [String(name), process.listenerCount(name)]),
      ]);
      // What Node makes at its first dynamic import is not ours.
      await import("node:assert");
      await import("data:text/javascript,");
      const before = [snapshot(), state()];
      const compiled = [];
      const { Module, Instance } = WebAssembly;
      WebAssembly.Module = new Proxy(Module, { construct: (...args) => (compiled.push("Module"), Reflect.construct(...args)) });
      WebAssembly.Instance = new Proxy(Instance, { construct: (...args) => (compiled.push("Instance"), Reflect.construct(...args)) });
      for (const f of ["compile", "compileStreaming", "instantiate", "instantiateStreaming"]) {
        const own = WebAssembly[f];
        WebAssembly[f] = (...args) => (compiled.push(f), own.apply(WebAssembly, args));
      }
      const { Memory } = WebAssembly;
      WebAssembly.Memory = new Proxy(Memory, { construct: (...args) => (compiled.push("Memory"), Reflect.construct(...args)) });
      await import(${JSON.stringify(name)});
      await new Promise((resolve) => setImmediate(resolve));
      console.log(JSON.stringify([...before, snapshot(), state(), compiled]));
    `);
    const [globals, resources, globalsAfter, resourcesAfter, compiled] = JSON.parse(state);
    assert.equal(globalsAfter, globals);
    assert.equal(resourcesAfter, resources);
    assert.deepEqual(compiled, []);
  });
}

test("calls add no listeners to the process, and it ends by itself", () => {
  const output = run(`
    import { layerNorm, plan, zeros } from "layernorm";
    const globals = Reflect.ownKeys(globalThis).map(String);
    const count = () => process.eventNames().map((name) => [String(name), process.listenerCount(name)]);
    const before = count();
    layerNorm([3, 5, 2, 8]);
    plan("rmsNorm", zeros([2, 4])).run();
    console.log(JSON.stringify([
      before, count(), globals, Reflect.ownKeys(globalThis).map(String), process.getActiveResourcesInfo(),
    ]));
  `);
  const [before, after, globals, globalsAfter, resources] = JSON.parse(output);
  assert.deepEqual(after, before);
  assert.deepEqual(globalsAfter, globals);
  assert.deepEqual(
    // Node's own: standard output, and the files of the modules that it has read.
    resources.filter(
      (/** @type {string} */ name) => !/^(TTYWrap|PipeWrap|CloseReq|FSReq\w*)$/.test(name),
    ),
    [],
  );
});

const documents = JSON.parse(readFileSync(join(ROOT, "tests/golden/documents.json"), "utf8"));
const PRINT_WORKED_EXAMPLE = `
  const { weight, bias, eps, rows } = ${JSON.stringify(documents)};
  console.log(JSON.stringify(rows.map(({ x }) => [layerNorm, rmsNorm].map((norm) => [
    norm(x, { eps }),
    norm(x, { eps, weight, bias }),
    [...norm(Float32Array.from(x), { eps, weight, bias })],
  ]))));
`;

/** @param {string} output what PRINT_WORKED_EXAMPLE prints */
function assertWorkedExample(output) {
  const results = JSON.parse(output);
  assert.ok(results.length >= 3);
  for (const [i, row] of documents.rows.entries()) {
    for (const [j, name] of ["layerNorm", "rmsNorm"].entries()) {
      const { normalized, scaled } = row[name];
      const [plain, affine, single] = results[i][j];
      for (const [k, value] of scaled.entries()) {
        assert.ok(Math.abs(plain[k] - normalized[k]) <= 3 * 2 ** -52 * 2, `${name} of row ${i}`);
        assert.ok(Math.abs(affine[k] - value) <= 3 * 2 ** -52 * 4, `${name} of row ${i}`);
        assert.ok(Math.abs(single[k] - value) <= 3 * 2 ** -23 * 4, `${name} of row ${i}, float32`);
      }
    }
  }
}

test("layerNorm and rmsNorm give the worked example's numbers where the package is installed", () => {
  assertWorkedExample(
    run(`import { layerNorm, rmsNorm } from "layernorm"; ${PRINT_WORKED_EXAMPLE}`),
  );
});

test('layerNorm of "layernorm/slim" does so with layernorm/layernorm.wasm, from its file: URL', () => {
  assertWorkedExample(
    run(`
      import { createRequire } from "node:module";
      import { pathToFileURL } from "node:url";
      import { init, layerNorm, rmsNorm } from "layernorm/slim";
      const path = createRequire(process.cwd() + "/x.js").resolve("layernorm/layernorm.wasm");
      await init({ url: pathToFileURL(path) });
      ${PRINT_WORKED_EXAMPLE}
    `),
  );
});

test('require("layernorm") works from CommonJS', (t) => {
  const features = /** @type {{ require_module?: boolean }} */ (process.features);
  if (!features.require_module) {
    t.skip(`Node ${process.versions.node} cannot require ES modules: 20.19+ and 22.12+ can`);
    return;
  }
  // Some versions of Node warn that this is experimental.
  /** @type {Parameters<typeof run>[1]} */
  const options = { type: "commonjs", flags: ["--no-warnings"] };
  assertWorkedExample(
    run(`const { layerNorm, rmsNorm } = require("layernorm"); ${PRINT_WORKED_EXAMPLE}`, options),
  );
  for (const name of alone) {
    const code = `console.log(typeof Object.values(require("${name}")).find((v) => v instanceof Function))`;
    assert.equal(run(code, options), "function\n", name);
  }
});

test("two copies of the package in one process do not disturb each other", () => {
  const folder = mkdtempSync(join(tmpdir(), "layernorm-copies-"));
  try {
    for (const name of ["a", "b"]) {
      mkdirSync(join(folder, name));
      cpSync(join(project, "node_modules"), join(folder, name, "node_modules"), {
        recursive: true,
      });
    }
    const output = run(
      `
      import * as a from "./a/node_modules/layernorm/dist/index.js";
      import * as b from "./b/node_modules/layernorm/dist/index.js";
      import assert from "node:assert/strict";
      assert.notEqual(a.layerNorm, b.layerNorm);
      const x = a.tensor([3, 5, 2, 8]);
      const y = b.tensor([3, 5, 2, 8]);
      assert.notEqual(x.data.buffer, y.data.buffer);
      const expected = a.layerNorm([3, 5, 2, 8]);
      assert.deepEqual(b.layerNorm([3, 5, 2, 8]), expected);
      // The other copy's resident tensor is a tensor-like, whose elements are read where they are.
      assert.deepEqual([...b.layerNorm(x).data], [...b.layerNorm(y).data]);
      assert.throws(() => b.plan("layerNorm", x), TypeError);
      a.dispose();
      assert.deepEqual(b.layerNorm([3, 5, 2, 8]), expected);
      assert.deepEqual([...b.layerNorm(y).data], [...a.layerNorm(a.tensor([3, 5, 2, 8])).data]);
      console.log("done");
    `,
      { cwd: folder },
    );
    assert.equal(output, "done\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

// --- Linters ---------------------------------------------------------------------------------------------------------

test("publint has nothing to say", async () => {
  const file = readFileSync(tarball);
  const data = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);
  const { messages, pkg } = await publint({ pack: { tarball: data }, strict: true });
  assert.equal(pkg.name, manifest.name);
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg, { color: false })),
    [],
  );
});

test("attw finds the types under every module resolution that knows ES modules", () => {
  const require = createRequire(import.meta.url);
  const attw = join(
    dirname(require.resolve("@arethetypeswrong/cli/package.json")),
    "dist/index.js",
  );
  assert.ok(existsSync(attw));
  // The binary has no types: what an import of it gives is the bundler's choice.
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [
      attw,
      tarball,
      "--profile=esm-only",
      "--no-definitely-typed",
      "--exclude-entrypoints=layernorm.wasm",
      "--format=ascii",
      "--no-color",
      "--no-emoji",
    ],
    { encoding: "utf8" },
  );
  assert.equal(status, 0, stdout + stderr);
  for (const name of names) assert.ok(stdout.includes(name), stdout);
});
