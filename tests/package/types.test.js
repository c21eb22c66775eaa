// The types, in a TypeScript project of a user's against the installed tarball. Budget: 30 s.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { pack } from "./pack.js";

const SOURCES = fileURLToPath(new URL("types", import.meta.url));

const { project } = pack();
// Processes may share the project.
const folder = join(project, `types-${process.pid}`);
cpSync(SOURCES, folder, { recursive: true });
after(() => rmSync(folder, { recursive: true }));

const require = createRequire(import.meta.url);

/** @typedef {{ version: string, tsc: string }} Compiler */

/** @param {NodeJS.Require} from @returns {Compiler} */
function compilerOf(from) {
  const manifest = from.resolve("typescript/package.json");
  const { version, bin } = JSON.parse(readFileSync(manifest, "utf8"));
  return { version, tsc: join(dirname(manifest), bin.tsc) };
}

const newest = compilerOf(require);
// The one that attw brings.
const older = compilerOf(createRequire(require.resolve("@arethetypeswrong/core")));
assert.notEqual(older.version, newest.version);

/** @type {Record<string, Record<string, unknown>>} */
const RESOLUTIONS = {
  node16: { module: "node16", moduleResolution: "node16" },
  nodenext: { module: "nodenext", moduleResolution: "nodenext" },
  bundler: { module: "esnext", moduleResolution: "bundler" },
};

/** @type {Record<string, string[]>} */
const LIBRARIES = {
  "ES2022 alone": ["ES2022"],
  "the DOM": ["ES2022", "DOM"],
  workers: ["ES2022", "WebWorker"],
};

/**
 * @param {Compiler} compiler
 * @param {string[]} files
 * @param {Record<string, unknown>} compilerOptions
 */
function assertCompiles({ tsc }, files, compilerOptions) {
  const config = join(folder, "tsconfig.json");
  const options = {
    target: "ES2022",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    types: [],
    noEmit: true,
    ...compilerOptions,
  };
  writeFileSync(config, JSON.stringify({ compilerOptions: options, files }, null, 2));
  const { stdout, stderr, status } = spawnSync(process.execPath, [tsc, "--project", config], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(stdout + stderr, "");
  assert.equal(status, 0);
}

for (const [resolution, options] of Object.entries(RESOLUTIONS)) {
  for (const [library, lib] of Object.entries(LIBRARIES)) {
    test(`uses compile and wrong calls do not: ${resolution}, ${library}`, () => {
      assertCompiles(newest, ["uses.ts", "wrong.ts"], { ...options, lib });
    });
  }
}

// The older compiler takes seconds for each.
for (const resolution of ["nodenext", "bundler"]) {
  test(`uses compile and wrong calls do not: TypeScript ${older.version}, ${resolution}`, () => {
    const options = { ...RESOLUTIONS[resolution], lib: ["ES2022"] };
    assertCompiles(older, ["uses.ts", "wrong.ts"], options);
  });
}

// TypeScript's own since 6, in its libraries of pages and of workers; before that, those of a package.
for (const [where, lib] of Object.entries({ page: "DOM", worker: "WebWorker" })) {
  test(`WebGPU's types fit, in a ${where}`, () => {
    assertCompiles(newest, ["webgpu.ts"], { ...RESOLUTIONS.bundler, lib: ["ES2022", lib] });
  });
}

test(`WebGPU's types fit: @webgpu/types and TypeScript ${older.version}`, () => {
  const types = [dirname(require.resolve("@webgpu/types/package.json"))];
  assertCompiles(older, ["webgpu.ts"], { ...RESOLUTIONS.bundler, types, lib: ["ES2022", "DOM"] });
});

test("using disposes of tensors and plans", () => {
  const options = { ...RESOLUTIONS.nodenext, lib: ["ES2022", "ESNext.Disposable"] };
  assertCompiles(newest, ["disposable.ts"], options);
});
