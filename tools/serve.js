// A small static server: `node tools/serve.js [folder]`, by default the built page.

import { createReadStream } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const DEFAULT_FOLDER = fileURLToPath(new URL("../dist/web", import.meta.url));
const FIRST_PORT = 8080;

/** Sent with a page, these let it share memory between threads. */
export const ISOLATION = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};
/** How many ports are tried, from the first one up. */
const PORTS = 50;

/** @type {Record<string, string>} */
const TYPES = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".map": "application/json; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".woff2": "font/woff2",
};

/**
 * @typedef {object} Served
 * @property {string} url ends with "/"
 * @property {number} port
 * @property {() => Promise<void>} close
 */

/**
 * Serves a folder on this machine alone.
 *
 * @param {object} [options]
 * @param {string} [options.folder]
 * @param {number} [options.port] the first one that is tried; 0 for any free one
 * @param {Record<string, string>} [options.headers] sent with every answer
 * @returns {Promise<Served>}
 */
export async function serve({ folder = DEFAULT_FOLDER, port = FIRST_PORT, headers = {} } = {}) {
  const root = await realpath(folder);
  const server = createServer(async (request, response) => {
    const answer = await find(root, request.method ?? "", request.url ?? "");
    response.writeHead(answer.status, {
      "content-type": answer.type,
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
      ...(answer.location === undefined ? {} : { location: answer.location }),
      ...headers,
    });
    if (answer.path === undefined || request.method === "HEAD") {
      response.end(answer.path === undefined ? `${answer.status}\n` : undefined);
      return;
    }
    createReadStream(answer.path)
      .on("error", () => response.destroy())
      .pipe(response);
  });
  const taken = await listen(server, port);
  return {
    url: `http://127.0.0.1:${taken}/`,
    port: taken,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

/**
 * @param {string} root
 * @param {string} method
 * @param {string} url
 * @returns {Promise<{ status: number, type: string, path?: string, location?: string }>}
 */
async function find(root, method, url) {
  const refuse = (/** @type {number} */ status) => ({ status, type: TYPES[".txt"] ?? "" });
  if (method !== "GET" && method !== "HEAD") return refuse(405);
  let path;
  try {
    // Not a URL object: that would resolve "..", and so hide what was asked for.
    path = decodeURIComponent(url.replace(/[?#].*$/s, ""));
  } catch {
    return refuse(400);
  }
  if (path.includes("\0") || path.split(/[/\\]/).includes("..")) return refuse(403);
  const asked = resolve(root, `.${path}`);
  try {
    // Links are followed first: one that leads out of the folder is refused, too.
    const real = await realpath(asked);
    if (real !== root && !real.startsWith(root + sep)) return refuse(403);
    if (!(await stat(real)).isDirectory()) {
      return { status: 200, type: typeOf(real), path: real };
    }
    // Without the slash, the page's own relative addresses would miss.
    if (!path.endsWith("/")) return { ...refuse(301), location: `${encodeURI(path)}/` };
    const page = join(real, "index.html");
    return (await stat(page)).isFile()
      ? { status: 200, type: typeOf(page), path: page }
      : refuse(404);
  } catch {
    return refuse(404);
  }
}

/** @param {string} path */
function typeOf(path) {
  return TYPES[extname(path)] ?? "application/octet-stream";
}

/**
 * @param {import("node:http").Server} server
 * @param {number} first
 * @returns {Promise<number>} the port
 */
async function listen(server, first) {
  for (let port = first; ; port++) {
    try {
      await new Promise((done, fail) => {
        server.once("error", fail);
        server.listen(port, "127.0.0.1", () => {
          server.off("error", fail);
          done(undefined);
        });
      });
      const address = server.address();
      return typeof address === "object" && address !== null ? address.port : port;
    } catch (error) {
      const isTaken = /** @type {NodeJS.ErrnoException} */ (error).code === "EADDRINUSE";
      if (!isTaken || port >= first + PORTS) throw error;
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await serve({ folder: process.argv[2] ?? DEFAULT_FOLDER, headers: ISOLATION });
  console.log(url);
}
