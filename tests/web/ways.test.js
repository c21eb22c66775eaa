// One tensor in several ways, in real browsers with and without WebGPU. Budget: 60 s.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ENGINES, launch } from "../browser/browsers.js";
import { changeLanguage, open, reach, servePage, textOf } from "./open_page.js";

const IN_WASM = ["wayPlain", "wayTyped", "wayPlan"];
const ON_GPU = ["wayGpu", "wayGpuCopied"];
const UNIT = 2 ** -23;

/** What a browser has, and what the page then says beneath the table. */
const KINDS = ENGINES.flatMap((engine) => [
  {
    engine,
    name: `${engine.name} without WebGPU`,
    options: { flags: ["--disable-features=WebGPU"], preferences: { "dom.webgpu.enabled": false } },
    ways: IN_WASM,
    note: /This browser has no WebGPU|found no graphics card/,
  },
  ...(engine.name === "chromium"
    ? [
        {
          engine,
          name: "chromium with WebGPU on the processor",
          options: {
            flags: [
              "--enable-unsafe-webgpu",
              "--enable-features=Vulkan",
              "--use-webgpu-adapter=swiftshader",
            ],
          },
          ways: [...IN_WASM, ...ON_GPU],
          note: /^WebGPU runs on: .*swiftshader.*no graphics card but a program/i,
        },
      ]
    : []),
]);

/** @param {import("puppeteer-core").Page} tab */
async function run(tab) {
  await tab.click("#ways-run");
  await tab.waitForFunction(
    () =>
      document.getElementById("ways-run")?.getAttribute("aria-disabled") === null &&
      document.querySelector("#ways-table tbody tr") !== null,
    { timeout: 60_000 },
  );
  const rows = await tab.$$eval("#ways-table tbody tr", (found) =>
    found.map((row) => ({
      way: row.getAttribute("data-way") ?? "",
      cells: [...row.children].map((cell) => cell.textContent ?? ""),
      wrong: row.querySelector(".wrong") !== null,
    })),
  );
  return { rows, status: await textOf(tab, "#ways-status"), note: await textOf(tab, "#ways-note") };
}

for (const { engine, name, options, ways, note: expectedNote } of KINDS) {
  describe(`one tensor in several ways: ${name}`, { skip: engine.skip }, () => {
    /** @type {import("puppeteer-core").Browser} */
    let browser;
    /** @type {Awaited<ReturnType<typeof servePage>>} */
    let page;
    before(async () => {
      page = await servePage();
      browser = await launch(engine, options);
    });
    after(async () => {
      await browser?.close();
      await page?.close();
    });

    test("shows times of all ways, which agree, and who takes part", async () => {
      const { tab, requests } = await open(browser, page.url, { width: 360 });
      await reach(tab, "ways");
      const before = requests.length;
      assert.equal(await textOf(tab, "#ways-table"), "");
      const { rows, status, note } = await run(tab);
      assert.ok(requests.length > before, "what only this panel needs is loaded with it");
      assert.deepEqual(
        rows.map(({ way }) => way),
        ways,
      );
      for (const { way, cells, wrong } of rows) {
        const [, rate, time, difference] = cells.map((text) =>
          Number.parseFloat(text.replace("−", "-")),
        );
        assert.ok(rate > 0 && time > 0, `${way}: ${cells.join(", ")}`);
        // Every call reads and writes 512 * 768 float32.
        assert.ok(Math.abs((rate * time * 1e6) / (2 * 512 * 768 * 4) - 1) < 0.02, cells.join(", "));
        const most = ON_GPU.includes(way) ? 8.5 : 3.5;
        if (way === "wayPlain") assert.equal(cells[3], "—");
        else assert.ok(difference > 0 && difference <= most * UNIT, `${way}: ${cells[3]}`);
        assert.equal(wrong, false, way);
      }
      assert.match(
        status,
        /^All results agree\. Fastest here is “.+”: [\d.]+ times the plain loop/,
      );
      assert.match(note, expectedNote);
      const [scrollWidth, innerWidth] = await tab.evaluate(() => [
        document.documentElement.scrollWidth,
        window.innerWidth,
      ]);
      assert.ok(scrollWidth <= innerWidth, `${scrollWidth} px on ${innerWidth}`);
      await changeLanguage(tab, "ru");
      assert.match(await textOf(tab, "#ways-status"), /^Все результаты сходятся/);
      assert.match(await textOf(tab, "#ways-table tbody"), /Обычный JavaScript/);
      await tab.close();
    });
  });
}
