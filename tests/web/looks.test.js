// The page at both widths, in both themes and languages, in real browsers: layout, accessibility, requests, size.
// Budget: 40 s.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import en from "../../web/strings/en.js";
import { ENGINES, launch } from "../browser/browsers.js";
import { findBroken, findOverflow, violations } from "./looking.js";
import { elsewhere, open, reachAll, servePage, textOf, usePage } from "./open_page.js";

const BUDGET_KB = 120;

const LOOKS = ["en", "ru"].flatMap((language) =>
  [1280, 360].flatMap((width) =>
    ["light", "dark"].map((theme) => ({ language, width, theme, settings: "" })),
  ),
);
/** What could burst: the longest vectors, numbers in powers of ten, and every complaint at once. */
const LONG = "-12345.6789,".repeat(12).slice(0, -1);
LOOKS.push({
  language: "ru",
  width: 360,
  theme: "light",
  settings: `#x1=${LONG}&x2=1e-7,-1.2345678901234567e-100,-0.12345678901234567&x3=1e120,-2e120&weight=-1.25e-9&eps=1.3e-11`,
});
// Powers of ten in every place of step 4.
LOOKS.push({
  language: "en",
  width: 360,
  theme: "light",
  settings: "#weight=-1.23456789e-150&bias=-1.23456789e-150&x1=1e9,1,1,1",
});
// The block's other controls, and its longest notes.
for (const settings of ["#norm=batch&items=1&eps=1.3e-11", "#norm=group&cell=3,4,3&c=-0.7"]) {
  LOOKS.push({ language: "ru", width: 360, theme: "dark", settings });
}

/**
 * Latin words that the Russian page has: names, and what is typed or read as code.
 */
const LATIN_ALLOWED = new Set(
  `LayerNorm RMSNorm Norm Layer Normalization RMS Root Mean Square What is Pre LN Post BERT GPT AdaIN DiT T5 PyTorch Keras
   Flax WebAssembly SIMD JavaScript C layernorm float32 H EN RU e x y r i n x1 x2 x3
   BatchNorm InstanceNorm GroupNorm scale shift c WebGPU
   randn Linear cpu wasm N L G l g uPlot LSTM ReLU LLaMA Mistral TensorFlow js Adam MNIST Node v20
   y1 y2 y3 E NaN float16 JSON`.split(/\s+/),
);

