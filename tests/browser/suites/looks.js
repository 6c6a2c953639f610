// Light, dark, narrow and printed.

import assert from "node:assert/strict";

import { PAGES, picture } from "../stage.js";

const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

/** The colour of the text of charts. */
const chartColours = (page) => page.evaluate(() => Kadenz.theme.colours().ink);

export const tests = {
  "the page follows the system, and the toggle overrules it": async ({ open }) => {
    const page = await open("check", { colorScheme: "dark" });
    const dark = await background(page);
    const inkOnDark = await chartColours(page);
    await picture(page, "check-dark");
    const toggle = page.locator("#theme-toggle");
    assert.equal(await toggle.getAttribute("aria-label"), "Switch to light colours");
    await toggle.click();
    assert.equal(await toggle.getAttribute("aria-label"), "Switch to dark colours");
    assert.notEqual(await background(page), dark);
    assert.notEqual(await chartColours(page), inkOnDark);
    await picture(page, "check-light");
    await page.reload();
    await page.waitForSelector("html[data-charts=ready]");
    assert.notEqual(await background(page), dark, "the choice outlives the page");
    await toggle.click();
    assert.equal(await background(page), dark);
    await page.emulateMedia({ colorScheme: "light" });
    assert.equal(await background(page), dark, "the choice stands when the system changes");
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  },

  "no page scrolls sideways on a telephone": async ({ open }) => {
    for (const name of PAGES) {
      for (const width of [390, 320]) {
        const page = await open(name, { viewport: { width, height: 844 }, hasTouch: true, isMobile: true });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `${name} at ${width}: ${wide}`);
        if (width === 390) await picture(page, `${name}-mobile`);
        await page.context().close();
      }
    }
  },

  "charts follow the width of the window": async ({ open }) => {
    const page = await open("check");
    await page.setViewportSize({ width: 700, height: 900 });
    // They follow in a frame, which a busy machine may draw late.
    await page.waitForFunction(() =>
      document.documentElement.clientWidth <= 700 &&
      Kadenz.figures.every(({ plot, chart }) => chart.getWidth() === plot.clientWidth));
    await page.context().close();
  },

  "print is light, without controls, and every chart fits the paper": async ({ open }) => {
    const page = await open("check", { colorScheme: "dark" });
    const pdf = await page.pdf({ format: "A4", printBackground: true });
    assert.ok(pdf.length > 50_000, `${pdf.length} bytes`);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    const onPaper = await page.evaluate(() =>
      Kadenz.figures.map(({ chart, plot }) => [chart.getHeight(), plot.clientHeight]));
    for (const [chart, place] of onPaper) assert.equal(chart, place, "a chart as high as its place");
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
    assert.equal(await page.locator("#theme-toggle").isVisible(), false);
    const widths = await page.evaluate(() => Kadenz.figures.map(({ chart }) => chart.getWidth()));
    for (const width of widths) assert.ok(width <= 700, `${width}`);
    await picture(page, "check-print");
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), undefined);
    await page.context().close();
  },

  "pages for people to look at": async ({ open }) => {
    for (const name of ["day", "hostile"]) {
      const page = await open(name);
      await picture(page, name);
      await page.context().close();
    }
  },
};
