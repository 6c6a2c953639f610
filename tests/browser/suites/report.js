// The page for a reader: the answer in a line, doubts beside it, nothing cut off, nothing repeated.

import assert from "node:assert/strict";

import { picture } from "../stage.js";

/** Pages with every kind of section, and the widths of a telephone, a tablet and a desk. */
const READ = ["check", "missed", "compare", "trend", "network", "night", "matrix", "partial", "sparse", "hostile"];
const WIDTHS = [390, 768, 1400];
const MAX_HEIGHT_PX = 6000;

const plain = (text) => text.replaceAll("\u00a0", " ").trim();
const openAll = (page) =>
  page.evaluate(async () => {
    document.querySelectorAll("details").forEach((details) => (details.open = true));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  });

/** Runs in the page: elements that extend beyond the window, and tables that are cut off. */
const cutOff = () => {
  const wide = document.documentElement.clientWidth;
  const seen = (element) => element.checkVisibility() && !element.closest("nav, .skip, svg[hidden]");
  const name = (element) => `${element.tagName} ${element.className} ${element.textContent.trim().slice(0, 30)}`;
  const beyond = [...document.querySelectorAll("main *, header *")].filter(
    (element) => seen(element) && element.getBoundingClientRect().right > wide + 1,
  );
  const clipped = [...document.querySelectorAll(".scroll")].filter(
    (box) => seen(box) && box.scrollWidth > box.clientWidth + 1,
  );
  return [...beyond, ...clipped].slice(0, 5).map(name);
};

