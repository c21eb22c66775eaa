/** init({ relaxedSimd: true }): as exact as the ordinary build, and what is said where it is not to be had. Budget: 60 s. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const FLAG = "--experimental-wasm-relaxed-simd";
/** Node 20 has it behind a flag, which later ones no longer know. */
const isFlagged = Number.parseInt(process.versions.node, 10) < 22;

/** @param {string[]} args @param {Record<string, string>} [env] */
function run(args, env = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: FOLDER,
    encoding: "utf8",
    // A child of a test file would report to its runner.
    env: { ...process.env, NODE_TEST_CONTEXT: "", ...env },
    timeout: 120_000,
  });
  return { status, stdout, stderr: stderr.slice(-2000) };
}

const flags = isFlagged ? [FLAG] : [];

// Of the first, which takes a minute, what is hardest: rows of float32 far from 0, and of values that cancel.
for (const [file, pattern] of [
  ["exactness.test.js", "exact to 3 eps: (normal|mean1e4|heavySigned) .float32"],
  ["exactness_epilogue.test.js", "."],
]) {
  test(`relaxed SIMD passes ${file}`, () => {
    const args = ["--import", "./relaxed_simd.js", `--test-name-pattern=${pattern}`, file];
    const { status, stdout } = run([...flags, ...args]);
    assert.equal(status, 0, stdout.match(/^\s*not ok[\s\S]{0,600}/m)?.[0] ?? stdout.slice(-600));
    assert.match(stdout, /(?:^|\n). pass [1-9]/);
  });
}

test("relaxed SIMD and threads come together; each is matched by name afterwards", () => {
  const script = `
    import { init, layerNorm } from "../../dist/index.js";
    const both = await init({ threads: 2, relaxedSimd: true });
    const [y] = layerNorm([3, 5]);
    const again = await init({ relaxedSimd: true });
    const other = await init({ relaxedSimd: false }).catch(({ message }) => message);
    console.log(JSON.stringify({ both, y, again, other }));`;
  const { stdout, stderr } = run([...flags, "--input-type=module", "--eval", script]);
  const used = { threads: 2, relaxedSimd: true, reasons: [] };
  const { both, y, again, other } = JSON.parse(stdout || `"${stderr}"`);
  assert.deepEqual(both, used);
  assert.deepEqual(again, used);
  assert.ok(Math.abs(y + 1) < 1e-5);
  assert.equal(
    other,
    "init: expected the options in use since the first call, or dispose() before others, got others",
  );
});

test("an engine without relaxed SIMD is named as the reason", () => {
  const script = `
    const { validate } = WebAssembly;
    // As an engine that knows no instruction beyond those of SIMD.
    WebAssembly.validate = (bytes) => bytes.length > 100 && validate(bytes);
    const { init, layerNorm } = await import("../../dist/index.js");
    console.log(JSON.stringify([await init({ relaxedSimd: true }), layerNorm([1, 1])]));`;
  const { stdout, stderr } = run(["--input-type=module", "--eval", script]);
  assert.deepEqual(JSON.parse(stdout || `"${stderr}"`), [
    { threads: 1, relaxedSimd: false, reasons: ["relaxedSimd: this engine has none"] },
    [0, 0],
  ]);
});
