// Figures as words: the same rules as src/html/figures.rs.
"use strict";
const Kadenz = {};

(() => {
  const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

  /** A number with this many significant digits, no trailing zeros. */
  Kadenz.significant = (value, digits) =>
    String(Number(value.toPrecision(digits))).replace("-", "−");

  /** Nanoseconds in the unit that suits them: 52340 -> "52.34 µs". */
  Kadenz.duration = (ns, digits = 4) => {
    if (ns === 0) return "0";
    const unit = UNITS.find(([, scale]) => Math.abs(ns) >= scale * 0.99995) ?? UNITS[3];
    return `${Kadenz.significant(ns / unit[1], digits)}\u00a0${unit[0]}`;
  };

  /** 80304595 -> "80,304,595". */
  Kadenz.count = (number) => String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");

  const two = (number) => String(number).padStart(2, "0");

  /** Milliseconds since the start of the run: "13:07:41", with decimals where they matter. */
  Kadenz.clock = (ms, resolution = 1000) => {
    const seconds = Math.floor(ms / 1000);
    const hours = Math.floor(seconds / 3600);
    const text = `${two(hours)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
    return resolution < 1000 ? `${text}.${String(Math.floor(ms % 1000)).padStart(3, "0")}` : text;
  };

  /** A moment on a time axis, as short as the run and the zoom allow: "13:07", "7:41", "7:41.250". */
  Kadenz.clockTick = (ms, visible, end) => {
    const text = Kadenz.clock(ms, visible < 5000 ? 1 : 1000);
    if (end <= 3600e3) return text.slice(4);
    return visible > 3 * 3600e3 ? text.slice(0, -3) : text;
  };

  /** Wall time in UTC of a moment of a run that started at an RFC 3339 time; "" if unknown. */
  Kadenz.wallTime = (startedAt, ms) => {
    const start = Date.parse(startedAt);
    if (Number.isNaN(start)) return "";
    return `${new Date(start + ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
  };

  /** The nines axis: a share p of samples stands at log10(1 / (1 - p)). */
  Kadenz.nines = (x) => {
    const decimals = Math.max(0, Math.ceil(x - 1e-9) - 2) + (Number.isInteger(x) ? 0 : 1);
    return `${((1 - 10 ** -x) * 100).toFixed(decimals)}\u00a0%`;
  };

  /**
   * A signed logarithm, smooth through zero: early values, zero and a long tail share one axis.
   * Far beyond ±unit it is log10(ns / unit).
   */
  Kadenz.signedLog = (unit) => ({
    to: (ns) => Math.asinh(ns / (2 * unit)) / Math.LN10,
    from: (x) => 2 * unit * Math.sinh(x * Math.LN10),
    /** Places of round values: powers of ten, then 2 and 5 between them, then even steps. */
    ticks(from, to) {
      const [low, high] = [this.from(from), this.from(to)];
      const within = (factors) => {
        const places = low <= 0 && high >= 0 ? [0] : [];
        for (let power = 10 * unit; power <= 1e13; power *= 10) {
          for (const ns of factors.flatMap((factor) => [factor * power, -factor * power])) {
            if (ns >= low && ns <= high) places.push(ns);
          }
        }
        return places;
      };
      const found = [[1], [1, 2, 5]].map(within).find((places) => places.length > 3);
      return (found ?? Kadenz.evenly(low, high)).map((ns) => this.to(ns)).sort((a, b) => a - b);
    },
  });

  /** About eight round values between two. */
  Kadenz.evenly = (low, high) => {
    const power = 10 ** Math.floor(Math.log10((high - low) / 8));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= (high - low) / 8);
    const values = [];
    for (let n = Math.ceil(low / step); n * step <= high; n += 1) values.push(n * step);
    return values;
  };

  Kadenz.linear = { to: (ns) => ns, from: (x) => x, ticks: (from, to) => Kadenz.evenly(from, to) };
})();
