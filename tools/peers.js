// Packages that only some tests and the page's experiments need, each set with a lock file of its own.

import { accessSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./process.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * Installs the npm packages of a folder, unless they are there.
 *
 * @param {string} folder in the repository
 * @param {(line: string) => void} log
 */
export async function installPeers(folder, log) {
  const cwd = join(ROOT, folder);
  try {
    // npm ls fails where a package is missing or of another version; it does not miss optional ones.
    accessSync(join(cwd, "node_modules", ".package-lock.json"));
    await run("npm", ["ls"], { cwd });
  } catch {
    log(`Installing the npm packages of ${folder}`);
    // The log level shows each download.
    await run("npm", ["ci", "--no-update-notifier", "--loglevel=http"], { cwd, onLine: log });
  }
}
