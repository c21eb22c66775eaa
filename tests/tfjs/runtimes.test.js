// layernorm/tfjs beside TensorFlow.js in every run-time without a page that tests/runtimes has: the same bits through the package's
// wasm. Pages are in webgl.test.js. Budget: 30 s.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { SCRIPTED } from "../runtimes/scripted.js";
import { install } from "./installed.js";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const installed = install();
let expected = "";

for (const { name, path, args } of SCRIPTED) {
  const skip = path === undefined && `there is none for ${process.platform} ${process.arch}`;
  test(`operations, gradients, layers and cells give the same bits in ${name}`, { skip }, () => {
    // TensorFlow.js looks at its environment.
    const own = args.includes("--no-prompt") ? ["--node-modules-dir=manual", "--allow-env"] : [];
    const { stdout, stderr, status } = spawnSync(
      String(path),
      [...args, ...own, "script.js", installed],
      { cwd: HERE, encoding: "utf8", timeout: 60_000, env: { ...process.env, NO_COLOR: "1" } },
    );
    assert.equal(status, 0, stderr);
    const { bits, finite } = JSON.parse(stdout);
    assert.deepEqual(
      bits.map((/** @type {number[]} */ list) => list.length),
      [48, 48, 48, 48],
    );
    assert.ok(finite);
    expected ||= stdout;
    assert.equal(stdout, expected);
  });
}
