// Another deadline: misses are counted again from the histograms in the page, and the address keeps the deadline.

import assert from "node:assert/strict";

const plain = (text) => text.replaceAll("\u00a0", " ").trim();
const rows = async (page) =>
  (await page.locator("#what-if tbody tr").allInnerTexts()).map((text) => plain(text).split(/\s*[\t\n]\s*/));
const misses = async (page, row) => (await rows(page))[row][2];

export const tests = {
  "the slider starts at the deadline of the run and its own figures": async ({ open }) => {
    const page = await open("check");
    assert.equal(plain(await page.locator("#what-if output").innerText()), "400 µs");
    assert.deepEqual(await rows(page), [
      ["realtime", "kept", "0", "0 %", "60,000"],
      ["ordinary", "missed", "226", "0.377 %", "60,000"],
    ]);
    assert.equal(await page.locator("#what-if-note").innerText(), "As it was recorded.");
    assert.equal(await page.locator("#what-if .reset").isVisible(), false);
    await page.context().close();
  },

  "keys move it, misses are recounted, the charts and the address follow": async ({ open }) => {
    const page = await open("check");
    const slider = page.getByLabel("Deadline", { exact: true });
    await slider.focus();
    const before = Number(await misses(page, 1));
    for (let n = 0; n < 12; n += 1) await page.keyboard.press("ArrowLeft");
    assert.ok(Number((await misses(page, 1)).split(" ")[0]) > before, "fewer µs, more misses");
    assert.match(plain(await page.locator("#what-if-note").innerText()), /^Recounted from the histogram, resolution [\d.]+ %/);
    const shown = plain(await page.locator("#what-if output").innerText());
    assert.equal(plain(await slider.getAttribute("aria-valuetext")), shown);
    assert.match(page.url(), new RegExp(`#deadline=${parseFloat(shown)}us$`));
    // The charts follow in a frame, which a busy machine may draw late.
    await page.waitForFunction((limit) => {
      const { series } = Kadenz.figures[0].chart.getOption();
      const lines = series.flatMap(({ markLine }) => markLine?.data ?? []);
      return lines.length === 1 && lines[0].limit / 1000 === limit;
    }, parseFloat(shown));
    await page.locator("#what-if .reset").click();
    assert.equal(await misses(page, 1), String(before));
    assert.ok(!page.url().includes("#"));
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  },

  "the largest value decides, also within its bucket": async ({ open }) => {
    const page = await open("check");
    const max = await page.evaluate(() => Kadenz.data.series[0].max);
    for (const [limit, word] of [[max, "kept"], [max - 1, "missed"]]) {
      await page.evaluate((ns) => (location.hash = `#deadline=${ns}ns`), limit);
      await page.waitForFunction((ns) => Kadenz.whatIf === ns, limit);
      assert.equal((await rows(page))[0][1], word);
    }
    await page.context().close();
  },

  "a link restores it, and counts as the samples do": async ({ open }) => {
    const page = await open("check", { fragment: "#deadline=60us" });
    assert.equal(plain(await page.locator("#what-if output").innerText()), "60 µs");
    const [realtime, ordinary] = await rows(page);
    const expected = await page.evaluate(() =>
      Kadenz.data.series.slice(0, 2).map(({ buckets }) => {
        const above = (edge) => buckets.count.reduce((sum, count, n) => sum + (edge[n] > 60_000 ? count : 0), 0);
        return [above(buckets.low), above(buckets.high)];
      }));
    const range = ([from, to]) => [from, to].map((it) => it.toLocaleString("en")).slice(0, from === to ? 1 : 2).join(" to ");
    assert.equal(realtime[2], range(expected[0]));
    assert.equal(ordinary[2], range(expected[1]));
    assert.equal(ordinary[1], "missed");
    await page.evaluate(() => (location.hash = "#deadline=1.5ms"));
    await page.waitForFunction(() => document.querySelector("#what-if output").textContent.startsWith("1.5"));
    await page.evaluate(() => (location.hash = "#deadline=2.5µs"));
    await page.waitForFunction(() => document.querySelector("#what-if output").textContent.startsWith("2.5"));
    await page.evaluate(() => (location.hash = "#%"));
    await page.evaluate(() => (location.hash = "#deadline=1.5ms"));
    await page.waitForFunction(() => document.querySelector("#what-if output").textContent.startsWith("1.5"));
    await page.evaluate(() => (location.hash = "#deadline=nonsense"));
    await page.waitForTimeout(50);
    assert.equal(plain(await page.locator("#what-if output").innerText()), "1.5 ms");
    await page.context().close();
  },

  "a run without a deadline can be judged, too; without a script there is no slider": async ({ open }) => {
    const page = await open("day", { fragment: "#deadline=1ms" });
    assert.equal((await rows(page)).length, 4);
    await page.context().close();
    const bare = await open("check", { javaScriptEnabled: false, wait: false });
    assert.equal(await bare.locator("#what-if").isVisible(), false);
    await bare.context().close();
  },
};
