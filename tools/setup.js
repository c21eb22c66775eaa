// Puts in place what the build and the tests need: the system's packages, Emscripten, and node_modules.
// `node tools/setup.js` does all of it; a second run finds it done and ends at once.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { lavapipe } from "../tests/webgpu/environment.js";
import { aptProgress, compareVersions } from "./debian.js";
import { findEmscripten, INSTALL_PAGE, installEmscripten, MINIMUM_VERSION } from "./emscripten.js";
import { findCommands, run, runScript, SetupError } from "./process.js";

/**
 * @typedef {import("./emscripten.js").Emscripten} Emscripten
 * @typedef {import("./process.js").Log} Log
 * @typedef {"build" | "test" | "browsers"} Group
 */

/**
 * What is asked of the machine; the tests put another in its place.
 *
 * @typedef {object} Machine
 * @property {boolean} isRoot
 * @property {(name: string) => string | undefined} command the path of a program
 * @property {(path: string) => boolean} exists
 * @property {(folder: string) => string[]} list the names in a folder
 * @property {(command: string, args: string[]) => string} output what a program prints; "" if there is none
 */

/**
 * @typedef {object} Requirement
 * @property {string | ((machine: Machine) => string)} package Debian's name
 * @property {Group} group
 * @property {string} purpose
 * @property {(machine: Machine) => boolean} isPresent tests the tool itself, so that it may come from anywhere
 */

const BROWSERS = {
  chromium: ["chromium", "chromium-browser", "google-chrome"],
  firefox: ["firefox-esr", "firefox"],
};

/**
 * Emscripten is set up with Debian's packages and patchelf; elsewhere it has to be there.
 *
 * @type {Requirement[]}
 */
const WITHOUT_EMSCRIPTEN = [
  {
    package: "patchelf",
    group: "build",
    purpose: "sets up Emscripten",
    isPresent: (machine) => machine.command("patchelf") !== undefined || !hasApt(machine),
  },
  {
    package: "emscripten",
    group: "build",
    purpose: `compiles to wasm (${MINIMUM_VERSION} or newer, with emsdk: ${INSTALL_PAGE})`,
    isPresent: hasApt,
  },
];

/** @type {Requirement[]} */
const REQUIREMENTS = [
  {
    package: "cmake",
    group: "build",
    purpose: "configures the C++ build",
    isPresent: (machine) => machine.command("cmake") !== undefined,
  },
  {
    package: "ninja-build",
    group: "build",
    purpose: "runs the C++ build",
    isPresent: (machine) => machine.command("ninja") !== undefined,
  },
  {
    package: "python3",
    group: "build",
    purpose: "runs Emscripten (3.10 or newer)",
    isPresent: (machine) => isAtLeast(machine, "python3", "3.10"),
  },
  {
    package: "clang",
    group: "test",
    purpose: "compiles the native tests (14 or newer)",
    isPresent: (machine) => isAtLeast(machine, "clang++", "14"),
  },
  {
    package: sanitizerPackage,
    group: "test",
    purpose: "the sanitizers of the native tests",
    isPresent: hasSanitizers,
  },
  {
    package: "clang-format",
    group: "test",
    purpose: "checks the format of the C++ sources",
    isPresent: (machine) => machine.command("clang-format") !== undefined,
  },
  {
    package: "clang-tidy",
    group: "test",
    purpose: "checks the C++ sources",
    isPresent: (machine) => machine.command("clang-tidy") !== undefined,
  },
  {
    package: "googletest",
    group: "test",
    purpose: "the C++ tests' framework, as sources",
    isPresent: (machine) => machine.exists("/usr/src/googletest/CMakeLists.txt"),
  },
  {
    package: "libsimde-dev",
    group: "test",
    purpose: "wasm's SIMD intrinsics for the native tests",
    isPresent: (machine) =>
      ["/usr/include", "/usr/local/include"].some((folder) =>
        machine.exists(join(folder, "simde/wasm/simd128.h")),
      ),
  },
  {
    package: "chromium",
    group: "browsers",
    purpose: "the tests in Chromium, skipped without it",
    isPresent: (machine) => findBrowser("chromium", machine) !== undefined,
  },
  {
    package: "firefox-esr",
    group: "browsers",
    purpose: "the tests in Firefox, skipped without it",
    isPresent: (machine) => findBrowser("firefox", machine) !== undefined,
  },
  {
    package: "mesa-vulkan-drivers",
    group: "browsers",
    purpose: "a Vulkan driver for wgpu, whose tests are skipped without it",
    isPresent: () => lavapipe() !== undefined,
  },
  {
    package: "webkit2gtk-driver",
    group: "browsers",
    purpose: "the tests in WebKitGTK, skipped without it",
    isPresent: (machine) => machine.command("WebKitWebDriver") !== undefined,
  },
  {
    package: "xvfb",
    group: "browsers",
    purpose: "a display for WebKitGTK",
    isPresent: (machine) => machine.command("xvfb-run") !== undefined,
  },
  {
    package: "xauth",
    group: "browsers",
    purpose: "what xvfb-run calls",
    isPresent: (machine) => machine.command("xauth") !== undefined,
  },
];

