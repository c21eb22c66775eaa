// Finds Emscripten on this machine, or sets it up in the user's cache folder.
//
// Debian's stable releases carry an Emscripten that is years old; its next suite carries a new one. That one is
// fetched with the machine's own apt-get, so the signatures of its packages are checked as always, and unpacked
// into a folder of its own: nothing is installed, and the system's packages stay as they are.

import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync, realpathSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { buildSystemLibraries, unpackEmscripten } from "./emscripten_folder.js";
import { withLock } from "./lock.js";
import { findCommands, isExecutable, SetupError } from "./process.js";
import { compareVersions } from "./versions.js";

/**
 * @typedef {import("./process.js").Log} Log
 * @typedef {import("./process.js").Env} Env
 */

/**
 * @typedef {object} Emscripten
 * @property {string} emcc absolute path
 * @property {string} emxx absolute path of em++
 * @property {string} emcmake absolute path
 * @property {Record<string, string>} env what to add to the environment of these programs, and of a build that calls them
 * @property {string} version such as "6.0.5"
 * @property {"PATH" | "EMSDK" | "cache"} source where it was found
 */

/** The first version with everything the build uses: final relaxed SIMD, --emit-tsd, -sEMBIND_AOT. */
export const MINIMUM_VERSION = "6.0.5";
export const INSTALL_PAGE = "https://emscripten.org/docs/getting_started/downloads.html";
const FOLDER_PREFIX = "emscripten-";
/** Written last: a folder without it was interrupted, and is made anew. */
const COMPLETE = "complete";

/**
 * @param {{ log: Log, env?: Env }} options
 * @returns {Promise<Emscripten>}
 * @throws {SetupError} if there is none and none can be set up
 */
export async function ensureEmscripten({ log, env = process.env }) {
  return findEmscripten({ log, env }) ?? (await installEmscripten({ log, env }));
}

/**
 * An Emscripten that is new enough: from the PATH, from EMSDK, or set up earlier. The log names it, and any that is too old.
 *
 * @param {{ log: Log, env?: Env }} options
 * @returns {Emscripten | undefined}
 */
export function findEmscripten({ log, env = process.env }) {
  const found = findInstalled(log, env) ?? findCached(env);
  if (found !== undefined) log(nameOf(found));
  return found;
}

/**
 * Sets Emscripten up in the user's cache folder.
 *
 * @param {{ log: Log, env?: Env }} options
 * @returns {Promise<Emscripten>}
 * @throws {SetupError}
 */
export async function installEmscripten({ log, env = process.env }) {
  try {
    checkInstallers(env);
    const cache = await makeCacheFolder(env);
    const emscripten = await withLock(join(cache, "lock"), log, "Emscripten", async () => {
      // Another process may have done it while this one waited for the lock.
      return findCached(env) ?? (await installInto(cache, log));
    });
    log(nameOf(emscripten));
    return emscripten;
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    throw new SetupError(
      `Emscripten ${MINIMUM_VERSION} or newer is needed, and could not be set up here:
  ${error.message}
Put that right, or install it with emsdk (${INSTALL_PAGE}):
  ./emsdk install ${MINIMUM_VERSION} && ./emsdk activate ${MINIMUM_VERSION} && source ./emsdk_env.sh
Then run this command again.`,
    );
  }
}

/**
 * @param {Log} log
 * @param {Env} env
 */
function findInstalled(log, env) {
  for (const { emcc, source } of candidates(env)) {
    const version = versionOf(emcc, env);
    if (version !== undefined && compareVersions(version, MINIMUM_VERSION) >= 0) {
      return describe(emcc, version, source, {});
    }
    const what = version === undefined ? "does not tell its version" : `is Emscripten ${version}`;
    log(`Ignoring ${emcc}: it ${what}, and ${MINIMUM_VERSION} or newer is needed.`);
  }
  return undefined;
}

/**
 * @param {Env} env
 * @returns {{ emcc: string, source: "PATH" | "EMSDK" }[]}
 */
