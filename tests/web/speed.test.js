// Speed by size, in real browsers with and without WebGPU and isolation. Budget: 90 s.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ISOLATION } from "../../tools/serve.js";
import { sizesOf } from "../../web/sections/speed/problem.js";
import { ENGINES, launch } from "../browser/browsers.js";
import { assertLooksFine } from "./looking.js";
import {
  changeLanguage,
  open,
  press,
  reach,
  says,
  servePage,
  startAndStop,
  textOf,
} from "./open_page.js";

/** @typedef {import("./open_page.js").Tab} Tab */

const PHONE = { width: 360 };

const ON_ONE_THREAD = ["wayPlain", "wayTyped", "wayPlan"];
const ON_GPU = ["wayGpu", "wayGpuCopied"];
const UNIT = 2 ** -23;

/** What a browser has, and what the page then says about it. */
const KINDS = ENGINES.flatMap((engine) => [
  {
    engine,
    name: `${engine.name} without WebGPU${engine.name === "firefox" ? ", isolated" : ""}`,
    options: { flags: ["--disable-features=WebGPU"], preferences: { "dom.webgpu.enabled": false } },
    headers: engine.name === "firefox" ? ISOLATION : {},
    gpu: false,
    note: /This browser has no WebGPU|found no graphics card/,
  },
  ...(engine.name === "chromium"
    ? [
        {
          engine,
          name: "chromium, isolated, with WebGPU on the processor",
          options: {
            flags: [
              "--enable-unsafe-webgpu",
              "--enable-features=Vulkan",
              "--use-webgpu-adapter=swiftshader",
            ],
          },
          headers: ISOLATION,
          gpu: true,
          note: /WebGPU runs on: .*swiftshader.*no graphics card but a program/i,
        },
      ]
    : []),
]);

/** Chooses up to 1 MiB and starts. @param {Tab} tab */
async function start(tab) {
  await press(tab, '#speed-largest label:has([value="1"])');
  await press(tab, "#speed-controls [data-run]");
}

/** @param {Tab} tab */
const tableOf = (tab) =>
  tab.$$eval("#speed-table tbody tr", (rows) =>
    rows.map((row) => ({
      way: row.getAttribute("data-way") ?? "",
      cells: [...row.children].map((cell) => cell.textContent ?? ""),
      wrong: row.querySelector(".wrong") !== null,
    })),
  );

