/** How the instance comes into being in every entry, and its end. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, afterEach, before, describe, test } from "node:test";
import * as auto from "../../dist/auto.js";
import * as inlined from "../../dist/index.js";
import * as nn from "../../dist/nn.js";
import * as slim from "../../dist/slim.js";

const WASM = new URL("../../dist/layernorm.wasm", import.meta.url);
const bytes = readFileSync(WASM);
const module = new WebAssembly.Module(bytes);
const x = [3, 5, 2, 8];
const DEFAULT = { threads: 1, relaxedSimd: false, reasons: [] };
const NO_WASM =
  "layernorm/slim: no WebAssembly yet, call `await init({ module })` (or url, bytes) or `initSync(module)` first";

/** @param {() => unknown} call @param {string | RegExp} message a plain Error */
const throwsError = (call, message) => assert.throws(call, { name: "Error", message });
/** @param {Promise<unknown>} promise @param {string | RegExp} message a plain Error */
const rejects = (promise, message) => assert.rejects(promise, { name: "Error", message });

afterEach(() => inlined.dispose());

for (const [name, entry] of Object.entries({ slim, nn, auto })) {
  test(`layernorm/${name} has init, initSync and dispose of the instance that all entries share`, async () => {
    assert.deepEqual(entry.initSync(module), DEFAULT);
    const t = inlined.tensor(x);
    entry.dispose();
    assert.throws(() => t.data, /lost by dispose\(\)/);
    assert.deepEqual(await entry.init({ module }), DEFAULT);
    inlined.initSync(module);
  });
}

describe("layernorm", () => {
  test("starts by itself at the first call, whichever it is", () => {
    for (const first of [
      () => inlined.layerNorm(x),
      () => inlined.rmsNorm(x),
      () => inlined.zeros([2]),
      () => inlined.tensor(x),
    ]) {
      first();
      inlined.dispose();
    }
  });

  test("init() resolves at any time, and concurrent calls share one promise", async () => {
    const first = inlined.init();
    assert.equal(inlined.init(), first);
    assert.equal(inlined.init({ threads: 1, relaxedSimd: false }), first);
    assert.deepEqual(await first, DEFAULT);
    assert.deepEqual(await inlined.init(), DEFAULT);
    inlined.layerNorm(x);
    assert.deepEqual(await inlined.init({ threads: 1 }), DEFAULT);
    assert.deepEqual(inlined.initSync(), DEFAULT);
  });

  test("a call while init() is pending starts at once, and init() resolves", async () => {
    const promise = inlined.init();
    const t = inlined.tensor(x);
    assert.deepEqual(await promise, DEFAULT);
    assert.deepEqual([...t.data], x, "the instance of the call stays");
  });

  test("a call while init() with a source is pending is an Error", async () => {
    const promise = inlined.init({ module });
    const message = "layernorm: init() is pending, await it before the first call";
    throwsError(() => inlined.layerNorm(x), message);
    throwsError(() => slim.layerNorm(x), message);
    throwsError(() => inlined.initSync(module), "initSync: init() is pending");
    await promise;
    inlined.layerNorm(x);
  });

  test("other options are an Error after the first use, and while another init is pending", async () => {
    inlined.layerNorm(x);
    const inUse =
      "init: expected the options in use since the first call, or dispose() before others, got others";
    for (const options of [{ module }, { bytes }, { url: WASM }, { threads: 2 }]) {
      await rejects(inlined.init(options), inUse);
    }
    throwsError(() => inlined.initSync(module), inUse.replace("init", "initSync"));
    inlined.dispose();
    const first = inlined.init({ module });
    await rejects(inlined.init({ bytes }), "init: another init() with other options is pending");
    assert.equal(inlined.init(), first);
    assert.equal(inlined.init({ module }), first);
    await first;
    assert.deepEqual(await inlined.init({ module }), DEFAULT);
    assert.deepEqual(inlined.initSync(module), DEFAULT);
  });

  test("init refuses as a rejection, not by throwing", async () => {
    const promise = inlined.init(/** @type {any} */ (4));
    assert.ok(promise instanceof Promise);
    await assert.rejects(promise, TypeError);
  });

  test("dispose() while init() is pending lets nothing start", async () => {
    const promise = inlined.init();
    inlined.dispose();
    const second = inlined.init({ module });
    await rejects(promise, "init: dispose() was called while init() was pending");
    assert.deepEqual(await second, DEFAULT);
    assert.deepEqual(await inlined.init({ module }), DEFAULT);
  });

  test("dispose() without an instance is harmless", () => {
    inlined.dispose();
    inlined.dispose();
    assert.equal(inlined.layerNorm(x).length, 4);
  });

  test("instances are freed: many of them, one after the other", () => {
    const kept = [];
    for (let i = 0; i < 300; i++) {
      const t = inlined.zeros([1000]);
      assert.equal(t.data.length, 1000);
      kept.push(t, inlined.plan("rmsNorm", t));
      inlined.dispose();
    }
  });
});

