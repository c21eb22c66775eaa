// What each part of the binary costs: the sizes of its functions by group, and what dist's files weigh after gzip.
// `node tools/size.js` links what the last build compiled once more, for the names of the functions, and changes nothing.
// What is inlined counts where it ended up. With `--functions` it prints each of them. As gzip it says how much smaller the text
// that modules carry would be without a part, after gzip: what resembles other code costs little.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { findEmscripten } from "./emscripten.js";
import { pack } from "./pack.js";
import { run, runScript, SetupError } from "./process.js";
import { CODE, countImported, IMPORT, Reader, sections } from "./wasm_reader.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const WASM = join(ROOT, "build", "wasm");
const DIST = join(ROOT, "dist");

/**
 * The first group whose pattern a function's name matches is its own.
 *
 * @type {[string, RegExp][]}
 */
const GROUPS = [
  ["localResponseNorm", /Response|local_response|^power$/],
  ["activations", /activat/],
  [
    "gradients",
    /[Bb]ackward|[Nn]arrow|Wide(Gradient|Parameter|Block|Piece)|[Gg]radient|derivative|Elements|SumMaker|(add|write)(_equal)?_steps|^are_finite|^step_back|^widen_products|Precise|^(multiply|accumulate|total|widen|narrow|product|sum|add)$|StatisticsOf/,
  ],
  ["float16 and bfloat16", /float16|(to|from)_float32$|convert_float64$/],
  ["columns, float32", /ColumnsF32::/],
  [
    "loops over views",
    /^normalize_(runs|columns)|Loops|Layout|Axes|Tiles|Statistic(Sink|s::)|^drive$/,
  ],
  ["rows and columns, float64", /F64|<double>|RowsJob<double>|^exact_product$/],
  ["rows, float32", /F32|_ahead$|^normalize_|^statistics|weigh/],
  ["parameters", /Parameter(Blocks|Source)|Affine|Given|^(element|cast|convert)\b/],
  ["Embind, calls, allocator", /./],
];

/** @typedef {{ name: string, bytes: number }} Sized */

