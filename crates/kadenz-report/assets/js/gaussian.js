// The measured values against the Gaussian of their mean and standard deviation.
"use strict";
(() => {
  const BINS = 220;

  /** Complementary error function, Numerical Recipes in C (1992) 6.2: relative error < 1.2e-7. */
  const erfc = (x) => {
    const t = 1 / (1 + 0.5 * Math.abs(x));
    const factors = [0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807,
      -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223];
    const tail = t * Math.exp(-x * x + factors.reduce((sum, factor) => sum * t + factor, 0));
    return x >= 0 ? tail : 2 - tail;
  };

  /** Share of a Gaussian between two places, exact in both tails. */
  const between = (low, high) => {
    const above = (z) => 0.5 * erfc(z / Math.SQRT2);
    return low > 0 ? above(low) - above(high) : above(-high) - above(-low);
  };

  Kadenz.figure("gaussian", (figure) => {
    const wants = (series) => series.count > 1 && series.sd > 0;
    const first = Kadenz.data.series.findIndex(wants);
    let chosen = first;

    const reach = () => {
      const { min, max, mean, sd } = Kadenz.data.series[chosen];
      return [Math.min(min, mean - 5 * sd), Math.max(max, mean + 5 * sd) * 1.01];
    };
    const window = () => Kadenz.visible(figure.zoom, reach());

    const gauss = ({ mean, sd, count }, from, to) => {
      const width = (to - from) / BINS;
      const points = [];
      // Four points a bin, each the samples that a bin around it would hold: the bell stays round.
      for (let n = 0; n <= 4 * BINS; n += 1) {
        const x = from + (n * width) / 4;
        const expected = count * between((x - width / 2 - mean) / sd, (x + width / 2 - mean) / sd);
        points.push([x, expected < 0.5 ? null : Math.log10(expected)]);
      }
      return points;
    };

    const lines = (colours) => {
      const one = Kadenz.data.series[chosen];
      const [from, to] = window();
      const { color } = Kadenz.stroke(chosen, colours);
      return [
        Kadenz.line(chosen, colours, { width: 1.25, type: "solid" }, {
          name: "measured",
          step: "end",
          data: Kadenz.steps(Kadenz.binned(one, Kadenz.linear, from, to, BINS), from, to),
          areaStyle: { color, opacity: 0.22, origin: "start" },
        }),
        Kadenz.line(chosen, colours, { color: colours.ink, width: 2, type: [7, 4] }, {
          name: "Gaussian",
          data: gauss(one, from, to),
          connectNulls: false,
          itemStyle: { color: colours.ink },
        }),
      ];
    };

    /** Both figures for the bin under the pointer. */
    const tooltip = (rows) => {
      const one = Kadenz.data.series[chosen];
      const { mean, sd, count } = one;
      const [from, to] = window();
      const width = (to - from) / BINS;
      const bin = Math.min(BINS - 1, Math.max(0, Math.floor((rows[0].axisValue - from) / width + 1e-6)));
      const [low, high] = [from + bin * width, from + (bin + 1) * width];
      const measured = Kadenz.binned(one, Kadenz.linear, from, to, BINS)[bin];
      const claimed = count * between((low - mean) / sd, (high - mean) / sd);
      const colours = Kadenz.theme.colours();
      return Kadenz.tip(`${Kadenz.duration(low)} to ${Kadenz.duration(high)}`, [
        { colour: Kadenz.stroke(chosen, colours).color, name: "measured", value: Kadenz.samples(measured) },
        { colour: colours.ink, name: "Gaussian", value: Kadenz.samples(claimed) },
      ]);
    };

    const option = (colours) => {
      const [low, high] = reach();
      const limit = Kadenz.deadlineOf(Kadenz.data.series[chosen]);
      return {
        ...Kadenz.base(colours, tooltip, { bottom: 66 }),
        dataZoom: Kadenz.zoom(colours, figure.zoom, { showDataShadow: false, minSpan: 0.1, filterMode: "none" }),
        xAxis: Kadenz.zoomedValues(colours, Kadenz.linear, figure.zoom, [low, high]),
        yAxis: Kadenz.countAxis(colours),
        series: [
          ...lines(colours),
          Kadenz.verticalLimits(limit === null ? [] : [limit], Kadenz.linear, low, high, colours),
        ],
      };
    };

    const showChosen = () => {
      for (const note of figure.element.querySelectorAll("[data-series]")) {
        note.hidden = Number(note.dataset.series) !== chosen;
      }
      figure.element.style.setProperty("--chosen", `var(--series-${chosen % 8})`);
    };
    const select = figure.element.querySelector("select");
    select?.addEventListener("change", () => {
      chosen = Number(select.value);
      Object.assign(figure.zoom, { start: 0, end: 100 });
      showChosen();
      figure.draw();
    });
    if (first >= 0) showChosen();
    const onZoom = () =>
      figure.chart.setOption({
        xAxis: Kadenz.valueTicks(Kadenz.linear, ...window()),
        series: lines(Kadenz.theme.colours()),
      });
    return { option, wants, zooms: true, onZoom };
  });
})();
