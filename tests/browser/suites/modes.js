// Recurring modes: a row a mode, with a picture of its occurrences.

import assert from "node:assert/strict";

import { picture } from "../stage.js";

export const tests = {
  "each mode is told in words and drawn": async ({ open }) => {
    const page = await open("night");
    const rows = await page.locator(".modes tbody tr").evaluateAll((all) =>
      all.map((row) => ({
        words: row.querySelector("th").innerText.replaceAll("\u00a0", " "),
        corners: row.querySelector(".shape polyline").points.length,
        height: row.querySelector(".shape").getBoundingClientRect().height,
      })));
    assert.equal(rows.length, 3);
    for (const what of [/^every 2 min a 1\d\.\d s phase/, /^every 5\.00 s one packet/, /^every 4 min a ramp/]) {
      const row = rows.find(({ words }) => what.test(words));
      assert.ok(row, `${what} in ${JSON.stringify(rows)}`);
      assert.ok(row.corners >= 10 && row.height > 20, JSON.stringify(row));
    }
    await page.locator("nav a", { hasText: "Modes" }).click();
    assert.ok(page.url().endsWith("#modes"));
    await picture(page, "night");
    await page.context().close();
  },

  "a page that was not searched has no section of modes": async ({ open }) => {
    const page = await open("check");
    assert.equal(await page.locator("#modes").count(), 0);
    await page.context().close();
  },
};
