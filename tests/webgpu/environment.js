/** Where a machine without a GPU has a Vulkan driver. */
import { existsSync, readdirSync } from "node:fs";

/** SwiftShader as Debian's chromium installs it, for machines without a GPU. */
const SWIFTSHADER = "/usr/lib/chromium/vk_swiftshader_icd.json";

/**
 * What a process needs in its environment from its start on to find SwiftShader, unless a Vulkan driver is chosen already.
 * @returns {Record<string, string>}
 */
export function environment() {
  const { VK_ICD_FILENAMES, LD_LIBRARY_PATH = "" } = process.env;
  if (VK_ICD_FILENAMES !== undefined || !existsSync(SWIFTSHADER)) return {};
  const folders = [...LD_LIBRARY_PATH.split(":"), "/usr/lib/chromium"].filter(Boolean);
  return { VK_ICD_FILENAMES: SWIFTSHADER, LD_LIBRARY_PATH: folders.join(":") };
}

/** Where Mesa's drivers are told of. */
const DRIVERS = "/usr/share/vulkan/icd.d";

/** What a process needs in its environment to find lavapipe, Mesa's Vulkan on a CPU; undefined where that is not installed. */
export function lavapipe() {
  const names = existsSync(DRIVERS) ? readdirSync(DRIVERS) : [];
  const name = names.find((each) => /^lvp_icd.*\.json$/.test(each));
  return name === undefined ? undefined : { VK_ICD_FILENAMES: `${DRIVERS}/${name}` };
}
