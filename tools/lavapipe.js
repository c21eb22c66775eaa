// Finds Mesa's Vulkan on a CPU, new enough for Dawn, or sets it up in the user's cache folder: its subgroups are as wide as the
// vectors that it is told to use. Debian's stable release may carry one that is too old; its backports carry a new one, for
// the release's own libraries, which come with the old one.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { lavapipe } from "../tests/webgpu/environment.js";
import {
  apt,
  cacheFolder,
  compareVersions,
  makeCacheFolder,
  offeredVersion,
  openSuite,
  removeFolder,
  withLock,
} from "./debian.js";
import { findCommands, run, SetupError } from "./process.js";

/**
 * @typedef {import("./process.js").Log} Log
 * @typedef {import("./process.js").Env} Env
 */

const PACKAGE = "mesa-vulkan-drivers";
/** The first version on which the tests were seen to run: it has the subgroup operations that Dawn wants. */
const MINIMUM_VERSION = "25.0";
const FOLDER_PREFIX = "lavapipe-";
/** How the Vulkan loader is told of a driver. */
const MANIFEST = "icd.json";

/** The one that is installed. */
const thisMachine = () => ({ driver: lavapipe(), version: installedVersion() });

/**
 * What a process needs in its environment to find a lavapipe that Dawn takes.
 *
 * @param {Env} [env]
 * @param {ReturnType<typeof thisMachine>} [installed]
 * @returns {{ VK_ICD_FILENAMES: string } | { reason: string }}
 */
export function findLavapipe(env = process.env, { driver, version } = thisMachine()) {
  if (driver === undefined) return { reason: `lavapipe is not installed: ${PACKAGE}` };
  if (version !== undefined && compareVersions(version, MINIMUM_VERSION) >= 0) return driver;
  const cache = cacheFolder(env);
  const newest = (existsSync(cache) ? readdirSync(cache) : [])
    .filter((name) => name.startsWith(FOLDER_PREFIX))
    .map((name) => name.slice(FOLDER_PREFIX.length))
    .sort(compareVersions)
    .at(-1);
  if (newest !== undefined)
    return { VK_ICD_FILENAMES: join(cache, FOLDER_PREFIX + newest, MANIFEST) };
  const known = version === undefined ? "of an unknown version" : version;
  return { reason: `lavapipe is ${known}, and Dawn needs ${MINIMUM_VERSION} or newer` };
}

/**
 * Sets a lavapipe up in the user's cache folder where the installed one is too old. A failure is only logged: tests are skipped
 * without.
 *
 * @param {Log} log
 */
export async function ensureLavapipe(log) {
  const found = findLavapipe();
  if (!("reason" in found) || lavapipe() === undefined) return;
  try {
    if (findCommands("apt-get").length === 0) throw new SetupError("there is no apt-get");
    const cache = await makeCacheFolder(process.env);
    await withLock(join(cache, "lock"), log, () => installInto(cache, log));
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    log(`${found.reason}; none could be set up here:\n  ${error.message}`);
  }
}

/**
 * @param {string} cache
 * @param {Log} log
 */
async function installInto(cache, log) {
  const release = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  const codename = /^VERSION_CODENAME=(\w+)/m.exec(release)?.[1];
  if (codename === undefined) throw new SetupError("this system is no release of Debian");
  const suite = `${codename}-backports`;
  log(`Setting up lavapipe in ${cache} (once; 11 MB)`);
  const work = join(cache, "partial_lavapipe");
  try {
    await removeFolder(work);
    const prefix = join(work, "prefix");
    await mkdir(prefix, { recursive: true });
    const { options } = await openSuite(suite, work, log);
    const version = await offeredVersion(PACKAGE, options);
    if (version === undefined || compareVersions(version, MINIMUM_VERSION) < 0) {
      throw new SetupError(`Debian ${suite} has ${version ?? "none"}`);
    }
    // Without what it depends on: that is installed with the older one.
    await apt("apt-get", ["download", PACKAGE, ...options], undefined, work);
    const [archive] = (await readdir(work)).filter((name) => name.endsWith(".deb"));
    await run("dpkg", ["--extract", join(work, /** @type {string} */ (archive)), prefix]);
    const target = join(cache, FOLDER_PREFIX + version);
    const library = await findLibrary(prefix);
    const manifest = {
      file_format_version: "1.0.0",
      ICD: { library_path: join(target, library), api_version: "1.3.0" },
    };
    await writeFile(join(prefix, MANIFEST), JSON.stringify(manifest));
    await removeFolder(target);
    await rename(prefix, target);
    log(`  lavapipe ${version}`);
  } finally {
    await removeFolder(work);
  }
}

/** @param {string} prefix @returns {Promise<string>} the path of the driver in it */
async function findLibrary(prefix) {
  const names = await readdir(prefix, { recursive: true });
  const library = names.find((name) => name.endsWith("libvulkan_lvp.so"));
  if (library === undefined) throw new SetupError(`${PACKAGE} has no libvulkan_lvp.so`);
  return library;
}

function installedVersion() {
  const { stdout } = spawnSync("dpkg-query", ["--show", PACKAGE], { encoding: "utf8" });
  return /\t(?:\d+:)?(\d+(?:\.\d+)+)/.exec(stdout ?? "")?.[1];
}
