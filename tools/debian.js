// Packages of other suites of Debian, fetched with the machine's own apt-get, so that their signatures are checked as always, and
// unpacked into a folder of their own: nothing is installed, and the system's packages stay as they are.

import { accessSync, constants, existsSync } from "node:fs";
import { mkdir, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { run, SetupError } from "./process.js";

/**
 * @typedef {import("./process.js").Log} Log
 * @typedef {import("./process.js").Env} Env
 */

/**
 * @param {string} a
 * @param {string} b
 * @returns {number} negative if a is older, 0 if they are the same, positive if a is newer
 */
export function compareVersions(a, b) {
  const left = numbers(a);
  const right = numbers(b);
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** @param {string} version */
function numbers(version) {
  return version.split(".").map((part) => Number.parseInt(part, 10));
}

/** @param {Env} env */
export function cacheFolder(env) {
  return resolve(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "layernorm");
}

/** @param {Env} env */
export async function makeCacheFolder(env) {
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

/** @param {string} path */
export async function removeFolder(path) {
  // A child of a set-up that was killed may still be writing into it.
  await rm(path, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * Reads the package list of a suite of Debian.
 *
 * @param {string} suite
 * @param {string} work a folder that is kept as long as the suite is used
 * @param {Log} log
 * @returns {Promise<{ archive: string, options: string[] }>} options under which apt-get knows that suite alone
 * @throws {SetupError} if apt-get knows no Debian
 */
export async function openSuite(suite, work, log) {
  const archive = await debianArchive(work);
  const keyring = ["gpg", "pgp"]
    .map((extension) => `/usr/share/keyrings/debian-archive-keyring.${extension}`)
    .find((path) => existsSync(path));
  if (archive === undefined || keyring === undefined) {
    throw new SetupError("apt-get on this system knows no Debian archive to take it from");
  }
  const architecture = (await run("dpkg", ["--print-architecture"])).trim();
  const options = await privateAptState(join(work, "apt"));
  await writeFile(
    join(work, "apt/debian.sources"),
    [
      "Types: deb",
      `URIs: ${archive}`,
      `Suites: ${suite}`,
      "Components: main",
      `Architectures: ${architecture}`,
      `Signed-By: ${keyring}`,
      "",
    ].join("\n"),
  );
  log(`  reading the package list of Debian ${suite}`);
  // By itself it only warns of what it could not fetch, and the package would then be missed in a list that is not there.
  await apt("apt-get", ["update", "-o", "APT::Update::Error-Mode=any", ...options]);
  return { archive, options };
}

/**
 * The version of a package in a suite, without what Debian adds.
 *
 * @param {string} name
 * @param {string[]} options of openSuite
 */
export async function offeredVersion(name, options) {
  const shown = await apt("apt-cache", ["show", name, ...options]);
  return /^Version: (?:\d+:)?(\d+(?:\.\d+)+)/m.exec(shown)?.[1];
}

/**
 * The address from which this machine takes Debian's packages. apt-get is asked, since it reads every form of
 * its configuration.
 *
 * @param {string} work
 */
async function debianArchive(work) {
  const known = await listedArchive([]);
  if (known !== undefined) return known;
  // Containers come without package lists: read them, without touching those of the system.
  const folder = join(work, "lists");
  await mkdir(join(folder, "partial"), { recursive: true });
  const options = ["-o", `Dir::State::Lists=${folder}`, "-o", `Dir::Cache=${folder}`];
  // One source of several that fails makes apt-get fail; the Debian one may be there all the same.
  await apt("apt-get", ["update", ...options]).catch(() => {});
  return await listedArchive(options);
}

/** @param {string[]} options */
async function listedArchive(options) {
  const format = "$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)";
  const targets = await apt("apt-get", [
    "indextargets",
    "--format",
    format,
    "Created-By: Packages",
    ...options,
  ]);
  const start = "Debian|Debian|main|";
  return targets
    .split("\n")
    .find((line) => line.startsWith(start))
    ?.slice(start.length);
}

/**
 * Options under which apt-get knows no installed package, no source but ours, and writes only below a folder.
 *
 * @param {string} folder
 */
async function privateAptState(folder) {
  await mkdir(join(folder, "state/lists/partial"), { recursive: true });
  await mkdir(join(folder, "cache/archives/partial"), { recursive: true });
  await writeFile(join(folder, "state/status"), "");
  return Object.entries({
    "Dir::State": join(folder, "state"),
    "Dir::State::Lists": join(folder, "state/lists"),
    "Dir::State::status": join(folder, "state/status"),
    "Dir::Cache": join(folder, "cache"),
    "Dir::Cache::Archives": join(folder, "cache/archives"),
    "Dir::Etc::SourceList": join(folder, "debian.sources"),
    "Dir::Etc::SourceParts": "/dev/null",
    "Dir::Etc::Preferences": "/dev/null",
    "Dir::Etc::PreferencesParts": "/dev/null",
    "APT::Default-Release": "",
  }).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
}

/**
 * @param {"apt-get" | "apt-cache"} command
 * @param {string[]} args
 * @param {Log} [onLine]
 * @param {string} [cwd]
 */
export function apt(command, args, onLine, cwd) {
  // The output is read, so it has to be in English.
  return run(command, args, {
    env: { LC_ALL: "C" },
    ...(cwd === undefined ? {} : { cwd }),
    onLine,
  });
}

/**
 * Turns what apt-get prints into a few lines of progress.
 *
 * @param {Log} log
 * @returns {Log}
 */
export function aptProgress(log) {
  let total = 0;
  /** @type {Record<string, () => void>} */
  let steps = {};
  return (line) => {
    const summary = /^(\d+) upgraded, (\d+) newly installed/.exec(line);
    if (summary) {
      total = Number(summary[1]) + Number(summary[2]);
      steps = {
        "Get:": progress(log, "downloaded", total),
        "Setting up ": progress(log, "set up", total),
      };
    }
    if (line.startsWith("Need to get ")) log(`  ${total} packages: ${line}`);
    for (const [start, step] of Object.entries(steps)) {
      if (line.startsWith(start)) step();
    }
  };
}

/**
 * @param {Log} log
 * @param {string} what
 * @param {number} total
 * @returns {() => void} to be called for each package; it logs about every tenth of the way
 */
export function progress(log, what, total) {
  const stride = Math.max(1, Math.ceil(total / 10));
  let count = 0;
  return () => {
    count += 1;
    if (count % stride === 0 || count === total) log(`  ${what} ${count} of ${total} packages`);
  };
}

/**
 * Runs a function while no other process does. The lock is a link whose target is the process's number: it is made
 * in one step, and one left behind by a process that has ended is removed.
 *
 * @template T
 * @param {string} path
 * @param {Log} log
 * @param {() => Promise<T>} body
 */
export async function withLock(path, log, body) {
  for (let waiting = false; !(await takeLock(path)); waiting = true) {
    if (!waiting) log(`Waiting for another set-up (its lock: ${path})`);
    await sleep(500);
  }
  try {
    return await body();
  } finally {
    await rm(path, { force: true });
  }
}

/** @param {string} path */
async function takeLock(path) {
  try {
    await symlink(String(process.pid), path);
    return true;
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
    const owner = Number(await readlink(path).catch(() => process.pid));
    if (!isRunning(owner)) await rm(path, { force: true });
    return false;
  }
}

/** @param {number} pid */
function isRunning(pid) {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, "EPERM");
  }
}

/**
 * @param {unknown} error
 * @param {string} code
 */
function hasCode(error, code) {
  return error instanceof Error && "code" in error && error.code === code;
}
