import { cpSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../package/pack.js";

/**
 * Copies the scripts of the shared check, with the paths that they have in the repository.
 *
 * @param {string} folder
 */
export function copyScripts(folder) {
  for (const name of ["tests/js", "tests/browser/pages", "tests/runtimes"]) {
    const from = join(ROOT, name);
    const filter = (/** @type {string} */ path) => !path.includes("node_modules", from.length);
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    cpSync(from, join(folder, name), { recursive: true, filter });
  }
}
