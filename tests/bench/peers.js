/** The npm packages that the benchmark compares with: installed by the benchmark alone, since they take half a gigabyte. */

import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FOLDER = new URL("./", import.meta.url);

/** @param {URL} url @returns {any} */
function readJson(url) {
  return JSON.parse(readFileSync(url, "utf8"));
}

/** @param {string} name @returns {string | undefined} undefined if it is not installed */
export function installedVersion(name) {
  const url = new URL(`node_modules/${name}/package.json`, FOLDER);
  return existsSync(url) ? readJson(url).version : undefined;
}

/** @returns {string[]} packages that are missing or not of the wanted version */
export function missingPeers() {
  const { dependencies } = readJson(new URL("package.json", FOLDER));
  return Object.keys(dependencies).filter((name) => installedVersion(name) !== dependencies[name]);
}

/**
 * Installs them where they are missing. Without a network the benchmark goes on, and says so in their rows.
 * @param {(line: string) => void} log
 */
export async function ensurePeers(log) {
  const missing = missingPeers();
  if (missing.length === 0) return;
  log(`Installing what is compared with (about 550 MB): ${missing.join(", ")}`);
  const started = Date.now();
  const timer = setInterval(() => {
    log(`  npm ci: ${Math.round((Date.now() - started) / 1000)} s`);
  }, 5000);
  const code = await new Promise((settle) => {
    const child = spawn("npm", ["ci", "--no-audit", "--no-fund"], {
      cwd: fileURLToPath(FOLDER),
      stdio: "inherit",
      shell: process.platform === "win32",
    });
    child.on("error", (error) => settle(error.message));
    child.on("close", settle);
  });
  clearInterval(timer);
  if (code !== 0) log(`npm ci in tests/bench failed (${code}): going on with what is there.`);
}
