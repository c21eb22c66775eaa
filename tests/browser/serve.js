// A static file server for the browser tests.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

/** @type {Record<string, string>} */
const TYPES = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

/**
 * @typedef {object} Reply
 * @property {number} [status]
 * @property {Record<string, string>} [headers]
 * @property {string | Uint8Array} [body]
 */

/**
 * @typedef {object} Server
 * @property {string} url with a slash at the end
 * @property {string[]} reports the bodies that were posted to /report, as a policy's report-uri has them sent
 * @property {() => Promise<void>} close
 */

/**
 * Serves folders on a free port of this machine.
 *
 * @param {object} options
 * @param {Record<string, string>} options.folders by the path under which they are served, such as "/"
 * @param {Record<string, string>} [options.headers] of every reply
 * @param {Record<string, Reply>} [options.replies] by path, in place of files
 * @returns {Promise<Server>}
 */
export async function serve({ folders, headers = {}, replies = {} }) {
  /** @type {string[]} */
  const reports = [];
  const mounts = Object.entries(folders).sort(([a], [b]) => b.length - a.length);

  /** @param {string} path @returns {Promise<Reply>} */
  const replyTo = async (path) => {
    const reply = replies[path];
    if (reply) return reply;
    for (const [mount, folder] of mounts) {
      if (!path.startsWith(mount)) continue;
      // A path is absolute, so that normalize() keeps it within the folder.
      const file = join(folder, normalize(`/${path.slice(mount.length)}`));
      try {
        const body = await readFile(file);
        const type = TYPES[extname(file)] ?? "application/octet-stream";
        return { headers: { "content-type": type }, body };
      } catch (error) {
        const { code } = /** @type {NodeJS.ErrnoException} */ (error);
        if (code !== "ENOENT" && code !== "EISDIR" && code !== "ENOTDIR") throw error;
      }
    }
    return { status: 404, headers: { "content-type": "text/plain" }, body: `No ${path} here` };
  };

  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
    if (request.method === "POST" && path === "/report") {
      let body = "";
      for await (const chunk of request) body += chunk;
      reports.push(body);
      response.writeHead(204).end();
      return;
    }
    const reply = await replyTo(path);
    response.writeHead(reply.status ?? 200, {
      "cache-control": "no-store",
      ...headers,
      ...reply.headers,
    });
    response.end(reply.body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}/`,
    reports,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
