// The shares of a deadline: a bar per layer, in proportion to the deadline.

import assert from "node:assert/strict";

import { picture } from "../stage.js";

const near = (found, wanted, what) =>
  assert.ok(Math.abs(found - wanted) < 0.01, `${what}: ${found}, not ${wanted}`);

export const tests = {
  "a bar is as long as its part of the deadline": async ({ open }) => {
    const page = await open("network");
    const rows = await page.locator(".budget tbody tr:not(.part):has(.share)").evaluateAll((all) =>
      all.map((row) => {
        const width = (selector) => row.querySelector(selector).getBoundingClientRect().width;
        const cells = [...row.querySelectorAll("td")].map((cell) => cell.innerText);
        return {
          name: row.querySelector("th").innerText,
          median: width(".median") / width(".share"),
          most: width(".most") / width(".share"),
          expected: cells.slice(1, 3).map((text) => parseFloat(text) / 400),
        };
      }));
    assert.deepEqual(
      rows.map(({ name }) => name),
      ["wake-up", "send stack", "wire and device", "receive stack", "response"],
    );
    for (const { name, median, most, expected } of rows) {
      near(median, expected[0], `${name}, median`);
      near(most, expected[1], `${name}, 99.9 %`);
    }
    const part = page.locator(".budget tbody tr.part");
    assert.equal(await part.locator("th").innerText(), "of it on the wire (computed)");
    const { median, share, text } = await part.evaluate((row) => {
      const width = (selector) => row.querySelector(selector).getBoundingClientRect().width;
      return { median: width(".median"), share: width(".share"), text: row.querySelectorAll("td")[1].innerText };
    });
    near(median / share, parseFloat(text) / 400, "the wire");
    await picture(page, "network");
    await page.context().close();
  },

  "the budget says what is left, and a page without round trips has none": async ({ open }) => {
    const page = await open("network");
    const text = (await page.locator("#budget .lead").innerText()).replaceAll("\u00a0", " ");
    assert.match(text, /^Of the 400 µs, a round trip to left-knee takes [\d.]+ µs in 99\.9 %/);
    assert.match(text, /[\d.]+ µs are left for the control law/);
    await page.locator("nav a", { hasText: "Budget" }).click();
    assert.ok(page.url().endsWith("#budget"));
    await page.context().close();
    const other = await open("check");
    assert.equal(await other.locator("#budget").count(), 0);
    assert.equal(await other.locator("nav a", { hasText: "Budget" }).count(), 0);
    await other.context().close();
  },
};