describe("layernorm/slim", () => {
  test("is a plain Error before init, but wrong arguments are named first", () => {
    throwsError(() => slim.layerNorm(x), NO_WASM);
    throwsError(() => slim.zeros([2]), NO_WASM);
    throwsError(() => slim.tensor(x), NO_WASM);
    assert.throws(() => slim.layerNorm(x, { eps: -1 }), RangeError);
    assert.throws(() => slim.initSync(), {
      name: "TypeError",
      message: 'initSync: "module" expected a WebAssembly.Module or its bytes, got undefined',
    });
    slim.dispose();
  });

  test("init() without a source is an Error until there is an instance", async () => {
    await rejects(slim.init(), "init: layernorm/slim needs one of module, url, bytes");
    await slim.init({ module });
    assert.deepEqual(await slim.init(), DEFAULT);
  });

  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  const padded = new Uint8Array(bytes.length + 5);
  padded.set(bytes, 3);
  for (const [name, source] of Object.entries({
    module,
    "a Buffer": bytes,
    "an ArrayBuffer": buffer,
    "a DataView": new DataView(buffer),
    "a view of shared memory": shared,
    "a view with an offset": padded.subarray(3, 3 + bytes.length),
  })) {
    test(`starts from ${name}`, async () => {
      assert.deepEqual(slim.initSync(source), DEFAULT);
      const expected = slim.layerNorm(x);
      slim.dispose();
      throwsError(() => slim.layerNorm(x), NO_WASM);
      await slim.init(source === module ? { module } : { bytes: /** @type {any} */ (source) });
      assert.deepEqual(slim.layerNorm(x), expected);
    });
  }

  test("starts from a file: URL in Node", async () => {
    assert.deepEqual(await slim.init({ url: WASM }), DEFAULT);
    assert.equal(slim.layerNorm(x).length, 4);
    assert.deepEqual(await slim.init({ url: WASM.href }), DEFAULT);
  });

  test("shares its instance with layernorm", () => {
    slim.initSync(module);
    const t = inlined.tensor(x);
    assert.deepEqual([...slim.layerNorm(t).data], [...inlined.layerNorm(t).data]);
    assert.ok(t instanceof slim.Tensor);
    assert.equal(slim.Tensor, inlined.Tensor);
    slim.dispose();
    assert.throws(() => t.data, TypeError);
    inlined.layerNorm(x);
    assert.equal(slim.layerNorm(x).length, 4);
  });

  test("refuses what is no binary of this build", async () => {
    const html = Buffer.from("<!doctype html><title>Not found</title>");
    const noBinary =
      /"(bytes|module)" expected a WebAssembly binary, got what starts with "<!doctype html><titl"/;
    await rejects(slim.init({ bytes: html }), noBinary);
    throwsError(() => slim.initSync(html), noBinary);
    throwsError(() => slim.initSync(new Uint8Array()), /got what starts with ""/);
    throwsError(
      () => slim.initSync(bytes.subarray(0, 5000)),
      /expected a WebAssembly binary that is whole/,
    );
    await rejects(
      slim.init({ bytes: bytes.subarray(0, 5000) }),
      /that is whole, and an engine with WebAssembly SIMD/,
    );
    const empty = new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
    const other = /^layernorm: expected layernorm.wasm of build [0-9a-f]{12}, got another module$/;
    throwsError(() => slim.initSync(empty), other);
    await rejects(slim.init({ module: empty }), other);
    const id = bytes.length - 12;
    const changed = bytes.map((byte, i) => (i < id ? byte : 48));
    throwsError(() => slim.initSync(changed), /got that of build 000000000000$/);
    slim.initSync(module);
  });
});

