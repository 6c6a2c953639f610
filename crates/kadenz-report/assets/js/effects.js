// The effect of each measure of a matrix: a point and its interval, one row per measure and load.
"use strict";
(() => {
  const COLOURS = { unloaded: 0, heavy: 1 };

  Kadenz.figure("effects", (figure) => {
    // The axis shows how many times lower a figure is, so that a helpful measure stands to the right.
    const rows = Kadenz.data.effects.map(({ measure, load, ratio, low, high }) => ({
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
      const [x, y] = api.coord([Math.log10(row.times), params.dataIndex]);
      const children = [];
      if (row.from !== null) {
        const [left] = api.coord([Math.log10(row.from), params.dataIndex]);
        const [right] = api.coord([Math.log10(row.to), params.dataIndex]);
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

    /** Places of 1, 2 and 5 of each power of ten; where they would crowd, of the powers alone. */
    const ticks = (low, high) => {
      const steps = high - low > 2.2 ? [1] : [1, 2, 5];
      const places = [];
      for (let power = Math.floor(low); power <= high; power += 1) {
        places.push(...steps.map((step) => power + Math.log10(step)));
      }
      return places.filter((place) => place >= low && place <= high);
    };

    const option = (colours) => {
      const ends = rows.flatMap(({ times, from, to }) => [times, from ?? times, to ?? times]);
      const logs = [...ends.map(Math.log10), -0.18, 0.18];
      const [low, high] = [Math.min(...logs) - 0.06, Math.max(...logs) + 0.06];
      const customValues = ticks(low, high);
      const base = Kadenz.base(colours, tooltip, { top: 30, bottom: 30 });
      return {
        ...base,
        tooltip: { ...base.tooltip, trigger: "item" },
        xAxis: Kadenz.axis(colours, {
          type: "value",
          min: low,
          max: high,
          name: "times lower p99.9",
          nameLocation: "middle",
          nameGap: 30,
          axisTick: { customValues },
          splitLine: { show: false },
          axisLabel: { customValues, formatter: (x) => `${Kadenz.significant(10 ** x, 2)}×` },
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
          data: rows.map(({ times }, index) => [Math.log10(times), index]),
          markLine: Kadenz.zeroLine("xAxis", { color: colours.muted, type: "solid", width: 1.5 }, {
            formatter: "no difference", position: "start", color: colours.muted, fontSize: 12, distance: 4,
          }),
        }],
      };
    };
    return { option };
  });
})();