/** @type {Machine} */
const thisMachine = {
  isRoot: process.getuid?.() === 0,
  command: (name) => findCommands(name)[0],
  exists: existsSync,
  list: (folder) => (existsSync(folder) ? readdirSync(folder) : []),
  output: (command, args) =>
    spawnSync(command, args, { encoding: "utf8", env: { ...process.env, LC_ALL: "C" } }).stdout ??
    "",
};

/**
 * Puts everything of the groups in place. "build" is what `npm start` needs, "test" what the tests need besides,
 * "browsers" those that are driven by the browser tests. A missing browser is no error: its tests are skipped.
 *
 * @param {{ groups?: Group[], log?: Log }} [options]
 * @returns {Promise<Emscripten>}
 * @throws {SetupError} with what the user can do about it
 */
export async function setup({ groups = ["build", "test", "browsers"], log = console.log } = {}) {
  const found = findEmscripten({ log });
  await ensurePackages({ groups, hasEmscripten: found !== undefined, log });
  const emscripten = found ?? (await installEmscripten({ log }));
  await ensureNodeModules(fileURLToPath(new URL("..", import.meta.url)), log);
  return emscripten;
}

/**
 * The path of a browser that the tests can drive.
 *
 * @param {keyof typeof BROWSERS} name
 * @param {Machine} [machine]
 */
export function findBrowser(name, machine = thisMachine) {
  return BROWSERS[name].map(machine.command).find((path) => path !== undefined);
}

/**
 * Installs the packages that are missing, or says how to.
 *
 * @param {{ groups: Group[], hasEmscripten: boolean, machine?: Machine, log: Log }} options
 * @throws {SetupError} if more than a browser stays missing
 */
export async function ensurePackages({ groups, hasEmscripten, machine = thisMachine, log }) {
  const requirements = [...REQUIREMENTS, ...(hasEmscripten ? [] : WITHOUT_EMSCRIPTEN)];
  const findMissing = () =>
    requirements.filter(({ group, isPresent }) => groups.includes(group) && !isPresent(machine));
  let missing = findMissing();
  if (missing.length > 0 && machine.isRoot && hasApt(machine)) {
    await install(packageNames(missing, machine), machine, log);
    missing = findMissing();
  }
  if (missing.length === 0) return;
  const report = `Missing:\n${table(missing, machine)}\n${advice(missing, machine)}`;
  if (missing.some(({ group }) => group !== "browsers")) throw new SetupError(report);
  log(report);
}

/** @param {Machine} machine */
function hasApt(machine) {
  return machine.command("apt-get") !== undefined;
}

/**
 * @param {Requirement[]} missing
 * @param {Machine} machine
 */
function table(missing, machine) {
  const width = Math.max(...packageNames(missing, machine).map((name) => name.length));
  return missing
    .map(
      (requirement) =>
        `  ${packageName(requirement, machine).padEnd(width)}  ${requirement.purpose}`,
    )
    .join("\n");
}

/**
 * @param {Requirement[]} missing
 * @param {Machine} machine
 */
