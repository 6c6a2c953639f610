// Axes, limits and zoom of all charts.
"use strict";
(() => {
  /** Several series share a linear axis only if none of them would lie flat on it. */
  Kadenz.fittingScale = (wants) => {
    const maxima = Kadenz.data.series.filter(wants).map((series) => Math.max(1, series.max));
    return Math.max(...maxima) > 10 * Math.min(...maxima) ? "log" : "linear";
  };

  /** The deadline of a series, or the one that the reader tries instead. */
  Kadenz.deadlineOf = (series) => Kadenz.whatIf ?? series.deadline;

  /** Distinct deadlines of the series shown. */
  Kadenz.deadlines = (shown) => [
    ...new Set(shown.map(({ series }) => Kadenz.deadlineOf(series)).filter((limit) => limit !== null)),
  ];

  /** The title of an axis: of a vertical one above it, of a horizontal one below its middle. */
  Kadenz.titled = (name, horizontal = false) => ({
    name,
    nameLocation: horizontal ? "middle" : "end",
    nameGap: horizontal ? 28 : 14,
  });

  Kadenz.axis = (colours, more = {}) => ({
    axisLine: { onZero: false, lineStyle: { color: colours.line } },
    axisTick: { lineStyle: { color: colours.line } },
    axisLabel: { color: colours.muted, fontSize: 12, hideOverlap: true, ...more.axisLabel },
    splitLine: { lineStyle: { color: colours.grid } },
    nameTextStyle: { color: colours.muted, fontSize: 12, ...(more.nameLocation === "end" ? { align: "left" } : {}) },
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
  Kadenz.valueAxis = (colours, name, scale, signed, limits, values) => {
    let [min, max] = [Infinity, 1];
    for (const value of [...limits, ...values]) {
      if (value > max) max = value;
      if (value < min && (value > 0 || scale !== "log")) min = value;
    }
    const lowest = { log: round(Math.min(min, max), scale, false), linear: signed ? null : 0 };
    return Kadenz.axis(colours, {
      ...Kadenz.titled(name),
      type: scale === "log" ? "log" : "value",
      min: lowest[scale],
      max: round(max, scale, true),
      axisLabel: { formatter: (ns) => Kadenz.duration(ns, 3) },
    });
  };

  /** The deadlines that the axis of values includes; a far one is named beside the plot. */
  Kadenz.limitsOn = (figure, shown, scale) => {
    const largest = Math.max(...shown.map(({ series }) => series.max));
    const deadlines = Kadenz.deadlines(shown);
    const near = deadlines.filter((limit) => scale === "log" || limit <= 4 * largest);
    const far = deadlines.filter((limit) => !near.includes(limit)).map((limit) => Kadenz.duration(limit));
    const note = figure.element.querySelector(".above") ?? document.createElement("p");
    note.className = "above hint";
    figure.plot.after(note);
    note.textContent = far.length > 0 ? `Above this plot: the deadline of ${far.join(", ")}.` : "";
    return near;
  };

  /** What all charts have; `formatter` makes the tooltip. */
  Kadenz.base = (colours, formatter, grid = {}) => ({
    animation: false,
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily },
    grid: { left: 12, right: 34, top: 34, bottom: 34, containLabel: true, ...grid },
    tooltip: {
      formatter,
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

  /** The part of a stretch that is visible. */
  Kadenz.visible = ({ start, end }, [low, high]) =>
    [start, end].map((percent) => low + ((high - low) * percent) / 100);

  /** The axis of the time since the start of the run, which zooms. */
  Kadenz.timeAxis = (colours, zoom, end) =>
    Kadenz.axis(colours, {
      ...Kadenz.titled("time since the start of the run", true),
      type: "time",
      min: 0,
      max: end,
      splitLine: { show: false },
      axisLabel: {
        formatter: (ms) => Kadenz.clockTick(ms, ((zoom.end - zoom.start) / 100) * end, end),
      },
    });

  /** The ticks of a value axis for the stretch that is visible. */
  Kadenz.valueTicks = (scale, from, to) => {
    const customValues = scale.ticks(from, to);
    return { axisTick: { customValues }, axisLabel: { customValues } };
  };

  /** The axis of values from left to right, which zooms. */
  Kadenz.zoomedValues = (colours, scale, zoom, [min, max]) => {
    const { axisTick, axisLabel } = Kadenz.valueTicks(scale, ...Kadenz.visible(zoom, [min, max]));
    return Kadenz.axis(colours, {
      ...Kadenz.titled("value", true),
      type: "value",
      min,
      max,
      splitLine: { show: false },
      axisTick,
      axisLabel: { ...axisLabel, formatter: (x) => Kadenz.duration(scale.from(x), 3) },
    });
  };

  /** The line of a series. */
  Kadenz.line = (index, colours, style, more) => {
    const stroke = Kadenz.stroke(index, colours);
    return {
      type: "line",
      symbol: "none",
      itemStyle: { color: stroke.color },
      lineStyle: { ...stroke, ...style },
      emphasis: { disabled: true },
      ...more,
    };
  };

  /** A line across a plot where an axis is zero. */
  Kadenz.zeroLine = (axis, lineStyle, label = { show: false }) => ({
    silent: true,
    symbol: "none",
    animation: false,
    data: [{ [axis]: 0 }],
    label,
    lineStyle,
  });

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
})();
