// Keeps parts of pages fresh without getting in a person's way, and moves through lists by keyboard.
"use strict";
(() => {
  let paused = false;
  const polls = (el) => (el.getAttribute("hx-trigger") || "").startsWith("every");

  // Nothing is asked for while the page is paused or not looked at.
  document.addEventListener("htmx:beforeRequest", (e) => {
    if (polls(e.detail.elt) && (paused || document.hidden)) e.preventDefault();
  });
  // What a person is in is not replaced under them.
  document.addEventListener("htmx:beforeSwap", (e) => {
    const el = e.detail.target;
    if (polls(el) && el.contains(document.activeElement)) e.detail.shouldSwap = false;
  });
  // What a person has begun to write is not replaced either.
  document.addEventListener("htmx:oobBeforeSwap", (e) => {
    const begun = [...e.detail.target.querySelectorAll("input")].some((i) => i.value !== i.defaultValue || i.checked !== i.defaultChecked);
    if (begun || e.detail.target.contains(document.activeElement)) e.detail.shouldSwap = false;
  });

  const button = document.getElementById("pause");
  if (button) {
    button.hidden = false;
    button.addEventListener("click", () => {
      paused = !paused;
      button.setAttribute("aria-pressed", String(paused));
      button.textContent = paused ? "Resume live updates" : "Pause live updates";
    });
  }

  // j and k go through rows; Enter follows the link that has the focus, as everywhere.
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.altKey || e.metaKey || (e.key !== "j" && e.key !== "k")) return;
    if (e.target.matches("input, textarea, select")) return;
    const links = [...document.querySelectorAll("[data-row] a")];
    if (links.length === 0) return;
    const at = links.indexOf(document.activeElement);
    const to = e.key === "j" ? Math.min(at + 1, links.length - 1) : Math.max(at - 1, 0);
    links[to].focus();
    links[to].scrollIntoView({ block: "nearest" });
    e.preventDefault();
  });
})();
