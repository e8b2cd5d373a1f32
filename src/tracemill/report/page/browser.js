// The trajectory browser: an index that is searched, and bodies in compressed chunks that are opened one at a time.
// All text reaches the page through textContent, never as markup.
"use strict";
(() => {
  const PAGE = 50;
  const byId = (id) => document.getElementById(id);
  const element = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };

  async function unpack(id) {
    const binary = atob(byId(id).textContent.trim());
    const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  }

  const chunks = new Map();
  const chunk = (number) => {
    if (!chunks.has(number)) chunks.set(number, unpack(`trajectories-${number}`));
    return chunks.get(number);
  };

  function showTurn(message) {
    const box = element("div", `turn ${message.role === "assistant" ? "assistant" : "other"}`);
    box.append(element("div", "soft", message.name ? `${message.role}: ${message.name}` : message.role));
    if (message.think) box.append(element("div", "think", message.think));
    if (message.content) box.append(element("pre", "", message.content));
    for (const call of message.calls || []) box.append(element("pre", "", `${call.name}(${call.arguments})`));
    return box;
  }

  function showBody(entry, body) {
    const box = element("div");
    const facts = element("p", "soft", `${entry.set} · ${entry.id} · ${body.facts}`);
    box.append(facts);
    for (const reason of body.why) box.append(element("p", "bad", reason));
    for (const message of body.messages) box.append(showTurn(message));
    return box;
  }

  function showEntry(entry) {
    const item = element("li");
    const details = element("details");
    const summary = element("summary");
    const mark = entry.success === null ? "warn" : entry.success ? "good" : "bad";
    const from = `${entry.set.replace("evaluation of ", "")}, ${entry.category}`;
    summary.append(element("span", `badge ${mark}`, entry.outcome), " ", element("span", "soft", from), " ", entry.query);
    details.append(summary);
    details.addEventListener("toggle", async () => {
      if (!details.open || details.childElementCount > 1) return;
      const bodies = await chunk(entry.chunk);
      if (details.childElementCount === 1) details.append(showBody(entry, bodies[entry.place]));
    });
    item.append(details);
    return item;
  }

  function fill(select, values) {
    for (const value of values) {
      const option = element("option", "", value);
      option.value = value;
      select.append(option);
    }
  }

  // a stop for the keyboard only where there is something to scroll
  for (const box of document.querySelectorAll(".scroll")) {
    if (box.scrollWidth <= box.clientWidth) box.removeAttribute("tabindex");
  }

  async function start() {
    const entries = await unpack("trajectory-index");
    const controls = { search: byId("search"), set: byId("set"), outcome: byId("outcome"), category: byId("category") };
    for (const name of ["set", "outcome", "category"]) {
      fill(controls[name], [...new Set(entries.map((entry) => entry[name]))].sort());
    }
    for (const entry of entries) entry.text = `${entry.query} ${entry.id} ${entry.problem}`.toLowerCase();
    let shown = PAGE;

    const draw = () => {
      const words = controls.search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = entries.filter((entry) =>
        words.every((word) => entry.text.includes(word)) &&
        ["set", "outcome", "category"].every((name) => !controls[name].value || entry[name] === controls[name].value));
      byId("found").textContent = `${found.length} of ${entries.length} trajectories`;
      byId("trajectory-list").replaceChildren(...found.slice(0, shown).map(showEntry));
      byId("more").hidden = found.length <= shown;
    };
    for (const control of Object.values(controls)) {
      control.addEventListener("input", () => { shown = PAGE; draw(); });
    }
    byId("more").addEventListener("click", () => { shown += PAGE; draw(); });
    draw();
    document.body.dataset.ready = "true";
  }

  start().catch((error) => { byId("found").textContent = `The trajectories cannot be read: ${error}`; });
})();
