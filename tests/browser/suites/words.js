// The texts of the page, without its charts.

import assert from "node:assert/strict";

import { picture } from "../stage.js";

/** Text as a reader sees it, with plain spaces. */
const seen = async (page, selector) =>
  (await page.locator(selector).innerText()).replaceAll("\u00a0", " ");

export const tests = {
  "the verdict stands first, in words, with an icon and what it rests on": async ({ open }) => {
    const page = await open("check");
    const headline = page.locator("h1");
    assert.ok(await headline.isVisible());
    const box = await headline.boundingBox();
    assert.ok(box.y < 300, `the headline starts at ${box.y}`);
    assert.match(await headline.innerText(), /^Yes, at SCHED_FIFO 80: 1 kHz/);
    const cards = page.locator(".card");
    assert.equal(await cards.count(), 2);
    assert.match(await cards.nth(0).innerText(), /realtime\s+Kept\s+0 misses in 60,000 samples/);
    assert.match(await cards.nth(0).innerText(), /95 % confidence fewer than 50 in a million/);
    assert.match(await cards.nth(1).innerText(), /ordinary\s+Missed/);
    for (const icon of await page.locator("h1 svg, .card .word svg").all()) {
      const { width, height } = await icon.boundingBox();
      assert.ok(width > 15 && height > 15);
    }
    await page.context().close();
  },

  "a page without a deadline, or without samples, claims nothing": async ({ open }) => {
    const page = await open("sparse");
    assert.match(await seen(page, "h1"), /^Too few samples to decide: /);
    assert.match(await seen(page, "#verdict"), /Nothing was recorded, so nothing can be said/);
    assert.match(await seen(page, ".banner"), /Incomplete run/);
    await picture(page, "sparse");
    await page.context().close();
  },

  "an incomplete run says so above everything else": async ({ open }) => {
    const page = await open("hostile");
    const banner = await page.locator(".banner").boundingBox();
    const headline = await page.locator("h1").boundingBox();
    assert.ok(banner.y < headline.y);
    await page.context().close();
  },

  "a percentile that the sample cannot carry is a dash with its reason": async ({ open }) => {
    const page = await open("check");
    await page.locator("#series summary", { hasText: "All figures" }).click();
    const table = page.locator("#series table", { has: page.locator("caption", { hasText: "Percentiles" }) });
    const heads = await table.locator("thead th").allInnerTexts();
    const cells = await table.locator("tbody tr").first().locator("td").allInnerTexts();
    const at = (percent) => cells[heads.map((head) => head.replaceAll("\u00a0", " ")).indexOf(percent) - 1];
    assert.match(at("99.99 %").replaceAll("\u00a0", " "), /^38\.14 µs\s+6 beyond$/);
    assert.match(at("99.999 %"), /^—\s+needs 100,000 samples$/);
    assert.equal(heads.length - 1, 6, "and no percentile beyond");
    await page.context().close();
  },

  "jitter that was not recorded names the option that records it": async ({ open }) => {
    const page = await open("compare");
    assert.match(await seen(page, "#jitter"), /Repeat the run with --samples/);
    assert.equal(await page.locator("#jitter .plot").count(), 0);
    await page.context().close();
  },

  "warnings stand with their remedies, and the verdict leads to them": async ({ open }) => {
    const page = await open("check");
    await page.locator(".doubts a", { hasText: "1 note more" }).click();
    assert.ok(page.url().endsWith("#warnings"));
    assert.match(await seen(page, "#warnings"), /sysctl kernel\.sched_rt_runtime_us=-1/);
    assert.match(await seen(page, "#warnings"), /not granted .*\/dev\/cpu_dma_latency: permission denied/);
    assert.match(await seen(page, "#tuning summary"), /1 refused/);
    await page.context().close();
  },

  "a comparison names each series after its run": async ({ open }) => {
    const page = await open("compare");
    const heads = await page.locator("#series tbody th").allInnerTexts();
    assert.ok(heads.some((head) => head.startsWith("before-kernel-6.1 · ordinary")));
    assert.ok(heads.some((head) => head.startsWith("after-kernel-6.12-rt · ordinary")));
    assert.match(await seen(page, "#host"), /PREEMPT_DYNAMIC \(voluntary\)\s+PREEMPT_RT/);
    await picture(page, "compare");
    await page.context().close();
  },
};
