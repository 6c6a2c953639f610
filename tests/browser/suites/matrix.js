// The page of a matrix: the answer, the cells, the gain of each measure, small multiples.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";

import { picture } from "../stage.js";

const seen = async (place) => (await place.innerText()).replaceAll("\u00a0", " ");

/** The number of pixels of a canvas in the colour of a series, and of thirds of its width that hold any. */
const painted = (page, id, series) =>
  page.evaluate(([chart, number]) => {
    const canvas = document.querySelector(`#${chart} .plot canvas`);
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    const hex = getComputedStyle(document.documentElement).getPropertyValue(`--series-${number}`);
    const wanted = [1, 3, 5].map((at) => parseInt(hex.trim().slice(at, at + 2), 16));
    const columns = new Set();
    let pixels = 0;
    for (let at = 0; at < data.length; at += 4) {
      const far = wanted.some((value, channel) => Math.abs(value - data[at + channel]) > 30);
      if (far || data[at + 3] < 120) continue;
      pixels += 1;
      columns.add(Math.floor(((at / 4) % canvas.width) / (canvas.width / 3)));
    }
    return { pixels, thirds: columns.size };
  }, [id, series]);

export const tests = {
  "the answer stands first, with commands that are copied whole": async ({ open }) => {
    const page = await open("matrix");
    assert.equal((await page.locator("h1").innerText()).trim(), "PM is enough");
    assert.match(await seen(page.locator("#verdict")), /cheapest combination that keeps 1 kHz with a 400 µs deadline/);
    const copied = {
      "Copy the command": /^sudo kadenz run --priority 80 --lock -- \.\/your-program$/,
      "Copy the unit": /^# \/etc\/systemd.*\n\[Unit\]\n.*\nExecStart=.*kadenz run --priority 80 --lock -- .*\n.*WantedBy=multi-user\.target$/s,
    };
    for (const [name, text] of Object.entries(copied)) {
      await page.getByRole("button", { name, exact: true }).click();
      assert.match(await page.evaluate(() => navigator.clipboard.readText()), text);
    }
    assert.equal(await page.getByRole("button", { name: "Copy the kernel parameters" }).count(), 0);
    await picture(page, "matrix");
    await page.context().close();
  },

  "each cell says its figure, its sign and its misses in text": async ({ open }) => {
    const page = await open("matrix");
    const table = page.locator("#cells table.heat");
    assert.equal(await table.locator("tbody tr").count(), 9);
    assert.equal(await table.locator("tbody td").count(), 18);
    for (const cell of await table.locator("tbody td").all()) {
      const text = await seen(cell);
      assert.match(text, /^[✓✗] [\d.]+ (µs|ms)\s+largest [\d.]+ (µs|ms)\s+(no miss|[\d,]+ miss(es)?) in 120,000$/);
      assert.equal(text.includes("✓"), text.includes("no miss"));
    }
    const row = table.getByRole("row", { name: /PM recommended/ });
    assert.equal(await row.count(), 1);
    const heads = await table.locator("thead th").allInnerTexts();
    assert.deepEqual(heads, ["Measures", "Without load", "Under heavy load"]);
    const steps = await table.locator("td").evaluateAll((cells) =>
      new Set(cells.map((cell) => getComputedStyle(cell).backgroundColor)).size);
    assert.ok(steps >= 4, `${steps} colours`);
    await page.context().close();
  },

  "the measures and the panels are drawn, on axes that all panels share": async ({ open }) => {
    const page = await open("matrix");
    for (const series of [0, 1]) {
      assert.ok((await painted(page, "effects", series)).pixels > 200, `measures, series ${series}`);
    }
    for (const [id, series] of [["periods-unloaded", 0], ["periods-heavy", 1]]) {
      const { pixels, thirds } = await painted(page, id, series);
      assert.ok(pixels > 2000, `${id}: ${pixels} pixels`);
      assert.equal(thirds, 3, `${id} has three columns of panels`);
    }
    const axes = await page.evaluate(() =>
      Kadenz.figures.filter(({ element }) => element.id.startsWith("periods-")).flatMap(({ chart }) => {
        const { xAxis, yAxis } = chart.getOption();
        return xAxis.map((axis, n) => [axis.min, axis.max, yAxis[n].max].join());
      }));
    assert.equal(axes.length, 18);
    assert.equal(new Set(axes).size, 1);
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  },

  "tooltips of both charts show what lies under the pointer": async ({ open }) => {
    const page = await open("matrix");
    const plot = page.locator("#effects .plot");
    await plot.scrollIntoViewIfNeeded();
    const at = await page.evaluate(() => {
      const { chart } = Kadenz.figures.find(({ element }) => element.id === "effects");
      return chart.convertToPixel({ seriesIndex: 0 }, [Math.log10(1 / Kadenz.data.effects[0].ratio), 0]);
    });
    const box = await plot.boundingBox();
    await page.mouse.move(box.x + at[0] + 60, box.y + at[1] + 30);
    await page.mouse.move(box.x + at[0], box.y + at[1]);
    await page.waitForTimeout(200);
    assert.match(await seen(plot.locator(".tip")), /P: p99\.9 lateness\s+without load\s+1\.\d+ times lower \(95 %/);
    const panels = page.locator("#periods-heavy .plot");
    await panels.scrollIntoViewIfNeeded();
    const place = await panels.boundingBox();
    await page.mouse.move(place.x + 130, place.y + 80);
    await page.mouse.move(place.x + 140, place.y + 90);
    await page.waitForTimeout(200);
    assert.match(await seen(panels.locator(".tip")), /µs to .*µs\s+none\s+[\d,]+/);
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  },

  "panels fold on a narrow screen": async ({ open }) => {
    const page = await open("matrix", { viewport: { width: 390, height: 844 } });
    const grids = () => page.evaluate(() => {
      const { chart } = Kadenz.figures.find(({ element }) => element.id === "periods-heavy");
      return new Set(chart.getOption().grid.map(({ left }) => Math.round(left))).size;
    });
    assert.equal(await grids(), 2);
    await page.context().close();
  },

  "a matrix that was interrupted, with cells that were not granted, claims neither": async ({ open }) => {
    const page = await open("partial");
    assert.match(await seen(page.locator(".banner")), /Incomplete run/);
    assert.equal((await page.locator("h1").innerText()).trim(), "P kept the deadline so far");
    const answer = await seen(page.locator("#verdict"));
    assert.match(answer, /needs 14,956 samples more without load and 24,956 samples more under heavy load/);
    assert.match(answer, /C, MC, PC, PMC, PMCS are left out, because what they request was not granted/);
    const cells = page.locator("#cells table.heat");
    assert.equal(await cells.locator("td", { hasText: "not measured" }).count(), 5);
    assert.equal(await cells.locator("td", { hasText: "without C: not granted" }).count(), 5);
    assert.equal(await cells.locator(".heat-none").count(), 10);
    assert.match(await seen(page.locator("#tuning")), /refused\s+cgroup cpuset: permission denied/);
    assert.deepEqual(page.complaints, []);
    await picture(page, "partial");
    await page.context().close();
  },

  "a matrix of 36 series stays small, and the time to open it is printed": async ({ folder, open }, context) => {
    const { size } = statSync(join(folder, "matrix.html"));
    assert.ok(size < 8_000_000, `${size} bytes`);
    const page = await open("matrix");
    const ms = await page.evaluate(() => Math.round(Kadenz.readyAfterMs));
    context.diagnostic(`matrix.html has ${size} bytes, all charts after ${ms} ms`);
    await page.context().close();
  },
};
