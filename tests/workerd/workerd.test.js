// The installed tarball in Cloudflare's workerd. Budget: 20 s.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { assertChecks } from "../browser/assert_checks.js";
import { graph, pack, ROOT } from "../package/pack.js";
import { assertEntries, FILES } from "../runtimes/assert_entries.js";
import { ENTRIES } from "../runtimes/entries.js";

const PLATFORMS = /** @type {Record<string, string>} */ ({
  "linux x64": "linux-64",
  "linux arm64": "linux-arm64",
  "darwin x64": "darwin-64",
  "darwin arm64": "darwin-arm64",
});

/** @returns {string | undefined} the binary, where its package is installed; its install script is not needed */
function findWorkerd() {
  const platform = PLATFORMS[`${process.platform} ${process.arch}`];
  try {
    const manifest = `@cloudflare/workerd-${platform}/package.json`;
    const path = join(dirname(createRequire(import.meta.url).resolve(manifest)), "bin/workerd");
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

const workerd = findWorkerd();
const skip = workerd === undefined && `no workerd for ${process.platform} ${process.arch}`;

// Workers pick the runtime's behaviour by a date: since 2025-05-05 there are FinalizationRegistry and WeakRef.
for (const date of ["2024-01-01", "2025-06-01"]) {
  describe(`layernorm/slim in workerd as of ${date}`, { skip }, () => {
    /** @type {string} */
    let folder;
    /** @type {import("node:child_process").ChildProcess} */
    let server;
    /** @type {string} */
    let url;
    let log = "";
    const kill = () => server?.kill("SIGKILL");

    /** @param {string} path @returns {Promise<any>} */
    const get = async (path) => {
      const response = await fetch(url + path, { signal: AbortSignal.timeout(10_000) });
      assert.equal(response.status, 200, log);
      return response.json();
    };

    before(async () => {
      folder = mkdtempSync(join(tmpdir(), "layernorm-workerd-"));
      const dist = join(pack().installed, "dist");
      // Names as in the repository, so that the imports are the same. The first is the Worker.
      const tests = join(ROOT, "tests");
      const scripts = graph(join(tests, "workerd/worker.js"), { dynamic: false });
      const own = scripts.filter((path) => path.startsWith(tests));
      const entries = Object.keys(ENTRIES).map((name) => join(dist, "..", FILES[name]));
      const modules = new Set(entries.flatMap((entry) => graph(entry, { dynamic: true })));
      const sources = own.map((path) => [relative(ROOT, path), path]);
      for (const path of modules) sources.push([`dist/${relative(dist, path)}`, path]);
      const listed = sources.map(([name, path], i) => {
        copyFileSync(String(path), join(folder, `${i}.js`));
        return `(name = "${name}", esModule = embed "${i}.js")`;
      });
      copyFileSync(join(dist, "layernorm.wasm"), join(folder, "layernorm.wasm"));
      listed.push('(name = "dist/layernorm.wasm", wasm = embed "layernorm.wasm")');
      writeFileSync(
        join(folder, "config.capnp"),
        `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [
      ${listed.join(",\n      ")}
    ],
    compatibilityDate = "${date}",
  ))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`,
      );
      server = spawn(String(workerd), ["serve", "--control-fd=3", "config.capnp"], {
        cwd: folder,
        stdio: ["ignore", "pipe", "pipe", "pipe"],
      });
      process.once("exit", kill);
      for (const stream of [server.stdout, server.stderr]) {
        stream?.setEncoding("utf8").on("data", (text) => {
          log += text;
        });
      }
      const control = /** @type {import("node:stream").Readable} */ (server.stdio[3]);
      const port = await new Promise((resolve, reject) => {
        createInterface(control).on("line", (line) => {
          const message = JSON.parse(line);
          if (message.event === "listen") resolve(message.port);
        });
        server.once("error", reject);
        server.once("exit", (code) => reject(new Error(`workerd ended with ${code}\n${log}`)));
      });
      url = `http://127.0.0.1:${port}`;
    });

    after(async () => {
      if (server?.exitCode === null) {
        const ended = new Promise((resolve) => server.once("exit", resolve));
        kill();
        await ended;
      }
      rmSync(folder, { recursive: true });
    });

    test("what needs bytes compiled says how to do it here", async () => {
      const errors = await get("/blocked");
      for (const way of ["first call", "init()", "lite's first call"]) {
        assert.match(
          errors[way],
          /^Error: layernorm: .*layernorm\/layernorm\.wasm.*layernorm\/slim/,
          way,
        );
      }
      assert.match(errors["slim's first call"], /^Error: layernorm\/slim: .*initSync/);
    });

    for (const [name, path] of [
      ["initSync(module)", "/init?sync"],
      ["init({ module })", "/init?async"],
    ]) {
      test(`${name} starts it, for every entry, until dispose()`, async () => {
        const { result, checks } = await get(/** @type {string} */ (path));
        assert.deepEqual(result, { threads: 1, relaxedSimd: false, reasons: [] });
        assertChecks(checks, "slim");
        assertChecks(await get("/default"), "default entry");
        await get("/dispose");
        assert.match((await get("/blocked"))["first call"], /^Error/);
      });
    }

    test("every entry gives the bits that it gives elsewhere", async (t) => {
      await get("/init?sync");
      // layernorm/lite has its binary as bytes alone, which workerd does not compile.
      const names = Object.keys(ENTRIES).filter((name) => name !== "layernorm/lite");
      t.diagnostic(assertEntries(await get("/entries"), "workerd", names));
    });

    test("nothing is logged", () => assert.equal(log, ""));
  });
}
