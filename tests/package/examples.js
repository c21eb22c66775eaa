// The examples of the documentation: the README's code blocks and the @example sections of the types.
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { walk } from "./pack.js";

/**
 * @typedef {object} Example
 * @property {string} where file and line
 * @property {string} language the first word after the fence
 * @property {string} code
 * @property {string} entry what it is an example of, such as `layernorm/nn`
 */

const FENCE = /^(?<indent> *)```(?<language>[\w+]*)[^\n]*\n(?<code>[\s\S]*?)^\k<indent>``` *$/gm;

/** @param {string} text @param {number} index @returns {number} */
const lineAt = (text, index) => text.slice(0, index).split("\n").length;

/** @param {string} path of a Markdown file @returns {Example[]} its code blocks */
function blocks(path) {
  const text = readFileSync(path, "utf8");
  return [...text.matchAll(FENCE)].map(({ groups, index }) => {
    const { language = "", indent = "", code = "" } = groups ?? {};
    const where = `${basename(path)}:${lineAt(text, index)}`;
    return { where, language, code: code.replaceAll(`\n${indent}`, "\n"), entry: "layernorm" };
  });
}

/** @param {string} path of a .d.ts file @returns {Example[]} */
function sections(path) {
  const text = readFileSync(path, "utf8");
  return [...text.matchAll(/\/\*\*[\s\S]*?\*\//g)].flatMap((comment) => {
    const plain = comment[0].replace(/^ *\*\/|\*\/$/gm, "").replace(/^ *(\/\*\*|\*) ?/gm, "");
    return [...plain.matchAll(/^@example *\n([\s\S]*?)(?=^@\w|$(?![\s\S]))/gm)].map((match) => ({
      where: `${basename(path)}:${lineAt(text, comment.index) + lineAt(plain, match.index) - 1}`,
      language: "ts",
      code: (match[1] ?? "").replace(/^```.*$/gm, ""),
      entry: /\bnn[/.]/.test(path) ? "layernorm/nn" : "layernorm",
    }));
  });
}

/** @param {string} installed the folder of the installed package @returns {Example[]} */
export function examples(installed) {
  const readme = join(installed, "README.md");
  const types = walk(join(installed, "dist")).filter((path) => path.endsWith(".d.ts"));
  return [...(existsSync(readme) ? blocks(readme) : []), ...types.flatMap(sections)];
}
