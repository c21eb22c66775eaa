import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { compareVersions, openSuite } from "../../tools/debian.js";
import { ensureEmscripten, findEmscripten, MINIMUM_VERSION } from "../../tools/emscripten.js";
import { findLavapipe } from "../../tools/lavapipe.js";
import { run, SetupError } from "../../tools/process.js";
import { ensurePackages } from "../../tools/setup.js";
import { STEPS } from "../../tools/test.js";

/** @type {string} */
let folder;
/** @type {string[]} */
let lines;
const log = (/** @type {string} */ line) => lines.push(line);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "layernorm-setup-"));
  lines = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

/**
 * An emcc that only tells its version.
 *
 * @param {string} bin
 * @param {string} version
 */
function fakeEmcc(bin, version) {
  const emcc = join(folder, bin, "emcc");
  mkdirSync(dirname(emcc), { recursive: true });
  writeFileSync(
    emcc,
    `#!/bin/sh\necho "emcc (Emscripten gcc/clang-like replacement) ${version} (abc)"\n`,
  );
  chmodSync(emcc, 0o755);
  return emcc;
}

/**
 * What set-up leaves in the cache folder.
 *
 * @param {string} version
 * @param {{ complete: boolean }} state
 */
function fakeCached(version, { complete }) {
  const prefix = join(folder, "layernorm", `emscripten-${version}`);
  fakeEmcc(join("layernorm", `emscripten-${version}`, "usr/share/emscripten"), version);
  if (complete) writeFileSync(join(prefix, "complete"), "");
}

/** @param {string[]} bins */
function environment(...bins) {
  return { XDG_CACHE_HOME: folder, PATH: bins.map((bin) => join(folder, bin)).join(delimiter) };
}

test("compareVersions orders by number, not by text", () => {
  assert.ok(compareVersions("6.0.10", "6.0.9") > 0);
  assert.ok(compareVersions("5.99.99", "6.0.0") < 0);
  assert.ok(compareVersions("3.10", "3.9.2") > 0);
  assert.equal(compareVersions("14", "14.0.0"), 0);
  assert.equal(compareVersions("6.0.5-git", "6.0.5"), 0);
});

test("findLavapipe takes the installed one if it is new enough, else the newest that was set up, else says why none", () => {
  const driver = { VK_ICD_FILENAMES: "installed.json" };
  const find = (/** @type {any} */ installed) => findLavapipe(environment(), installed);
  assert.deepEqual(find({}), { reason: "lavapipe is not installed: mesa-vulkan-drivers" });
  assert.equal(find({ driver, version: "25.2.1" }), driver);
  const old = { driver, version: "22.3.6" };
  assert.deepEqual(find(old), { reason: "lavapipe is 22.3.6, and Dawn needs 25.0 or newer" });
  for (const version of ["25.0.9", "25.0.10"])
    mkdirSync(join(folder, "layernorm", `lavapipe-${version}`), { recursive: true });
  const newest = join(folder, "layernorm/lavapipe-25.0.10/icd.json");
  assert.deepEqual(find(old), { VK_ICD_FILENAMES: newest });
});

const KEYRING = ["gpg", "pgp"].some((extension) =>
  existsSync(`/usr/share/keyrings/debian-archive-keyring.${extension}`),
);

test("a package list that cannot be fetched is told as that", {
  skip: !KEYRING && "no keyring of Debian",
}, async () => {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  // As apt-get is without a network: it warns, and fails only where it was told to.
  const aptGet = `#!/bin/sh
case "$*" in
indextargets*) echo "Debian|Debian|main|http://deb.debian.org/debian" ;;
*Error-Mode=any*) echo "E: Could not resolve host"; exit 100 ;;
*) echo "W: Could not resolve host" ;;
esac
`;
  writeFileSync(join(bin, "apt-get"), aptGet, { mode: 0o755 });
  writeFileSync(join(bin, "dpkg"), "#!/bin/sh\necho amd64\n", { mode: 0o755 });
  const { PATH } = process.env;
  process.env.PATH = `${bin}:${PATH}`;
  try {
    await assert.rejects(openSuite("sid", folder, log), (error) => {
      assert.ok(error instanceof SetupError);
      assert.match(error.message, /^apt-get update failed .*\n {2}E: Could not resolve host$/s);
      return true;
    });
  } finally {
    process.env.PATH = PATH;
  }
});

test("findEmscripten passes over an old emcc, says so, and takes the next", () => {
  const old = fakeEmcc("old", "3.1.6");
  const recent = fakeEmcc("recent", "6.1.0");
  const found = findEmscripten({ log, env: environment("old", "recent") });
  assert.equal(found?.emcc, recent);
  assert.equal(found?.emxx, join(dirname(recent), "em++"));
  assert.equal(found?.version, "6.1.0");
  assert.equal(found?.source, "PATH");
  assert.deepEqual(lines, [
    `Ignoring ${old}: it is Emscripten 3.1.6, and ${MINIMUM_VERSION} or newer is needed.`,
    `Emscripten 6.1.0: ${recent}`,
  ]);
});

