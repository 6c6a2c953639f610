// The control periods of a matrix: a small panel per cell, all on the same axes.
"use strict";
(() => {
  const BINS = 120;
  const FLOOR = Math.log10(0.5);
  const TOP = 30;
  const GAP = 34;
  const HEIGHT = 130;

  /** All cells share these: a logarithm of the excess that is smooth through zero. */
  const shared = () => {
    const all = Kadenz.data.series;
    const axis = Kadenz.signedLog(1000);
    const low = axis.to(Math.min(0, ...all.map(({ min }) => min)));
    const high = axis.to(Math.max(...all.map(({ max }) => max)));
    const margin = 0.03 * (high - low || 1);
    const of = { axis, from: low - margin, to: high + margin };
    const bins = all.map((one) => Kadenz.binned(one, axis, of.from, of.to, BINS));
    of.tallest = Math.log10(Math.max(10, ...bins.map((counts) => Math.max(...counts)))) * 1.05;
    return of;
  };

  const signed = (ns) => (ns > 0 ? "+" : "") + Kadenz.duration(ns, 3);

  for (const load of ["unloaded", "heavy"]) {
    Kadenz.figure(`periods-${load}`, (figure) => {
      const cells = Kadenz.data.series.filter((cell) => cell.load === load);
      if (cells.length === 0) return { option: () => ({}) };
      const { axis, from, to, tallest } = shared();
      const bins = cells.map((cell) => Kadenz.binned(cell, axis, from, to, BINS));

      const columns = () => (figure.plot.clientWidth > 840 ? 3 : figure.plot.clientWidth > 310 ? 2 : 1);
      const fit = () => {
        const lines = Math.ceil(cells.length / columns());
        figure.plot.style.height = `${TOP + lines * (HEIGHT + GAP) - 14}px`;
      };
      fit();

      const tooltip = (rows) => {
        const { seriesIndex, dataIndex } = rows[0];
        const at = (bin) => signed(axis.from(from + ((to - from) * bin) / BINS));
        const bin = Math.min(dataIndex, BINS - 1);
        const colour = Kadenz.theme.colours().series[load === "heavy" ? 1 : 0];
        const value = Kadenz.count(bins[seriesIndex][bin]);
        return Kadenz.tip(`${at(bin)} to ${at(bin + 1)}`, [{ colour, name: cells[seriesIndex].label, value }]);
      };

      const option = (colours) => {
        fit();
        const number = columns();
        const width = figure.plot.clientWidth;
        const left = 62;
        const each = (width - left - 16) / number;
        const colour = colours.series[load === "heavy" ? 1 : 0];
        const place = (n) => [n % number, Math.floor(n / number)];
        const room = Math.max(2, Math.floor(each / 56));
        const ticks = axis.ticks(from, to).filter((x, n, all) => n % Math.ceil(all.length / room) === 0);
        const decades = Array.from({ length: Math.floor(tallest / 2) + 1 }, (_, n) => 2 * n);
        const last = (n) => n + number >= cells.length;
        return {
          ...Kadenz.base(colours, tooltip),
          title: cells.map(({ label, p99_9: p }, n) => ({
            text: label,
            subtext: p === null ? "" : `99.9\u00a0% below ${signed(p)}`,
            left: left + place(n)[0] * each + 6,
            top: TOP + place(n)[1] * (HEIGHT + GAP) - 30,
            padding: 0,
            itemGap: 1,
            textStyle: { color: colours.ink, fontSize: 14, lineHeight: 15 },
            subtextStyle: { color: colours.muted, fontSize: 11, lineHeight: 12 },
          })),
          grid: cells.map((_, n) => ({
            left: left + place(n)[0] * each,
            top: TOP + place(n)[1] * (HEIGHT + GAP),
            width: each - 18,
            height: HEIGHT - 30,
          })),
          xAxis: cells.map((_, n) => Kadenz.axis(colours, {
            type: "value",
            gridIndex: n,
            name: last(n) ? "excess of the period" : "",
            nameLocation: "middle",
            nameGap: 24,
            min: from,
            max: to,
            splitLine: { show: false },
            axisTick: { customValues: ticks },
            axisLabel: {
              show: last(n),
              customValues: ticks,
              fontSize: 11,
              formatter: (x) => (Math.abs(x) < 1e-9 ? "0" : signed(axis.from(x))),
            },
          })),
          yAxis: cells.map((_, n) => Kadenz.axis(colours, {
            type: "value",
            gridIndex: n,
            name: place(n)[0] === 0 ? "samples" : "",
            nameLocation: "middle",
            nameGap: 44,
            min: FLOOR,
            max: tallest,
            axisTick: { show: false, customValues: decades },
            splitLine: { show: true, lineStyle: { color: colours.grid } },
            axisLabel: {
              show: place(n)[0] === 0,
              customValues: decades,
              fontSize: 11,
              formatter: (x) => Kadenz.count(10 ** x),
            },
          })),
          series: cells.map((cell, n) => ({
            name: cell.label,
            type: "line",
            step: "end",
            xAxisIndex: n,
            yAxisIndex: n,
            data: Kadenz.steps(bins[n], from, to),
            symbol: "none",
            itemStyle: { color: colour },
            lineStyle: { color: colour, width: 1.25 },
            areaStyle: { color: colour, opacity: 0.25, origin: "start" },
            emphasis: { disabled: true },
            markLine: Kadenz.zeroLine("xAxis", { color: colours.muted, type: [4, 4], width: 1 }),
          })),
        };
      };
      return { option };
    });
  }
})();
