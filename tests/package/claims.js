// Values that the documentation's examples claim in comments. A comment claims a value where it follows a statement on
// the same line and reads `-> value` or begins as an array, an object or a typed array, and as a line of its own that reads
// `name is a ...: value`. Numbers are compared to the digits that are written, up to "...".
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const NAMED = /^\s*\/\/ (?<name>\w+) is [^:]*: (?<claim>.*)$/;
const TRAILING = /^(?<statement>.*\S)\s*\/\/ (?<arrow>(?:->|→) )?(?<claim>.*)$/;

const IMPORT = `// @ts-ignore: it has no types\nimport { check as __check } from "${fileURLToPath(import.meta.url)}";\n`;

/** @param {string} code @returns {string} with a check after each statement whose comment claims a value */
export function instrument(code) {
  return IMPORT + code.split("\n").map(instrumentLine).join("\n");
}

/** @param {string} line @returns {string} */
function instrumentLine(line) {
  const named = NAMED.exec(line)?.groups;
  if (named) return `__check(${named.name}, ${JSON.stringify(named.claim)});`;
  const { statement, arrow, claim = "" } = TRAILING.exec(line)?.groups ?? {};
  if (!statement || !(arrow || /^(\[|\{|Float\d+Array)/.test(claim))) return line;
  const text = JSON.stringify(claim);
  const printed = /^\s*console\.log\((.*)\);?$/.exec(statement)?.[1];
  if (printed) return `__check(${printed}, ${text});`;
  const declared = /^\s*(?:const|let|var) (\w+|\{[^}]*\})(?:: [^=]+)? = .*;$/.exec(statement)?.[1];
  if (declared) return `${statement} __check(${declared}, ${text});`;
  const expression = /^\s*([\w(["'`].*);$/.exec(statement)?.[1];
  if (expression) return `__check((${expression}), ${text});`;
  throw new Error(`a claim has to follow a whole statement: ${line}`);
}

/**
 * @param {unknown} value
 * @param {string} claim
 */
export function check(value, claim) {
  if (typeof value === "string" || typeof value === "boolean" || value == null) {
    assert.equal(String(value), claim.replace(/^(["'`])(.*)\1$/, "$2"));
    return;
  }
  const isPart = /\.\.\.|…/.test(claim);
  const claimed = numbersIn(claim.replace(/\.\.\.|…/g, " "));
  const got = [...numbersOf(value)];
  assert.ok(claimed.length > 0, `no number in: ${claim}`);
  if (!isPart) assert.equal(got.length, claimed.length, `as many numbers: ${claim}; got ${got}`);
  for (const [i, digits] of claimed.entries()) {
    const number = Number(digits);
    const [mantissa = "", exponent = "0"] = digits.toLowerCase().split("e");
    const places = (mantissa.split(".")[1] ?? "").length - Number(exponent);
    const isClose =
      Object.is(got[i], number) || Math.abs((got[i] ?? NaN) - number) <= 0.5001 * 10 ** -places;
    assert.ok(isClose, `number ${i} is ${got[i]} where the comment says ${digits}`);
  }
}

/** @param {string} text @returns {string[]} the numbers in it, without those of names and of `Float32Array(4)` */
function numbersIn(text) {
  const bare = text
    .replace(/\u2212/g, "-")
    .replace(/\b(?!NaN\b|Infinity\b|e[-+]?\d)[A-Za-z_]\w*(\(\d+\))?/g, " ");
  return bare.match(/-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|NaN|-?Infinity/gi) ?? [];
}

/** @param {unknown} value @returns {Generator<number>} its numbers in the order in which they are printed */
function* numbersOf(value) {
  if (typeof value === "number") yield value;
  if (typeof value !== "object" || value === null) return;
  const isResident = "rows" in value && "data" in value;
  const elements = isResident
    ? value.data
    : ArrayBuffer.isView(value)
      ? value
      : Object.values(value);
  for (const element of /** @type {Iterable<unknown>} */ (elements)) yield* numbersOf(element);
}
