// The charts: how they are drawn, zoomed and filtered, and how they show their values.

import assert from "node:assert/strict";

import { picture } from "../stage.js";

const CHARTS = ["percentiles", "extremes", "histogram", "jitter", "gaussian"];

/** The number of painted pixels of a chart, and of those in the colour of a series. */
const painted = (page, chart, series) =>
  page.evaluate(([id, number]) => {
    const canvas = document.querySelector(`#${id} .plot canvas`);
    // The function reads a copy: reading the chart's own canvas would slow it down permanently.
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    const hex = getComputedStyle(document.documentElement).getPropertyValue(`--series-${number}`);
    const wanted = [1, 3, 5].map((at) => parseInt(hex.trim().slice(at, at + 2), 16));
    let any = 0;
    let coloured = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] === 0) continue;
      any += 1;
      const far = wanted.some((value, channel) => Math.abs(value - data[at + channel]) > 24);
      if (!far && data[at + 3] > 120) coloured += 1;
    }
    return { any, coloured };
  }, [chart, series]);

/** The part of its data that a chart shows, in percent. */
const shown = (page, chart) =>
  page.evaluate((id) => {
    const { zoom } = Kadenz.figures.find((figure) => figure.element.id === id);
    return zoom.end - zoom.start;
  }, chart);

/** The labels that a chart's horizontal axis shows: its true extent on the screen. */
const extent = (page, chart) =>
  page.evaluate((id) => {
    const { chart: drawn } = Kadenz.figures.find((figure) => figure.element.id === id);
    const left = drawn.convertFromPixel({ xAxisIndex: 0 }, 150);
    const right = drawn.convertFromPixel({ xAxisIndex: 0 }, 1000);
    return right - left;
  }, chart);

