// How long stages took, from a file beside the page that `tracemill builds` writes; the page is whole without it.
// The page's policy trusts what this script loads, and no script that markup brings.
"use strict";
(() => {
  const LABEL = "stage:";

  const seconds = (value) => (value < 100 ? `${Number(value.toPrecision(2))} s` : `${Math.round(value / 60)} min`);
  const moment = (value) => new Date(value * 1000).toISOString().slice(0, 16).replace("T", " ");
  const soft = (text) => {
    const node = document.createElement("div");
    node.className = "soft times";
    node.textContent = text;
    return node;
  };

  // a stage of each snapshot has an address that ends with its name: the picture shows their sum
  function total(stages, name) {
    const found = Object.keys(stages).filter((address) => address === name || address.endsWith(`:${name}`));
    return found.length ? found.reduce((sum, address) => sum + stages[address][0], 0) : null;
  }

  function show(stages) {
    for (const cell of document.querySelectorAll("[data-stage]")) {
      const last = stages[cell.dataset.stage];
      if (last) cell.append(soft(`${seconds(last[0])}, ${moment(last[1])} UTC`));
    }
    for (const label of document.querySelectorAll(`[id^="${LABEL}"]`)) {
      const spent = total(stages, label.id.slice(LABEL.length));
      const text = label.querySelector("text");
      if (spent !== null && text) text.textContent += ` · ${seconds(spent)}`;
    }
  }

  window.tracemillTimes = (stages) => {
    show(stages);
    for (const item of document.querySelectorAll("nav [hidden]")) item.hidden = false; // its page lies beside the file
    document.body.dataset.times = "true";
  };
  const script = document.createElement("script");
  script.src = document.getElementById("times-address").textContent.trim();
  document.body.append(script);
})();
