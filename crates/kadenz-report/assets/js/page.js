// Starts the page: colours, copy buttons, tables, charts.
"use strict";
(() => {
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.body.appendChild(document.createElement("textarea"));
      area.value = text;
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };

  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", async () => {
      await copy(document.getElementById(button.dataset.copies).textContent);
      const label = button.querySelector("span");
      label.textContent = "Copied";
      setTimeout(() => (label.textContent = "Copy"), 2000);
    });
  }

  // Tables that are too wide for their place shrink, or become a list of names and values: nothing is cut off.
  const tables = [...document.querySelectorAll(".scroll > table")];

  for (const table of tables) {
    const heads = [...(table.tHead?.rows[0]?.cells ?? [])].map((head) => head.innerText.trim());
    for (const body of table.tBodies) {
      for (const row of body.rows) {
        [...row.cells].forEach((cell, n) => {
          if (cell.tagName === "TD" && heads[n]) cell.dataset.label = heads[n];
        });
      }
    }
  }

  const LAYOUTS = [[], ["tight"], ["stacked"]];

  /** The first layout with which a table has room: as it is, in smaller letters, as a list. */
  const fit = () => {
    for (const table of tables) {
      const place = table.parentElement;
      if (place.clientWidth === 0) continue; // Folded away; it is looked at when it is opened.
      for (const layout of LAYOUTS) {
        table.classList.remove("tight", "stacked");
        table.classList.add(...layout);
        if (table.offsetWidth <= place.clientWidth + 1) break;
      }
    }
  };

  for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", fit);
  new ResizeObserver(fit).observe(document.querySelector("main"));
  Kadenz.theme.onChange(fit);
  fit();

  Kadenz.theme.start();
  Kadenz.openFigures();
})();
