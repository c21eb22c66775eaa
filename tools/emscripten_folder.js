// Makes an Emscripten of its own from Debian's packages, in a folder beside the system's programs and libraries.
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { downloadPackages, progress } from "./apt.js";
import { run, SetupError } from "./process.js";
import { compareVersions } from "./versions.js";

/**
 * @typedef {import("./process.js").Log} Log
 * @typedef {import("./emscripten.js").Emscripten} Emscripten
 */

/** The first of Debian's suites with an Emscripten that is new enough. */
const SUITE = "forky";

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
 * Makes the folder of an Emscripten in which all is there but its system libraries.
 *
 * @param {string} cache where it is to be, by the name that its version gives it
 * @param {string} minimum the least version that will do
 * @param {(version: string) => string} nameOf
 * @param {Log} log
 * @returns {Promise<string>} its version
 * @throws {SetupError}
 */
export async function unpackEmscripten(cache, minimum, nameOf, log) {
  const work = join(cache, "partial");
  const prefix = join(work, "prefix");
  try {
    await removeFolder(work);
    await mkdir(prefix, { recursive: true });
    const packages = await downloadPackages({
      name: "emscripten",
      suite: SUITE,
      minimum,
      work,
      log,
    });
    const unpacked = progress(log, "unpacked", packages.length);
    for (const file of packages) {
      await run("dpkg", ["--extract", file, prefix]);
      unpacked();
    }
    const versionFile = join(prefix, "usr/share/emscripten/emscripten-version.txt");
    const version = readFileSync(versionFile, "utf8").replace(/["\s]/g, "");
    const target = join(cache, nameOf(version));
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

/** @param {string} path */
async function removeFolder(path) {
  // A child of a set-up that was killed may still be writing into it.
  await rm(path, { recursive: true, force: true, maxRetries: 5 });
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
export async function buildSystemLibraries(emscripten, folder, log) {
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
