// Packages of Debian's, by the machine's own apt-get, so that their signatures are checked as always. Nothing is installed.
import { existsSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run, SetupError } from "./process.js";
import { compareVersions } from "./versions.js";

/** @typedef {import("./process.js").Log} Log */

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
 * Downloads a package and all that it needs from a suite of Debian's.
 *
 * @param {{ name: string, suite: string, minimum: string, work: string, log: Log }} options the least version that will do, and
 *   a folder to work in
 * @returns {Promise<string[]>} the paths of the .deb files
 * @throws {SetupError}
 */
export async function downloadPackages({ name, suite, minimum, work, log }) {
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
  await apt("apt-get", ["update", ...options]);
  const offered = /^Version: (\d+\.\d+\.\d+)/m.exec(
    await apt("apt-cache", ["show", name, ...options]),
  )?.[1];
  if (offered === undefined || compareVersions(offered, minimum) < 0) {
    throw new SetupError(`Debian ${suite} at ${archive} has ${offered ?? "none"}`);
  }
  await apt(
    "apt-get",
    ["install", "--yes", "--download-only", "--no-install-recommends", name, ...options],
    aptProgress(log),
  );
  const archives = join(work, "apt/cache/archives");
  return (await readdir(archives))
    .filter((file) => file.endsWith(".deb"))
    .map((file) => join(archives, file));
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
 */
function apt(command, args, onLine) {
  // The output is read, so it has to be in English.
  return run(command, args, { env: { LC_ALL: "C" }, onLine });
}