function advice(missing, machine) {
  if (!hasApt(machine))
    return "These are Debian's names: install the same tools with this system's own means.";
  if (machine.isRoot) return "apt-get could not install them: they have to come from elsewhere.";
  const names = packageNames(missing, machine);
  const update =
    knownToApt(names, machine).length === names.length ? "" : "sudo apt-get update && ";
  return `To install: ${update}sudo apt-get install --no-install-recommends ${names.join(" ")}`;
}

/**
 * Installs those of the packages that apt-get knows. A failure is only logged: what counts is what is missing afterwards.
 *
 * @param {string[]} packages
 * @param {Machine} machine
 * @param {Log} log
 */
async function install(packages, machine, log) {
  const env = { DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" };
  const logFailure = (/** @type {Error} */ error) => log(`  ${error.message}`);
  const installKnown = async () => {
    const known = knownToApt(packages, machine);
    if (known.length === 0) return;
    log(`Installing ${known.join(", ")}`);
    await run("apt-get", ["install", "--yes", "--no-install-recommends", ...known], {
      env,
      onLine: aptProgress(log),
    });
  };
  if (knownToApt(packages, machine).length === packages.length) {
    try {
      return await installKnown();
    } catch {
      log("  failed: the package lists may be old");
    }
  }
  log("Reading the system's package lists");
  // One source of several that fails makes apt-get fail; the packages may be in another.
  await run("apt-get", ["update"], { env }).catch(logFailure);
  await installKnown().catch(logFailure);
}

/**
 * Those of the packages that apt-get could install.
 *
 * @param {string[]} packages
 * @param {Machine} machine
 */
function knownToApt(packages, machine) {
  const policy = machine.output("apt-cache", ["policy", ...packages]);
  return packages.filter((name) => {
    const [, entry = ""] = `\n${policy}`.split(`\n${name}:\n`);
    return /^ {2}Installed: .*\n {2}Candidate: \d/.test(entry);
  });
}

/**
 * @param {Requirement[]} requirements
 * @param {Machine} machine
 */
function packageNames(requirements, machine) {
  return requirements.map((requirement) => packageName(requirement, machine));
}

/**
 * @param {Requirement} requirement
 * @param {Machine} machine
 */
function packageName(requirement, machine) {
  return typeof requirement.package === "string"
    ? requirement.package
    : requirement.package(machine);
}

/**
 * @param {Machine} machine
 * @param {string} command
 */
function versionOf(machine, command) {
  return /\d+(\.\d+)+/.exec(machine.output(command, ["--version"]))?.[0];
}

/**
 * @param {Machine} machine
 * @param {string} command
 * @param {string} minimum
 */
function isAtLeast(machine, command, minimum) {
  const version = versionOf(machine, command);
  return version !== undefined && compareVersions(version, minimum) >= 0;
}

/**
 * The package of the sanitizers that belong to the clang that is there, or that would be installed.
 *
 * @param {Machine} machine
 */
function sanitizerPackage(machine) {
  if (!isAtLeast(machine, "clang++", "14")) return "libclang-rt-dev";
  return `libclang-rt-${versionOf(machine, "clang++")?.split(".")[0]}-dev`;
}

/** @param {Machine} machine */
function hasSanitizers(machine) {
  const resources = machine.output("clang++", ["-print-resource-dir"]).trim();
  if (resources === "") return false;
  const libraries = join(resources, "lib");
  return machine
    .list(libraries)
    .flatMap((target) => machine.list(join(libraries, target)))
    .some((name) => name.startsWith("libclang_rt.asan"));
}

/**
 * Installs node_modules, unless they are those of package-lock.json already.
 *
 * @param {string} root
 * @param {Log} log
 */
async function ensureNodeModules(root, log) {
  const modules = join(root, "node_modules");
  const stamp = join(modules, ".layernorm-setup");
  const lock = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  const isInstalled = existsSync(join(modules, ".package-lock.json")) && existsSync(stamp);
  if (isInstalled && readFileSync(stamp, "utf8") === lock) return;
  log("Installing the npm packages of package-lock.json");
  await run("npm", ["ci", "--no-audit", "--no-fund", "--no-update-notifier"], {
    cwd: root,
    onLine: (line) => log(`  ${line}`),
  });
  await writeFile(stamp, lock);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runScript(async () => {
    await setup();
    console.log("The set-up is done.");
  });
}
