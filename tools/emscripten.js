// Finds Emscripten on this machine, or sets it up in the user's cache folder.
//
// Debian's stable releases carry an Emscripten that is years old; its next suite carries a new one. That one is
// taken (debian.js).

import { spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
} from "node:fs";
import { mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import {
  apt,
  aptProgress,
  cacheFolder,
  compareVersions,
  makeCacheFolder,
  offeredVersion,
  openSuite,
  progress,
  removeFolder,
  withLock,
} from "./debian.js";
import { findCommands, isExecutable, run, SetupError } from "./process.js";

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

const SUITE = "forky";
export const INSTALL_PAGE = "https://emscripten.org/docs/getting_started/downloads.html";
const FOLDER_PREFIX = "emscripten-";
/** Written last: a folder without it was interrupted, and is made anew. */
const COMPLETE = "complete";

const WARM_UP = `#include <emscripten/bind.h>
#include <iostream>
static int twice(int x) { return 2 * x; }
EMSCRIPTEN_BINDINGS(warm_up) { emscripten::function("twice", &twice); }
int main() { std::cout << twice(21) << std::endl; }
`;
/**
 * Each is linked with other variants of the system libraries: the module, the C++ tests, and the programs with which
 * CMake tries the compiler.
 */
const WARM_UP_FLAGS = [
  ["-O3", "-fno-rtti", "-DEMSCRIPTEN_HAS_UNBOUND_TYPE_NAMES=0", "--no-entry"],
  ["-O3", "-sEXIT_RUNTIME"],
  ["-O0"],
];

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
    const emscripten = await withLock(join(cache, "lock"), log, async () => {
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
function checkInstallers(env) {
  const missing = ["apt-get", "apt-cache", "dpkg", "patchelf"].filter(
    (name) => findCommands(name, env).length === 0,
  );
  if (missing.length > 0) throw new SetupError(`missing for that: ${missing.join(", ")}`);
}

/**
 * @param {string} cache
 * @param {Log} log
 */
async function installInto(cache, log) {
  const start = Date.now();
  log(`Setting up Emscripten in ${cache} (once; it takes a few minutes and 0.9 GB)`);
  const version = await unpackInto(cache, log);
  const emscripten = describeCached(cache, version);
  const folder = join(cache, FOLDER_PREFIX + version);
  await buildSystemLibraries(emscripten, folder, log);
  await writeFile(join(folder, COMPLETE), "");
  log(`  done in ${Math.round((Date.now() - start) / 1000)} s`);
  return emscripten;
}

/**
 * Makes the folder of an Emscripten in which all is there but its system libraries.
 *
 * @param {string} cache
 * @param {Log} log
 * @returns {Promise<string>} its version
 */
async function unpackInto(cache, log) {
  const work = join(cache, "partial");
  const prefix = join(work, "prefix");
  try {
    await removeFolder(work);
    await mkdir(prefix, { recursive: true });
    const packages = await download(work, log);
    const unpacked = progress(log, "unpacked", packages.length);
    for (const file of packages) {
      await run("dpkg", ["--extract", file, prefix]);
      unpacked();
    }
    const versionFile = join(prefix, "usr/share/emscripten/emscripten-version.txt");
    const version = readFileSync(versionFile, "utf8").replace(/["\s]/g, "");
    const target = join(cache, FOLDER_PREFIX + version);
    const llvm = newestLlvm(prefix);
    log(`  adapting LLVM (${llvm}) and Binaryen to this system`);
    await adaptPrograms(prefix, target, llvm);
    await configure(prefix, llvm);
    await removeFolder(target);
    await rename(prefix, target);
    return version;
  } finally {
    await removeFolder(work);
  }
}

/**
 * Downloads Emscripten's packages from Debian's suite.
 *
 * @param {string} work
 * @param {Log} log
 * @returns {Promise<string[]>} the paths of the .deb files
 */
async function download(work, log) {
  const { archive, options } = await openSuite(SUITE, work, log);
  const offered = await offeredVersion("emscripten", options);
  if (offered === undefined || compareVersions(offered, MINIMUM_VERSION) < 0) {
    throw new SetupError(`Debian ${SUITE} at ${archive} has ${offered ?? "none"}`);
  }
  await apt(
    "apt-get",
    ["install", "--yes", "--download-only", "--no-install-recommends", "emscripten", ...options],
    aptProgress(log),
  );
  const archives = join(work, "apt/cache/archives");
  return (await readdir(archives))
    .filter((name) => name.endsWith(".deb"))
    .map((name) => join(archives, name));
}

/** @param {string} prefix */
function newestLlvm(prefix) {
  const versions = readdirSync(join(prefix, "usr/lib"))
    .filter((name) => /^llvm-\d+$/.test(name))
    .sort((a, b) => compareVersions(a.slice(5), b.slice(5)));
  return /** @type {string} */ (versions.at(-1));
}

/**
 * Makes the programs use the C library that they were built against, which is newer than the system's. Their
 * interpreter has to be an absolute path, so they run only once the prefix is at its target.
 *
 * @param {string} prefix
 * @param {string} target
 * @param {string} llvm
 */
async function adaptPrograms(prefix, target, llvm) {
  const usr = join(prefix, "usr");
  const [libraries, loader] = findLoader(join(usr, "lib"));
  const path = join(target, "usr/lib", libraries);
  const runPath = ["--set-rpath", path, "--force-rpath"];
  const programs = [
    ...elfFiles(join(usr, "lib", llvm, "bin")),
    ...elfFiles(join(usr, "bin")).filter((file) => file.startsWith(join(usr, "bin/wasm"))),
  ];
  await run("patchelf", ["--set-interpreter", join(path, loader), ...runPath, ...programs]);
  // A library's own run path replaces that of the program.
  const shared = [libraries, join(llvm, "lib")]
    .flatMap((folder) => elfFiles(join(usr, "lib", folder)))
    .filter((file) => file.includes(".so"));
  for (const library of shared) {
    const ownPath = await run("patchelf", ["--print-rpath", library]);
    if (ownPath.trim() !== "") await run("patchelf", [...runPath, library]);
  }
}

/**
 * @param {string} folder
 * @returns {[libraries: string, loader: string]} the folder of the architecture's libraries, and the dynamic loader in it
 */
function findLoader(folder) {
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith("-linux-gnu"))) {
    const loader = readdirSync(join(folder, name)).find((file) => file.startsWith("ld-linux"));
    if (loader !== undefined) return [name, loader];
  }
  throw new SetupError(`the packages of Debian ${SUITE} hold no dynamic loader`);
}

/** @param {string} folder */
function elfFiles(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(folder, entry.name))
    .filter(isElf);
}

/** @param {string} path */
function isElf(path) {
  const magic = Buffer.alloc(4);
  const file = openSync(path, "r");
  readSync(file, magic);
  closeSync(file);
  return magic.equals(Buffer.from("\x7fELF"));
}

/**
 * @param {string} prefix
 * @param {string} llvm
 */
async function configure(prefix, llvm) {
  // Emscripten replaces $CFGDIR by the folder of this file.
  await writeFile(
    join(prefix, "usr/share/emscripten/.emscripten"),
    [
      `LLVM_ROOT = '$CFGDIR/../../lib/${llvm}/bin'`,
      "BINARYEN_ROOT = '$CFGDIR/../..'",
      "NODE_JS = 'node'",
      "CACHE = '$CFGDIR/../../../cache'",
      "",
    ].join("\n"),
  );
}

/**
 * Emscripten builds each system library when a program first needs it; here, so that no later build stops for a minute.
 *
 * @param {Emscripten} emscripten
 * @param {string} folder
 * @param {Log} log
 */
async function buildSystemLibraries(emscripten, folder, log) {
  log("  building Emscripten's system libraries");
  const work = join(folder, "warm_up");
  await mkdir(work);
  const source = join(work, "warm_up.cc");
  await writeFile(source, WARM_UP);
  for (const flags of WARM_UP_FLAGS) {
    const output = join(work, "warm_up.js");
    await run(emscripten.emxx, [...flags, "-msimd128", "-lembind", source, "-o", output], {
      env: emscripten.env,
      onLine: (line) => {
        const library = /generating system library: .*?([^/]+\.a)\.\.\./.exec(line)?.[1];
        if (library !== undefined) log(`    ${library}`);
      },
    });
  }
  await removeFolder(work);
}
