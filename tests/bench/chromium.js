/** The Chromium that benchmarks run in. */

import puppeteer from "puppeteer-core";

/**
 * @param {string[]} flags
 * @returns {Promise<import("puppeteer-core").Browser>} headless, to be closed. CHROMIUM names another binary than Debian's.
 */
export function launchChromium(flags) {
  return puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // The whole run is one call.
    protocolTimeout: 0,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...flags,
    ],
  });
}
