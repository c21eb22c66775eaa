// `npm start` and the static server.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { serve } from "../../tools/serve.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const START = join(ROOT, "tools", "start.js");
const isBuilt = existsSync(join(ROOT, "dist", "index.js"));

describe("npm start", { skip: !isBuilt && "the package is not built" }, () => {
  test("prints the documents' example, and where the English document is wrong", () => {
    // The tests that run meanwhile read dist/: it is not built anew here.
    const { stdout, stderr, status } = run(["--no-serve", "--no-build"]);
    assert.equal(status, 0, stderr);
    const expected = [
      "x1 = [3, 5, 2, 8]",
      "mean 4.5, variance 5.25",
      "normalized -0.654653 0.218218 -1.091088 1.527524",
      "scaled and shifted -0.481980 0.827327 -1.136633 2.791286",
      "root mean square 5.049753",
      "mean 4.25, variance 6.6875",
      "normalized -1.256756 -0.483368 0.290021 1.450104",
      "scaled and shifted -1.385135 -0.225052 0.935031 2.675155",
      "prints 8.3125 under the roots: it should be 6.6875",
      "-0.2250 and 2.6751: it should be -0.2251 and 2.6752",
      "mean 5.25, variance 8.1875",
      "normalized -0.786333 -1.135815 0.611592 1.310555",
      "scaled and shifted -0.679500 -1.203722 1.417389 2.465833",
      "prints 3.6875 under the roots: it should be 8.1875",
    ];
    const printed = stdout.replace(/ +/g, " ");
    for (const text of expected) assert.ok(printed.includes(text), `${text}\nnot in:\n${stdout}`);
    const tables = stdout.split("\n").filter((line) => /^ {4}\S/.test(line));
    assert.equal(tables.length, 12);
    assert.deepEqual(new Set(tables.map((line) => line.length)).size, 1, "columns are aligned");
  });

  test("names its flags when given another", () => {
    const { stderr, status } = run(["--serve"]);
    assert.equal(status, 1);
    assert.match(stderr, /--serve.*--no-serve/);
  });
});

/** @param {string[]} flags */
function run(flags) {
  return spawnSync(process.execPath, [START, ...flags], { encoding: "utf8", timeout: 60_000 });
}

describe("the static server", () => {
  /** @type {string} */
  let folder;
  /** @type {import("../../tools/serve.js").Served} */
  let server;
  before(async () => {
    const parent = await mkdtemp(join(tmpdir(), "layernorm-serve-"));
    folder = join(parent, "site");
    await mkdir(join(folder, "sub"), { recursive: true });
    await writeFile(join(parent, "secret.txt"), "secret");
    for (const name of ["index.html", "a.mjs", "b.wasm", "c.woff2", "d.js", "sub/index.html"]) {
      await writeFile(join(folder, name), name);
    }
    await symlink(join(parent, "secret.txt"), join(folder, "link.txt"));
    server = await serve({ folder, port: 0, headers: { "x-extra": "yes" } });
  });
  after(async () => {
    await server?.close();
    await rm(join(folder, ".."), { recursive: true });
  });

  test("sends each file with its type, and the headers asked for", async () => {
    /** @type {[path: string, type: string][]} */
    const files = [
      ["", "text/html; charset=utf-8"],
      ["sub/", "text/html; charset=utf-8"],
      ["a.mjs", "text/javascript; charset=utf-8"],
      ["d.js?version=2", "text/javascript; charset=utf-8"],
      ["b.wasm", "application/wasm"],
      ["c.woff2", "font/woff2"],
    ];
    for (const [path, type] of files) {
      const response = await fetch(server.url + path);
      assert.equal(response.status, 200, path);
      assert.equal(response.headers.get("content-type"), type, path);
      assert.equal(response.headers.get("x-extra"), "yes");
    }
    assert.equal(await (await fetch(`${server.url}sub/`)).text(), "sub/index.html");
  });

  test("sends a folder's address on to the one with the slash", async () => {
    const response = await fetch(`${server.url}sub`, { redirect: "manual" });
    assert.equal(response.status, 301);
    assert.equal(response.headers.get("location"), "/sub/");
  });

  test("refuses what is not in the folder", async () => {
    assert.equal((await fetch(`${server.url}missing`)).status, 404);
    assert.equal((await fetch(`${server.url}link.txt`)).status, 403);
    assert.equal((await fetch(server.url, { method: "POST" })).status, 405);
    // fetch() would tidy these up before sending them.
    for (const path of ["/../secret.txt", "/sub/../../secret.txt", "/%2e%2e/secret.txt"]) {
      assert.match(await ask(path), /^HTTP\/1.1 403 /, path);
    }
    for (const path of ["/..%2fsecret.txt", "/..\\secret.txt", "/%00"]) {
      assert.match(await ask(path), /^HTTP\/1.1 403 /, path);
    }
    assert.match(await ask("/%"), /^HTTP\/1.1 400 /);
    assert.match(await ask("//"), /^HTTP\/1.1 (200|301|404) /);
  });

  /** @param {string} path */
  async function ask(path) {
    const socket = createConnection(server.port, "127.0.0.1");
    // Not end(): a server may drop a client that has hung up.
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    assert.ok(!answer.includes("secret\n") && !answer.endsWith("secret"), path);
    return answer;
  }

  test("takes the next port if one is in use", async () => {
    const second = await serve({ folder, port: server.port });
    assert.ok(second.port > server.port);
    assert.equal((await fetch(second.url)).status, 200);
    await second.close();
  });

  test("runs by itself, and prints its address", async () => {
    const child = spawn(process.execPath, [join(ROOT, "tools", "serve.js"), folder]);
    const [line] = await once(child.stdout, "data");
    const url = String(line).trim();
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/$/);
    assert.equal(await (await fetch(url)).text(), "index.html");
    child.kill();
    await once(child, "exit");
  });
});
