// Another deadline: misses counted again from the histograms in the page.
"use strict";
(() => {
  const STEPS = 1000;
  /** As in Rust's verdict: fewer samples than this without a miss claim nothing. */
  const MIN_SAMPLES = 299;
  const MAX_ROWS = 8;
  const UNITS = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 };

  const box = document.getElementById("what-if");
  const recorded = Kadenz.data.series.filter(({ deadline }) => deadline != null);
  const first = recorded.length > 0 ? recorded[0].deadline : null;
  const judged = (recorded.length > 0 ? recorded : Kadenz.data.series).filter(({ count }) => count > 0);
  const rows = judged.slice(0, MAX_ROWS);
  if (!box || rows.length === 0) return;

  const slider = document.getElementById("deadline");
  const output = box.querySelector("output");
  const reset = box.querySelector(".reset");
  const link = box.querySelector("a.link");
  const low = Math.max(1, Math.min(...rows.map(({ min }) => Math.max(1, min))));
  const high = Math.max(2 * low, 2 * (first ?? 0), 1.5 * Math.max(...rows.map(({ max }) => max)));
  let limit = first;

  const rounded = (ns) => Math.max(1, Math.round(Number(ns.toPrecision(3))));
  const place = (ns) => Math.round((STEPS * Math.log(ns / low)) / Math.log(high / low));
  const at = (step) => rounded(low * (high / low) ** (step / STEPS));

  /** Samples above a limit; those in the bucket that it cuts may be. The largest value is known exactly. */
  const misses = ({ buckets, max }, ns) => {
    const found = { sure: 0, unsure: 0, resolution: 0 };
    buckets.count.forEach((inBucket, n) => {
      const [from, to] = [buckets.low[n], buckets.high[n]];
      if (from > ns) found.sure += inBucket;
      else if (to > ns) found.unsure += inBucket;
      if (from <= ns) found.resolution = (to - from + 1) / Math.max(1, Math.abs(to));
    });
    if (max <= ns) return { ...found, sure: 0, unsure: 0 };
    if (found.sure === 0) return { ...found, sure: 1, unsure: Math.max(0, found.unsure - 1) };
    return found;
  };

  const verdict = ({ count, loss }, { sure, unsure }) => {
    if (sure > 0) return ["no", "missed"];
    if (loss !== null) return ["no", loss];
    if (unsure > 0) return ["", "undecided (bucket straddles the deadline)"];
    return count < MIN_SAMPLES ? ["", "too few samples"] : ["yes", "kept"];
  };

  const range = (from, to, words) => (from === to ? words(from) : `${words(from)} to ${words(to)}`);
  const percent = (share) => `${Kadenz.significant(100 * share, 3)}\u00a0%`;

  /** The figures of a row: what the run counted at its own deadline, else what is counted again. */
  const counted = (series) => {
    if (limit === series.deadline) return { sure: series.misses, unsure: 0, resolution: 0 };
    return misses(series, limit);
  };

  const row = (series) => {
    const found = counted(series);
    const line = document.createElement("tr");
    const cell = (label, text) => {
      const made = line.appendChild(document.createElement("td"));
      made.dataset.label = label;
      made.textContent = text;
      return made;
    };
    const head = line.appendChild(document.createElement("th"));
    head.scope = "row";
    head.append(Kadenz.mark(Kadenz.data.series.indexOf(series)), series.label);
    const [look, word] = verdict(series, found);
    const mark = document.createElement("span");
    mark.className = look;
    mark.textContent = word;
    cell("Deadline", "").append(mark);
    const most = found.sure + found.unsure;
    cell("Misses", range(found.sure, most, Kadenz.count));
    cell("Share", range(found.sure / series.count, most / series.count, percent));
    cell("Samples", Kadenz.count(series.count));
    return { line, resolution: found.resolution };
  };

  const show = () => {
    const made = rows.map(row);
    box.querySelector("tbody").replaceChildren(...made.map(({ line }) => line));
    const coarsest = Math.max(...made.map(({ resolution }) => resolution));
    const again = `Recounted from the histogram, resolution ${percent(coarsest)}.`;
    document.getElementById("what-if-note").textContent =
      (coarsest === 0 ? "As it was recorded." : `${again} Rows of misses cannot be recounted.`) +
      (judged.length > MAX_ROWS ? ` The first ${MAX_ROWS} of ${judged.length} series.` : "");
    output.textContent = Kadenz.duration(limit);
    slider.setAttribute("aria-valuetext", Kadenz.duration(limit));
    slider.value = String(Math.min(STEPS, Math.max(0, place(limit))));
    reset.hidden = first === null || limit === first;
    link.href = `#deadline=${inUnits(limit)}`;
    Kadenz.whatIf = limit === first ? null : limit;
    redraw();
  };

  /** Charts follow the slider once a frame. */
  let asked = 0;
  const redraw = () => {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(Kadenz.redraw);
  };

  const inUnits = (ns) => {
    const unit = ["s", "ms", "us"].find((name) => ns >= UNITS[name]) ?? "ns";
    return `${ns / UNITS[unit]}${unit}`;
  };

  const address = (fragment) =>
    history.replaceState(null, "", `${location.pathname}${location.search}${fragment}`);

  const fromAddress = () => {
    // Not decodeURIComponent: it throws at a `%` that encodes nothing.
    const hash = location.hash.replace(/%C2%B5/i, "µ");
    const wanted = hash.match(/^#deadline=(\d+(?:\.\d+)?)(ns|us|µs|ms|s)$/);
    const ns = wanted ? Math.round(Number(wanted[1]) * UNITS[wanted[2]]) : 0;
    if (ns >= 1 && ns < 3.6e12) limit = ns;
    return ns >= 1;
  };

  if (first === null) reset.remove();
  else reset.textContent = `Back to ${Kadenz.duration(first)}`;
  slider.addEventListener("input", () => {
    limit = at(Number(slider.value));
    show();
    address(`#deadline=${inUnits(limit)}`);
  });
  reset.addEventListener("click", () => {
    limit = first;
    show();
    address("");
    slider.focus();
  });
  addEventListener("hashchange", () => fromAddress() && show());
  const linked = fromAddress();
  limit ??= at(STEPS);
  box.hidden = false;
  show();
  if (linked) box.scrollIntoView();
})();
