// The page for users of a keyboard or a screen reader, and for users with weak eyesight.

import assert from "node:assert/strict";

/** Presses Tab until `selector` has the focus; returns the number of steps. */
const tabTo = async (page, selector) => {
  for (let steps = 1; steps < 200; steps += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return steps;
  }
  return assert.fail(`Tab does not reach ${selector}`);
};

/** Runs in the page: texts whose contrast with their background is below WCAG AA. */
const pale = () => {
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const weak = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const unseen = element.closest("script, noscript, .skip, details:not([open]) > :not(summary)");
    if (!texts.currentNode.data.trim() || unseen || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const [one, other] = [channels(style.color), behind(element)].map(luminance);
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const large = parseFloat(style.fontSize) >= 24;
    if (contrast < (large ? 3 : 4.5)) {
      weak.push(`${contrast.toFixed(2)} ${texts.currentNode.data.trim().slice(0, 40)}`);
    }
  }
  return weak;
};

export const tests = {
  "Tab reaches the toggle and the copy button, and both work by key": async ({ open }) => {
    const page = await open("check");
    await tabTo(page, "#theme-toggle");
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(outline, "solid");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await tabTo(page, "button.copy");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".copy").innerText.includes("Copied"));
    assert.equal(
      await page.evaluate(() => navigator.clipboard.readText()),
      "kadenz check --rate 1kHz --deadline 400us --duration 60s --out robot/check",
    );
    await page.context().close();
  },

  "the first Tab offers to skip the navigation": async ({ open }) => {
    const page = await open("check");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.innerText), "Skip to the report");
    await page.context().close();
  },

  "headings descend, tables have captions, charts have words": async ({ open }) => {
    for (const name of ["check", "missed", "compare", "trend", "hostile", "network", "night", "matrix", "partial"]) {
      const page = await open(name);
      const found = await page.evaluate(() => ({
        levels: [...document.querySelectorAll("h1, h2, h3")].map((h) => Number(h.tagName[1])),
        bare: [...document.querySelectorAll("table")].filter((t) => !t.caption).length,
        charts: [...document.querySelectorAll(".plot")].map((plot) => plot.getAttribute("aria-label")),
        nameless: [...document.querySelectorAll("button")].filter(
          (button) => !(button.getAttribute("aria-label") ?? button.textContent).trim(),
        ).length,
        ids: [...document.querySelectorAll("[id]")].map((element) => element.id),
      }));
      assert.equal(found.levels.filter((level) => level === 1).length, 1);
      found.levels.reduce((before, level) => {
        assert.ok(level <= before + 1, `${name}: h${level} after h${before}`);
        return level;
      });
      assert.equal(found.bare, 0);
      assert.ok(found.charts.length >= (["matrix", "partial"].includes(name) ? 3 : 4));
      for (const words of found.charts) assert.ok(words.length > 60, words);
      assert.equal(found.nameless, name === "hostile" ? found.nameless : 0);
      assert.equal(new Set(found.ids).size, found.ids.length, "an id stands twice");
      await page.context().close();
    }
  },

  "every text stands out from its background as WCAG AA asks": async ({ open }) => {
    for (const name of ["check", "missed", "compare", "trend", "hostile", "sparse", "network", "night", "matrix", "partial"]) {
      const page = await open(name);
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        assert.deepEqual(await page.evaluate(pale), [], `${name} in ${colorScheme}`);
      }
      await page.context().close();
    }
  },

  "without scripts the figures still stand": async ({ open }) => {
    const page = await open("check", { javaScriptEnabled: false, wait: false });
    assert.match(await page.locator("h1").innerText(), /kept on Intel/);
    assert.match(await page.locator("#series").innerText(), /99\.9/);
    assert.ok(await page.locator("#percentiles noscript").first().isVisible());
    await page.context().close();
  },
};
