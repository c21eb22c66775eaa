// WebKitGTK, driven by plain WebDriver calls: a browser without a window system is a MiniBrowser under xvfb-run.
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { findCommands } from "../../tools/process.js";

const LIBRARIES = "/usr/lib";
const DEADLINE_MS = 60_000;

/** @returns {string | undefined} Debian keeps it apart from what is on the PATH */
function findMiniBrowser() {
  for (const target of existsSync(LIBRARIES) ? readdirSync(LIBRARIES) : []) {
    for (const version of ["webkit2gtk-4.1", "webkit2gtk-4.0"]) {
      const path = join(LIBRARIES, target, version, "MiniBrowser");
      if (existsSync(path)) return path;
    }
  }
  return undefined;
}

const [driver] = findCommands("WebKitWebDriver");
const [display] = findCommands("xvfb-run");
const browser = findMiniBrowser();

/** @type {string | false} why it cannot be used */
export const skip =
  (!driver && "WebKitWebDriver is not installed (webkit2gtk-driver)") ||
  (!browser && "MiniBrowser is not installed (libwebkit2gtk)") ||
  (!display && "xvfb-run is not installed (xvfb)");

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });
}

/**
 * Opens a page in a browser of its own.
 *
 * @param {string} url
 * @returns {Promise<unknown>} what the page's promise `finished` gives, which has to be plain data
 */
export async function openPage(url) {
  const port = await freePort();
  // A process group of its own, so that the display and the browser end with the driver.
  const server = spawn(String(display), ["-a", String(driver), `--port=${port}`], {
    detached: true,
    stdio: "ignore",
    env: { ...process.env, WEBKIT_DISABLE_COMPOSITING_MODE: "1", NO_AT_BRIDGE: "1" },
  });
  const kill = () => {
    try {
      process.kill(-Number(server.pid), "SIGKILL");
    } catch {} // It has ended already.
  };
  process.once("exit", kill);

  /** @param {string} method @param {string} path @param {unknown} [body] @returns {Promise<any>} */
  const call = async (method, path, body) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    const { value } = /** @type {any} */ (await response.json());
    if (!response.ok) throw new Error(`WebDriver ${path}: ${value.error}: ${value.message}`);
    return value;
  };

  try {
    const start = performance.now();
    for (;;) {
      try {
        await call("GET", "/status");
        break;
      } catch (error) {
        if (performance.now() - start > DEADLINE_MS) throw error;
        await setTimeout(100);
      }
    }
    const options = { binary: browser, args: ["--automation"] };
    const { sessionId } = await call("POST", "/session", {
      capabilities: { alwaysMatch: { "webkitgtk:browserOptions": options } },
    });
    const session = `/session/${sessionId}`;
    await call("POST", `${session}/timeouts`, { script: DEADLINE_MS, pageLoad: DEADLINE_MS });
    await call("POST", `${session}/url`, { url });
    const reply = await call("POST", `${session}/execute/async`, {
      script: `
        const reply = arguments[arguments.length - 1];
        const start = performance.now();
        // The driver may come back before the page's modules have run.
        const look = () => {
          if (globalThis.finished === undefined && performance.now() - start < ${DEADLINE_MS / 3}) {
            setTimeout(look, 50);
            return;
          }
          Promise.resolve(globalThis.finished ?? Promise.reject("the page's script did not run")).then(
            (results) => reply(JSON.stringify({ results })),
            (error) => reply(JSON.stringify({ error: String(error) })),
          );
        };
        look();`,
      args: [],
    });
    await call("DELETE", session);
    const { results, error } = JSON.parse(reply);
    if (error) throw new Error(error);
    return results;
  } finally {
    process.off("exit", kill);
    kill();
  }
}
