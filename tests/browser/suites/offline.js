// The file is complete in itself.

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { PAGES } from "../stage.js";

const MAX_BYTES = 8_000_000;

export const tests = {
  "every page opens offline, asks for nothing and complains of nothing": async ({ open }) => {
    for (const name of PAGES) {
      const page = await open(name);
      await page.mouse.wheel(0, 20_000);
      await page.waitForTimeout(100);
      assert.deepEqual(page.requests, [page.address], name);
      assert.deepEqual(page.complaints, [], name);
      await page.context().close();
    }
  },

  "a policy in the page forbids every request": async ({ open }) => {
    const page = await open("check", { offline: false });
    const refused = await page.evaluate(() =>
      fetch("http://127.0.0.1:9/").then(() => "answered", (error) => String(error)));
    assert.match(refused, /Failed to fetch/);
    assert.match(page.complaints.join(), /Content Security Policy/);
    await page.context().close();
  },

  "a day of 80 million samples in 86,400 intervals stays under 8 MB": ({ folder }, context) => {
    const path = join(folder, "day.html");
    const { size } = statSync(path);
    assert.ok(size < MAX_BYTES, `${size} bytes`);
    const text = readFileSync(path, "utf8");
    const data = JSON.parse(/id="kadenz-data">(.*)<\/script>/.exec(text)[1]);
    assert.equal(data.series.length, 4);
    for (const series of data.series) {
      assert.equal(series.extremes.max.length, 86_400);
      assert.ok(series.count > 79_000_000);
    }
    context.diagnostic(`day.html has ${size} bytes`);
  },

  "the time to open the page of a day is printed, not judged": async ({ open }, context) => {
    const times = [];
    for (let n = 0; n < 3; n += 1) {
      const page = await open("day", { wait: false });
      await page.waitForSelector("html[data-charts=ready]", { timeout: 120_000 });
      times.push(await page.evaluate(() => {
        const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
        return `text after ${Math.round(paint)} ms, all charts after ${Math.round(Kadenz.readyAfterMs)} ms`;
      }));
      await page.context().close();
    }
    context.diagnostic(`day.html: ${times.join("; ")}`);
  },
};