test("findEmscripten looks under EMSDK", () => {
  const emcc = fakeEmcc("emsdk/upstream/emscripten", MINIMUM_VERSION);
  const found = findEmscripten({ log, env: { ...environment(), EMSDK: join(folder, "emsdk") } });
  assert.equal(found?.emcc, emcc);
  assert.equal(found?.source, "EMSDK");
});

test("findEmscripten takes the newest that was set up earlier, and none that is too old", () => {
  fakeCached("6.0.9", { complete: true });
  fakeCached("6.0.10", { complete: true });
  assert.equal(findEmscripten({ log, env: environment() })?.version, "6.0.10");
  rmSync(join(folder, "layernorm"), { recursive: true });
  fakeCached("3.1.6", { complete: true });
  assert.equal(findEmscripten({ log, env: environment() }), undefined);
});

test("findEmscripten takes no set-up that was interrupted", () => {
  fakeCached("6.0.9", { complete: false });
  assert.equal(findEmscripten({ log, env: environment() }), undefined);
  fakeCached("6.0.5", { complete: true });
  assert.equal(findEmscripten({ log, env: environment() })?.version, "6.0.5");
});

test("ensureEmscripten names emsdk and the version where it can set nothing up", async () => {
  await assert.rejects(ensureEmscripten({ log, env: environment() }), (error) => {
    assert.ok(error instanceof SetupError);
    assert.match(error.message, /emsdk/);
    assert.ok(error.message.includes(MINIMUM_VERSION));
    return true;
  });
});

/**
 * A machine on which clang 14 is there, and nothing else.
 *
 * @param {{ apt: boolean, lists?: boolean }} state
 */
function bareMachine({ apt, lists = true }) {
  return {
    isRoot: false,
    command: (/** @type {string} */ name) =>
      apt && name === "apt-get" ? "/usr/bin/apt-get" : undefined,
    exists: () => false,
    list: () => [],
    output: (/** @type {string} */ command, /** @type {string[]} */ args) => {
      if (command === "clang++" && args[0] === "--version") return "Debian clang version 14.0.6";
      if (command !== "apt-cache" || !lists) return "";
      const [, ...packages] = args;
      return packages.map((name) => `${name}:\n  Installed: (none)\n  Candidate: 1.0\n`).join("");
    },
  };
}

test("ensurePackages names one command to a user who is not root", async () => {
  const machine = bareMachine({ apt: true });
  await assert.rejects(
    ensurePackages({ groups: ["build", "test"], hasEmscripten: false, machine, log }),
    (error) => {
      assert.ok(error instanceof SetupError);
      assert.equal(
        error.message.split("\n").at(-1),
        "To install: sudo apt-get install --no-install-recommends cmake ninja-build python3" +
          " libclang-rt-14-dev clang-format clang-tidy googletest libsimde-dev patchelf",
      );
      return true;
    },
  );
});

test("ensurePackages names only what the group needs", async () => {
  const machine = bareMachine({ apt: true, lists: false });
  await assert.rejects(ensurePackages({ groups: ["build"], hasEmscripten: true, machine, log }), {
    message:
      /To install: sudo apt-get update && sudo apt-get install --no-install-recommends cmake ninja-build python3$/,
  });
});

test("ensurePackages lists the tools where there is no apt-get", async () => {
  const machine = bareMachine({ apt: false });
  await assert.rejects(
    ensurePackages({ groups: ["build"], hasEmscripten: false, machine, log }),
    (error) => {
      assert.ok(error instanceof SetupError);
      assert.match(error.message, /cmake .*\n.*ninja-build .*\n.*python3 .*\n.*emscripten .*emsdk/);
      assert.doesNotMatch(error.message, /sudo|patchelf/);
      return true;
    },
  );
});

test("ensurePackages goes on without the browsers, and says which tests are skipped", async () => {
  await ensurePackages({
    groups: ["browsers"],
    hasEmscripten: true,
    machine: bareMachine({ apt: true }),
    log,
  });
  const said = lines.join("\n");
  assert.match(said, /the tests in Chromium, skipped without it/);
  assert.match(said, /the tests in Firefox, skipped without it/);
  assert.match(
    said,
    /sudo apt-get install --no-install-recommends chromium firefox-esr webkit2gtk-driver xvfb xauth$/,
  );
});

test("run stops a program, and what it has started, when it is told to", async () => {
  const file = join(folder, "late");
  await assert.rejects(
    run("sh", ["-c", `(sleep 3; touch ${file}) & wait`], { signal: AbortSignal.timeout(300) }),
    (error) => error instanceof SetupError && /^sh -c failed \(stopped/.test(error.message),
  );
  await sleep(3500);
  assert.ok(!existsSync(file));
});

test("run gives what a program that may be stopped has printed", async () => {
  const signal = AbortSignal.timeout(60_000);
  assert.equal(await run("echo", ["a b"], { signal }), "a b");
  await assert.rejects(run("false", [""], { signal }), /exit code 1/);
});

test("the steps of npm test are meant to take 42 minutes, and the set-up two", () => {
  const minutes = STEPS.reduce((sum, step) => sum + step.minutes, 0);
  assert.ok(minutes > 0 && minutes <= 42, `${minutes}`);
});
