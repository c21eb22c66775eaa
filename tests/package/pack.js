// The package as its users get it: packed by npm, and installed from the tarball in an empty project.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the repository. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const CACHE = join(ROOT, "build", "package");
// What npm packs besides the "files" of package.json.
const ALWAYS = ["package.json", "README.md", "LICENSE"];
// An older project may still be in use by another run.
const KEEP_MS = 3_600_000;

/**
 * @typedef {object} Packed
 * @property {string} tarball the path of the .tgz
 * @property {string[]} files the paths in it, sorted
 * @property {string} project the folder of a project in which it is installed
 * @property {string} installed the folder of the installed package
 */

/**
 * Packs and installs once for each state of the package's files; the test processes of a run share the result.
 *
 * @returns {Packed}
 */
export function pack() {
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const folder = join(CACHE, digest([...ALWAYS, ...manifest.files]));
  if (!existsSync(folder)) make(folder);
  const project = join(folder, "project");
  const { filename, files } = JSON.parse(readFileSync(join(folder, "pack.json"), "utf8"));
  return {
    tarball: join(folder, filename),
    files,
    project,
    installed: join(project, "node_modules", manifest.name),
  };
}

/** @param {string} folder filled elsewhere and renamed, so that it exists only when complete */
function make(folder) {
  mkdirSync(CACHE, { recursive: true });
  for (const name of readdirSync(CACHE)) {
    const path = join(CACHE, name);
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
    if (Date.now() - mtimeMs > KEEP_MS) rmSync(path, { recursive: true, force: true });
  }
  const temporary = mkdtempSync(join(CACHE, "new-"));
  const [result] = JSON.parse(npm(ROOT, "pack", "--json", "--pack-destination", temporary));
  const files = result.files.map((/** @type {{ path: string }} */ file) => file.path).sort();
  const { filename } = result;
  writeFileSync(join(temporary, "pack.json"), JSON.stringify({ filename, files }));
  const project = join(temporary, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }\n');
  npm(project, "install", "--offline", "--no-package-lock", join(temporary, filename));
  try {
    renameSync(temporary, folder);
  } catch (error) {
    // Another process was faster.
    rmSync(temporary, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
}

/**
 * @param {string} cwd
 * @param {string[]} args
 * @returns {string} standard output
 */
function npm(cwd, ...args) {
  const { stdout, stderr, status, error } = spawnSync(
    "npm",
    [...args, "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"],
    { cwd, encoding: "utf8" },
  );
  if (error) throw error;
  if (status !== 0) throw new Error(`npm ${args.join(" ")} failed\n${stdout}${stderr}`);
  return stdout;
}

/**
 * @param {string[]} entries files, folders and patterns of the repository; those that are missing count as such
 * @returns {string} a digest of their contents
 */
function digest(entries) {
  const hash = createHash("sha256");
  for (const entry of entries) {
    const [plain = ""] = entry.split(/(?<=^|\/)[^/]*[*!]/);
    for (const path of plain === "" ? [] : walk(join(ROOT, plain))) {
      const content = readFileSync(path);
      hash.update(`${relative(ROOT, path)} ${content.length}\n`).update(content);
    }
  }
  return hash.digest("hex").slice(0, 16);
}

/**
 * @param {string} path
 * @returns {string[]} the files there, sorted; none if there is nothing
 */
export function walk(path) {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .sort()
    .flatMap((name) => walk(join(path, name)));
}

/**
 * The modules that a module loads, itself first. The paths are those of files; packages and node: modules are left out.
 *
 * @param {string} path of a .js or .d.ts file
 * @param {{ dynamic: boolean }} options whether import() counts
 * @returns {string[]}
 */
export function graph(path, { dynamic }) {
  const pattern = dynamic
    ? /\b(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g
    : /\b(?:from|import)\s*["'](\.{1,2}\/[^"']+)["']/g;
  const isTypes = path.endsWith(".d.ts");
  const seen = new Set([path]);
  for (const module of seen) {
    if (!/\.(js|d\.ts)$/.test(module)) continue;
    for (const [, specifier] of readFileSync(module, "utf8").matchAll(pattern)) {
      const file = join(dirname(module), /** @type {string} */ (specifier));
      seen.add(isTypes ? file.replace(/\.js$/, ".d.ts") : file);
    }
  }
  return [...seen];
}
