// One process at a time.
import { readlink, rm, symlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** @typedef {import("./process.js").Log} Log */

/**
 * Runs a function while no other process does. The lock is a link whose target is the process's number: it is made
 * in one step, and one left behind by a process that has ended is removed.
 *
 * @template T
 * @param {string} path
 * @param {Log} log
 * @param {string} what is set up
 * @param {() => Promise<T>} body
 */
export async function withLock(path, log, what, body) {
  for (let waiting = false; !(await takeLock(path)); waiting = true) {
    if (!waiting) log(`Waiting for another set-up of ${what} (its lock: ${path})`);
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
