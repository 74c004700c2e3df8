"use strict";
// The pages work without this script: it lets tables be sorted and the theme be chosen.
(() => {
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  const remembered = () => { try { return localStorage.getItem("plainly-theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const showTheme = () => theme.setAttribute("aria-pressed", String(isDark()));
  if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
  theme.hidden = false;
  showTheme();
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("plainly-theme", root.dataset.theme); } catch { /* not kept, and no harm done */ }
    showTheme();
  });
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      const first = head.dataset.kind === "text" || head.dataset.better === "lower" ? "ascending" : "descending";
      const now = was ? (was === "ascending" ? "descending" : "ascending") : first;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", now);
      const sign = now === "ascending" ? 1 : -1;
      const key = (row) => row.cells[column].dataset.value;
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        if (head.dataset.kind === "text") return sign * key(a).localeCompare(key(b));
        if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === "");
        return sign * (Number(key(a)) - Number(key(b)));
      });
      table.tBodies[0].append(...rows);
    }));
  }
})();