for (const engine of ENGINES) {
  describe(`the page's looks in ${engine.name}`, { skip: engine.skip }, () => {
    const page = usePage(engine);

    for (const { language, width, theme, settings } of LOOKS) {
      const name = `${language}, ${width} px, ${theme}${settings && `, ${settings.slice(0, 20)}`}`;
      test(`fits, is accessible and says nothing to the console: ${name}`, async () => {
        const address = `${page.url}?lang=${language}${settings}`;
        const { tab, messages, requests } = await open(page.browser, address, { width });
        await tab.click(`.themes label:has([value="${theme}"])`);
        await reachAll(tab);
        const { scheme, lang } = await tab.evaluate(() => ({
          scheme: getComputedStyle(document.documentElement).colorScheme,
          lang: document.documentElement.lang,
        }));
        assert.deepEqual({ scheme, lang }, { scheme: theme, lang: language });
        assert.deepEqual(await findOverflow(tab), []);
        assert.deepEqual(await findBroken(tab), []);
        assert.deepEqual(await violations(tab), []);
        assert.deepEqual(messages, []);
        assert.deepEqual(elsewhere(requests, page.url), []);
        await tab.close();
      });
    }

    test("does not scroll sideways, whatever the numbers", async () => {
      const settings = "#x1=-123456789.123456,1,2,3&weight=-123456789.123456";
      const { tab } = await open(page.browser, `${page.url}?lang=en${settings}`, { width: 360 });
      const width = await tab.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 360, `${width} px`);
      await tab.close();
    });

    test("has no word of English in the Russian page, its labels and its complaints", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=ru`);
      await reachAll(tab);
      const texts = await tab.evaluate(() => {
        const skipped = "code, script, style, noscript, [lang=en], math";
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        const found = [document.title];
        while (walker.nextNode()) {
          if (!walker.currentNode.parentElement?.closest(skipped)) {
            found.push(walker.currentNode.textContent ?? "");
          }
        }
        for (const element of document.querySelectorAll("[aria-label], [content], [title]")) {
          if (element.closest("[lang=en], [http-equiv], [name=viewport], [name=color-scheme]"))
            continue;
          for (const attribute of ["aria-label", "content", "title"]) {
            found.push(element.getAttribute(attribute) ?? "");
          }
        }
        return found;
      });
      const words = texts.join(" ").match(/[A-Za-z][A-Za-z0-9]*/g) ?? [];
      assert.deepEqual(
        [...new Set(words)].filter((word) => !LATIN_ALLOWED.has(word)),
        [],
      );
      assert.match(await textOf(tab, "h1"), /Нормализация/);
      await tab.close();
    });

    test("tells the buttons of a section apart by their names", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      await reachAll(tab);
      const same = await tab.$$eval("article > section, #settings", (sections) =>
        sections.flatMap((section) => {
          const names = [...section.querySelectorAll("button, summary")].map((control) => {
            const described = control.getAttribute("aria-describedby") ?? "";
            const by = document.getElementById(described)?.textContent ?? "";
            return `${section.id}: ${control.textContent} ${by}`;
          });
          return names.filter((name, i) => names.indexOf(name) !== i);
        }),
      );
      assert.deepEqual(same, []);
      await tab.close();
    });

    test("the skip link comes first", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      await tab.keyboard.press("Tab");
      assert.match(await tab.evaluate(() => document.activeElement?.textContent ?? ""), /^Skip/);
      await tab.keyboard.press("Enter");
      assert.equal(await tab.evaluate(() => document.activeElement?.id), "mean");
      await tab.close();
    });

    test("shows where the focus is, and takes it to every control", async () => {
      const { tab } = await open(page.browser, `${page.url}?lang=en`);
      await reachAll(tab);
      const seen = new Set();
      for (let i = 0; i < 90; i++) {
        await tab.keyboard.press("Tab");
        const focus = await tab.evaluate(() => {
          const element = document.activeElement;
          if (element === null || element === document.body) return undefined;
          // Most radio buttons are drawn by the words beside them.
          const drawn = element.matches("[type=radio]") ? element.nextElementSibling : element;
          const { outlineStyle, outlineWidth } = getComputedStyle(drawn ?? element);
          const name =
            element.id ||
            element.getAttribute("href") ||
            element.getAttribute("name") ||
            element.getAttribute("data-cell") ||
            element.textContent;
          return { name, outline: outlineStyle === "none" ? 0 : Number.parseFloat(outlineWidth) };
        });
        if (focus === undefined) break;
        seen.add(focus.name);
        assert.ok(focus.outline >= 2, `${focus.name} has focus and no outline`);
      }
      for (const id of [
        ...["x1", "x2", "x3", "weight", "bias", "eps", "eps-slider"],
        ...["norm", "items", "perPosition", "other-numbers", "1,1,1", "condition"],
      ]) {
        assert.ok(seen.has(id), `${id} is not reached: ${[...seen].join(", ")}`);
      }
      await tab.close();
    });
  });
}

test("the page has its text and formulas before the script has run", async () => {
  const server = await servePage();
  const html = await (await fetch(server.url)).text();
  await server.close();
  for (const key of ["heading", "lede", "pending", "meanText", "t5Right"]) {
    assert.ok(html.includes(en[key] ?? key), key);
  }
  assert.ok(!html.includes("…</"), "a placeholder is left");
  assert.equal(html.match(/<math/g)?.length, 7);
  assert.doesNotMatch(html, / style=/);
});

test("the page follows the system's theme, and moves nothing if that is asked", async (t) => {
  const [chromium] = ENGINES;
  if (chromium === undefined || chromium.skip) return t.skip("chromium is not installed");
  const [browser, server] = await Promise.all([launch(chromium), servePage()]);
  try {
    const { tab } = await open(browser, `${server.url}?lang=en`);
    const look = () =>
      tab.evaluate(() => ({
        background: getComputedStyle(document.body).backgroundColor,
        scroll: getComputedStyle(document.documentElement).scrollBehavior,
      }));
    await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
    assert.deepEqual(await look(), { background: "rgb(20, 23, 28)", scroll: "smooth" });
    await tab.emulateMediaFeatures([
      { name: "prefers-color-scheme", value: "light" },
      { name: "prefers-reduced-motion", value: "reduce" },
    ]);
    assert.deepEqual(await look(), { background: "rgb(253, 253, 251)", scroll: "auto" });
  } finally {
    await browser.close();
    await server.close();
  }
});

test(`the page's first view is below ${BUDGET_KB} KB`, async (t) => {
  const engine = ENGINES.find(({ skip }) => !skip);
  if (engine === undefined) return t.skip("no browser is installed");
  const [browser, server] = await Promise.all([launch(engine), servePage()]);
  try {
    for (const language of ["en", "ru"]) {
      const { tab, requests } = await open(browser, `${server.url}?lang=${language}`);
      await tab.close();
      let total = 0;
      const parts = [];
      for (const address of new Set(requests)) {
        const bytes = Buffer.from(await (await fetch(address)).arrayBuffer());
        // Fonts are compressed already: a server sends them as they are.
        const size = address.endsWith(".woff2")
          ? bytes.length
          : gzipSync(bytes, { level: 9 }).length;
        total += size;
        parts.push(`${new URL(address).pathname} ${(size / 1024).toFixed(1)}`);
      }
      t.diagnostic(`${language}: ${(total / 1024).toFixed(1)} KB gzip (${parts.join(", ")})`);
      assert.ok(total < BUDGET_KB * 1024, `${total} bytes: ${parts.join(", ")}`);
    }
  } finally {
    await browser.close();
    await server.close();
  }
});