describe("init({ url })", () => {
  /** @type {import("node:http").Server} */
  let server;
  /** @type {string} */
  let base;
  /** @type {Record<string, [number, string, Buffer | string]>} */
  const replies = {
    "/layernorm.wasm": [200, "application/wasm", bytes],
    "/charset.wasm": [200, "application/wasm; charset=utf-8", bytes],
    "/untyped.wasm": [200, "application/octet-stream", bytes],
    "/page.wasm": [200, "text/html", "<!doctype html>"],
    "/lie.wasm": [200, "application/wasm", "<!doctype html>"],
    "/missing.wasm": [404, "text/html", "<!doctype html>"],
  };
  before(async () => {
    server = createServer((request, response) => {
      if (request.url === "/broken.wasm") {
        response.writeHead(200, { "content-type": "application/wasm", "content-length": 10_000 });
        response.write(bytes.subarray(0, 1000), () => response.destroy());
        return;
      }
      const [status, type, body] = replies[request.url ?? ""] ?? [500, "text/plain", ""];
      response.writeHead(status, { "content-type": type }).end(body);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
    base = `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  for (const name of ["layernorm", "charset", "untyped"]) {
    test(`takes ${name}.wasm, whatever its type is`, async () => {
      assert.deepEqual(await slim.init({ url: `${base}/${name}.wasm` }), DEFAULT);
      assert.equal(slim.layerNorm(x).length, 4);
      assert.deepEqual(await slim.init({ url: new URL(`${base}/${name}.wasm`) }), DEFAULT);
    });
  }

  test("says what came instead", async () => {
    const html =
      'init: "url" expected a WebAssembly binary, got what starts with "<!doctype html>"';
    await rejects(slim.init({ url: `${base}/page.wasm` }), html);
    await rejects(slim.init({ url: `${base}/lie.wasm` }), html);
    const missing = `${base}/missing.wasm`;
    await rejects(
      slim.init({ url: missing }),
      `init: "url" expected a WebAssembly binary, got status 404: ${missing}`,
    );
    const gone = new URL("gone.wasm", WASM).href;
    await rejects(
      slim.init({ url: gone }),
      /^init: "url" could not be read: file:.*gone\.wasm \(ENOENT/,
    );
    await rejects(
      slim.init({ url: "http://127.0.0.1:9/" }),
      /^init: "url" could not be read: http/,
    );
    await rejects(
      slim.init({ url: `${base}/broken.wasm` }),
      /^init: "url" could not be read: http/,
    );
    await rejects(slim.init({ url: "not a url" }), /^init: "url" could not be read: not a url/);
    assert.deepEqual(await slim.init({ url: `${base}/layernorm.wasm` }), DEFAULT);
  });
});

describe("an engine that does not compile", () => {
  const { Module, compile } = WebAssembly;
  const changed = /** @type {any} */ (WebAssembly);
  afterEach(() => Object.assign(WebAssembly, { Module, compile }));

  /** @param {Error} error @param {number} [size] of what is not refused yet */
  const refuseModule = (error, size = 0) => {
    changed.Module = new Proxy(Module, {
      construct(target, [bytes]) {
        if (bytes.byteLength <= size) return new target(bytes);
        throw error;
      },
    });
  };

  test("because of its Content-Security-Policy says so", async () => {
    const error = new WebAssembly.CompileError("blocked by CSP");
    refuseModule(error);
    changed.compile = () => Promise.reject(error);
    const message = /Content-Security-Policy must allow 'wasm-unsafe-eval'.*\(blocked by CSP\)$/;
    throwsError(() => inlined.layerNorm(x), message);
    await rejects(inlined.init(), message);
    Object.assign(WebAssembly, { Module, compile });
    assert.equal(inlined.layerNorm(x).length, 4);
  });

  test("big modules in synchronous calls says to await init(), which then works", async () => {
    const error = new RangeError("WebAssembly.Module is disallowed on the main thread, if ...");
    refuseModule(error, 4096);
    throwsError(() => inlined.layerNorm(x), /`await init\(\)` before the first call$/);
    await inlined.init();
    assert.equal(inlined.layerNorm(x).length, 4);
  });
});
