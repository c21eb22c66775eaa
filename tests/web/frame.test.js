// The page's frame in real browsers: contents, links to sections, sections that are loaded when they are reached. Budget: 60 s.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ENGINES } from "../browser/browsers.js";
import { layOut } from "./looking.js";
import {
  changeLanguage,
  open,
  reach,
  reachAll,
  settled,
  textOf,
  usePage,
  waitForHash,
} from "./open_page.js";

/** @typedef {import("./open_page.js").Tab} Tab */

/** The first section that is loaded when it is reached. */
const LATER = "rms-cost";

/** @param {Tab} tab @param {string} id */
const isThere = (tab, id) => tab.waitForSelector(`#${id}[data-there]`, { timeout: 20_000 });

/** How far below the window's top a section begins, once it stays there. @param {Tab} tab @param {string} id */
const topOf = (tab, id) =>
  tab.evaluate(async (name) => {
    const top = () => document.getElementById(name)?.getBoundingClientRect().top ?? Number.NaN;
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    for (let still = 0, last = Number.NaN; still < 20; ) {
      await frame();
      still = top() === last ? still + 1 : 0;
      last = top();
    }
    return top();
  }, id);

for (const engine of ENGINES) {
  describe(`the page's frame in ${engine.name}`, { skip: engine.skip }, () => {
    const page = usePage(engine);

    test("lists every section in the contents, in the page's order and under its own heading", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      const [listed, headed] = await tab.evaluate(() => [
        [...document.querySelectorAll("#contents a")].map((link) => [
          link.getAttribute("href"),
          link.textContent,
        ]),
        [...document.querySelectorAll("article > section")].map((section) => [
          `#${section.id}`,
          section.querySelector("h2 [data-t]:not(.unseen):not(.step *), h2[data-t]")?.textContent,
        ]),
      ]);
      assert.deepEqual(listed, headed);
      await tab.close();
    });

    test("knows how high every section is before it was on the screen, and again in another language and width", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      const heights = () =>
        tab.$$eval("article > section:not([data-later])", (sections) =>
          sections.map((section) => Math.round(section.getBoundingClientRect().height)),
        );
      const changes = [
        () => changeLanguage(tab, "ru"),
        () => tab.setViewport({ width: 700, height: 800 }),
        () => tab.setViewport({ width: 360, height: 800 }),
      ];
      for (const change of [async () => {}, ...changes]) {
        await change();
        await sleep(300);
        await settled(tab);
        const known = await heights();
        await layOut(tab, true);
        assert.deepEqual(known, await heights());
        await layOut(tab, false);
      }
      await tab.close();
    });

    test("draws pictures and charts for the window's width, wherever they stand", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      await reachAll(tab);
      for (const width of [700, 360, 1280]) {
        await tab.setViewport({ width, height: 800 });
        await sleep(300);
        await settled(tab);
        const wrong = await tab.evaluate(() => {
          const charts = [...document.querySelectorAll(".chart-plot")].map((plot) => ({
            drawn: plot.querySelector(".u-wrap")?.clientWidth,
            room: plot.clientWidth,
          }));
          const pictures = [...document.querySelectorAll("#eps-plot svg")].map((svg) => ({
            drawn: Number(svg.getAttribute("width")),
            room: svg.parentElement?.clientWidth,
          }));
          return [...charts, ...pictures].filter(({ drawn, room }) => drawn !== room);
        });
        assert.deepEqual(wrong, [], `${width} px`);
      }
      await tab.close();
    });

    test("draws what is on the screen first", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      await tab.$eval("#epsilon", (section) => section.scrollIntoView({ behavior: "instant" }));
      await settled(tab);
      const order = await tab.evaluate(async () => {
        /** @type {Set<string | undefined>} */
        const seen = new Set();
        const observer = new MutationObserver((records) => {
          for (const { target } of records) {
            seen.add(/** @type {Element} */ (target).closest("section")?.id);
          }
        });
        observer.observe(document, { childList: true, subtree: true });
        document
          .querySelector('[data-eps="1e-3"]')
          ?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
        do await new Promise((done) => requestAnimationFrame(done));
        while (document.documentElement.dataset.drawing !== undefined);
        observer.disconnect();
        return [...seen];
      });
      const at = (/** @type {string} */ id) => order.indexOf(id);
      assert.ok(at("epsilon") >= 0 && at("epsilon") < at("picture"), `${order}`);
      for (const id of ["normalize", "rms", "block", "conditional"]) assert.ok(at(id) > 0, id);
      await tab.close();
    });

    test("loads a section's code and strings when it is reached, in either language", async () => {
      const { tab, requests } = await open(page.browser, `${page.url}?lang=en`);
      const count = requests.length;
      assert.equal(await tab.$(`#${LATER}[data-there]`), null);
      await reach(tab, LATER);
      assert.ok(requests.length > count);
      await changeLanguage(tab, "ru");
      assert.match(await textOf(tab, `#${LATER} .later`), /[а-яё]{3}/);
      await tab.close();
    });

    test("goes to the section that the address names, with the settings beside it", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en#${LATER}&x1=1,2`);
      await isThere(tab, LATER);
      const top = await topOf(tab, LATER);
      assert.ok(top >= 0 && top < 120, `${top} px`);
      assert.equal(await tab.$eval("#x1", (field) => /** @type {any} */ (field).value), "1, 2");
      await tab.close();

      for (const id of ["rms", "claims"]) {
        const { tab: other } = await open(page.browser, `${page.url}?lang=en#${id}`, {
          width: 360,
        });
        await other.waitForFunction((name) => document.activeElement?.id === name, {}, id);
        const place = await topOf(other, id);
        assert.ok(place >= 0 && place < 120, `${id}: ${place} px`);
        await other.close();
      }
    });

    test("goes to any section when the address changes", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=ru`, { width: 360 });
      const ids = await tab.$$eval("article > section", (found) => found.map(({ id }) => id));
      assert.ok(ids.length > 20);
      for (const id of ids) {
        await tab.evaluate((name) => {
          location.hash = name;
        }, id);
        await tab.waitForFunction((name) => document.activeElement?.id === name, {}, id);
        const top = await topOf(tab, id);
        // The last may be too short to reach the top.
        assert.ok(top >= 0 && (top < 120 || id === ids.at(-1)), `${id}: ${top} px`);
      }
      await tab.close();
    });

    test("follows the contents by keyboard, names the place in the address, and goes back", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      await tab.focus(`#contents [href="#${LATER}"]`);
      await tab.keyboard.press("Enter");
      await waitForHash(tab, `#${LATER}`);
      await isThere(tab, LATER);
      const top = await topOf(tab, LATER);
      assert.ok(top >= 0 && top < 120, `${top} px`);
      assert.equal(await tab.evaluate(() => document.activeElement?.id), LATER);
      await tab.waitForSelector(`#contents [href="#${LATER}"][aria-current]`);
      await tab.goBack();
      await waitForHash(tab, "");
      // The address is written anew a while after the numbers were read from it.
      await sleep(500);
      assert.equal(await tab.evaluate(() => location.hash), "");
      await tab.close();
    });

    test("says in words that a section could not be loaded, and loads it after a reload", async () => {
      let isBroken = true;
      const { tab } = await open(page.browser, `${page.url}?lang=en#${LATER}`, {
        prepare: async (page) => {
          await page.setRequestInterception(true);
          page.on("request", (request) => {
            const isSection = /\/section-/.test(request.url());
            void (isSection && isBroken ? request.abort() : request.continue());
          });
        },
      });
      await tab.waitForSelector(`#${LATER} .failure`);
      assert.match(await textOf(tab, `#${LATER} .failure`), /could not be loaded/);
      isBroken = false;
      await Promise.all([
        tab.waitForNavigation(),
        tab.$eval(`#${LATER} .failure button`, (button) => /** @type {any} */ (button).click()),
      ]);
      await tab.waitForSelector(":root[data-ready]");
      await reach(tab, LATER);
      await tab.close();
    });
  });
}