export const tests = {
  "the headline says rate, deadline, machine and answer": async ({ open }) => {
    const headlines = {
      check: /^Yes, at SCHED_FIFO 80: 1 kHz \/ 400 µs kept on Intel Core i7-4770R, bare metal$/,
      missed: /^No: 1 kHz \/ 400 µs missed [\d.]+ % on AMD EPYC, a virtual machine \(kvm\)$/,
      network: /^No: 1 kHz \/ 400 µs missed [\d.]+ % on Intel Core i7-4770R, bare metal$/,
    };
    for (const [name, words] of Object.entries(headlines)) {
      const page = await open(name);
      assert.match(plain(await page.locator("h1").innerText()), words, name);
      await page.context().close();
    }
  },

  "what makes the answer doubtful stands beside it, and leads to its fix": async ({ open }) => {
    const page = await open("missed", { viewport: { width: 1400, height: 900 } });
    const doubts = await page.locator(".doubts a").allInnerTexts();
    assert.deepEqual(doubts, ["The RT throttle is on", "This is a virtual machine"]);
    assert.ok((await page.locator(".doubts").boundingBox()).y < 400);
    await page.locator(".doubts a").first().click();
    const shown = await page.locator("li:target").innerText();
    assert.match(shown, /kernel\.sched_rt_runtime_us=-1/);
    assert.match(shown, /Concerns realtime, floor, \S+, \S+ and \d+ more/);
    await page.context().close();
  },

  "no paragraph stands twice": async ({ open }) => {
    for (const name of ["check", "missed", "network", "trend"]) {
      const page = await open(name);
      await openAll(page);
      const texts = await page.locator("main p, main td").evaluateAll((all) =>
        all.filter((element) => !element.closest(".card")) // Each card repeats what is alike.
          .map((element) => element.innerText.trim()).filter((text) => text.length > 70));
      assert.ok(texts.length > 5, name);
      const twice = texts.filter((text, at) => texts.indexOf(text) !== at);
      assert.deepEqual(twice, [], name);
      const throttled = texts.filter((text) => /^The RT throttle is on: /.test(text));
      assert.ok(throttled.length <= 1, `${name}: ${throttled.length} times`);
      await page.context().close();
    }
  },

  "nothing is cut off on any width, open or folded, in light and dark": async ({ open }) => {
    for (const name of READ) {
      for (const width of WIDTHS) {
        const colorScheme = width === 768 ? "dark" : "light";
        const page = await open(name, { viewport: { width, height: 900 }, colorScheme });
        assert.deepEqual(await page.evaluate(cutOff), [], `${name} at ${width}`);
        await picture(page, `${name}-${width}`);
        await openAll(page);
        assert.deepEqual(await page.evaluate(cutOff), [], `${name} at ${width}, all open`);
        assert.deepEqual(page.complaints, [], name);
        await page.context().close();
      }
    }
  },

  "nothing is cut off on paper": async ({ open }) => {
    for (const name of READ) {
      const page = await open(name, { viewport: { width: 688, height: 970 }, colorScheme: "dark" });
      await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
      await page.emulateMedia({ media: "print" });
      assert.deepEqual(await page.evaluate(cutOff), [], `${name} on paper`);
      await picture(page, `${name}-print`);
      assert.deepEqual(page.complaints, [], name);
      await page.context().close();
    }
  },

  "the page of a check with round trips, messages and tunings is short": async ({ open }) => {
    for (const name of ["check", "missed"]) {
      const page = await open(name, { viewport: { width: 1400, height: 900 } });
      const high = await page.evaluate(() => document.documentElement.scrollHeight);
      assert.ok(high < MAX_HEIGHT_PX, `${name}: ${high} px`);
      assert.equal(await page.locator("#tuning details").evaluate((it) => it.open), false);
      await page.context().close();
    }
  },

  "two series are drawn from the start, the others wait in their groups": async ({ open }) => {
    const page = await open("missed");
    const shown = page.locator("#percentiles .legend > button");
    assert.deepEqual((await shown.allInnerTexts()).map(plain), ["realtime", "ordinary"]);
    const more = page.locator("#percentiles .legend .more");
    assert.match(await more.locator("summary").innerText(), /^\d+ more series$/);
    await more.locator("summary").click();
    assert.deepEqual(
      await more.locator("[role=group]").evaluateAll((all) => all.map((it) => it.getAttribute("aria-label"))),
      ["Beat", "Network", "Messages"],
    );
    await more.locator("button", { hasText: "rtt" }).click();
    assert.deepEqual((await shown.allInnerTexts()).map(plain), ["realtime", "ordinary", "rtt"]);
    assert.equal(await page.evaluate(() => document.activeElement.innerText.trim()), "rtt");
    const drawn = await page.evaluate(() =>
      Kadenz.figures[0].chart.getOption().series.flatMap(({ type, name }) =>
        type === "line" && /^\d+$/.test(name ?? "") ? [Kadenz.data.series[Number(name)].label] : []));
    assert.deepEqual(drawn, ["realtime", "ordinary", "rtt"]);
    await page.context().close();
  },

  "a series has its own dash, the same in legend, table and chart": async ({ open }) => {
    const page = await open("missed");
    const marks = (selector) =>
      page.locator(selector).evaluateAll((all) =>
        all.map((it) => [it.getAttribute("class"), it.querySelector("path").getAttribute("stroke-dasharray")].join()));
    const ofLegend = await marks("#percentiles .legend .mark");
    assert.equal(new Set(ofLegend).size, ofLegend.length, "two series look alike");
    assert.ok(ofLegend.length >= 15);
    const ofTable = await marks("#series .rows:first-of-type tbody th .mark");
    assert.ok(ofLegend.every((mark) => ofTable.includes(mark)));
    const inChart = await page.evaluate(() =>
      Kadenz.figures.find(({ element }) => element.id === "percentiles").chart.getOption().series
        .filter(({ type, name }) => type === "line" && /^\d+$/.test(name ?? ""))
        .map(({ name, lineStyle }) => [name, [lineStyle.type].flat().join(" ")]));
    assert.equal(inChart.length, 2);
    for (const [index, dash] of inChart) {
      const drawn = dash === "solid" ? "" : dash;
      assert.ok(ofLegend.includes(`mark k${index},${drawn}`), `${index}: ${dash}`);
    }
    for (const mark of await page.locator("#percentiles .legend > button .mark").all()) {
      assert.ok((await mark.boundingBox()).width >= 25);
    }
    await page.context().close();
  },

  "every chart has titles on its axes": async ({ open }) => {
    for (const name of ["missed", "matrix"]) {
      const page = await open(name);
      const bare = await page.evaluate(() =>
        Kadenz.figures.flatMap(({ element, chart }) => {
          const { xAxis, yAxis } = chart.getOption();
          const named = (axes) => axes.some((axis) => axis.name || axis.type === "category");
          return named(xAxis) && named(yAxis) ? [] : [element.id];
        }));
      assert.deepEqual(bare, [], name);
      await page.context().close();
    }
  },

  "the tunings that were tried stand in a table, the cheapest is named": async ({ open }) => {
    const page = await open("missed");
    await page.locator("nav a", { hasText: "Cheapest tuning" }).click();
    const text = plain(await page.locator("#tried").innerText());
    assert.match(text, /The cheapest tuning that keeps it here is P \(real-time priority\): 0 misses in 5,000/);
    const rows = await page.locator("#tried tbody tr").allInnerTexts();
    assert.equal(rows.length, 5);
    assert.match(rows[0], /^Pcheapest/);
    assert.match(text, /kadenz report .*missed-2026-05-09\/tuning/);
    await page.context().close();
    const other = await open("check");
    assert.equal(await other.locator("#tried").count(), 0);
    await other.context().close();
  },

  "a comparison says the difference first; more than two runs show a trend": async ({ open }) => {
    const page = await open("trend");
    assert.match(plain(await page.locator("h1").innerText()), /night-4 misses .* deadlines, night-1 /);
    const table = page.locator("#trend table", { hasText: "ordinary" });
    assert.deepEqual(
      await table.locator("tbody th").allInnerTexts(),
      ["night-1", "night-2", "night-3", "night-4", "First to last"],
    );
    assert.match(plain(await table.locator("tr.whole").innerText()), /\+7\d %/);
    const line = table.locator(".shape").first();
    assert.equal(await line.locator("polyline").evaluate((it) => it.points.length), 4);
    assert.match(await line.getAttribute("aria-label"), /^50 % over the runs: /);
    await page.context().close();
    const two = await open("compare");
    assert.equal(await two.locator("#trend").count(), 0);
    await two.context().close();
  },
};
