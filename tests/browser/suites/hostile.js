// Names that try to leave the text in which they stand.

import assert from "node:assert/strict";

const SCRIPT = "</script><script>window.pwned = 1</script>";
const IMAGE = '<img src=x onerror="window.pwned = 1">';

export const tests = {
  "hostile names are shown as text and run nothing": async ({ open }) => {
    const page = await open("hostile");
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.equal(await page.locator("img").count(), 0);
    await page.locator("#tuning summary").click();
    for (const place of ["#series", "#verdict", "#tuning", "#percentiles .legend", "#gaussian"]) {
      const text = await page.locator(place).innerText();
      assert.ok(text.includes(SCRIPT) || place === "#gaussian", `${place} shows the first name`);
    }
    assert.ok((await page.locator("#warnings").innerText()).includes(IMAGE));
    assert.ok((await page.locator(".runs").innerText()).includes(IMAGE));
    await page.context().close();
  },

  "names that turn or break text are made plain": async ({ open }) => {
    const page = await open("hostile");
    const text = await page.locator("#series table").first().locator("tbody").innerText();
    assert.ok(!/[\u202a-\u202e\u2066-\u2069\0]/.test(text));
    assert.ok(text.includes("\ufffddetrevni"));
    await page.context().close();
  },

  "hostile names stay text in legends, tooltips and selections": async ({ open }) => {
    const page = await open("hostile");
    const labels = await page.locator("#extremes .legend button").allInnerTexts();
    assert.ok(labels.includes(SCRIPT) && labels.includes(IMAGE));
    for (const chart of ["percentiles", "extremes", "histogram"]) {
      const plot = page.locator(`#${chart} .plot`);
      await plot.scrollIntoViewIfNeeded();
      const box = await plot.boundingBox();
      await page.mouse.move(box.x + 500, box.y + 150);
      await page.mouse.move(box.x + 400, box.y + 180);
      await page.waitForTimeout(200);
      const tip = plot.locator(".tip");
      assert.ok((await tip.innerText()).includes(IMAGE), chart);
      assert.equal(await tip.locator("img, script").count(), 0, chart);
    }
    const options = await page.locator("#gaussian option").allInnerTexts();
    assert.ok(options.includes(SCRIPT));
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  },

  "the command is quoted so that a shell reads it back": async ({ open }) => {
    const page = await open("hostile");
    const command = await page.locator("#repeat code").first().innerText();
    assert.equal(command, `kadenz run '${SCRIPT}' 'it'\\''s $(reboot)' ''`);
    await page.context().close();
  },
};
