// Helpers of every suite: the pages to open, the browser to open them in, and how to skip.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/** Chromium must neither update itself nor contact its vendor while it shows an offline page. */
const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Every page of the example `sample_report`. */
export const PAGES = [
  "check", "missed", "trend", "day", "compare", "hostile", "sparse", "network", "night", "matrix", "partial",
];

const onPath = (names) => {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
};

/** What this machine lacks to run the tests, and how to get it; undefined if it lacks nothing. */
export const lack = async () => {
  const executablePath =
    process.env.KADENZ_CHROMIUM ?? onPath(["chromium", "chromium-browser", "google-chrome"]);
  if (!executablePath) return "no Chromium; apt-get install chromium";
  const playwright = await import("playwright-core").catch(() => undefined);
  if (!playwright) return "no playwright-core; npm ci --prefix tests/browser";
  return undefined;
};

/** Prints that a test is skipped; fails where nothing may be skipped. */
export const skip = (name, why) => {
  const line = `skipped: ${name}: ${why}`;
  if (process.env.KADENZ_SKIP_NOTHING === "1") throw new Error(line);
  process.stderr.write(`${line}\n`);
};

/** The command of the example: KADENZ_SAMPLE_REPORT, built before, or cargo. */
const example = () => {
  if (process.env.KADENZ_SAMPLE_REPORT) return [process.env.KADENZ_SAMPLE_REPORT];
  return ["cargo", "run", "--quiet", "--package", "kadenz-report", "--example", "sample_report", "--"];
};

/** The folder of the pages: KADENZ_REPORT_DIR, or else a new one that the example writes. */
const pages = () => {
  if (process.env.KADENZ_REPORT_DIR) return { folder: process.env.KADENZ_REPORT_DIR, own: false };
  const folder = mkdtempSync(join(tmpdir(), "kadenz-report-"));
  const [program, ...words] = example();
  const run = spawnSync(program, [...words, folder], { cwd: root, stdio: "inherit" });
  if (run.status !== 0) throw new Error("the example sample_report did not write its pages");
  return { folder, own: true };
};

/** Starts `count` browsers and makes the pages; the caller closes them at the end. */
export const setStage = async (count) => {
  const { chromium } = await import("playwright-core");
  const executablePath =
    process.env.KADENZ_CHROMIUM ?? onPath(["chromium", "chromium-browser", "google-chrome"]);
  const { folder, own } = pages();
  const launch = () => chromium.launch({ executablePath, args: ARGUMENTS });
  const running = await Promise.all(Array.from({ length: count }, launch));

  const close = async () => {
    await Promise.all(running.map((browser) => browser.close()));
    if (own) rmSync(folder, { recursive: true, force: true });
  };
  return { browsers: running.map((browser) => on(browser, folder)), close };
};

/** The argument of a test: the folder of the pages, and a function that opens one in this browser. */
const on = (browser, folder) => {
  /**
   * Opens a page offline and waits for its charts. `page.requests` holds its requests, `page.complaints` its errors and
   * warnings.
   */
  const open = async (name, { wait = true, fragment = "", ...options } = {}) => {
    const context = await browser.newContext({
      offline: true,
      viewport: { width: 1280, height: 900 },
      permissions: ["clipboard-read", "clipboard-write"],
      ...options,
    });
    const page = await context.newPage();
    page.requests = [];
    page.complaints = [];
    page.on("request", (request) => page.requests.push(request.url()));
    page.on("pageerror", (error) => page.complaints.push(String(error)));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) page.complaints.push(message.text());
    });
    page.address = pathToFileURL(join(folder, `${name}.html`)).href + fragment;
    await page.goto(page.address, { waitUntil: "commit" });
    if (wait) await page.waitForSelector("html[data-charts=ready]", { timeout: 120_000 });
    return page;
  };
  return { folder, open };
};

/** Saves a picture where KADENZ_SCREENSHOTS names a folder, for people to look at. */
export const picture = async (page, name, options = { fullPage: true }) => {
  const folder = process.env.KADENZ_SCREENSHOTS;
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`), ...options });
};
