// The packed package, unpacked where its imports of TensorFlow.js find this folder's.
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { pack } from "../package/pack.js";

const BUILD = fileURLToPath(new URL("build", import.meta.url));

/** @returns {string} the package's folder, one for each state of its files */
export function install() {
  const { installed, project } = pack();
  const folder = join(BUILD, basename(dirname(project)));
  const copy = join(folder, "node_modules", "layernorm");
  if (existsSync(copy)) return copy;
  mkdirSync(BUILD, { recursive: true });
  const temporary = mkdtempSync(join(BUILD, "new-"));
  cpSync(installed, join(temporary, "node_modules", "layernorm"), { recursive: true });
  try {
    renameSync(temporary, folder);
  } catch (error) {
    // Another process was faster.
    rmSync(temporary, { recursive: true });
    if (!existsSync(copy)) throw error;
  }
  return copy;
}

const folder = install();

/** @type {typeof import("../../dist/tfjs.js")} */
export const tfjs = await import(join(folder, "dist", "tfjs.js"));
/** @type {typeof import("../../dist/index.js")} */
export const layernorm = await import(join(folder, "dist", "index.js"));
/** @type {typeof import("../../dist/nn.js")} */
export const nn = await import(join(folder, "dist", "nn.js"));
