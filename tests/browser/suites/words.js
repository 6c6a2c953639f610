// What the page says before any chart is looked at.

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
    assert.equal((await headline.innerText()).trim(), "1 of 2 series missed its deadline");
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
    assert.equal((await page.locator("h1").innerText()).trim(), "Too few samples for a verdict");
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
    const table = await seen(page, "#series > .scroll table");
    assert.match(table, /99\.99 %\s+38\.14 µs\s+6 beyond/);
    assert.match(table, /99\.999 %\s+—\s+needs 100,000 samples/);
    assert.doesNotMatch(table, /99\.9999 %/);
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
    await page.locator(".caution a").click();
    assert.ok(page.url().endsWith("#warnings"));
    assert.match(await seen(page, "#warnings"), /sysctl kernel\.sched_rt_runtime_us=-1/);
    assert.match(await seen(page, "#tuning"), /refused\s+\/dev\/cpu_dma_latency: permission denied/);
    await page.context().close();
  },

  "a comparison names each series after its run": async ({ open }) => {
    const page = await open("compare");
    const heads = await page.locator("#series thead th").allInnerTexts();
    assert.ok(heads.some((head) => head.startsWith("before-kernel-6.1 · ordinary")));
    assert.ok(heads.some((head) => head.startsWith("after-kernel-6.12-rt · ordinary")));
    assert.match(await seen(page, "#host"), /PREEMPT_DYNAMIC \(voluntary\)\s+PREEMPT_RT/);
    await picture(page, "compare");
    await page.context().close();
  },
};
