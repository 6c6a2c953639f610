// The series of a page: how each is drawn, and which of them the reader wants to see.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  Kadenz.data = JSON.parse(document.getElementById("kadenz-data").textContent);
  /** A page shows a few from the start; the others wait in the legends. */
  const hidden = new Set(
    Kadenz.data.series.flatMap((series, index) => (series.drawn === false ? [index] : [])),
  );
  const legends = [];

  /** How a series is drawn in every chart: its colour and its dash. */
  Kadenz.stroke = (index, colours) => {
    const dash = Kadenz.data.series[index].dash ?? [];
    return { color: colours.series[index % 8], type: dash.length > 0 ? dash : "solid" };
  };

  /** A piece of the line that stands for a series, as in the tables. */
  Kadenz.mark = (index) => {
    const mark = document.createElementNS(SVG, "svg");
    mark.setAttribute("class", `mark k${index % 8}`);
    mark.setAttribute("viewBox", "0 0 30 8");
    mark.setAttribute("aria-hidden", "true");
    const line = mark.appendChild(document.createElementNS(SVG, "path"));
    line.setAttribute("d", "M0 4h30");
    line.setAttribute("stroke-dasharray", (Kadenz.data.series[index].dash ?? []).join(" "));
    return mark;
  };

  /** The series that the reader has not hidden, with their numbers. */
  Kadenz.shown = (wanted = () => true) =>
    Kadenz.data.series
      .map((series, index) => ({ series, index }))
      .filter(({ series, index }) => !hidden.has(index) && wanted(series));

  /** The widest first: it is drawn lowest, and its shape stands in the slider. */
  Kadenz.widestFirst = (shown) => [...shown].sort((a, b) => b.series.max - a.series.max);

  const element = (parent, name, text = "") => {
    const made = parent.appendChild(document.createElement(name));
    made.textContent = text;
    return made;
  };

  const button = (parent, text, onClick) => {
    const made = element(parent, "button", text);
    made.type = "button";
    made.addEventListener("click", onClick);
    return made;
  };

  /** Shows or hides series in every chart and legend. */
  const toggle = (indices, show) => {
    indices.forEach((index) => (show ? hidden.delete(index) : hidden.add(index)));
    const focused = document.activeElement;
    legends.forEach((arrange) => arrange());
    focused?.focus();
    Kadenz.redraw();
  };

  const entry = (index) => {
    const one = button(document.createElement("span"), "", () => toggle([index], hidden.has(index)));
    one.dataset.series = index;
    one.append(Kadenz.mark(index));
    element(one, "span", Kadenz.data.series[index].label);
    return one;
  };

  /** The series that a legend folds away, a group each. */
  const folded = (list, entries) => {
    const more = element(list, "details");
    more.className = "more";
    const title = element(more, "summary");
    const groups = new Map();
    for (const index of entries.keys()) {
      const name = Kadenz.data.series[index].group ?? "";
      if (groups.has(name)) groups.get(name).indices.push(index);
      else groups.set(name, { place: element(more, "div"), indices: [index] });
    }
    for (const [name, { place, indices }] of groups) {
      place.setAttribute("role", "group");
      place.setAttribute("aria-label", name);
      const all = button(place, `All of ${name}`, () =>
        toggle(indices, indices.some((index) => hidden.has(index))));
      all.className = "all";
    }
    return { more, title, groups };
  };

  /** Fills a chart's legend: what is drawn stands open, what is not lies folded away in its group. */
  Kadenz.legend = (list, wants) => {
    const entries = new Map();
    Kadenz.data.series.forEach((series, index) => {
      if (wants(series)) entries.set(index, entry(index));
    });
    const { more, title, groups } = folded(list, entries);
    const arrange = () => {
      let away = 0;
      for (const [index, one] of entries) {
        const { drawn, group } = Kadenz.data.series[index];
        const open = drawn !== false || !hidden.has(index);
        one.setAttribute("aria-pressed", String(!hidden.has(index)));
        if (open) list.insertBefore(one, more);
        else groups.get(group ?? "").place.append(one);
        away += open ? 0 : 1;
      }
      title.textContent = `${away} more series`;
      more.hidden = away === 0;
    };
    legends.push(arrange);
    arrange();
  };
})();
