// The browsers in which tests run, as the system installs them.
import puppeteer from "puppeteer-core";
import { findBrowser } from "../../tools/setup.js";

/**
 * @typedef {object} Engine
 * @property {"chromium" | "firefox"} name
 * @property {string | undefined} path
 * @property {string | false} skip why it cannot be used
 */

/** @type {Engine[]} */
export const ENGINES = /** @type {const} */ (["chromium", "firefox"]).map((name) => {
  const path = findBrowser(name);
  return { name, path, skip: path === undefined && `${name} is not installed` };
});

const CHROMIUM_FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * @param {Engine} engine
 * @param {{
 *   flags?: string[], preferences?: Record<string, boolean | number | string>, extensions?: boolean,
 *   patience?: number
 * }} [options] flags of Chromium's and whether it takes extensions, preferences of Firefox's, milliseconds for an answer
 * @returns {Promise<import("puppeteer-core").Browser>} headless, to be closed
 */
export function launch(
  { name, path },
  { flags = [], preferences = {}, extensions = false, patience = 30_000 } = {},
) {
  if (path === undefined) throw new Error(`${name} is not installed`);
  const shared = {
    executablePath: path,
    headless: true,
    timeout: 60_000,
    protocolTimeout: patience,
  };
  return name === "chromium"
    ? puppeteer.launch({
        ...shared,
        browser: "chrome",
        args: [...CHROMIUM_FLAGS, ...flags],
        ...(extensions ? { enableExtensions: true, pipe: true } : {}),
      })
    : puppeteer.launch({
        ...shared,
        browser: "firefox",
        extraPrefsFirefox: {
          // Nothing outside this machine is asked.
          "network.captive-portal-service.enabled": false,
          "network.connectivity-service.enabled": false,
          ...preferences,
        },
      });
}
