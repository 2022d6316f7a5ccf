"use strict";
// Forms that are sent once, a dialog with help, and a notice when the server cannot be reached.
(() => {
  const say = (text) => {
    const place = document.getElementById("notice");
    const said = document.createElement("p");
    said.className = "notice bad";
    said.setAttribute("role", "alert");
    said.textContent = text;
    place.replaceChildren(said);
  };

  // A form is sent once; the page that answers brings a new one.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.dataset.sure && !window.confirm(form.dataset.sure)) { event.preventDefault(); return; }
    if (!form.hasAttribute("data-once")) return;
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
  });
  // The back button brings a page as it was left: its forms may be sent again, and its state is asked for anew.
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

  document.addEventListener("htmx:sendError", () => say("The server cannot be reached: nothing was saved. Try again."));
  document.addEventListener("htmx:timeout", () => say("The server did not answer in time. Look whether it was saved."));
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id !== "notice") document.getElementById("notice").replaceChildren();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-help]")) document.getElementById("keys")?.showModal();
  });
})();
