// Holds what an engine's check gave against what this Node gives, which is held against the stored numbers and hashes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { assertChecks } from "../browser/assert_checks.js";
import { pack } from "../package/pack.js";
import { checkEntries, digest, ELSEWHERE, ENTRIES, prefixed } from "./entries.js";

const { installed } = pack();

/** The files of the installed package's entries, as paths in it. @type {Record<string, string>} */
export const FILES = {};
const manifest = JSON.parse(readFileSync(`${installed}/package.json`, "utf8"));
for (const [entry, target] of Object.entries(manifest.exports)) {
  FILES[entry.replace(".", manifest.name)] = typeof target === "string" ? target : target.default;
}

/** @param {string} name @returns {string} the file: URL of an entry of the installed package */
const urlOf = (name) => `${pathToFileURL(`${installed}/${FILES[name]}`)}`;

/** @param {string} name @returns {Record<string, string>} */
const stored = (name) =>
  JSON.parse(readFileSync(new URL(`../golden/${name}`, import.meta.url), "utf8"));
const storedHashes = {
  ...stored("hashes.json"),
  ...stored("hashes_operations.json"),
  ...prefixed(stored("hashes_backward.json")),
};

const named = Object.keys(FILES).filter(
  (name) => manifest.exports[name.replace(manifest.name, ".")].types,
);
assert.deepEqual(named.sort(), [...Object.keys(ENTRIES), ...Object.keys(ELSEWHERE)].sort());

/** As the engines' results are, which pass through JSON. */
const expected = JSON.parse(
  JSON.stringify(
    await checkEntries({
      load: (name) => import(urlOf(name)),
      wasm: { url: urlOf("layernorm/layernorm.wasm") },
    }),
  ),
);

/**
 * @param {Record<string, any>} results of checkEntries
 * @param {string} where
 * @param {string[]} [names] of entries, all unless told
 * @returns {string} one hash of all results
 */
export function assertEntries(results, where, names = Object.keys(ENTRIES)) {
  assert.deepEqual(Object.keys(results), names, where);
  for (const name of ["layernorm", "layernorm/slim"]) {
    assertChecks(results[name].checks, `${name} in ${where}`);
    const { hashes } = results[name];
    const differing = Object.keys(storedHashes).filter((key) => hashes[key] !== storedHashes[key]);
    assert.deepEqual(differing, [], `${name} in ${where}`);
    assert.equal(Object.keys(hashes).length, Object.keys(storedHashes).length);
  }
  const theirs = Object.fromEntries(names.map((name) => [name, expected[name]]));
  assert.deepEqual(results, theirs, where);
  assert.equal(digest(results), digest(theirs), where);
  return digest(results);
}
