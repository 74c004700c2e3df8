"use strict";
// What every page does: theme, tables that sort, plots that answer. Pages work without it. Texts reach the DOM as text only.
const page = (() => {
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  for (const element of document.querySelectorAll("button[hidden]")) element.hidden = false;

  // Theme: the system's, until the reader chooses. file:// pages may have no storage.
  const theme = $("theme");
  const remembered = () => { try { return localStorage.getItem("plainly-theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const showTheme = () => theme.setAttribute("aria-pressed", String(isDark()));
  if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
  showTheme();
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("plainly-theme", root.dataset.theme); } catch { /* not kept, and no harm done */ }
    showTheme();
  });

  // Tables sort by any column; what is undefined goes last either way.
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
  const parts = $("parts");
  if (parts) parts.addEventListener("click", () => {
    parts.setAttribute("aria-pressed", String($("table").classList.toggle("parts")));
  });

  // The headline shows one metric at a time.
  root.classList.add("scripted");
  const shows = [...document.querySelectorAll(".choices button")];
  const picture = (id) => {
    for (const plot of document.querySelectorAll(".picture .plot")) plot.classList.toggle("shown", plot.id === id);
    for (const button of shows) button.setAttribute("aria-pressed", String(button.dataset.shows === id));
  };
  const headline = document.querySelector(".picture .plot");
  if (headline) picture(headline.id);
  for (const group of document.querySelectorAll(".choices")) group.hidden = false;
  for (const button of shows) button.addEventListener("click", () => picture(button.dataset.shows));

  // Long sections are shut on a phone, and open when something in them is asked for or printed.
  const small = matchMedia("(max-width: 640px)").matches;
  const folds = [...document.querySelectorAll("details.fold")];
  if (small) for (const fold of folds) if (fold.dataset.phone) fold.open = false;
  const unfold = () => {
    const target = location.hash.length > 1 && $(location.hash.slice(1));
    if (!target) return;
    for (const fold of [target.closest("details.fold"), target.querySelector(":scope > details.fold")]) if (fold) fold.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  addEventListener("beforeprint", () => { for (const fold of document.querySelectorAll("details:not(#paper details)")) fold.open = true; });
  unfold();

  // What a mark stands for: on hover and on focus, in one box that never leaves the window.
  const tip = $("tip");
  const tell = (mark) => {
    const said = mark.dataset.tip;
    const name = mark.dataset.name ?? mark.querySelector(".who")?.textContent;
    tip.replaceChildren(...(name ? [make("b", "", name)] : []), said);
    tip.hidden = false;
    const box = (mark.querySelector(".dot, .beyond, .tick") ?? mark).getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.max(4, Math.min(box.left + box.width / 2 - own.width / 2, root.clientWidth - own.width - 4));
    const above = box.top - own.height - 10;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 60 ? above : box.bottom + 10) + scrollY}px`;
  };
  const hide = () => { tip.hidden = true; };
  for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, (event) => {
    const mark = event.target.closest?.("[data-tip]");
    if (mark) tell(mark); else hide();
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  // In a plot the arrows go from mark to mark, so that Tab goes from plot to plot.
  for (const plot of document.querySelectorAll(".strips, .scatter .field")) plot.addEventListener("keydown", (event) => {
    const marks = [...plot.querySelectorAll("button, a")], at = marks.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: marks.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = marks[Math.max(0, Math.min(to, marks.length - 1))];
    marks[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });

  // Copy and save. A plot becomes an SVG of what is seen: words, marks and lines, where they stand.
  const drawing = (figure) => {
    const all = figure.getBoundingClientRect(), parts = [];
    const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
    const seen = (box) => box.width > 0 && box.height > 0;
    for (const element of figure.querySelectorAll("*")) {
      if (element.closest(".save, .visually-hidden") || (element.closest("svg") && element.tagName !== "polyline" && element.tagName !== "line")) continue;
      const box = element.getBoundingClientRect(), style = getComputedStyle(element);
      const x = box.left - all.left, y = box.top - all.top;
      if (element.tagName === "polyline" || element.tagName === "line") {
        const matrix = element.getScreenCTM();
        if (!matrix || !element.checkVisibility()) continue;
        const raw = element.tagName === "line" ? [[element.x1, element.y1], [element.x2, element.y2]].map((pair) => pair.map((v) => v.baseVal.value))
          : [...element.points].map((point) => [point.x, point.y]);
        const moved = raw.map(([px, py]) => `${px * matrix.a + matrix.e - all.left},${py * matrix.d + matrix.f - all.top}`);
        parts.push(`<polyline points="${moved.join(" ")}" fill="none" stroke="${style.stroke}" stroke-width="${style.strokeWidth}" opacity="${style.opacity}"/>`);
        continue;
      }
      if (!seen(box) && style.borderLeftStyle === "none") continue;
      if (element.tagName === "I" && style.borderLeftWidth !== "0px") {
        parts.push(`<line x1="${x}" x2="${x}" y1="${y}" y2="${y + box.height}" stroke="${style.borderLeftColor}"/>`);
      } else if (element.tagName === "I" && style.borderTopWidth !== "0px") {
        parts.push(`<line x1="${x}" x2="${x + box.width}" y1="${y}" y2="${y}" stroke="${style.borderTopColor}"/>`);
      } else if (element.tagName === "I" && !element.textContent) {
        const round = style.borderRadius === "50%" ? box.width / 2 : 1;
        const shape = style.clipPath.startsWith("polygon") ? `<path d="M${x} ${y}L${x + box.width} ${y + box.height / 2}L${x} ${y + box.height}Z"`
          : `<rect x="${x}" y="${y}" width="${box.width}" height="${box.height}" rx="${round}"`;
        parts.push(`${shape} fill="${style.backgroundColor}" opacity="${style.opacity}"/>`);
      }
      const words = [...element.childNodes].filter((node) => node.nodeType === 3 && node.textContent.trim());
      for (const node of words) {
        const range = document.createRange();
        range.selectNodeContents(node);
        const at = range.getBoundingClientRect();
        if (seen(at)) parts.push(`<text x="${at.left - all.left}" y="${at.top - all.top + at.height * 0.78}" font-size="${style.fontSize}" font-weight="${style.fontWeight}" fill="${style.color}">${escape(node.textContent.trim())}</text>`);
      }
    }
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${all.width}" height="${all.height}" font-family="sans-serif">${parts.join("")}</svg>`;
  };
  const download = (name, type, text) => {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  for (const button of document.querySelectorAll(".save")) button.addEventListener("click", () => {
    download(`${button.dataset.name}.svg`, "image/svg+xml", drawing(button.parentElement));
  });
  for (const button of document.querySelectorAll(".copy")) button.addEventListener("click", async () => {
    const text = $(button.dataset.target);
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  // After the first screen has been seen: on a report the items, and the rest of the page.
  const later = (work) => window.requestIdleCallback ? requestIdleCallback(work, { timeout: 200 }) : setTimeout(work, 50);
  addEventListener("load", () => later(() => root.classList.add("settled")));
  return { $, make, small, hide, later };
})();
