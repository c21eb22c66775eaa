// The page on paper, in Chromium. Budget: 20 s.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ENGINES } from "../browser/browsers.js";
import { findOverflow } from "./looking.js";
import { open, press, reachAll, settled, usePage } from "./open_page.js";

const [CHROMIUM] = ENGINES;
/** As wide as a sheet of A4 between its margins, in CSS pixels. */
const SHEET = 680;
/** What can only be pressed or moved. */
const CONTROLS = "button, input[type=range], [name=theme], .bar, #contents, [name=seed], progress";

describe("the page on paper", { skip: CHROMIUM.skip }, () => {
  const page = usePage(CHROMIUM);

  for (const language of ["en", "ru"]) {
    test(`is light, whole and without controls: ${language}`, async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=${language}`);
      await press(tab, "[name=theme][value=dark]");
      await reachAll(tab);
      /** Of each chart, how many pixels have the color that grids have where the page is light. */
      const lightGrids = () =>
        tab.$$eval(".u-wrap canvas", (canvases) =>
          canvases.map((canvas) => {
            const { width, height } = /** @type {HTMLCanvasElement} */ (canvas);
            const context = /** @type {HTMLCanvasElement} */ (canvas).getContext("2d");
            const data = new Uint32Array(
              context?.getImageData(0, 0, width, height).data.buffer ?? new ArrayBuffer(0),
            );
            return data.filter((pixel) => pixel === 0xffd4dcdc).length;
          }),
        );
      await settled(tab);
      assert.ok((await lightGrids()).every((count) => count === 0));
      await tab.evaluate(() => dispatchEvent(new Event("beforeprint")));
      await tab.emulateMediaType("print");
      await tab.setViewport({ width: SHEET, height: 900 });
      const grids = await lightGrids();
      assert.ok(grids.length >= 7 && grids.every((count) => count > 100), grids.join());
      await settled(tab);
      assert.deepEqual(await findOverflow(tab), []);
      const found = await tab.evaluate((controls) => {
        const visible = (/** @type {string} */ selector) =>
          [...document.querySelectorAll(selector)]
            .filter((element) => element.checkVisibility())
            .map(({ outerHTML }) => outerHTML.slice(0, 60));
        return {
          background: getComputedStyle(document.body).backgroundColor,
          controls: visible(controls).filter((html) => !html.includes('role="tab"')),
          sections: [...document.querySelectorAll("article > section")]
            .filter((section) => !section.checkVisibility({ contentVisibilityAuto: true }))
            .map(({ id }) => id),
          note: visible(".on-paper"),
        };
      }, CONTROLS);
      assert.deepEqual(found, {
        background: "rgb(253, 253, 251)",
        controls: [],
        sections: [],
        note: [],
      });
      await tab.emulateMediaType();
      await tab.evaluate(() => dispatchEvent(new Event("afterprint")));
      assert.equal(await tab.evaluate(() => document.documentElement.dataset.theme), "dark");
      await tab.setViewport({ width: 1280, height: 900 });
      await settled(tab);
      const pdf = Buffer.from(await tab.pdf({ format: "a4" })).toString("latin1");
      const pages = pdf.match(/\/Type \/Page\b/g)?.length ?? 0;
      assert.ok(pages > 8 && pages < 20, `${pages} pages`);
      assert.equal(await tab.evaluate(() => document.documentElement.dataset.theme), "dark");
      await tab.close();
    });
  }

  test("leaves out sections that were not opened, and says so", async () => {
    const { tab } = await open(page.browser, `${page.url}?lang=en`);
    await tab.emulateMediaType("print");
    const shown = await tab.$$eval("#speed, #errata, .on-paper", (elements) =>
      elements.filter((element) => element.checkVisibility()).map(({ id }) => id),
    );
    assert.deepEqual(shown, ["errata", ""]);
    await tab.close();
  });
});
