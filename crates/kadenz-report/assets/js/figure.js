// What all charts share: when they are drawn, their axes, their legend, their zoom.
"use strict";
(() => {
  const DASHES = ["solid", [7, 3], [2, 3], [9, 3, 2, 3]];
  Kadenz.data = JSON.parse(document.getElementById("kadenz-data").textContent);
  const figures = [];
  const hidden = new Set();

  /** How a series is drawn in every chart: colour, and beyond eight series a dash as well. */
  Kadenz.stroke = (index, colours) => ({
    color: colours.series[index % 8],
    type: DASHES[Math.floor(index / 8) % DASHES.length],
  });

  /** The series that the reader has not hidden, with their numbers. */
  Kadenz.shown = (wanted = () => true) =>
    Kadenz.data.series
      .map((series, index) => ({ series, index }))
      .filter(({ series, index }) => !hidden.has(index) && wanted(series));

  /** Several series share a linear axis only if none of them would lie flat on it. */
  Kadenz.fittingScale = (wants) => {
    const maxima = Kadenz.data.series.filter(wants).map((series) => Math.max(1, series.max));
    return Math.max(...maxima) > 10 * Math.min(...maxima) ? "log" : "linear";
  };

  /** The widest first: it is drawn lowest, and its shape stands in the slider. */
  Kadenz.widestFirst = (shown) => [...shown].sort((a, b) => b.series.max - a.series.max);

  /** Distinct deadlines of the series shown. */
  Kadenz.deadlines = (shown) => [
    ...new Set(shown.map(({ series }) => series.deadline).filter((limit) => limit !== null)),
  ];

  Kadenz.axis = (colours, more = {}) => ({
    axisLine: { onZero: false, lineStyle: { color: colours.line } },
    axisTick: { lineStyle: { color: colours.line } },
    axisLabel: { color: colours.muted, fontSize: 12, hideOverlap: true, ...more.axisLabel },
    splitLine: { lineStyle: { color: colours.grid } },
    nameTextStyle: { color: colours.muted, fontSize: 12 },
    ...Object.fromEntries(Object.entries(more).filter(([key]) => key !== "axisLabel")),
  });

  const ROUND = { log: [1, 2, 5, 10], linear: [1, 1.2, 1.5, 1.8, 2, 2.5, 3, 4, 5, 6, 8, 10] };

  /** The next round number above or below: 1, 2 or 5 of a power of ten, finer on a linear axis. */
  const round = (value, scale, up) => {
    const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
    const steps = ROUND[scale].map((step) => step * power);
    return up
      ? steps.find((step) => step >= value * 0.9999)
      : steps.findLast((step) => step <= value * 1.0001);
  };

  /** The axis of values, with room for what is visible and for the limits. */
  Kadenz.valueAxis = (colours, scale, signed, limits, values) => {
    let [min, max] = [Infinity, 1];
    for (const value of [...limits, ...values]) {
      if (value > max) max = value;
      if (value < min && (value > 0 || scale !== "log")) min = value;
    }
    const lowest = { log: round(Math.min(min, max), scale, false), linear: signed ? null : 0 };
    return Kadenz.axis(colours, {
      type: scale === "log" ? "log" : "value",
      min: lowest[scale],
      max: round(max, scale, true),
      axisLabel: { formatter: (ns) => Kadenz.duration(ns, 3) },
    });
  };

  /** The deadlines that the axis of values shall reach; a far one is told beside the plot. */
  Kadenz.limitsOn = (figure, shown, scale) => {
    const largest = Math.max(...shown.map(({ series }) => series.max));
    const deadlines = Kadenz.deadlines(shown);
    const near = deadlines.filter((limit) => scale === "log" || limit <= 4 * largest);
    const far = deadlines.filter((limit) => !near.includes(limit)).map((limit) => Kadenz.duration(limit));
    const note = figure.element.querySelector(".above");
    note.textContent = far.length > 0 ? `Above this plot: the deadline of ${far.join(", ")}.` : "";
    return near;
  };

  Kadenz.base = (colours) => ({
    animation: false,
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily },
    grid: { left: 12, right: 34, top: 34, bottom: 12, containLabel: true },
    tooltip: {
      trigger: "axis",
      confine: true,
      backgroundColor: colours.surface,
      borderColor: colours.line,
      textStyle: { color: colours.ink, fontSize: 13 },
      axisPointer: { type: "line", lineStyle: { color: colours.muted } },
    },
  });

  /** A slider below the plot, and the wheel within it. */
  Kadenz.zoom = (colours, zoom, more = {}) => [
    {
      type: "slider",
      start: zoom.start,
      end: zoom.end,
      height: 26,
      bottom: 6,
      left: 70,
      right: 70,
      showDetail: false,
      brushSelect: false,
      filterMode: "filter",
      borderColor: colours.line,
      fillerColor: `${colours.accent}2e`,
      handleStyle: { color: colours.surface, borderColor: colours.accent },
      moveHandleStyle: { color: colours.accent, opacity: 0.5 },
      dataBackground: {
        lineStyle: { color: colours.muted, opacity: 0.7 },
        areaStyle: { color: colours.muted, opacity: 0.15 },
      },
      selectedDataBackground: {
        lineStyle: { color: colours.accent },
        areaStyle: { color: colours.accent, opacity: 0.15 },
      },
      throttle: 40,
      ...more,
    },
    {
      type: "inside",
      start: zoom.start,
      end: zoom.end,
      disabled: matchMedia("(pointer: coarse)").matches, // A finger scrolls the page.
      zoomOnMouseWheel: zoom.focused ? true : "ctrl", // So does the wheel, until the plot is chosen.
      moveOnMouseMove: true,
      filterMode: "filter",
      throttle: 40,
      ...more,
    },
  ];

  /** Deadlines as lines across a plot: `places` are { limit, at } with `at` on the named axis. */
  Kadenz.limitLines = (places, axis, colours) => ({
    type: "line",
    data: [],
    silent: true,
    z: 5,
    markLine: {
      silent: true,
      symbol: "none",
      animation: false,
      lineStyle: { color: colours.deadline, width: 1.5, type: [6, 4] },
      data: places.map(({ limit, at }) => ({ [axis]: at, limit })),
      label: {
        position: axis === "yAxis" ? "insideStartTop" : "end",
        formatter: ({ data }) => `deadline ${Kadenz.duration(data.limit)}`,
        color: colours.deadline,
        backgroundColor: `${colours.surface}d9`,
        padding: [2, 4],
        borderRadius: 3,
        fontSize: 12,
      },
    },
  });

  /** Columns as pairs for a line, which breaks where the times leave more than `widest` open. */
  Kadenz.pairs = (time, values, widest) => {
    const flat = [];
    for (let n = 0; n < values.length; n += 1) {
      if (n > 0 && time[n] - time[n - 1] > widest) flat.push(time[n - 1] + 1, NaN);
      flat.push(time[n], values[n]);
    }
    return Float64Array.from(flat);
  };

  /** The first of ascending numbers, given by place, that is not below the one wanted. */
  Kadenz.lowerBound = (length, at, wanted) => {
    let low = 0;
    let high = length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at(middle) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  /** A tooltip as elements, so that no name can become markup. */
  Kadenz.tip = (title, rows) => {
    const box = document.createElement("div");
    box.className = "tip";
    box.appendChild(document.createElement("strong")).textContent = title;
    for (const { colour, name, value } of rows) {
      const row = box.appendChild(document.createElement("div"));
      const dot = row.appendChild(document.createElement("i"));
      dot.style.background = colour;
      row.appendChild(document.createElement("span")).textContent = name;
      row.appendChild(document.createElement("b")).textContent = value;
    }
    return box;
  };

  const redrawAll = () => figures.forEach((figure) => figure.draw());

  const legend = (figure) => {
    const list = figure.element.querySelector(".legend");
    if (!list) return;
    Kadenz.data.series.forEach((series, index) => {
      if (!figure.wants(series)) return;
      const button = list.appendChild(document.createElement("button"));
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.dataset.series = index;
      const swatch = button.appendChild(document.createElement("i"));
      swatch.style.background = `var(--series-${index % 8})`;
      button.appendChild(document.createElement("span")).textContent = series.label;
      button.addEventListener("click", () => {
        if (!hidden.delete(index)) hidden.add(index);
        for (const same of document.querySelectorAll(`.legend [data-series="${index}"]`)) {
          same.setAttribute("aria-pressed", String(!hidden.has(index)));
        }
        redrawAll();
      });
    });
  };

  /** Buttons of a group of which one is pressed; calls back with its value. */
  Kadenz.choice = (group, value, onChoose) => {
    const buttons = [...group.querySelectorAll("button")];
    const press = (chosen) =>
      buttons.forEach((b) => b.setAttribute("aria-pressed", String(b.value === chosen)));
    buttons.forEach((button) =>
      button.addEventListener("click", () => {
        press(button.value);
        onChoose(button.value);
      }));
    press(value);
  };

  /** Keys on a chosen plot: plus and minus zoom, arrows move, 0 shows all. */
  const keys = (figure) => (event) => {
    const { start, end } = figure.zoom;
    const width = end - start;
    const ranges = {
      "+": [start + width / 4, end - width / 4],
      "-": [start - width / 2, end + width / 2],
      ArrowLeft: [start - width / 4, end - width / 4],
      ArrowRight: [start + width / 4, end + width / 4],
      0: [0, 100],
    };
    const range = ranges[event.key === "=" ? "+" : event.key];
    if (!range || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const size = Math.min(100, range[1] - range[0]);
    const from = Math.min(Math.max(0, range[0]), 100 - size);
    figure.zoomTo(from, from + size);
  };

  /**
   * A chart of the page. `make(figure)` gives { option(colours), wants?, zooms?, onZoom? }: the
   * whole ECharts option, drawn anew whenever the colours or the series shown change.
   */
  Kadenz.figure = (id, make) => {
    const element = document.getElementById(id);
    const plot = element?.querySelector(".plot");
    if (!plot) return;
    const figure = { element, plot, zoom: { start: 0, end: 100, focused: false }, chart: null };
    const made = make(figure);
    figure.wants = made.wants ?? (() => true);
    if (!Kadenz.data.series.some(figure.wants)) return;

    figure.draw = () => {
      figure.chart?.setOption(made.option(Kadenz.theme.colours()), { notMerge: true });
    };
    figure.zoomTo = (start, end) =>
      figure.chart.dispatchAction({ type: "dataZoom", start, end });
    figure.open = () => {
      if (figure.chart) return;
      figure.chart = echarts.init(plot, null, { renderer: "canvas", useDirtyRect: false });
      figure.draw();
      if (!made.zooms) return;
      figure.chart.on("datazoom", (event) => {
        const { start, end } = event.batch?.[0] ?? event;
        Object.assign(figure.zoom, { start, end });
        made.onZoom?.();
      });
      const focus = (focused) => () => {
        figure.zoom.focused = focused;
        const wheel = { zoomOnMouseWheel: focused ? true : "ctrl" };
        figure.chart.setOption({ dataZoom: [{}, wheel] });
      };
      plot.addEventListener("focus", focus(true));
      plot.addEventListener("blur", focus(false));
      plot.addEventListener("keydown", keys(figure));
    };
    legend(figure);
    figures.push(figure);
  };

  const resize = () => figures.forEach((figure) => figure.chart?.resize());

  /** Opens the charts one by one, so that the page can be read and scrolled meanwhile. */
  Kadenz.openFigures = () => {
    const waiting = [...figures];
    const next = () => {
      const figure = waiting.shift();
      if (!figure) {
        Kadenz.readyAfterMs = performance.now();
        document.documentElement.dataset.charts = "ready";
        return;
      }
      figure.open();
      setTimeout(next, 0);
    };
    requestAnimationFrame(next);
    new ResizeObserver(resize).observe(document.querySelector("main"));
    Kadenz.theme.onChange((why) => {
      if (why === "print") {
        figures.forEach((figure) => figure.open());
        resize();
      }
      redrawAll();
    });
    Kadenz.figures = figures;
  };
})();
