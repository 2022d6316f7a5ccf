"use strict";
// Keys, and a table with a cursor.
(() => {
  const typing = (at) => at.closest("input, select, textarea, dialog") !== null;
  // Lines of a list: j and k move, Enter follows the link that has the focus.
  const lines = () => [...document.querySelectorAll("[data-list] [data-line]")];
  const move = (step) => {
    const all = lines();
    if (!all.length) return;
    const at = all.findIndex((line) => line.hasAttribute("data-at"));
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step))];
    all.forEach((line) => line.removeAttribute("data-at"));
    next.setAttribute("data-at", "");
    next.querySelector("a").focus();
    next.scrollIntoView({ block: "nearest" });
  };

  const press = (selector) => {
    const found = document.querySelector(selector);
    if (found && !found.disabled) { found.click(); return true; }
    return false;
  };

  document.addEventListener("keydown", (event) => {
    const at = event.target;
    if (event.key === "Enter" && event.ctrlKey && at.matches("textarea")) { at.form.requestSubmit(); return; }
    if (event.key === "Escape" && at.matches("textarea, input")) { at.blur(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(at)) return;
    const cell = at.closest("[data-grid] td");
    if (cell && walk(cell, event)) { event.preventDefault(); return; }
    if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "u") press("[data-up]");
    else if (event.key === "a") press("aside [data-approve]");
    else if (event.key === "x") { const text = document.querySelector("[data-change-text]"); if (text) { event.preventDefault(); text.focus(); } }
    else if (event.key === "/") { const words = document.querySelector("[data-filter]"); if (words) { event.preventDefault(); words.focus(); } }
    else if (event.key === "?") document.getElementById("keys")?.showModal();
    else if (/^[a-z0-9]$/.test(event.key)) press(`[data-key="${event.key}"]`);
  });

  // A table: arrows move, Enter tells about the cell.
  const walk = (cell, event) => {
    const row = cell.parentElement, body = row.parentElement;
    const column = [...row.cells].indexOf(cell), line = [...body.rows].indexOf(row);
    const go = (r, c) => { const to = body.rows[r]?.cells[c]; if (to && to.matches("td")) { enter(to); return true; } return false; };
    switch (event.key) {
      case "ArrowRight": return go(line, column + 1);
      case "ArrowLeft": return go(line, column - 1);
      case "ArrowDown": return go(line + 1, column);
      case "ArrowUp": return go(line - 1, column);
      case "Enter": case " ": tell(cell); return true;
      default: return false;
    }
  };
  const enter = (cell) => {
    cell.closest("table").querySelectorAll("td[tabindex='0']").forEach((each) => { each.tabIndex = -1; });
    cell.tabIndex = 0;
    cell.focus();
  };
  const tell = (cell) => {
    const drawer = document.getElementById("drawer");
    const here = location.pathname.match(/^\/outputs\/\d+/);
    if (!drawer || !here || drawer.querySelector("kbd") === null && drawer.querySelector("h2") === null) return;
    document.querySelectorAll("td[aria-selected]").forEach((each) => each.removeAttribute("aria-selected"));
    cell.setAttribute("aria-selected", "true");
    htmx.ajax("GET", `${here[0]}/cells/${cell.dataset.cell}`, { target: "#drawer", swap: "innerHTML" });
  };
  document.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-grid] td");
    if (cell) { enter(cell); tell(cell); }
  });
  const begin = () => document.querySelectorAll("[data-grid]").forEach((table) => {
    const first = table.querySelector("td");
    if (first && !table.querySelector("td[tabindex='0']")) first.tabIndex = 0;
  });

  document.addEventListener("htmx:afterSwap", begin);
  document.addEventListener("htmx:afterRequest", (event) => {
    const form = event.target;
    if (event.detail.successful && form.matches && form.matches("form[data-change]")) form.reset();
  });
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin); else begin();
})();
