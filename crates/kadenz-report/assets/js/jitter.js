// Jitter against the ideal signal: zero is the beat.
"use strict";
(() => {
  Kadenz.figure("jitter", (figure) => {
    const wants = (series) => series.jitter !== null;
    const all = Kadenz.data.series.filter(wants).map((s) => s.jitter);
    const end = Math.max(1, ...all.map(({ time }) => time[time.length - 1] ?? 0));

    const pairs = ({ time, value }) =>
      Kadenz.pairs(time, value, (10 * (time[time.length - 1] - time[0])) / time.length);

    const tooltip = (rows) => {
      const at = rows[0].axisValue;
      const colours = Kadenz.theme.colours();
      const lines = Kadenz.shown(wants).flatMap(({ series, index }) => {
        const { time, value } = series.jitter;
        const n = Kadenz.lowerBound(time.length, (m) => time[m], at);
        if (n === time.length) return [];
        const colour = Kadenz.stroke(index, colours).color;
        return [{ colour, name: series.label, value: Kadenz.duration(value[n]) }];
      });
      return Kadenz.tip(`${Kadenz.clock(at, 1)} into the run`, lines);
    };

    const option = (colours) => ({
      ...Kadenz.base(colours, tooltip, { bottom: 66 }),
      useUTC: true,
      dataZoom: Kadenz.zoom(colours, figure.zoom, { minValueSpan: Math.min(end, 20) }),
      xAxis: Kadenz.timeAxis(colours, figure.zoom, end),
      yAxis: Kadenz.axis(colours, {
        ...Kadenz.titled("interval less the ideal one"),
        type: "value",
        axisLabel: { formatter: (ns) => (ns > 0 ? "+" : "") + Kadenz.duration(ns, 3) },
      }),
      series: Kadenz.widestFirst(Kadenz.shown(wants)).map(({ series, index }) =>
        Kadenz.line(index, colours, { width: 1 }, {
          name: String(index),
          data: pairs(series.jitter),
          dimensions: ["time", "value"],
          sampling: "minmax",
          markLine: Kadenz.zeroLine("yAxis", { color: colours.muted, type: "solid", width: 1 }),
        })),
    });
    return { option, wants, zooms: true };
  });
})();
