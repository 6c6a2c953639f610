// The largest value of each interval over the whole run, down to single intervals.
"use strict";
(() => {
  /** The columns of a series as pairs for ECharts: times in milliseconds, values in nanoseconds. */
  const columns = ({ step, starts, max, min }) => {
    const time = new Float64Array(max.length);
    let last = 0;
    for (let n = 0; n < max.length; n += 1) {
      last = step ? step[0] + n * step[1] : last + starts[n];
      time[n] = last;
    }
    const pairs = (values) => {
      const flat = new Float64Array(2 * values.length);
      for (let n = 0; n < values.length; n += 1) {
        flat[2 * n] = time[n];
        flat[2 * n + 1] = values[n];
      }
      return flat;
    };
    return { time, max, min, maxPairs: pairs(max), minPairs: min ? pairs(min) : null };
  };

  Kadenz.figure("extremes", (figure) => {
    const wants = (series) => series.extremes !== null;
    const all = Kadenz.data.series.map((s) => (wants(s) ? columns(s.extremes) : null));
    const drawn = all.filter((c) => c !== null);
    if (drawn.length === 0) return { option: () => ({}), wants };
    const covers = Math.max(...Kadenz.data.series.filter(wants).map((s) => s.extremes.covers_s * 1e3));
    const end = Math.max(...drawn.map((c) => c.time[c.time.length - 1])) + covers;
    const largest = Math.max(...Kadenz.data.series.filter(wants).map((s) => s.max));
    const signed = drawn.some((c) => c.min);
    let scale = Kadenz.fittingScale(wants);

    const visible = () => ((figure.zoom.end - figure.zoom.start) / 100) * end;

    /** The worst interval within `around` milliseconds of a place; plots show one point a pixel. */
    const worstNear = ({ time, max }, at, around) => {
      let best = -1;
      for (let n = Kadenz.lowerBound(time.length, (m) => time[m], at - around); n < time.length; n += 1) {
        if (time[n] > at + around) break;
        if (best < 0 || max[n] > max[best]) best = n;
      }
      return best;
    };

    const tooltip = (rows) => {
      const at = rows[0].axisValue;
      const around = Math.max(visible() / figure.chart.getWidth(), covers / 2);
      const colours = Kadenz.theme.colours();
      const shown = Kadenz.shown(wants);
      const lines = shown.flatMap(({ series, index }) => {
        const n = worstNear(all[index], at, around);
        if (n < 0) return [];
        const { max, min, time } = all[index];
        const early = min && min[n] < 0 ? `, ${Kadenz.duration(min[n])} early` : "";
        const value = `${Kadenz.duration(max[n])}${early} at ${Kadenz.clock(time[n], covers)}`;
        return [{ colour: Kadenz.stroke(index, colours).color, name: series.label, value }];
      });
      const started = Kadenz.data.runs[shown[0].series.run].started_at;
      const wall = Kadenz.data.runs.length === 1 ? Kadenz.wallTime(started, at) : "";
      return Kadenz.tip(`${Kadenz.clock(at, covers)} into the run${wall && ` · ${wall}`}`, lines);
    };

    const line = (index, kind, data, colours, points) => {
      const stroke = Kadenz.stroke(index, colours);
      return {
        name: `${kind}:${index}`,
        type: "line",
        data,
        dimensions: ["time", "value"],
        sampling: kind,
        showSymbol: points < 150,
        symbol: "circle",
        symbolSize: 5,
        itemStyle: { color: stroke.color },
        lineStyle: { ...stroke, width: 1.25, opacity: kind === "min" ? 0.55 : 0.9 },
        emphasis: { disabled: true },
      };
    };

    const option = (colours) => {
      const shown = Kadenz.shown(wants);
      const log = scale === "log";
      const points = visible() / covers;
      const limits = Kadenz.deadlines(shown).filter((limit) => log || limit <= 4 * largest);
      const lines = Kadenz.widestFirst(shown).flatMap(({ index }) => {
        const { maxPairs, minPairs } = all[index];
        const early = minPairs && !log ? [line(index, "min", minPairs, colours, points)] : [];
        return [line(index, "max", maxPairs, colours, points), ...early];
      });
      return {
        ...Kadenz.base(colours),
        useUTC: true,
        tooltip: { ...Kadenz.base(colours).tooltip, formatter: tooltip },
        grid: { ...Kadenz.base(colours).grid, bottom: 50 },
        dataZoom: Kadenz.zoom(colours, figure.zoom, { minValueSpan: Math.min(end, 5 * covers) }),
        xAxis: Kadenz.axis(colours, {
          type: "time",
          min: 0,
          max: end,
          splitLine: { show: false },
          axisLabel: { formatter: (ms) => Kadenz.clockTick(ms, visible(), end) },
        }),
        yAxis: Kadenz.valueAxis(colours, scale, signed),
        series: [...lines, ...limits.map((limit) => Kadenz.limitLine(limit, 0, end, colours))],
      };
    };

    /** Single intervals get a dot each once they can be told apart. */
    const onZoom = () => {
      const showSymbol = visible() / covers < 150;
      if (figure.dots === showSymbol) return;
      figure.dots = showSymbol;
      figure.chart.setOption({
        series: Kadenz.shown(wants).flatMap(({ index }) =>
          (all[index].minPairs && scale !== "log" ? ["max", "min"] : ["max"]).map((kind) => ({
            name: `${kind}:${index}`,
            showSymbol,
          }))),
      });
    };

    const worst = () => {
      let best = { value: -Infinity, time: 0 };
      for (const { index } of Kadenz.shown(wants)) {
        all[index].max.forEach((value, n) => {
          if (value > best.value) best = { value, time: all[index].time[n] + covers / 2 };
        });
      }
      return best.time;
    };

    const show = (milliseconds) => {
      const size = Math.min(100, (milliseconds / end) * 100);
      const start = Math.min(Math.max(0, (worst() / end) * 100 - size / 2), 100 - size);
      figure.zoomTo(start, start + size);
    };

    for (const button of figure.element.querySelectorAll(".spans button")) {
      const span = Number(button.value);
      if (span >= end || (span > 0 && span < 5 * covers)) button.remove();
      else button.addEventListener("click", () => (span === 0 ? figure.zoomTo(0, 100) : show(span)));
    }
    Kadenz.choice(figure.element.querySelector(".scale"), scale, (chosen) => {
      scale = chosen;
      figure.draw();
    });
    return { option, wants, zooms: true, onZoom };
  });
})();
