// Minifies what the bundler made once more: a twentieth of the code.

import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { minify } from "terser";

/** Larger ones are a library's, minified by those who made it, and take long. In bytes. */
const LARGEST = 200_000;

/** Scripts of a folder; those that gzip makes no smaller stay as they are. @param {string} folder */
export async function shrink(folder) {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".js"));
  await Promise.all(names.map((name) => shrinkFile(join(folder, name))));
}

/** @param {string} file */
async function shrinkFile(file) {
  if ((await stat(file)).size > LARGEST) return;
  const before = await readFile(file, "utf8");
  const { code = before } = await minify(before, {
    module: true,
    // Functions that stand together compress better.
    compress: { passes: 3, hoist_funs: true, lhs_constants: false },
    // Node prints the whole line above an error that nobody catches.
    format: { max_line_len: 500 },
  });
  if (gzipSync(code).length < gzipSync(before).length) await writeFile(file, code);
}
