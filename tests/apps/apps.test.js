// Applications that import the installed tarball without configuration, each built by a bundler or a framework and run.
// Budget: 90 s.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { assertChecks } from "../browser/assert_checks.js";
import { ENGINES, launch } from "../browser/browsers.js";
import { serve } from "../browser/serve.js";
import { pack, ROOT, walk } from "../package/pack.js";

const { project } = pack();
const HERE = fileURLToPath(new URL(".", import.meta.url));
// Below this folder, so that frameworks find themselves in its node_modules.
const WORK = join(HERE, "build", `${process.pid}`);
const TIMEOUT_MS = 60_000;

// The tools have no types here: they are installed by this step alone.
const require = createRequire(import.meta.url);
/** @param {string} name @returns {any} */
const tool = (name) => require(name);

/** @param {string} name a folder here @param {string} [as] @returns {string} a copy, in which the package is installed */
function makeProject(name, as = name) {
  const folder = join(WORK, as);
  mkdirSync(folder, { recursive: true });
  cpSync(join(HERE, name), folder, { recursive: true });
  cpSync(join(ROOT, "tests/browser/pages/checks.js"), join(folder, "checks.js"));
  cpSync(join(project, "node_modules"), join(folder, "node_modules"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  return folder;
}

/** @param {string} path a page that loads a built script from beside it @param {string} script */
const writePage = (path, script) =>
  writeFileSync(
    path,
    readFileSync(join(HERE, "web/index.html"), "utf8").replace("./main.js", script),
  );

/**
 * What builds folder/main.js into folder/out, with an index.html.
 *
 * @type {Record<string, { withWorker: boolean, build: (folder: string) => Promise<unknown> }>}
 */
const BUNDLERS = {
  "vite build": {
    withWorker: true,
    build: (root) => tool("vite").build({ root, logLevel: "warn", build: { outDir: "out" } }),
  },
  webpack: { withWorker: true, build: (folder) => packWith(tool("webpack"), folder) },
  Rspack: { withWorker: true, build: (folder) => packWith(tool("@rspack/core").rspack, folder) },
  Rollup: {
    withWorker: false,
    build: async (folder) => {
      const { nodeResolve } = tool("@rollup/plugin-node-resolve");
      const bundle = await tool("rollup").rollup({
        input: join(folder, "main.js"),
        plugins: [nodeResolve()],
        onwarn: (/** @type {{ message: string }} */ { message }) => assert.fail(message),
      });
      await bundle.write({ dir: join(folder, "out") });
      await bundle.close();
      writePage(join(folder, "out/index.html"), "./main.js");
    },
  },
  esbuild: {
    withWorker: false,
    build: async (folder) => {
      const { warnings } = await tool("esbuild").build({
        entryPoints: [join(folder, "main.js")],
        bundle: true,
        format: "esm",
        outdir: join(folder, "out"),
      });
      assert.deepEqual(warnings, []);
      writePage(join(folder, "out/index.html"), "./main.js");
    },
  },
};

/**
 * webpack and Rspack have one interface.
 *
 * @param {any} bundler
 * @param {string} folder
 */
async function packWith(bundler, folder) {
  const compiler = bundler({
    context: folder,
    mode: "production",
    entry: "./main.js",
    output: { path: join(folder, "out"), filename: "built.js" },
  });
  const stats = await new Promise((resolve, reject) =>
    compiler.run((/** @type {unknown} */ error, /** @type {any} */ result) =>
      error ? reject(error) : resolve(result),
    ),
  );
  await new Promise((resolve) => compiler.close(resolve));
  const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
  const messages = [...errors, ...warnings].map(({ message }) => message);
  // What is larger than webpack's own budget for an entry is no fault of an application's.
  assert.deepEqual(
    messages.filter((message) => !/size limit|performance/i.test(message)),
    [],
  );
  writePage(join(folder, "out/index.html"), "./built.js");
}

/** @param {string} folder @returns {string} the sizes of its scripts */
const sizes = (folder) =>
  walk(folder)
    .filter((path) => path.endsWith(".js"))
    .map((path) => {
      const content = readFileSync(path);
      return `${path.slice(folder.length + 1)} ${content.length} bytes, ${gzipSync(content).length} gzip`;
    })
    .join("; ");

/** @param {{ layer: number[], auto: number[], webgpu: string }} others of web/others.js @param {string} where */
function assertOthers({ layer, auto, webgpu }, where) {
  for (const [got, wanted] of [
    [layer, [-0.654653, 0.218217, -1.091089, 1.527524]],
    [auto, [0.594089, 0.990148, 0.396059, 1.584236]],
  ]) {
    assert.equal(got.length, 4, where);
    for (const [i, value] of wanted.entries()) assert.ok(Math.abs(got[i] - value) < 1e-5, where);
  }
  assert.equal(webgpu, "function", where);
}

const [chromium] = ENGINES;

after(() => rmSync(WORK, { recursive: true, force: true }));

describe("in Chromium", { skip: chromium.skip }, () => {
  /** @type {import("puppeteer-core").Browser} */
  let browser;
  before(async () => {
    browser = await launch(chromium);
  });
  after(() => browser?.close());

  /**
   * @param {string} url
   * @returns {Promise<any>} what the page's `finished` gives; nothing is said on its console and nothing is missing
   */
  async function open(url) {
    const page = await browser.newPage();
    try {
      /** @type {string[]} */
      const messages = [];
      page.on("console", (message) => messages.push(`${message.type()}: ${message.text()}`));
      page.on("pageerror", (error) => messages.push(`${error}`));
      page.on("requestfailed", (request) => messages.push(`failed: ${request.url()}`));
      await page.goto(url, { timeout: TIMEOUT_MS });
      // A development server may load the page anew.
      await page.waitForFunction("globalThis.finished", { timeout: TIMEOUT_MS });
      const results = await page.evaluate(() => /** @type {any} */ (globalThis).finished);
      assert.deepEqual(
        messages.filter((message) => !/^debug: \[vite\]/.test(message)),
        [],
      );
      return results;
    } finally {
      await page.close();
    }
  }

  for (const [name, { withWorker, build }] of Object.entries(BUNDLERS)) {
    test(`an application built by ${name}`, async (t) => {
      const folder = makeProject("web", name.replace(" ", "_"));
      if (withWorker) cpSync(join(folder, "with_worker.js"), join(folder, "main.js"));
      await build(folder);
      const server = await serve({ folders: { "/": join(folder, "out") } });
      try {
        const { main, worker, others } = await open(`${server.url}index.html`);
        assertChecks(main, name);
        assertOthers(others, name);
        if (withWorker) assertChecks(worker, `a Worker, ${name}`);
      } finally {
        await server.close();
      }
      t.diagnostic(sizes(join(folder, "out")));
    });
  }

  test("an application served by vite's development server", async () => {
    const root = makeProject("web", "vite_dev");
    cpSync(join(root, "with_worker.js"), join(root, "main.js"));
    const server = await tool("vite").createServer({ root, logLevel: "warn" });
    try {
      await server.listen(0);
      const { port } = server.httpServer.address();
      const { main, worker, others } = await open(`http://localhost:${port}/`);
      assertChecks(main, "vite");
      assertOthers(others, "vite");
      assertChecks(worker, "a Worker, vite");
    } finally {
      await server.close();
    }
  });

  test('<script type="module"> without a bundler, twice, touches no global', async () => {
    const folder = makeProject("page");
    cpSync(join(folder, "node_modules"), join(folder, "copy"), { recursive: true });
    const server = await serve({ folders: { "/": folder } });
    try {
      const { main, copy, apart, imported, called } = await open(`${server.url}index.html`);
      assertChecks(main, "page");
      assertChecks(copy, "the second copy");
      assert.ok(apart);
      // What drives the browser has globals of its own.
      const changes = [...imported, ...called];
      assert.deepEqual(
        changes.filter((line) => !/^(puppeteer_)?__aria/.test(line)),
        [],
      );
    } finally {
      await server.close();
    }
  });

  test("Next.js renders it on the server and in the client", async () => {
    const folder = makeProject("next");
    const next = join(HERE, "node_modules/next/dist/bin/next");
    const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" };
    const built = spawnSync(process.execPath, [next, "build"], {
      cwd: folder,
      env,
      encoding: "utf8",
      timeout: 2 * TIMEOUT_MS,
    });
    assert.equal(built.status, 0, built.stdout + built.stderr);
    const server = spawn(process.execPath, [next, "start", "--hostname=127.0.0.1", "--port=0"], {
      cwd: folder,
      env,
    });
    const kill = () => server.kill("SIGKILL");
    process.once("exit", kill);
    try {
      let log = "";
      const url = await new Promise((resolve, reject) => {
        for (const stream of [server.stdout, server.stderr]) {
          stream.setEncoding("utf8").on("data", (text) => {
            log += text;
            const found = /http:\/\/127\.0\.0\.1:\d+/.exec(log);
            if (found && /Ready/.test(log)) resolve(found[0]);
          });
        }
        server.once("exit", (code) => reject(new Error(`next ended with ${code}\n${log}`)));
      });
      const page = await browser.newPage();
      await page.goto(url, { timeout: TIMEOUT_MS });
      await page.waitForFunction("document.querySelector('#client').textContent !== ''");
      for (const id of ["server", "both", "client"]) {
        const text = await page.$eval(`#${id}`, (element) => element.textContent);
        assertChecks(JSON.parse(String(text)), `${id} of Next.js`);
      }
      await page.close();
    } finally {
      kill();
      process.off("exit", kill);
    }
  });
});

describe("in Node", () => {
  test("vite builds it for the server", async () => {
    const root = makeProject("server");
    await tool("vite").build({
      root,
      logLevel: "warn",
      build: { ssr: "server.js", outDir: "out" },
      // Built in, as servers without node_modules need it.
      ssr: { noExternal: true },
    });
    const { render } = await import(`${pathToFileURL(join(root, "out/server.js"))}`);
    assertChecks(JSON.parse(/<output>(.*)<\/output>/.exec(render())?.[1] ?? ""), "vite's server");
  });

  test("require() from CommonJS", (t) => {
    if (!process.features.require_module) {
      t.skip(`${process.version} cannot require ES modules: 20.19+ and 22.12+ can`);
      return;
    }
    const folder = makeProject("commonjs");
    assert.ok(existsSync(join(folder, "main.cjs")));
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ["--no-warnings", join(folder, "main.cjs")],
      { encoding: "utf8", timeout: TIMEOUT_MS },
    );
    assert.equal(status, 0, stderr);
    assertChecks(JSON.parse(stdout).main, "CommonJS");
  });
});
