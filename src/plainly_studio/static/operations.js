// Operations: choose words in one sentence or both, then label what happened to them. Words are chosen by click, by drag, by
// touch, by Shift and a second click, or with the arrow keys; one more key or click is the label.
import { el, t } from "./page.js";
import { hint } from "./keys.js";

export const actions = (about) => [
  ...about.labels.map((label) => ({ id: `label.${label.name}`, title: label.title, key: label.key, scope: label.sides })),
  ...[
    ["left", "ArrowLeft"], ["right", "ArrowRight"], ["up", "ArrowUp"], ["down", "ArrowDown"], ["first", "Home"], ["last", "End"],
    ["toggle", " "], ["clear", "Escape"], ["edit", "e"], ["remove", "Delete"], ["undo", "z"], ["redo", "y"],
  ].map(([id, key]) => ({ id, title: t(`do_${id}`), key })),
];

export const questions = () => [t("operations")];

// The expected answer of a practice item has labels only.
export function describe({ groups = [], labels }, about) {
  const titles = Object.fromEntries(about.labels.map((label) => [label.name, label.title]));
  const names = labels ?? groups.flatMap((group) => group.labels);
  return [[t("operations"), names.map((label) => titles[label] ?? label).join(", ") || t("no_operation")]];
}

const SIDES = ["source", "output"];
const copy = (groups) => groups.map((group) => ({ source: [...group.source], output: [...group.output], labels: [...group.labels] }));

