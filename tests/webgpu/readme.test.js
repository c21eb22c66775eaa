/** The README's example with WebGPU. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { instrument } from "../package/claims.js";
import { examples } from "../package/examples.js";
import { skip } from "./adapter.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

test("the README's example runs", { skip }, () => {
  const ours = examples(ROOT).filter(({ code }) => code.includes('"layernorm/webgpu"'));
  assert.equal(ours.length, 1, "one example of the README imports layernorm/webgpu");
  const [code] = ours.map((example) =>
    instrument(example.code).replaceAll('"layernorm/webgpu"', '"../../dist/webgpu.js"'),
  );
  // Node's navigator has no gpu.
  const start = `import { create, globals } from "webgpu";
Object.assign(globalThis, globals);
Object.defineProperty(globalThis, "navigator", { value: { gpu: create([]) } });
`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--input-type=module", "--eval", `${start}${code}\nprocess.exit(0);`],
    { cwd: fileURLToPath(new URL(".", import.meta.url)), encoding: "utf8" },
  );
  assert.equal(status, 0, stderr);
});
