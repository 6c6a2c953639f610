// Percentiles over the nines axis: how long the worst of a hundred, a thousand, a million takes.
"use strict";
(() => {
  /**
   * A bucket's last sample of rank k among n stands at (k - 1/2) / n (Hazen), so that the largest
   * of all has a place on the axis too.
   */
  const curve = ({ buckets, count, max }) => {
    const points = [[0, buckets.low[0]]];
    const step = Math.log10(2 * count) / 1500; // Finer than a pixel.
    let rank = 0;
    buckets.count.forEach((inBucket, n) => {
      rank += inBucket;
      const x = -Math.log10(1 - (rank - 0.5) / count);
      const last = points[points.length - 1];
      if (n < buckets.count.length - 1 && x - last[0] < step) return;
      points.push([x, Math.min(buckets.high[n], max)]);
    });
    return points;
  };

  const curves = new Map();
  const curveOf = (index) => {
    if (!curves.has(index)) curves.set(index, curve(Kadenz.data.series[index]));
    return curves.get(index);
  };

  Kadenz.figure("percentiles", (figure) => {
    const wants = (series) => series.count > 0;
    const signed = Kadenz.data.series.some((s) => s.min < 0);
    let scale = Kadenz.fittingScale(wants);
    Kadenz.choice(figure.element.querySelector(".scale"), scale, (chosen) => {
      scale = chosen;
      figure.draw();
    });

    const tooltip = (rows) => {
      const x = rows[0].axisValue;
      const colours = Kadenz.theme.colours();
      const lines = Kadenz.shown(wants).flatMap(({ series, index }) => {
        const points = curveOf(index);
        const point = points[Kadenz.lowerBound(points.length, (n) => points[n][0], x)];
        if (!point) return []; // Too few samples for this percentile.
        const value = `≤ ${Kadenz.duration(point[1])}`;
        return [{ colour: Kadenz.stroke(index, colours).color, name: series.label, value }];
      });
      return Kadenz.tip(`${Kadenz.nines(x)} of samples`, lines);
    };

    const option = (colours) => {
      const shown = Kadenz.shown(wants);
      const nines = Math.max(1, ...shown.map(({ series }) => Math.log10(2 * series.count)));
      const log = scale === "log";
      const drawable = (point) => !log || point[1] > 0;
      const reach = shown.flatMap(({ series, index }) => [curveOf(index).find(drawable)?.[1] ?? 1, series.max]);
      const limits = Kadenz.limitsOn(figure, shown, scale);
      return {
        ...Kadenz.base(colours, tooltip),
        xAxis: Kadenz.axis(colours, {
          ...Kadenz.titled("share of samples below", true),
          type: "value",
          min: 0,
          max: Math.ceil(nines * 4) / 4,
          interval: 1,
          axisLabel: { formatter: (x) => (Number.isInteger(x) ? Kadenz.nines(x) : "") },
        }),
        yAxis: Kadenz.valueAxis(colours, "value", scale, signed, limits, reach),
        series: [
          ...shown.flatMap(({ index }) => {
            const points = curveOf(index).filter(drawable);
            const line = Kadenz.line(index, colours, { width: 2 }, { name: String(index), data: points });
            const largest = {
              type: "scatter",
              data: points.slice(-1),
              symbol: "diamond",
              symbolSize: 11,
              silent: true,
              tooltip: { show: false },
              itemStyle: line.itemStyle,
            };
            return [line, largest];
          }),
          Kadenz.limitLines(limits.map((limit) => ({ limit, at: limit })), "yAxis", colours),
        ],
      };
    };
    return { option, wants };
  });
})();
