/** Where a run took place, and what it ran. */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { cpus, totalmem, type } from "node:os";
import { fileURLToPath } from "node:url";
import { installedVersion } from "./peers.js";

/** @typedef {import("./contenders/contender.js").Contender} Contender */
/** @typedef {import("./report.js").ContenderInfo} ContenderInfo */

const ROOT = new URL("../../", import.meta.url);

/** @param {string} engine such as "Node.js 20.20.2" @returns {import("./report.js").Report["machine"]} */
export function describeMachine(engine) {
  const processors = cpus();
  return {
    cpu: processors[0].model.trim(),
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${process.arch}`,
    engine,
  };
}

/** @returns {string} today, YYYY-MM-DD */
export function today() {
  return new Date().toISOString().slice(0, 10);
}

/**
 * @param {readonly Contender[]} contenders
 * @returns {ContenderInfo[]} with the versions that are really installed
 */
export function describeContenders(contenders) {
  const own = JSON.parse(readFileSync(new URL("package.json", ROOT), "utf8")).version;
  return contenders.map(({ id, name, column, detail, kind, packages }) => {
    const version = kind === "package" ? own : packages && installedVersion(packages[0]);
    return { id, name, ...(column && { column }), ...(version && { version }), detail };
  });
}

/** Builds the package where that has not been done. @param {(line: string) => void} log */
export function ensureBuilt(log) {
  if (existsSync(new URL("dist/index.js", ROOT))) return;
  log("Building the package first.");
  const script = fileURLToPath(new URL("tools/build.js", ROOT));
  const { status } = spawnSync(process.execPath, [script], { stdio: "inherit" });
  if (status !== 0) throw new Error("the build failed");
}
