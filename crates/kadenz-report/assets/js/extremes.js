// The largest value of each interval over the whole run, down to single intervals.
//
// A day has 86,400 intervals a series: for each stretch of time only about one point a pixel is
// handed to the chart, always the worst of those it stands for, at its true time.
"use strict";
(() => {
  const POINTS = 1200;

  /** Times in milliseconds since the start of the run, beside the extremes in nanoseconds. */
  const columns = ({ step, starts, max, min, covers_s }) => {
    const time = new Float64Array(max.length);
    let last = 0;
    for (let n = 0; n < max.length; n += 1) {
      last = step ? step[0] + n * step[1] : last + starts[n];
      time[n] = last;
    }
    return { time, max, min, covers: covers_s * 1e3 };
  };

  /** The columns between two times, thinned by powers of two so that panning changes no point. */
  const thinned = ({ time, max, min, covers }, wanted, from, to, points) => {
    const first = Math.max(0, Kadenz.lowerBound(time.length, (n) => time[n], from) - 1);
    const end = Math.min(time.length, Kadenz.lowerBound(time.length, (n) => time[n], to) + 1);
    const stride = 2 ** Math.max(0, Math.ceil(Math.log2((end - first) / points)));
    const values = wanted === "max" ? max : min;
    const worse = wanted === "max" ? (a, b) => a > b : (a, b) => a < b;
    const at = [];
    const kept = [];
    for (let start = first - (first % stride); start < end; start += stride) {
      let worst = start;
      for (let n = start + 1; n < Math.min(start + stride, values.length); n += 1) {
        if (worse(values[n], values[worst])) worst = n;
      }
      at.push(time[worst]);
      kept.push(values[worst]);
    }
    return { data: Kadenz.pairs(at, kept, (2 * stride + 2) * covers), values: kept, single: stride === 1 };
  };

  Kadenz.figure("extremes", (figure) => {
    const wants = (series) => series.extremes !== null;
    const all = Kadenz.data.series.map((s) => (wants(s) ? columns(s.extremes) : null));
    const drawn = all.filter((c) => c !== null);
    if (drawn.length === 0) return { option: () => ({}), wants };
    const covers = Math.max(...drawn.map((c) => c.covers));
    const end = Math.max(...drawn.map((c) => c.time[c.time.length - 1])) + covers;
    const signed = drawn.some((c) => c.min);
    let scale = Kadenz.fittingScale(wants);

    const visible = () => ((figure.zoom.end - figure.zoom.start) / 100) * end;
    const window = () => Kadenz.visible(figure.zoom, [0, end]);

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

    const line = (index, kind, colours) => {
      const { data, values, single } = thinned(all[index], kind, ...window(), POINTS);
      return Kadenz.line(index, colours, { width: 1.25, opacity: kind === "min" ? 0.55 : 0.9 }, {
        values,
        data,
        dimensions: ["time", "value"],
        showSymbol: single && values.length < 150,
        symbol: "circle",
        symbolSize: 5,
      });
    };

    const lines = (shown, colours) =>
      Kadenz.widestFirst(shown).flatMap(({ index }) => {
        const early = all[index].min && scale !== "log" ? [line(index, "min", colours)] : [];
        return [line(index, "max", colours), ...early];
      });

    /** What the slider shows beneath its handles: the widest series over the whole run. */
    const overview = (shown) => {
      const widest = Kadenz.widestFirst(shown)[0];
      const data = widest ? thinned(all[widest.index], "max", 0, end, POINTS / 2).data : [];
      return { type: "line", data, silent: true, symbol: "none", lineStyle: { opacity: 0 } };
    };

    /** What depends on the stretch of time that is visible. */
    const stretch = (shown, colours) => {
      const series = lines(shown, colours);
      const limits = Kadenz.limitsOn(figure, shown, scale);
      const places = limits.map((limit) => ({ limit, at: limit }));
      return {
        yAxis: Kadenz.valueAxis(colours, "largest value", scale, signed, limits, series.flatMap((s) => s.values)),
        series: [overview(shown), ...series, Kadenz.limitLines(places, "yAxis", colours)],
      };
    };

    const option = (colours) => ({
      ...Kadenz.base(colours, tooltip, { bottom: 66 }),
      useUTC: true,
      dataZoom: Kadenz.zoom(colours, figure.zoom, {
        minValueSpan: Math.min(end, 5 * covers),
        filterMode: "none",
      }),
      xAxis: Kadenz.timeAxis(colours, figure.zoom, end),
      ...stretch(Kadenz.shown(wants), colours),
    });

    const onZoom = () =>
      figure.chart.setOption(stretch(Kadenz.shown(wants), Kadenz.theme.colours()));

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
