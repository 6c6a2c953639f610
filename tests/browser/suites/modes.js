// Recurring modes: a row per mode, with a picture of its occurrences.

import assert from "node:assert/strict";

import { picture } from "../stage.js";

/** The rows as a reader sees them, and the heights of both lines across the picture: 0 low, 1 high. */
const rowsOf = (page) =>
  page.locator(".modes tbody tr").evaluateAll((all) =>
    all.map((row) => {
      const svg = row.querySelector(".shape");
      const { width, height } = svg.viewBox.baseVal;
      const heights = (line) => [...line.points].map(({ x, y }) => ({ x: x / width, y: 1 - y / height }));
      const box = svg.getBoundingClientRect();
      return {
        words: row.querySelector("th").innerText.replaceAll("\u00a0", " "),
        cells: [...row.querySelectorAll("td")].map((it) => it.innerText.replaceAll("\u00a0", " ").trim()),
        label: svg.getAttribute("aria-label").replaceAll("\u00a0", " "),
        most: heights(row.querySelector(".shape .most")),
        median: heights(row.querySelector(".shape polyline:not(.most)")),
        size: [box.width, box.height],
        strokes: [...row.querySelectorAll(".shape polyline")].map((it) => getComputedStyle(it).stroke),
      };
    }));

/** Mean height of a line between two places across the picture. */
const mean = (line, from, to) => {
  const inside = line.filter(({ x }) => x >= from && x <= to);
  return inside.reduce((sum, { y }) => sum + y, 0) / inside.length;
};

const find = (rows, what) => {
  const row = rows.find(({ words }) => what.test(words));
  assert.ok(row, `${what} in ${JSON.stringify(rows.map(({ words }) => words))}`);
  return row;
};

/** Series, period, length, height, seen of expected, confidence. */
const matches = ({ cells, words }, patterns) =>
  patterns.forEach((pattern, index) => assert.match(cells[index], pattern, `${words}: column ${index + 2}`));

export const tests = {
  "each mode is described in words and figures": async ({ open }) => {
    const page = await open("night");
    const rows = await rowsOf(page);
    assert.equal(rows.length, 3);
    const sure = /^(above 99\.99|99\.\d\d|98\.\d\d) %$/;
    matches(find(rows, /^every 2 min a 1\d\.\d s phase of \+[34](\.\d+)? [µu]s/), [
      /^rtt$/, /^1(19\.9\d*|20) s$/, /^1[45](\.\d+)? s$/, /^[34](\.\d+)? µs$/, /^1[45] of 15$/, sure,
    ]);
    matches(find(rows, /^every 5\.00 s one packet at 2\d\d [µu]s/), [
      /^rtt$/, /^5 s$/, /^0\.01 s$/, /^1[67](\.\d+)? µs$/, /^3\d\d of 360$/, sure,
    ]);
    matches(find(rows, /^every 4 min a ramp of up to 1[45]\d(\.\d+)? [µu]s over (9|10) packets/), [
      /^rtt$/, /^240 s$/, /^0\.(1|09) s$/, /^1[45]\d(\.\d+)? µs$/, /^[78] of 8$/, sure,
    ]);
    await page.locator("nav a", { hasText: "Modes" }).click();
    assert.ok(page.url().endsWith("#modes"));
    assert.ok(await page.locator("#modes h2").isVisible());
    await picture(page, "night");
    await page.context().close();
  },

  "each mode is drawn as it looks, and the drawing is described": async ({ open }) => {
    const page = await open("night");
    const rows = await rowsOf(page);
    for (const { words, median, most, label, size, strokes } of rows) {
      assert.equal(median.length, most.length, words);
      assert.ok(median.length >= 10, `${words}: ${median.length} corners`);
      assert.ok([...median, ...most].every(({ x, y }) => x >= 0 && x <= 1 && y >= 0 && y <= 1), words);
      assert.ok(median.every(({ y }, index) => y <= most[index].y + 1e-6), `${words}: the median above 90 %`);
      assert.ok(Math.max(...most.map(({ y }) => y)) > 0.95 && Math.min(...median.map(({ y }) => y)) < 0.05, words);
      assert.match(label, /^Median and 90th percentile over [\d.]+ s around an occurrence, from [\d.]+ µs to [\d.]+ µs$/);
      assert.ok(size[0] > 60 && size[1] > 20, `${words}: ${size}`);
      assert.ok(strokes.length === 2 && !strokes.includes("none"), `${words}: ${strokes}`);
    }
    // A phase is high in its middle third and low beside it.
    const phase = find(rows, /phase/).median;
    const stands = mean(phase, 0.38, 0.62);
    assert.ok(stands > mean(phase, 0, 0.28) + 0.3 && stands > mean(phase, 0.72, 1) + 0.3, JSON.stringify(phase));
    // A ramp rises point by point, and falls at once.
    const ramp = find(rows, /ramp/).median;
    const top = ramp.findIndex(({ y }) => y === Math.max(...ramp.map((it) => it.y)));
    assert.ok(ramp.slice(top - 7, top).every(({ y }, index) => y < ramp[top - 6 + index].y), JSON.stringify(ramp));
    assert.ok(ramp[top + 1].y < 0.1 && ramp[0].y < 0.1, JSON.stringify(ramp));
    // A spike is one sample, so one point is high.
    const spike = find(rows, /packet at/).median;
    assert.equal(spike.filter(({ y }) => y > 0.5).length, 1, JSON.stringify(spike));
    await page.context().close();
  },

  "a page that was not searched has no section of modes": async ({ open }) => {
    for (const name of ["check", "matrix"]) {
      const page = await open(name);
      assert.equal(await page.locator("#modes").count(), 0, name);
      assert.equal(await page.locator("nav a[href='#modes']").count(), 0, name);
      await page.context().close();
    }
  },
};