export const tests = {
  "every chart of every full page is drawn, with each of its series": async ({ open }) => {
    const drawn = { check: CHARTS, day: CHARTS.filter((id) => id !== "jitter"), hostile: CHARTS };
    for (const [name, charts] of Object.entries(drawn)) {
      const page = await open(name);
      for (const chart of charts) {
        const { any, coloured } = await painted(page, chart, 0);
        assert.ok(any > 3000, `${name} ${chart}: ${any} pixels`);
        assert.ok(coloured > 100, `${name} ${chart}: ${coloured} pixels of the first series`);
      }
      await page.context().close();
    }
  },

  "the slider, the wheel, the keys and the buttons change what is visible": async ({ open }) => {
    const page = await open("day");
    const plot = page.locator("#extremes .plot");
    await plot.scrollIntoViewIfNeeded();
    const whole = await extent(page, "extremes");
    assert.equal(await shown(page, "extremes"), 100);

    await page.locator("#extremes .spans button", { hasText: "10 min" }).click();
    assert.ok(Math.abs((await shown(page, "extremes")) - (100 * 600) / 86_400) < 0.01);
    assert.ok((await extent(page, "extremes")) < whole / 100);
    await picture(page, "day-10-min", { fullPage: false });
    await page.locator("#extremes .spans button", { hasText: "10 s" }).click();
    assert.ok(Math.abs((await shown(page, "extremes")) - (100 * 10) / 86_400) < 0.001);
    await picture(page, "day-10-s", { fullPage: false });

    await plot.focus();
    await page.keyboard.press("0");
    assert.equal(await shown(page, "extremes"), 100);
    await page.keyboard.press("+");
    assert.equal(await shown(page, "extremes"), 50);
    await page.keyboard.press("-");
    assert.equal(await shown(page, "extremes"), 100);

    const box = await plot.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 100);
    await page.mouse.wheel(0, -300);
    await page.waitForTimeout(200);
    assert.ok((await shown(page, "extremes")) < 100, "the wheel on a chosen plot");

    await page.keyboard.press("0");
    await page.mouse.move(box.x + 71, box.y + box.height - 19);
    await page.mouse.down();
    await page.mouse.move(box.x + 500, box.y + box.height - 19, { steps: 5 });
    await page.mouse.up();
    await page.waitForTimeout(200);
    assert.ok((await shown(page, "extremes")) < 90, "the slider");
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  },

  "the wheel scrolls the page until a plot is chosen; with Ctrl it zooms": async ({ open }) => {
    const page = await open("check");
    const plot = page.locator("#histogram .plot");
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    await page.mouse.move(box.x + 300, box.y + 100);
    await page.mouse.wheel(0, -200);
    await page.waitForTimeout(200);
    assert.equal(await shown(page, "histogram"), 100);
    await plot.scrollIntoViewIfNeeded();
    const again = await plot.boundingBox();
    await page.mouse.move(again.x + 300, again.y + 100);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -200);
    await page.keyboard.up("Control");
    await page.waitForTimeout(200);
    assert.ok((await shown(page, "histogram")) < 100);
    await page.context().close();
  },

  "a series hidden in one legend leaves every chart, and returns": async ({ open }) => {
    const page = await open("check");
    const button = page.locator("#percentiles .legend button", { hasText: "ordinary" });
    await button.click();
    assert.equal(await button.getAttribute("aria-pressed"), "false");
    for (const chart of ["percentiles", "extremes", "histogram", "jitter"]) {
      assert.equal((await painted(page, chart, 1)).coloured, 0, chart);
      assert.ok((await painted(page, chart, 0)).coloured > 100, chart);
    }
    await button.click();
    assert.ok((await painted(page, "extremes", 1)).coloured > 100);
    await page.context().close();
  },

  "both scales draw, also with early values": async ({ open }) => {
    for (const name of ["check", "hostile"]) {
      const page = await open(name);
      for (const chart of ["percentiles", "extremes", "histogram"]) {
        for (const scale of ["logarithmic", "linear"]) {
          await page.locator(`#${chart} .scale button`, { hasText: scale }).click();
          const { coloured } = await painted(page, chart, 0);
          assert.ok(coloured > 30, `${name} ${chart} ${scale}: ${coloured}`);
        }
      }
      assert.deepEqual(page.complaints, []);
      await page.context().close();
    }
  },

  "each chart shows its values under the pointer": async ({ open }) => {
    const page = await open("check");
    const expected = {
      percentiles: /% of samples.*≤/s,
      extremes: /into the run · 2026-05-09 07:\d\d:\d\d UTC.*ordinary/s,
      histogram: /to.*ordinary/s,
      jitter: /into the run.*realtime/s,
      gaussian: / to .*measured.*Gaussian/s,
    };
    for (const [chart, words] of Object.entries(expected)) {
      const plot = page.locator(`#${chart} .plot`);
      await plot.scrollIntoViewIfNeeded();
      const box = await plot.boundingBox();
      await page.mouse.move(box.x + 400, box.y + 120);
      await page.mouse.move(box.x + 240, box.y + 150);
      await page.waitForTimeout(200);
      const tip = await plot.locator(".tip").innerText();
      assert.match(tip, words, chart);
      assert.doesNotMatch(tip, /NaN|undefined|Infinity/, chart);
    }
    assert.deepEqual(page.complaints, []);
    await picture(page, "tooltip", { fullPage: false });
    await page.context().close();
  },

  "a single value and nothing but zeros are drawn, and a far deadline is named": async ({ open }) => {
    const page = await open("sparse");
    for (const [chart, number] of [["percentiles", 1], ["extremes", 1], ["histogram", 1], ["histogram", 2]]) {
      const { coloured } = await painted(page, chart, number);
      assert.ok(coloured > 10, `${chart}: ${coloured} pixels of series ${number}`);
    }
    await page.locator("#extremes .scale button", { hasText: "linear" }).click();
    assert.equal(
      (await page.locator("#extremes .above").innerText()).replaceAll("\u00a0", " "),
      "Above this plot: the deadline of 1 s.",
    );
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  },

  "the Gaussian is described for the picked series": async ({ open }) => {
    const page = await open("day");
    const shown = () => page.locator("#gaussian .difference:visible").allInnerTexts();
    assert.match((await shown())[0], /^windows-10: a Gaussian/);
    await page.locator("#gaussian select").selectOption({ label: "osx-10.9.5" });
    assert.equal((await shown()).length, 1);
    assert.match((await shown())[0], /^osx-10\.9\.5: .*375 deviations above the mean/);
    await page.context().close();
  },
};