export function mount(root, item, context) {
  const { about, keys, changed } = context;
  const titles = Object.fromEntries(about.labels.map((label) => [label.name, label.title]));
  const spans = { source: item.source_spans, output: item.output_spans };
  const chosen = { source: new Set(), output: new Set() };
  let groups = copy((item.draft ?? item.answer)?.groups ?? []);
  let before = [];
  let after = [];
  let taken = -1; // the group that is being changed
  let cursor = { side: "source", at: 0 };
  let anchor = null;
  let drag = null;
  const tokens = {};
  const words = el("p", { class: "hidden", role: "status" });

  function line(side, title) {
    tokens[side] = spans[side].map(([, text], at) => {
      const button = el("button", { type: "button", class: "token", tabindex: "-1", "data-token": at, "data-side": side, "aria-pressed": "false" }, text);
      button.addEventListener("focus", () => (cursor = { side, at }));
      return button;
    });
    const content = tokens[side].flatMap((button, at) => [spans[side][at][0], button]);
    return el("section", { class: "text" }, el("h2", { id: `title-${side}` }, title),
      el("p", { class: "tokens", dir: about.direction, role: "group", "aria-labelledby": `title-${side}` }, ...content));
  }

  function scope() {
    const [source, output] = SIDES.map((side) => chosen[side].size > 0);
    return source && output ? "both" : source ? "source" : output ? "output" : null;
  }

  const palette = el("div", { class: "palette", role: "group", "aria-label": t("palette") });
  const search = el("input", { type: "search", id: "label-search", oninput: () => draw() });
  const finder = el("p", { class: "row" }, el("label", { for: "label-search" }, t("search_labels")), search);
  const meanings = el("details", { class: "meanings" }, el("summary", {}, t("meanings")),
    el("dl", {}, ...about.labels.flatMap((label) => [el("dt", {}, label.title), el("dd", {}, label.hint)])));
  const list = el("ul", { class: "groups" });
  const message = el("p", { class: "small", role: "status" });
  const undoButton = el("button", { type: "button", class: "quiet", onclick: () => undo() }, `${t("do_undo")} `, hint(keys.key("undo")));
  const redoButton = el("button", { type: "button", class: "quiet", onclick: () => redo() }, `${t("do_redo")} `, hint(keys.key("redo")));

  function draw() {
    const numbers = { source: new Map(), output: new Map() };
    groups.forEach((group, number) => SIDES.forEach((side) => group[side].forEach((at) => {
      numbers[side].set(at, [...(numbers[side].get(at) ?? []), number]);
    })));
    for (const side of SIDES) {
      tokens[side].forEach((button, at) => {
        const marks = numbers[side].get(at) ?? [];
        const on = chosen[side].has(at);
        button.classList.toggle("selected", on);
        button.classList.toggle("marked", marks.length > 0);
        button.classList.toggle("hot", marks.includes(taken));
        button.setAttribute("aria-pressed", String(on));
        button.tabIndex = cursor.side === side && cursor.at === at ? 0 : -1;
        const text = spans[side][at][1];
        const shown = marks.map((number) => number + 1).join(",");
        const state = marks.map((number) => `${number}:${groups[number].labels}`).join();
        if ((button.dataset.marks ?? "") !== state) {
          button.dataset.marks = state;
          const said = marks.map((number) => groups[number].labels.map((label) => titles[label]).join(" + ")).join("; ");
          button.replaceChildren(text, ...(shown ? [el("sup", { "aria-hidden": "true" }, shown), el("span", { class: "hidden" }, `, ${said}`)] : []));
        }
      });
    }
    const now = scope();
    const wanted = search.value.trim().toLowerCase();
    const fits = (label) => (now ? label.sides.includes(now) : true) && (!wanted || `${label.title} ${label.hint}`.toLowerCase().includes(wanted));
    const offer = (label) => {
      const on = taken >= 0 && groups[taken]?.labels.includes(label.name);
      const idle = !now && label.name !== "err";
      return el("button", { type: "button", title: label.hint, "data-label": label.name, "aria-pressed": taken >= 0 ? String(on) : null, "aria-disabled": idle ? "true" : null, onclick: () => mark(label.name) },
        `${label.title} `, keys.key(`label.${label.name}`) ? hint(keys.key(`label.${label.name}`)) : "");
    };
    // The classes of the typology, each a row of its own, so that 27 labels are seven short lists.
    const classes = [...new Set(about.labels.map((label) => label.class))];
    palette.replaceChildren(...classes.flatMap((name) => {
      const offered = about.labels.filter((label) => label.class === name && fits(label)).map(offer);
      return offered.length ? [el("div", { class: "family", role: "group", "aria-label": t(`class_${name}`) }, el("span", { class: "family-name", "aria-hidden": "true" }, t(`class_${name}`)), ...offered)] : [];
    }));
    list.replaceChildren(...groups.map((group, number) => {
      const quote = (side) => group[side].length ? [...group[side]].sort((a, b) => a - b).map((at) => spans[side][at][1]).join(" ") : "∅";
      return el("li", {}, el("strong", {}, `${number + 1}`), ...group.labels.map((label) => el("span", { class: "label" }, titles[label] ?? label)),
        el("span", { class: "words", dir: "auto" }, `${quote("source")} → ${quote("output")}`),
        el("button", { type: "button", class: "quiet", "aria-label": t("change_group", { number: number + 1 }), onclick: () => take(number) }, t("change")),
        el("button", { type: "button", class: "quiet", "aria-label": t("remove_group", { number: number + 1 }), onclick: () => remove(number) }, t("remove")));
    }));
    undoButton.disabled = !before.length;
    redoButton.disabled = !after.length;
  }

  function say(text) {
    message.textContent = text;
  }

  function change(work) {
    before.push(copy(groups));
    after = [];
    work();
    chosen.source.clear();
    chosen.output.clear();
    anchor = null;
    draw();
    if (document.activeElement === document.body) tokens[cursor.side][cursor.at]?.focus({ preventScroll: true });
    changed();
  }

  function mark(label) {
    if (label === "err") return markError();
    const now = scope();
    if (!now) return say(t("words_first"));
    if (!about.labels.find((known) => known.name === label).sides.includes(now)) return say(t("wrong_sides", { label: titles[label] }));
    if (groups.some((group) => group.labels.includes("err"))) return say(t("is_erroneous"));
    const sets = Object.fromEntries(SIDES.map((side) => [side, [...chosen[side]].sort((a, b) => a - b)]));
    const number = taken;
    change(() => {
      if (number >= 0) {
        const has = groups[number].labels;
        const labels = has.includes(label) ? has.filter((kept) => kept !== label) : [...has, label];
        groups[number] = { ...sets, labels: labels.length ? labels : [label] };
      } else groups.push({ ...sets, labels: [label] });
      taken = -1;
    });
    say(t("marked", { label: titles[label], number: number >= 0 ? number + 1 : groups.length }));
  }

  function markError() {
    const sets = Object.fromEntries(SIDES.map((side) => [side, chosen[side].size ? [...chosen[side]].sort((a, b) => a - b) : spans[side].length ? [0] : []]));
    const others = groups.length;
    change(() => {
      groups = [{ ...sets, labels: ["err"] }];
      taken = -1;
    });
    say(t(others ? "erroneous_alone" : "erroneous"));
  }

  function take(number) {
    taken = number;
    for (const side of SIDES) {
      chosen[side].clear();
      groups[number][side].forEach((at) => chosen[side].add(at));
    }
    draw();
    say(t("group_taken", { number: number + 1 }));
  }

  function remove(number) {
    if (number < 0 || number >= groups.length) return;
    change(() => {
      groups.splice(number, 1);
      taken = -1;
    });
    say(t("group_removed", { number: number + 1 }));
  }

  function step(from, to, text) {
    if (!from.length) return;
    to.push(copy(groups));
    groups = from.pop();
    taken = -1;
    draw();
    changed();
    say(text);
  }

  const undo = () => step(before, after, t("undone"));
  const redo = () => step(after, before, t("redone"));

  function range(side, from, to) {
    for (let at = Math.min(from, to); at <= Math.max(from, to); at += 1) chosen[side].add(at);
  }

  function place(side, at) {
    cursor = { side, at: Math.max(0, Math.min(spans[side].length - 1, at)) };
    draw();
    tokens[side][cursor.at]?.focus();
  }

  function tokenAt(event) {
    const token = document.elementFromPoint(event.clientX, event.clientY)?.closest?.("[data-token]");
    return token && { side: token.dataset.side, at: Number(token.dataset.token) };
  }

  function down(event) {
    const token = event.target.closest("[data-token]");
    if (!token || event.button > 0) return;
    const at = Number(token.dataset.token);
    const side = token.dataset.side;
    // Fewer labels must not make the page shorter, or the words would move under the pointer.
    palette.style.minHeight = `${palette.offsetHeight}px`;
    drag = { side, from: at, shift: event.shiftKey, was: new Set(chosen[side]), moved: false, pointer: event.pointerId };
    if (event.target.hasPointerCapture?.(event.pointerId)) event.target.releasePointerCapture(event.pointerId);
  }

  function move(event) {
    if (!drag) return;
    const under = tokenAt(event);
    if (!under || under.side !== drag.side || (!drag.moved && under.at === drag.from)) return;
    drag.moved = true;
    chosen[drag.side] = new Set(drag.was);
    range(drag.side, drag.from, under.at);
    draw();
  }

  function up() {
    if (!drag) return;
    const { side, from, shift, moved } = drag;
    drag = null;
    if (!moved) {
      if (shift && anchor?.side === side) range(side, anchor.at, from);
      else if (chosen[side].has(from)) chosen[side].delete(from);
      else chosen[side].add(from);
      anchor = { side, at: from };
    }
    cursor = { side, at: from };
    palette.style.minHeight = "";
    draw();
  }

  root.append(
    el("div", { class: "pair" }, line("source", t("original")), line("output", t("version"))), finder, palette, meanings,
    el("div", { class: "row" }, undoButton, redoButton,
      el("button", { type: "button", class: "quiet", onclick: () => (chosen.source.clear(), chosen.output.clear(), (taken = -1), draw()) }, `${t("do_clear")} `, hint(keys.key("clear")))),
    message, list, words);
  root.addEventListener("pointerdown", down);
  root.addEventListener("pointermove", move);
  root.addEventListener("pointerup", up);
  root.addEventListener("pointercancel", () => (drag = null));
  // Space and Enter on a word arrive as clicks without a pointer; those from a pointer were dealt with above.
  draw();

  return {
    payload: () => ({ groups: copy(groups) }),
    entered: () => groups.length > 0,
    scope: () => scope() ?? "none",
    problem() {
      if (scope() === null || taken >= 0) return null;
      return { message: t("unlabelled"), focus: () => palette.querySelector("button")?.focus() };
    },
    act(action, event) {
      if (action.startsWith("label.")) return mark(action.slice(6)), true;
      const moves = { left: -1, right: 1 };
      if (action in moves) {
        const rtl = getComputedStyle(tokens[cursor.side][cursor.at] ?? root).direction === "rtl";
        const from = cursor.at;
        const to = Math.max(0, Math.min(spans[cursor.side].length - 1, from + (rtl ? -moves[action] : moves[action])));
        if (event.shiftKey) range(cursor.side, from, to);
        return place(cursor.side, to), true;
      }
      if (action === "up" || action === "down") return place(action === "up" ? "source" : "output", cursor.at), true;
      if (action === "first") return place(cursor.side, 0), true;
      if (action === "last") return place(cursor.side, spans[cursor.side].length - 1), true;
      if (action === "toggle") {
        if (chosen[cursor.side].has(cursor.at)) chosen[cursor.side].delete(cursor.at);
        else chosen[cursor.side].add(cursor.at);
        anchor = { ...cursor };
        return place(cursor.side, cursor.at), true;
      }
      if (action === "clear") return chosen.source.clear(), chosen.output.clear(), (taken = -1), draw(), true;
      if (action === "edit") return groups.length && take(groups.length - 1), true;
      if (action === "remove") return remove(taken >= 0 ? taken : groups.length - 1), true;
      if (action === "undo") return undo(), true;
      if (action === "redo") return redo(), true;
      return false;
    },
  };
}