function candidates(env) {
  /** @type {Map<string, { emcc: string, source: "PATH" | "EMSDK" }>} */
  const byRealPath = new Map();
  for (const emcc of findCommands("emcc", env)) {
    byRealPath.set(realpathSync(emcc), { emcc, source: "PATH" });
  }
  if (env.EMSDK) {
    const emcc = resolve(env.EMSDK, "upstream/emscripten/emcc");
    if (isExecutable(emcc) && !byRealPath.has(realpathSync(emcc))) {
      byRealPath.set(realpathSync(emcc), { emcc, source: "EMSDK" });
    }
  }
  return [...byRealPath.values()];
}

/**
 * @param {string} emcc
 * @param {Env} env
 */
function versionOf(emcc, env) {
  const { stdout } = spawnSync(emcc, ["--version"], { encoding: "utf8", env, timeout: 60_000 });
  return /\d+\.\d+\.\d+/.exec(stdout ?? "")?.[0];
}

/**
 * @param {string} emcc
 * @param {string} version
 * @param {Emscripten["source"]} source
 * @param {Record<string, string>} env
 * @returns {Emscripten}
 */
function describe(emcc, version, source, env) {
  const folder = dirname(emcc);
  return {
    emcc,
    emxx: join(folder, "em++"),
    emcmake: join(folder, "emcmake"),
    env,
    version,
    source,
  };
}

/** @param {Emscripten} emscripten */
function nameOf({ version, emcc }) {
  return `Emscripten ${version}: ${emcc}`;
}

/**
 * The newest complete Emscripten that was set up earlier. It reads folder names only, since every build asks.
 *
 * @param {Env} env
 */
function findCached(env) {
  const cache = cacheFolder(env);
  const versions = existsSync(cache)
    ? readdirSync(cache)
        .filter((name) => name.startsWith(FOLDER_PREFIX) && existsSync(join(cache, name, COMPLETE)))
        .map((name) => name.slice(FOLDER_PREFIX.length))
        .filter((version) => compareVersions(version, MINIMUM_VERSION) >= 0)
        .sort(compareVersions)
    : [];
  const newest = versions.at(-1);
  return newest === undefined ? undefined : describeCached(cache, newest);
}

/**
 * @param {string} cache
 * @param {string} version
 */
function describeCached(cache, version) {
  const root = join(cache, FOLDER_PREFIX + version, "usr/share/emscripten");
  return describe(join(root, "emcc"), version, "cache", {
    // Emscripten finds this file by itself too, unless the environment names that of another Emscripten.
    EM_CONFIG: join(root, ".emscripten"),
    EM_NODE_JS: process.execPath,
  });
}

/** @param {Env} env */
function cacheFolder(env) {
  return resolve(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "layernorm");
}

/** @param {Env} env */
function checkInstallers(env) {
  const missing = ["apt-get", "apt-cache", "dpkg", "patchelf"].filter(
    (name) => findCommands(name, env).length === 0,
  );
  if (missing.length > 0) throw new SetupError(`missing for that: ${missing.join(", ")}`);
}

/** @param {Env} env */
async function makeCacheFolder(env) {
  const cache = cacheFolder(env);
  try {
    await mkdir(cache, { recursive: true });
    accessSync(cache, constants.W_OK);
  } catch {
    throw new SetupError(
      `cannot write to ${cache}; XDG_CACHE_HOME can name another folder than ~/.cache`,
    );
  }
  return cache;
}

/**
 * @param {string} cache
 * @param {Log} log
 */
async function installInto(cache, log) {
  const start = Date.now();
  log(`Setting up Emscripten in ${cache} (once; it takes a few minutes and 0.9 GB)`);
  const version = await unpackEmscripten(cache, MINIMUM_VERSION, (of) => FOLDER_PREFIX + of, log);
  const emscripten = describeCached(cache, version);
  const folder = join(cache, FOLDER_PREFIX + version);
  await buildSystemLibraries(emscripten, folder, log);
  await writeFile(join(folder, COMPLETE), "");
  log(`  done in ${Math.round((Date.now() - start) / 1000)} s`);
  return emscripten;
}
