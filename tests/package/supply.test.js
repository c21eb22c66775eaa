// What the package is built and tested with, and what its documents promise about that. Budget: 5 s.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { lockedPackages, packageFolders } from "../../tools/licences.js";
import { ROOT } from "./pack.js";

const PERMISSIVE =
  /^(MIT|ISC|0BSD|Apache-2\.0|BSD-[23]-Clause|BlueOak-1\.0\.0|Python-2\.0|Zlib|CC0-1\.0|OFL-1\.1)$/;
// Tools that run unchanged beside the tests, or data that they carry: they ask nothing of what is tested with them.
const TOOLS = /^(MPL-2\.0|LGPL-3\.0-or-later|CC-BY-4\.0)$/;

/** @param {string} path @returns {string} */
const read = (path) => readFileSync(join(ROOT, path), "utf8");

test("every package that is used has a licence that allows it", () => {
  const packages = lockedPackages();
  assert.ok(packages.length > 200);
  for (const { lock, name, license = "" } of packages) {
    const parts = license.replace(/[()]/g, "").split(/ AND | OR /);
    const isKnown = parts.every((part) => PERMISSIVE.test(part) || TOOLS.test(part));
    assert.ok(isKnown, `${lock}: ${name} is under "${license}"`);
  }
});

test("what the build and most tests use is permissive, but for the checker of accessibility", () => {
  const others = lockedPackages().filter(
    ({ lock, license = "" }) => lock === "package-lock.json" && TOOLS.test(license),
  );
  assert.deepEqual(
    others.map(({ name, license }) => `${name}: ${license}`),
    ["axe-core: MPL-2.0"],
  );
});

test("every version is exact and every download has its hash", () => {
  for (const folder of packageFolders()) {
    const manifest = JSON.parse(read(join(folder, "package.json")));
    for (const field of ["dependencies", "devDependencies", "optionalDependencies"]) {
      for (const [name, version] of Object.entries(manifest[field] ?? {})) {
        assert.match(String(version), /^\d+\.\d+\.\d+(-[\w.]+)?$/, `${folder}: ${name}`);
      }
    }
    // No script of a package's runs at installation, whatever a lock file says.
    assert.match(read(join(folder, ".npmrc")), /^ignore-scripts=true$/m, folder);
  }
  for (const { lock, name, integrity } of lockedPackages()) {
    assert.match(String(integrity), /^sha512-/, `${lock}: ${name}`);
  }
});

test("each environment that the README names is backed by tests, or said not to be tested", () => {
  const table = /^\| environment \|.*\n(?:\|.*\n)+/m.exec(read("README.md"))?.[0] ?? "";
  const rows = table.trim().split("\n").slice(2);
  assert.ok(rows.length >= 10);
  for (const row of rows) {
    const last = String(row.split("|").at(-2)).trim();
    const paths = [...last.matchAll(/`(tests\/[\w./]+)`/g)].map(([, path]) => path);
    assert.ok(last === "not tested" || paths.length > 0, row);
    for (const path of paths) assert.ok(existsSync(join(ROOT, path)), path);
  }
});

test("SECURITY.md, the changelog and the manifest speak of one version", () => {
  const { version } = JSON.parse(read("package.json"));
  const [major, minor] = version.split(".");
  assert.ok(read("CHANGELOG.md").includes(`## ${version}`));
  assert.ok(read("SECURITY.md").includes(`| ${major}.${minor}.x | yes |`));
});
