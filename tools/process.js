// Runs programs, and scripts that do.

import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, resolve } from "node:path";
import { createInterface } from "node:readline";

/**
 * @typedef {(line: string) => void} Log
 * @typedef {Record<string, string | undefined>} Env
 */

/** Something that the user can put right: its message says how, and is shown without a stack. */
export class SetupError extends Error {}

/**
 * Runs a script's main function; what the user can put right is shown as its message alone.
 *
 * @param {() => Promise<unknown>} main
 */
export async function runScript(main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

/**
 * The paths of a program on the PATH, in its order.
 *
 * @param {string} name
 * @param {Env} [env]
 */
export function findCommands(name, env = process.env) {
  return (env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => resolve(folder, name))
    .filter(isExecutable);
}

/**
 * Runs a program to its end, and hands on each line that it prints.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: Env, cwd?: string, onLine?: Log | undefined, signal?: AbortSignal | undefined }} [options] the signal stops it
 *   and what it has started
 * @returns {Promise<string>} all that it printed
 * @throws {SetupError} with its last lines, if it fails or is stopped
 */
export async function run(command, args, { env, cwd, onLine, signal } = {}) {
  /** @type {string[]} */
  const lines = [];
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, to be stopped as a whole.
    detached: signal !== undefined,
  });
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      onLine?.(line);
    });
  }
  const settled = new AbortController();
  const outcome = await new Promise((settle) => {
    child.on("error", (error) => settle(error.message));
    child.on("close", (code, by) => settle(code === 0 ? "" : (by ?? `exit code ${code}`)));
    signal?.addEventListener(
      "abort",
      () => {
        stopGroup(child);
        settle("stopped: it took too long");
      },
      { signal: settled.signal },
    );
    if (signal !== undefined) passOnInterrupts(child, settled.signal);
  });
  settled.abort();
  if (outcome !== "") {
    throw new SetupError(
      [`${command} ${args[0]} failed (${outcome}):`, ...lines.slice(-15)].join("\n  "),
    );
  }
  return lines.join("\n");
}

/** @param {import("node:child_process").ChildProcess} leader of a group of its own */
function stopGroup({ pid }) {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/**
 * A terminal interrupts its own group alone.
 *
 * @param {import("node:child_process").ChildProcess} leader
 * @param {AbortSignal} until
 */
function passOnInterrupts(leader, until) {
  for (const name of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    const stop = () => {
      stopGroup(leader);
      process.exit(1);
    };
    process.once(name, stop);
    until.addEventListener("abort", () => process.off(name, stop), { once: true });
  }
}

/** @param {string} path */
export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
