// The report in a browser: `node --test tests/browser`.
//
// Pages come from KADENZ_REPORT_DIR, else the example `sample_report` writes them; pictures go to
// KADENZ_SCREENSHOTS, if it names a folder.

import { availableParallelism } from "node:os";
import { after, before, describe, test } from "node:test";

import { lack, setStage, skip } from "./stage.js";
import * as access from "./suites/access.js";
import * as budget from "./suites/budget.js";
import * as charts from "./suites/charts.js";
import * as deadline from "./suites/deadline.js";
import * as hostile from "./suites/hostile.js";
import * as looks from "./suites/looks.js";
import * as matrix from "./suites/matrix.js";
import * as modes from "./suites/modes.js";
import * as offline from "./suites/offline.js";
import * as report from "./suites/report.js";
import * as words from "./suites/words.js";

const missing = await lack();

// As many tests at once as there are CPUs, each with a browser of its own: they share neither clipboard nor focus.
const concurrency = availableParallelism();

describe("the report", { skip: missing !== undefined, concurrency }, () => {
  let stage;
  const free = [];
  before(async () => {
    stage = await setStage(concurrency);
    free.push(...stage.browsers);
  });
  after(() => stage?.close());

  const alone = async (run, context) => {
    const browser = free.pop();
    try {
      await run(browser, context);
    } finally {
      free.push(browser);
    }
  };

  for (const suite of [offline, words, report, deadline, budget, charts, matrix, modes, looks, access, hostile]) {
    for (const [name, run] of Object.entries(suite.tests)) {
      test(name, (context) => alone(run, context));
    }
  }
});

if (missing) test("the report in a browser", () => skip("tests/browser", missing));
