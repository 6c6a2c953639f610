// Common parts of all charts: which series they show, when they are drawn, how they are zoomed.
"use strict";
(() => {
  const figures = [];

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

  Kadenz.redraw = () => figures.forEach((figure) => figure.draw());

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
   * whole ECharts option, drawn again whenever the colours or the series shown change.
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
    const list = element.querySelector(".legend");
    if (list) Kadenz.legend(list, figure.wants);
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
      if (why === "print") figures.forEach((figure) => figure.open());
      resize();
      Kadenz.redraw();
    });
    Kadenz.figures = figures;
  };
})();