/** Links again, with a map of names. @returns {Promise<{ binary: Buffer, names: Map<number, string> }>} */
async function linkWithNames() {
  const emscripten = findEmscripten({ log: () => {} });
  if (!emscripten || !existsSync(join(WASM, "build.ninja"))) {
    throw new SetupError("There is no build to measure: npm run build.");
  }
  const commands = await run("ninja", ["-t", "commands", "layernorm_wasm"], { cwd: WASM });
  const last = commands.trim().split("\n").at(-1) ?? "";
  const folder = await mkdtemp(join(tmpdir(), "layernorm-size-"));
  try {
    // Embind's generator is CommonJS, whatever a package.json further up says.
    await writeFile(join(folder, "package.json"), "{}");
    const target = join(folder, "raw.js");
    const command = last
      .replace(/ --emit-tsd=\S+/, " --emit-symbol-map")
      .replace(/ -o \S+/, ` -o ${target}`);
    const { status, stderr } = spawnSync(command, {
      cwd: WASM,
      env: { ...process.env, ...emscripten.env, TMPDIR: folder },
      shell: true,
      encoding: "utf8",
    });
    if (status !== 0) throw new SetupError(`${command}\n${stderr}`);
    const binary = await readFile(join(folder, "raw.wasm"));
    const lines = (await readFile(`${target}.symbols`, "utf8")).trim().split("\n");
    const names = new Map(
      lines.map((line) => {
        const at = line.indexOf(":");
        return [Number(line.slice(0, at)), line.slice(at + 1)];
      }),
    );
    return { binary, names };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * @param {Uint8Array} binary
 * @param {Map<number, string>} names
 * @returns {Sized[]}
 */
function functionsOf(binary, names) {
  const all = sections(binary);
  const reader = new Reader(all.get(CODE) ?? new Uint8Array([0]));
  const first = countImported(all.get(IMPORT) ?? new Uint8Array([0]));
  const count = reader.number();
  return Array.from({ length: count }, (_, i) => {
    const begin = reader.at;
    reader.skip();
    return { name: names.get(first + i) ?? "", bytes: reader.at - begin };
  });
}

/**
 * The text's size after gzip where some functions have nothing to do.
 *
 * @param {Uint8Array} binary
 * @param {(index: number) => boolean} isEmpty
 */
function gzipWithout(binary, isEmpty) {
  const reader = new Reader(binary);
  reader.at = 8;
  while (reader.byte() !== CODE) reader.skip();
  reader.number();
  const count = reader.number();
  const parts = [binary.subarray(0, reader.at)];
  for (let i = 0; i < count; i++) {
    const begin = reader.at;
    reader.skip();
    // No locals, unreachable, end.
    parts.push(isEmpty(i) ? Uint8Array.of(3, 0, 0, 11) : binary.subarray(begin, reader.at));
  }
  const whole = Buffer.concat([...parts, binary.subarray(reader.at)]);
  return gzipSync(pack(whole), { level: 9 }).length;
}

/** @param {string} name @returns {string} */
function groupOf(name) {
  const whole = name.replaceAll(
    /layernorm::|void |\(anonymous namespace\)::|\(layernorm::Sums\)/g,
    "",
  );
  const [bare = ""] = whole.split("(");
  // Of its overloads this one alone is told from the others by what it takes.
  const known = bare === "normalize_rows" ? whole : bare;
  return GROUPS.find(([, pattern]) => pattern.test(known))?.[0] ?? "";
}

/** @param {string[][]} rows @returns {string} a table in Markdown, numbers to the right */
function table([head = [], ...rows]) {
  const rule = head.map((_, i) => (i === 0 ? "---" : "---:"));
  return [head, rule, ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

/** @param {number} bytes */
const thousands = (bytes) => bytes.toLocaleString("en");

/** @param {boolean} verbose */
async function main(verbose) {
  const { binary, names } = await linkWithNames();
  const functions = functionsOf(binary, names);
  const shipped = await readFile(join(WASM, "layernorm_raw.wasm"));
  if (shipped.length !== binary.length) {
    console.log(`Not the binary of the last build, which has ${shipped.length} bytes.\n`);
  }
  const sizes = new Map(GROUPS.map(([name]) => [name, 0]));
  for (const { name, bytes } of functions) {
    const group = groupOf(name);
    sizes.set(group, (sizes.get(group) ?? 0) + bytes);
    if (verbose) console.log(`${String(bytes).padStart(6)}  ${group}  ${name}`);
  }
  const inFunctions = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  const parts = [...sizes].sort(([, a], [, b]) => b - a);
  parts.push(["data, tables, names of imports and exports", binary.length - inFunctions]);
  const share = (/** @type {number} */ bytes) => `${((100 * bytes) / binary.length).toFixed(1)} %`;
  const gzip = gzipWithout(binary, () => false);
  const rows = parts.map(([name, bytes]) => {
    const rest = gzipWithout(binary, (i) => groupOf(functions[i]?.name ?? "") === name);
    return [name, thousands(bytes), share(bytes), sizes.has(name) ? thousands(gzip - rest) : ""];
  });
  rows.push(["in all", thousands(binary.length), share(binary.length), thousands(gzip)]);
  console.log(table([["part of the binary", "bytes", "share", "gzip"], ...rows]));

  const files = (await readdir(DIST)).filter((name) => /\.(js|wasm)$/.test(name)).sort();
  const weighed = await Promise.all(
    files.map(async (name) => {
      const content = await readFile(join(DIST, name));
      const gzip = gzipSync(content, { level: 9 }).length;
      return [`\`${name.replace(/-\w{8}\./, "-*.")}\``, thousands(content.length), thousands(gzip)];
    }),
  );
  console.log(`\n${table([["file of dist/", "bytes", "gzip"], ...weighed])}`);
}

await runScript(() => main(process.argv.includes("--functions")));
