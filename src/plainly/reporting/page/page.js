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
  // A table that goes on to the right fades out there, until its end is reached.
  const fade = (frame) => frame.classList.toggle("more", frame.scrollWidth - frame.clientWidth - frame.scrollLeft > 2);
  const watcher = new ResizeObserver((entries) => entries.forEach((entry) => fade(entry.target)));
  for (const frame of document.querySelectorAll(".scroll")) {
    watcher.observe(frame);
    frame.addEventListener("scroll", () => fade(frame), { passive: true });
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
  for (const title of document.querySelectorAll(".figure title")) {
    const mark = title.parentElement, [name, ...said] = title.textContent.split("\n");
    Object.assign(mark.dataset, { name, tip: said.join("\n") });
    title.remove();
    const seen = [...mark.querySelectorAll("text")].map((text) => text.textContent).join(" ") || name;
    if (mark.matches("[role=button]")) mark.setAttribute("aria-label", `${seen}. ${said}. Show its items.`);
  }
  const tell = (mark) => {
    const { name, tip: said } = mark.dataset;
    tip.replaceChildren(...(name ? [make("b", "", name)] : []), said);
    tip.hidden = false;
    const box = (mark.querySelector(".mark, .median") ?? mark).getBoundingClientRect(), own = tip.getBoundingClientRect();
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
  for (const plot of document.querySelectorAll("svg.figure")) plot.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("[role=button]")) event.target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    const marks = [...plot.querySelectorAll("[tabindex]")], at = marks.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: marks.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = marks[Math.max(0, Math.min(to, marks.length - 1))];
    marks[at].setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  });

  // Copy and save. A plot is SVG already; what the style sheet adds is written into a copy.
  const drawing = (figure) => {
    const shown = figure.querySelector(".drawn svg"), field = shown.getBoundingClientRect(), margin = getComputedStyle(shown);
    const [top, right, bottom, left] = ["Top", "Right", "Bottom", "Left"].map((side) => parseFloat(margin[`margin${side}`]));
    const copy = shown.cloneNode(true), copies = copy.querySelectorAll("*");
    const names = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font-size", "display"];
    shown.querySelectorAll("*").forEach((element, at) => {
      const style = getComputedStyle(element);
      copies[at].setAttribute("style", names.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
    });
    for (const [name, value] of Object.entries({ x: left, y: top, width: field.width, height: field.height, style: "overflow:visible" })) copy.setAttribute(name, value);
    const paper = getComputedStyle(document.body).backgroundColor, size = `width="${field.width + left + right}" height="${field.height + top + bottom}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif"><rect width="100%" height="100%" fill="${paper}"/>${new XMLSerializer().serializeToString(copy)}</svg>`;
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
