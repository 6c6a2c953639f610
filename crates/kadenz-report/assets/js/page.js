// Starts the page: colours, copy buttons, charts.
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

  Kadenz.theme.start();
  Kadenz.openFigures();
})();
