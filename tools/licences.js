// The licences of all npm packages that the build and the tests use, from the lock files. The
// package ships none of them; the demo page does some, with their licences (build_web.js).
//
//   node tools/licences.js        a line for each licence, with its packages

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * @typedef {object} LockedPackage
 * @property {string} lock the lock file's path in the repository
 * @property {string} name
 * @property {string} version
 * @property {string} [license]
 * @property {string} [integrity]
 */

/** @returns {string[]} the folders that have packages of their own, as paths in the repository */
export function packageFolders() {
  const inTests = readdirSync(join(ROOT, "tests"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join("tests", name));
  return [".", ...inTests].filter((folder) =>
    readdirSync(join(ROOT, folder)).includes("package.json"),
  );
}

/** @returns {LockedPackage[]} what the lock files name */
export function lockedPackages() {
  return packageFolders().flatMap((folder) => {
    const lock = join(folder, "package-lock.json");
    const { packages } = JSON.parse(readFileSync(join(ROOT, lock), "utf8"));
    return Object.entries(packages)
      .filter(([path]) => path !== "")
      .map(([path, { version, license, integrity }]) => {
        const name = path.replace(/^.*node_modules\//, "");
        return { lock, name, version, license, integrity };
      });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  /** @type {Map<string, Set<string>>} */
  const byLicence = new Map();
  for (const { name, license = "none named" } of lockedPackages()) {
    byLicence.set(license, (byLicence.get(license) ?? new Set()).add(name));
  }
  for (const [licence, names] of [...byLicence].sort(([a], [b]) => (a < b ? -1 : 1))) {
    console.log(`${licence} (${names.size}): ${[...names].sort().join(", ")}`);
  }
}
