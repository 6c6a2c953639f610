// Light and dark: the reader's choice, else the system's; print is always light.
"use strict";
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const listeners = [];

  const stored = () => {
    try {
      return localStorage.getItem("kadenz-theme");
    } catch {
      return null; // A browser may refuse storage to files.
    }
  };

  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

  const announce = () => {
    const button = document.getElementById("theme-toggle");
    const next = isDark() ? "light" : "dark";
    button.setAttribute("aria-label", `Switch to ${next} colours`);
    button.title = `Switch to ${next} colours`;
    listeners.forEach((listener) => listener());
  };

  const set = (theme) => {
    root.dataset.theme = theme;
    try {
      localStorage.setItem("kadenz-theme", theme);
    } catch {
      // The choice then lasts as long as the page.
    }
    announce();
  };

  let beforePrint;
  addEventListener("beforeprint", () => {
    beforePrint = root.dataset.theme;
    root.dataset.theme = "light";
    root.dataset.print = ""; // The style sheet gives plots their size on paper.
    listeners.forEach((listener) => listener("print"));
  });
  addEventListener("afterprint", () => {
    if (beforePrint === undefined) delete root.dataset.theme;
    else root.dataset.theme = beforePrint;
    delete root.dataset.print;
    listeners.forEach((listener) => listener());
  });

  Kadenz.theme = {
    /** Calls back whenever the colours change, with "print" before printing. */
    onChange: (listener) => listeners.push(listener),
    start: () => {
      const choice = stored();
      if (choice === "light" || choice === "dark") root.dataset.theme = choice;
      document
        .getElementById("theme-toggle")
        .addEventListener("click", () => set(isDark() ? "light" : "dark"));
      system.addEventListener("change", announce);
      announce();
    },
    /** The colours of the page, from its style sheet. */
    colours: () => {
      const style = getComputedStyle(root);
      const read = (name) => style.getPropertyValue(name).trim();
      const series = [];
      for (let n = 0; n < 8; n += 1) series.push(read(`--series-${n}`));
      return {
        series,
        ink: read("--ink"),
        muted: read("--muted"),
        line: read("--line"),
        grid: read("--grid"),
        surface: read("--surface"),
        deadline: read("--missed"),
        accent: read("--accent"),
      };
    },
  };
})();
