// The frequency of each value, with logarithmic counts; bins become finer as the reader zooms in.
"use strict";
(() => {
  const BINS = 260;
  /** Counts stand on this floor: an empty bin lies on it, a single sample rises above it. */
  const FLOOR = Math.log10(0.5);

  /** Samples in each of `bins` bins of equal width between two places on an axis. */
  Kadenz.binned = ({ buckets }, axis, from, to, bins) => {
    const counts = new Float64Array(bins);
    const width = (to - from) / bins;
    const place = (ns) => (axis.to(ns) - from) / width;
    for (let n = 0; n < buckets.count.length; n += 1) {
      const low = Math.floor(place(buckets.low[n]) + 1e-9);
      const high = Math.max(low, Math.ceil(place(buckets.high[n]) - 1e-9) - 1);
      if (high < 0 || low >= bins) continue;
      const each = buckets.count[n] / (high - low + 1);
      for (let bin = Math.max(0, low); bin <= Math.min(bins - 1, high); bin += 1) {
        counts[bin] += each;
      }
    }
    return counts;
  };

  /** Bins as a line of steps on the logarithmic count axis. */
  Kadenz.steps = (counts, from, to) => {
    const width = (to - from) / counts.length;
    const points = [];
    counts.forEach((count, bin) => {
      points.push([from + bin * width, Math.max(FLOOR, Math.log10(count))]);
    });
    points.push([to, FLOOR]);
    return points;
  };

  const DECADES = Array.from({ length: 20 }, (_, n) => n);

  Kadenz.countAxis = (colours) =>
    Kadenz.axis(colours, {
      type: "value",
      min: FLOOR,
      ...Kadenz.titled("samples"),
      axisTick: { show: false, customValues: DECADES },
      axisLabel: { customValues: DECADES, formatter: (x) => Kadenz.count(10 ** x) },
    });

  /** Deadlines that lie within a stretch of a value axis, as lines from top to bottom. */
  Kadenz.verticalLimits = (limits, axis, from, to, colours) => {
    const places = limits.map((limit) => ({ limit, at: axis.to(limit) }));
    return Kadenz.limitLines(places.filter(({ at }) => at >= from && at <= to), "xAxis", colours);
  };

  /** How many samples a bin holds, in words. */
  Kadenz.samples = (number) => (number > 0 && number < 0.95 ? "< 1" : Kadenz.count(number));

  /** The size that 1 % of a series' values are smaller than. */
  const small = ({ buckets, count }) => {
    const sizes = buckets.count.map((inBucket, n) => [
      Math.max(Math.abs(buckets.low[n]), Math.abs(buckets.high[n])), inBucket,
    ]);
    let rank = 0;
    return sizes.sort((a, b) => a[0] - b[0]).find(([, inBucket]) => (rank += inBucket) >= count / 100)[0];
  };

  Kadenz.figure("histogram", (figure) => {
    const wants = (series) => series.count > 0;
    const series = Kadenz.data.series.filter(wants);
    if (series.length === 0) return { option: () => ({}), wants };
    const unit = 10 ** Math.floor(Math.log10(Math.max(10, Math.min(...series.map(small)))) - 1);
    const scales = { linear: Kadenz.linear, log: Kadenz.signedLog(unit) };
    let scale = "log";

    const reach = () => {
      const axis = scales[scale];
      const low = axis.to(Math.min(...series.map((s) => s.min)));
      const high = axis.to(Math.max(...series.map((s) => s.max)));
      const margin = (high - low || 1) * 0.02;
      return [low < 0 ? low - margin : Math.max(0, low - margin), high + margin];
    };

    const window = () => Kadenz.visible(figure.zoom, reach());

    const lines = (colours) => {
      const [from, to] = window();
      const opacity = Math.max(0.02, 0.2 - 0.02 * series.length);
      return Kadenz.shown(wants).map(({ series: one, index }) => {
        const { color } = Kadenz.stroke(index, colours);
        return Kadenz.line(index, colours, { width: 1.25 }, {
          name: String(index),
          step: "end",
          data: Kadenz.steps(Kadenz.binned(one, scales[scale], from, to, BINS), from, to),
          areaStyle: { color, opacity, origin: "start" },
        });
      });
    };

    const tooltip = (rows) => {
      const [from, to] = window();
      const width = (to - from) / BINS;
      const bin = Math.floor((rows[0].value[0] - from) / width + 1e-6);
      const edge = (n) => Kadenz.duration(scales[scale].from(from + n * width));
      return Kadenz.tip(`${edge(bin)} to ${edge(bin + 1)}`, rows.map((row) => {
        const count = row.value[1] <= FLOOR ? 0 : 10 ** row.value[1];
        const name = Kadenz.data.series[Number(row.seriesName)].label;
        return { colour: row.color, name, value: Kadenz.samples(count) };
      }));
    };

    const option = (colours) => {
      const [low, high] = reach();
      const axis = scales[scale];
      const limits = Kadenz.deadlines(Kadenz.shown(wants));
      return {
        ...Kadenz.base(colours, tooltip, { bottom: 66 }),
        dataZoom: Kadenz.zoom(colours, figure.zoom, { showDataShadow: false, minSpan: 0.1, filterMode: "none" }),
        xAxis: Kadenz.zoomedValues(colours, axis, figure.zoom, [low, high]),
        yAxis: Kadenz.countAxis(colours),
        series: [...lines(colours), Kadenz.verticalLimits(limits, axis, low, high, colours)],
      };
    };

    const onZoom = () =>
      figure.chart.setOption({
        xAxis: Kadenz.valueTicks(scales[scale], ...window()),
        series: lines(Kadenz.theme.colours()),
      });

    Kadenz.choice(figure.element.querySelector(".scale"), scale, (chosen) => {
      scale = chosen;
      Object.assign(figure.zoom, { start: 0, end: 100 });
      figure.draw();
    });
    return { option, wants, zooms: true, onZoom };
  });
})();
