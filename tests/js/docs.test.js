// The documentation's examples run against the installed tarball, each in a process of its own, and give the values that
// their comments claim (claims.js). Budget: 20 s.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { instrument } from "../package/claims.js";
import { examples } from "../package/examples.js";
import { pack } from "../package/pack.js";

const RUN = ["js", "mjs", "javascript", "ts", "typescript"];
const SKIP = ["", "sh", "bash", "console", "text", "json", "cpp", "c++", "cmake", "html"];

const { project, installed } = pack();
const folder = join(project, `docs-${process.pid}`);
mkdirSync(folder);
after(() => rmSync(folder, { recursive: true }));

/**
 * @param {string[]} args
 * @returns {string} what Node prints
 */
function node(...args) {
  const { stdout, stderr, status, signal } = spawnSync(process.execPath, args, {
    cwd: project,
    encoding: "utf8",
    timeout: 30_000,
  });
  assert.equal(status, 0, `ended with ${status ?? signal}\n${stdout}${stderr}`);
  return stdout;
}

/** @param {string} entry @returns {string} what it exports */
const namesOf = (entry) =>
  node(
    "--input-type=module",
    "--eval",
    `import * as all from "${entry}"; console.log(Object.keys(all).join(", "));`,
  );
const names = Object.fromEntries(
  ["layernorm", "layernorm/nn"].map((name) => [name, namesOf(name)]),
);

/**
 * @param {string} code
 * @param {string} [entry]
 * @returns {string} with all of the entry imported, if it imports nothing from the package
 */
function withImports(code, entry = "layernorm") {
  return /^import .*["']layernorm/m.test(code)
    ? code
    : `import { ${names[entry]} } from "${entry}";\n${code}`;
}

const all = examples(installed);
// Those with TensorFlow.js are run by tests/model and tests/tfjs, those with WebGPU by tests/webgpu, where these are installed.
const ours = all.filter(
  ({ language, code }) =>
    RUN.includes(language) && !/"@tensorflow\/|"layernorm\/webgpu"/.test(code),
);

test("every example has a language that is run or left out on purpose", () => {
  for (const { where, language } of all) {
    assert.ok([...RUN, ...SKIP].includes(language), `${where}: ${language}`);
  }
  assert.ok(ours.some(({ where }) => where.startsWith("README.md")));
  assert.ok(ours.some(({ where }) => where.includes(".d.ts")));
});

/** @param {import("../package/examples.js").Example} example @returns {string} its file, without the extension */
const stem = ({ where }) => join(folder, where.replace(/\W/g, "_"));

// Written before the tests, so that one run of TypeScript's compiler checks and strips all that are typed.
const typed = ours.filter(({ language }) => language.startsWith("t"));
for (const example of ours) {
  const extension = typed.includes(example) ? "ts" : "js";
  const code = withImports(instrument(example.code), example.entry);
  writeFileSync(`${stem(example)}.${extension}`, code);
}

test("the typed examples compile", () => {
  const compilerOptions = {
    target: "ES2022",
    module: "nodenext",
    lib: ["ES2022", "ESNext.Disposable", "DOM"],
    types: [],
    strict: true,
  };
  const files = typed.map((example) => `${stem(example)}.ts`);
  assert.ok(files.length > 0);
  const config = join(folder, "tsconfig.json");
  writeFileSync(config, JSON.stringify({ compilerOptions, files }));
  const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
  const { bin } = JSON.parse(readFileSync(manifest, "utf8"));
  node(join(dirname(manifest), bin.tsc), "--project", config);
});

for (const example of ours) {
  test(`the example of ${example.where} runs`, () => {
    node(`${stem(example)}.js`);
  });
}

test("an example whose claim is wrong fails, and one whose claim is right does not", () => {
  const claims = [
    [
      "layerNorm([3, 5, 2, 8]);",
      "-> [-0.6547, 0.2182, -1.0911, 1.5275]",
      "-> [-0.6547, 0.2182, -1.0911, 1.5276]",
    ],
    ["const y = layerNorm([3, 5, 2, 8]);", "[-0.655, 0.22, ...]", "[-0.655, 0.22]"],
    ["console.log(zeros([2]).dtype);", '-> "float32"', "-> float64"],
    [
      "const { rstd } = rmsNorm([[2]], { eps: 0, returnStats: true });",
      "-> rstd [[0.5]]",
      "-> rstd [[5e-2]]",
    ],
    [
      "const y = layerNorm(new Float32Array(2), { bias: 3 });",
      "Float32Array(2) [3, 3]",
      "Float32Array(2) [3, 0]",
    ],
    ["const y = zeros([3]);\n", "y is a tensor: 0 0 0", "y is a tensor: 0 0 0 0"],
  ];
  const file = join(folder, "claim.js");
  for (const [statement, right, wrong] of claims) {
    const write = (/** @type {string | undefined} */ claim) =>
      writeFileSync(file, withImports(instrument(`${statement} // ${claim}`)));
    write(right);
    node(file);
    write(wrong);
    assert.throws(() => node(file), /AssertionError/, wrong);
  }
});
