// What each measure of a matrix bought: a point and its interval, a row a measure and load.
"use strict";
(() => {
  const COLOURS = { unloaded: 0, heavy: 1 };

  Kadenz.figure("bought", (figure) => {
    // Drawn is how many times lower a figure is, so that a measure that helps stands to the right.
    const rows = Kadenz.data.bought.map(({ measure, load, ratio, low, high }) => ({
      measure,
      load,
      times: 1 / ratio,
      from: high === null ? null : 1 / high,
      to: low === null ? null : 1 / low,
    }));
    figure.plot.style.height = `${90 + 34 * rows.length}px`;

    const words = ({ times, from, to }) => {
      const lower = `${Kadenz.significant(times, 3)} times lower`;
      if (from === null) return lower;
      return `${lower} (95\u00a0%: ${Kadenz.significant(from, 3)} to ${Kadenz.significant(to, 3)})`;
    };

    const tooltip = ({ dataIndex }) => {
      const row = rows[dataIndex];
      const colour = Kadenz.theme.colours().series[COLOURS[row.load]];
      const name = row.load === "heavy" ? "under heavy load" : "without load";
      return Kadenz.tip(`${row.measure}: p99.9 lateness`, [{ colour, name, value: words(row) }]);
    };

    /** A bar from end to end of the interval with a point on it. */
    const item = (colours) => (params, api) => {
      const row = rows[params.dataIndex];
      const colour = colours.series[COLOURS[row.load]];
      const [x, y] = api.coord([row.times, params.dataIndex]);
      const children = [];
      if (row.from !== null) {
        const [left] = api.coord([row.from, params.dataIndex]);
        const [right] = api.coord([row.to, params.dataIndex]);
        const style = { stroke: colour, lineWidth: 2 };
        children.push({ type: "line", shape: { x1: left, y1: y, x2: right, y2: y }, style: { ...style, lineWidth: 4 } });
        for (const end of [left, right]) {
          children.push({ type: "line", shape: { x1: end, y1: y - 7, x2: end, y2: y + 7 }, style });
        }
      }
      const diamond = [[x, y - 7], [x + 7, y], [x, y + 7], [x - 7, y]];
      const circle = { type: "circle", shape: { cx: x, cy: y, r: 6 }, style: { fill: colour } };
      const square = { type: "polygon", shape: { points: diamond }, style: { fill: colour } };
      children.push(row.load === "heavy" ? square : circle);
      return { type: "group", children };
    };

    const option = (colours) => {
      const ends = rows.flatMap(({ times, from, to }) => [times, from ?? times, to ?? times]);
      const reach = Math.max(1.5, ...ends.map((end) => Math.max(end, 1 / end)));
      const low = Math.min(1 / 1.5, Math.min(...ends) / 1.15);
      return {
        ...Kadenz.base(colours),
        grid: { ...Kadenz.base(colours).grid, top: 12, bottom: 30 },
        tooltip: { ...Kadenz.base(colours).tooltip, trigger: "item", formatter: tooltip },
        xAxis: Kadenz.axis(colours, {
          type: "log",
          min: low,
          max: reach * 1.2,
          name: "times lower p99.9",
          nameLocation: "middle",
          nameGap: 30,
          axisLabel: { formatter: (x) => `${Kadenz.significant(x, 2)}×` },
        }),
        yAxis: Kadenz.axis(colours, {
          type: "category",
          inverse: true,
          data: rows.map(({ measure, load }) => `${measure} ${load === "heavy" ? "heavy load" : "no load"}`),
          axisTick: { show: false },
          axisLabel: { color: colours.ink },
          splitLine: { show: false },
        }),
        series: [{
          type: "custom",
          renderItem: item(colours),
          data: rows.map(({ times }, index) => [times, index]),
          markLine: {
            silent: true,
            symbol: "none",
            animation: false,
            data: [{ xAxis: 1 }],
            label: { formatter: "no difference", position: "end", color: colours.muted, fontSize: 12, distance: 0 },
            lineStyle: { color: colours.muted, type: "solid", width: 1.5 },
          },
        }],
      };
    };
    return { option };
  });
})();