for (const { engine, name, options, headers, gpu, note } of KINDS) {
  describe(`speed: ${name}`, { skip: engine.skip }, () => {
    /** @type {import("puppeteer-core").Browser} */
    let browser;
    /** @type {Awaited<ReturnType<typeof servePage>>} */
    let page;
    before(async () => {
      page = await servePage(headers);
      browser = await launch(engine, options);
    });
    after(async () => {
      await browser?.close();
      await page?.close();
    });

    test("every way at every size agrees before it is timed, and JSON holds it all", async (t) => {
      const { tab, messages } = await open(browser, `${page.url}?lang=en#speed`, PHONE);
      await reach(tab, "speed");
      await start(tab);
      await says(
        tab,
        "#speed-controls",
        /^All results agree\. At 341 × 768, “.+” is the fastest here: [\d.]+ times/,
      );
      const notes = await textOf(tab, "#speed-notes");
      assert.match(notes, note);
      const threads = /runs on (\d+) threads/.exec(notes)?.[1];
      t.diagnostic(notes.trim());
      // Isolated, and with more than one core, threads take part.
      const mayShare = await tab.evaluate(
        () => crossOriginIsolated && navigator.hardwareConcurrency > 1,
      );
      assert.equal(threads !== undefined, mayShare, notes);
      if (!mayShare) assert.match(notes, /Several threads take no part/);
      const ways = [...ON_ONE_THREAD, ...(threads ? ["wayThreads"] : []), ...(gpu ? ON_GPU : [])];

      const table = await tableOf(tab);
      assert.deepEqual(
        table.map(({ way }) => way),
        [...ways, "wayCopy"],
      );
      for (const { way, cells, wrong } of table) {
        const [rate, time] = cells.slice(1).map((text) => Number.parseFloat(text));
        const ms = cells[2].endsWith("µs") ? time / 1000 : time;
        assert.ok(Math.abs((rate * ms * 1e6) / (2 * 341 * 768 * 4) - 1) < 0.02, cells.join(", "));
        assert.equal(wrong, false, way);
      }

      await press(tab, "#speed-copy");
      await tab.waitForSelector("#speed-json:not([hidden])");
      const report = JSON.parse(
        await tab.$eval("#speed-json", (field) => /** @type {any} */ (field).value),
      );
      const sizes = sizesOf(768, 1);
      assert.deepEqual(
        report.results.map((/** @type {any} */ { rows, features }) => ({ rows, features })),
        sizes,
      );
      assert.equal(report.userAgent, await tab.evaluate(() => navigator.userAgent));
      assert.equal(report.crossOriginIsolated, headers === ISOLATION);
      for (const { copy, ways: timed } of report.results) {
        assert.ok(copy.ms > 0);
        assert.deepEqual(
          timed.map((/** @type {any} */ way) => way.name),
          ways,
        );
        for (const { name: way, ms, samples, difference } of timed) {
          assert.ok(ms > 0 && samples >= 3, way);
          const most = ON_GPU.includes(way) ? 8.5 : 3.5;
          if (way === "wayPlain") assert.equal(difference, 0);
          else assert.ok(difference > 0 && difference <= most * UNIT, `${way}: ${difference}`);
        }
      }

      // The chart has each way's rate and the copy's, at every size.
      await press(tab, "#speed-chart summary");
      await tab.waitForSelector("#speed-chart tbody tr");
      const charted = await tab.$$eval("#speed-chart tbody tr", (rows) =>
        rows.map((row) => [...row.children].map((cell) => Number(cell.textContent))),
      );
      assert.equal(charted.length, sizes.length);
      for (const [i, [, ...rates]] of charted.entries()) {
        const { copy, ways: timed } = report.results[i];
        const bytes = 2 * 4 * sizes[i].rows * sizes[i].features;
        const right = [...timed, copy].map((/** @type {any} */ { ms }) => bytes / (ms * 1e6));
        const near = rates.every((rate) => right.some((each) => Math.abs(rate / each - 1) < 0.01));
        assert.ok(rates.length === right.length && near, `${rates}, not ${right}`);
      }

      // Another size.
      await press(tab, '#speed-sizes label:has([value="0"])');
      assert.match(await textOf(tab, "#speed-table caption"), /^1 × 768 float32/);
      await changeLanguage(tab, "ru");
      await says(tab, "#speed-controls", /^Все результаты сходятся/);
      assert.match(await textOf(tab, "#speed-table tbody"), /Обычный JavaScript/);
      await assertLooksFine(tab, "dark");
      assert.deepEqual(
        messages.filter((message) => !/WebGPU|gpu/i.test(message)),
        [],
      );
      await tab.close();
    });

    test("stops at once when asked, and starts again", async () => {
      const { tab } = await open(browser, `${page.url}?lang=en#speed`, PHONE);
      await reach(tab, "speed");
      await start(tab);
      await tab.waitForSelector("#speed-results:not([hidden])", { timeout: 25_000 });
      await press(tab, "#speed-controls [data-stop]");
      await says(tab, "#speed-controls", /^Stopped/);
      assert.ok((await tableOf(tab)).length > 0);
      assert.equal(
        await tab.evaluate(() => document.activeElement?.hasAttribute("data-run")),
        true,
        "focus goes on from the button that is gone",
      );
      // A run that found nothing leaves what there is alive.
      await startAndStop(tab, "#speed-controls");
      await says(tab, "#speed-controls", /^Stopped/);
      await press(tab, '#speed-sizes label:has([value="0"])');
      assert.match(await textOf(tab, "#speed-table caption"), /^1 × 768 float32/);
      await press(tab, "#speed-copy");
      await tab.waitForSelector("#speed-json:not([hidden])");
      await changeLanguage(tab, "ru");
      assert.match(await textOf(tab, "#speed-table tbody"), /Обычный JavaScript/);
      await changeLanguage(tab, "en");
      await press(tab, "#speed-controls [data-run]");
      await says(tab, "#speed-controls", /^Measuring/);
      await tab.close();
    });
  });
}
