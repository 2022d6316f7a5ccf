"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const cells = [...document.querySelectorAll("[role=grid] td[id]")];
  const place = new Map(cells.map((td, k) => [td, k]));
  const published = cells.map((td) => td.textContent);
  const make = (name, text, kind) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };

  // Layers: what stands in the cells.
  const radios = [...document.querySelectorAll("input[name=layer]")];
  const text = (layer, k) => data.layers[layer][k] ?? published[k];
  let layer = "published";
  const show = (name) => {
    layer = name;
    cells.forEach((td, k) => { td.textContent = text(name, k); });
    radios.forEach((radio) => { radio.checked = radio.value === name; });
  };
  radios.forEach((radio) => radio.addEventListener("change", () => show(radio.value)));
  // Paper shows what is published, whatever the screen shows.
  let before = layer;
  window.addEventListener("beforeprint", () => { before = layer; show("published"); });
  window.addEventListener("afterprint", () => show(before));

  // Parts: one table at a time, first the one that needs attention.
  const part = document.getElementById("part");
  const sheets = [...document.querySelectorAll(".sheet")];
  const open = (number) => {
    if (!part) return;
    part.value = String(number);
    sheets.forEach((sheet, k) => { sheet.hidden = k !== Number(number); });
  };
  if (part) {
    const failing = [...part.options].findIndex((option) => Number(option.dataset.failing) > 0);
    open(Math.max(failing, 0));
    part.addEventListener("change", () => open(part.value));
  }

  // The panel: everything about the cell in focus. Text only: nothing from the data becomes markup.
  const panel = document.getElementById("panel");
  const say = (text) => data.words[text] ?? text;
  const decisions = { p: "primary suppression", s: "secondary suppression", a: "adjusted" };
  const tell = (td) => {
    const k = place.get(td);
    panel.replaceChildren(make("h4", data.names.map((_, v) => data.codes[v][data.at[k][v]]).join(" · ")));
    const list = make("dl");
    const add = (name, value, kind) => {
      if (value) list.append(make("dt", name), make("dd", value, kind));
    };
    const decision = Object.keys(decisions).find((name) => td.classList.contains(name));
    add(say("decision"), say(decisions[decision] ?? "published"));
    add(say("published"), decision === "p" || decision === "s" ? say("no") : published[k]);
    radios.slice(1).forEach((radio) => {
      const name = radio.value;
      const unsafe = k in data.hits;
      if (name === "required" ? unsafe : name !== "interval" || decision === "p" || decision === "s")
        add(radio.parentElement.dataset.label, text(name, k));
    });
    add(say("times required"), data.times[k]);
    add(say("rules"), (data.hits[k] ?? []).map((rule) => data.rules[rule]).join(", "));
    add(say("verdict"), data.verdict[k], td.classList.contains("x") ? "x" : "");
    panel.append(list);
    panel.parentElement.classList.add("open");
    const row = document.getElementById(`r${td.id.slice(1)}`);
    const bar = row?.querySelector("svg");
    if (bar) panel.append(bar.cloneNode(true));
    if (data.why[k]) panel.append(make("p", data.why[k]));
  };

  // Moving about: one cell of each table takes part in the tab order.
  const focus = (td) => {
    const sheet = td.closest(".sheet");
    if (sheet.hidden) open(sheets.indexOf(sheet));
    const table = td.closest("table");
    table.querySelectorAll("td[tabindex]").forEach((other) => { other.tabIndex = -1; });
    td.tabIndex = 0;
    td.focus();
  };
  document.querySelectorAll("[role=grid]").forEach((table) => {
    const first = table.querySelector("td.x") ?? table.querySelector("td.p, td.u") ?? table.querySelector("td");
    first.tabIndex = 0;
  });
  const step = (td, down, across) => {
    const rows = [...td.closest("tbody").rows];
    const line = (row) => [...row.querySelectorAll("td")];
    const y = Math.min(Math.max(rows.indexOf(td.parentElement) + down, 0), rows.length - 1);
    const x = line(td.parentElement).indexOf(td) + across;
    const cellsOf = line(rows[y]);
    return cellsOf[Math.min(Math.max(x, 0), cellsOf.length - 1)];
  };
  const next = (td, way) => {
    for (let k = place.get(td) + way; k >= 0 && k < cells.length; k += way)
      if (cells[k].matches(".p, .s, .u")) return cells[k];
    return td;
  };
  const moves = {
    ArrowUp: (td) => step(td, -1, 0), ArrowDown: (td) => step(td, 1, 0),
    ArrowLeft: (td) => step(td, 0, -1), ArrowRight: (td) => step(td, 0, 1),
    Home: (td, all) => step(td, all ? -Infinity : 0, -Infinity), End: (td, all) => step(td, all ? Infinity : 0, Infinity),
    n: (td) => next(td, 1), p: (td) => next(td, -1),
  };
  document.querySelectorAll(".grids").forEach((grids) => {
    grids.addEventListener("focusin", (event) => { if (place.has(event.target)) tell(event.target); });
    grids.addEventListener("mousedown", (event) => {
      const td = event.target.closest("td");
      if (td) { event.preventDefault(); focus(td); }
    });
    grids.addEventListener("keydown", (event) => {
      const td = event.target.closest("td");
      if (!td || event.altKey || event.metaKey) return;
      const radio = radios[Number(event.key) - 1];
      if (radio && !event.ctrlKey) show(radio.value);
      else if (moves[event.key] && (!event.ctrlKey || event.key === "Home" || event.key === "End")) focus(moves[event.key](td, event.ctrlKey));
      else return;
      event.preventDefault();
    });
  });

  // The list: sorting, sieving, and the way into the table. Lines that are left come first, for print.
  const list = document.getElementById("list");
  if (!list) return;
  const body = list.tBodies[0];
  const rows = [...body.rows];
  const heads = [...list.tHead.rows[0].cells];
  const key = (row, column) => {
    const cell = row.cells[column];
    return heads[column].dataset.sort === "number" ? Number(cell.dataset.v.replace("inf", "Infinity")) : cell.textContent;
  };
  const find = document.getElementById("find");
  const lines = (n) => say("{shown} of {all} lines").replace("{shown}", n).replace("{all}", rows.length);
  const sieve = () => {
    const kind = document.querySelector("input[name=kind]:checked").value;
    const words = find.value.toLowerCase();
    rows.forEach((row) => {
      row.hidden = (kind !== "all" && !row.classList.contains(kind)) || !row.cells[1].textContent.toLowerCase().includes(words);
    });
    const left = rows.filter((row) => !row.hidden);
    body.append(...left, ...rows.filter((row) => row.hidden));
    document.getElementById("found").textContent = lines(left.length);
  };
  const sort = (column, falling) => {
    const way = falling ? -1 : 1;
    const keys = new Map(rows.map((row) => [row, key(row, column)]));
    rows.sort((a, b) => {
      const [one, other] = [keys.get(a), keys.get(b)];
      return one === other ? 0 : one < other ? -way : way;
    });
    heads.forEach((head, k) => {
      if (k === column) head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    sieve();
  };
  heads.forEach((head, column) => {
    head.querySelector("button")?.addEventListener("click", () => sort(column, head.getAttribute("aria-sort") === "ascending"));
  });
  document.getElementById("sieve").addEventListener("submit", (event) => event.preventDefault());
  document.querySelectorAll("input[name=kind]").forEach((radio) => radio.addEventListener("change", sieve));
  find.addEventListener("input", sieve);
  body.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    const td = link && document.querySelector(link.getAttribute("href"));
    if (!td) return;
    event.preventDefault();
    focus(td);
    td.scrollIntoView({ block: "center", inline: "center" });
  });
  document.getElementById("found").textContent = lines(rows.length);
})();
