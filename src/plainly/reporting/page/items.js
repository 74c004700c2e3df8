// The items of a report: search, filters, a list that holds only what is seen, and texts side by side.
page.later(() => {
  const { $, make, small, hide } = page;
  const browser = $("browser");
  if (!browser) return;
  browser.hidden = false;
  const data = JSON.parse($("data").textContent);
  const { systems, metrics, ids, sources, references, outputs, scores, reasons, operations, facts } = data;
  const n = ids.length;
  const HEIGHT = 64, MOST = 12;

  // What a reader cannot see is shown by its code.
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
  const code = (c) => `U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  const put = (parent, text) => {
    let at = 0;
    for (const found of text.matchAll(HIDDEN)) {
      if (found.index > at) parent.append(text.slice(at, found.index));
      parent.append(make("span", "hidden-char", code(found[0])));
      at = found.index + 1;
    }
    if (at < text.length) parent.append(text.slice(at));
  };
  const shown = (value) => value === null || value === undefined ? "–" : value.toFixed(2).replace("-", "−");

  // Search looks in everything that belongs to an item; the text to look in is made at the first search.
  let haystack = null;
  const texts = (i) => [ids[i], sources ? sources[i] : "", ...outputs.map((o) => o[i] ?? ""), ...(references[i] || [])];
  const search = (words) => {
    haystack ??= Array.from({ length: n }, (_, i) => texts(i).join("\n").toLowerCase());
    return (i) => words.every((word) => haystack[i].includes(word));
  };

  // Disagreement: how far apart the metrics rank an output, as shares of all outputs. Difference: between systems.
  const directed = metrics.map((_, m) => m).filter((m) => metrics[m].better !== "neither");
  let percentiles = null;
  const ranks = () => percentiles ??= directed.map((m) => {
    const all = [];
    scores[m].forEach((of, s) => of.forEach((value, i) => { if (value !== null) all.push([value, s, i]); }));
    const sign = metrics[m].better === "lower" ? -1 : 1;
    all.sort((a, b) => sign * (a[0] - b[0]));
    const found = scores[m].map((of) => new Float64Array(of.length).fill(NaN));
    for (let from = 0; from < all.length;) {
      let to = from;
      while (to + 1 < all.length && all[to + 1][0] === all[from][0]) to++;
      for (let k = from; k <= to; k++) found[all[k][1]][all[k][2]] = (from + to) / 2 / Math.max(all.length - 1, 1);
      from = to + 1;
    }
    return found;
  });
  const range = (values) => {
    const defined = values.filter((v) => v !== null && v === v);
    return defined.length < 2 ? NaN : Math.max(...defined) - Math.min(...defined);
  };
  const chosenSystems = () => state.system < 0 ? systems.map((_, s) => s) : [state.system];
  const disagreement = (i) => Math.max(...chosenSystems().map((s) => range(ranks().map((of) => of[s][i])) || 0));
  const difference = (i) => range(scores[state.metric].map((of) => of[i]));
  const mean = (i) => {
    const defined = chosenSystems().map((s) => scores[state.metric][s][i]).filter((v) => v !== null);
    return defined.length ? defined.reduce((a, b) => a + b) / defined.length : NaN;
  };
  const flags = new Map(data.flags.map(({ key, label, short, items }) => [key, { label, short, items: items.map((of) => new Set(of)) }]));
  const flagged = (key) => (i) => chosenSystems().some((s) => flags.get(key).items[s].has(i));
  const keys = { position: (i) => i, low: mean, high: mean, difference, disagreement };

  const state = { query: "", system: -1, metric: 0, order: "position", filters: new Set(), chosen: 0, items: [],
                  view: "changes", against: "source" };
  const top = (key) => {
    const values = Float64Array.from({ length: n }, (_, i) => key(i)).map((v) => v === v ? v : -1);
    const cut = [...values].sort((a, b) => b - a)[Math.min(n - 1, Math.max(0, Math.ceil(n / 5) - 1))];
    return (i) => values[i] > 0 && values[i] >= cut;
  };
  const choose = () => {
    let items = Array.from({ length: n }, (_, i) => i);
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) items = items.filter(search(words));
    for (const key of state.filters) if (flags.has(key)) items = items.filter(flagged(key));
    if (state.filters.has("disagreement")) items = items.filter(top(disagreement));
    if (state.filters.has("difference")) items = items.filter(top(difference));
    if (state.order !== "position") {
      const sign = state.order === "low" ? 1 : -1;
      const value = new Map(items.map((i) => [i, keys[state.order](i)]));
      items.sort((a, b) => {
        const [x, y] = [value.get(a), value.get(b)];
        if (x !== x || y !== y) return (x !== x) - (y !== y) || a - b;
        return sign * (x - y) || a - b;
      });
    }
    state.items = items;
    state.chosen = Math.min(state.chosen, Math.max(items.length - 1, 0));
  };

  // The list holds only the rows that are seen.
  const list = $("list"), spacer = list.firstElementChild, detail = $("detail");
  const rowLabel = (i) => state.order === "disagreement" ? `apart ${shown(disagreement(i))}`
    : state.order === "difference" ? `difference ${shown(difference(i))}` : `${metrics[state.metric].name} ${shown(mean(i))}`;
  const option = (place) => {
    const i = state.items[place];
    const row = make("div", "option");
    row.id = `option-${place}`;
    row.style.top = `${place * HEIGHT}px`;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(place === state.chosen));
    row.setAttribute("aria-posinset", place + 1);
    row.setAttribute("aria-setsize", state.items.length);
    const first = make("div", "first");
    const id = make("span");
    put(id, ids[i].slice(0, 80));
    first.append(id, make("span", "score", rowLabel(i)));
    const text = make("div", "text");
    text.dir = "auto";
    put(text, (sources ? sources[i] : outputs[0]?.[i] ?? "").slice(0, 160));
    row.append(first, text);
    row.addEventListener("click", () => { select(place); });
    return row;
  };
  const paint = () => {
    spacer.style.height = `${state.items.length * HEIGHT}px`;
    const from = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 4);
    const to = Math.min(state.items.length, Math.ceil((list.scrollTop + list.clientHeight) / HEIGHT) + 4);
    const rows = [];
    for (let place = from; place < to; place++) rows.push(option(place));
    spacer.replaceChildren(...rows);
    if (state.chosen >= from && state.chosen < to) list.setAttribute("aria-activedescendant", `option-${state.chosen}`);
    else list.removeAttribute("aria-activedescendant");
  };
  const select = (place) => {
    if (!state.items.length) return;
    state.chosen = Math.max(0, Math.min(place, state.items.length - 1));
    const y = state.chosen * HEIGHT;
    if (y < list.scrollTop) list.scrollTop = y;
    if (y + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = y + HEIGHT - list.clientHeight;
    paint();
    show();
  };
  const refresh = ({ keep = false } = {}) => {
    if (!keep) { state.chosen = 0; list.scrollTop = 0; }
    choose();
    $("count").textContent = state.items.length === n ? `${n.toLocaleString("en")} items`
      : `${state.items.length.toLocaleString("en")} of ${n.toLocaleString("en")} items`;
    paint();
    show();
  };

  // Word-level differences: the longest common subsequence, on what is left when common ends are set aside.
  const cut = (text) => text.match(/\s+|[\p{L}\p{N}\p{M}'’-]+|[^\s\p{L}\p{N}\p{M}]/gu) ?? [];
  const changes = (before, after) => {
    let a = cut(before), b = cut(after);
    const start = [], end = [];
    while (a.length && b.length && a[0] === b[0]) { start.push([0, a.shift()]); b.shift(); }
    while (a.length && b.length && a.at(-1) === b.at(-1)) { end.unshift([0, a.pop()]); b.pop(); }
    if (a.length * b.length > 4e6) return [...start, [-1, a.join("")], [1, b.join("")], ...end];
    const width = b.length + 1;
    const length = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) {
      length[i * width + j] = a[i] === b[j] ? length[(i + 1) * width + j + 1] + 1
        : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
    const middle = [];
    let i = 0, j = 0;
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i] === b[j]) { middle.push([0, a[i++]]); j++; }
      else if (j === b.length || (i < a.length && length[(i + 1) * width + j] >= length[i * width + j + 1])) middle.push([-1, a[i++]]);
      else middle.push([1, b[j++]]);
    }
    return [...start, ...middle, ...end];
  };
  // A kept space between two changes belongs to both: runs read better than single words.
  const runs = (steps) => {
    const found = [];
    let gone = "", come = "";
    const flush = () => {
      if (gone) found.push([-1, gone]);
      if (come) found.push([1, come]);
      gone = come = "";
    };
    steps.forEach(([kind, text], at) => {
      const next = steps[at + 1];
      if (kind < 0) gone += text;
      else if (kind > 0) come += text;
      else if (/^\s+$/.test(text) && (gone || come) && next && next[0] !== 0) { if (gone) gone += text; if (come) come += text; }
      else { flush(); found.length && found.at(-1)[0] === 0 ? found.at(-1)[1] += text : found.push([0, text]); }
    });
    flush();
    return found;
  };
  const prose = (text) => {
    const block = make("p", "prose");
    block.dir = "auto";
    if (text) put(block, text);
    else block.append(make("span", "empty", "(empty)"));
    return block;
  };
  const compared = (before, after) => {
    const block = make("p", "prose");
    block.dir = "auto";
    for (const [kind, text] of runs(changes(before, after))) {
      if (kind === 0) { put(block, text); continue; }
      // Spaces at the ends of a run belong to it but are left unmarked.
      const [, first, words, last] = text.match(/^(\s*)([^]*?)(\s*)$/);
      const part = make(kind < 0 ? "del" : "ins"), marked = make("span");
      put(marked, words || text);
      if (words) part.append(first, marked, last);
      else part.append(marked);
      block.append(part);
    }
    if (!after) block.append(make("span", "empty", " (empty)"));
    return block;
  };
  const operated = (text, groups, side, labels = operations?.labels) => {
    const block = make("p", "prose");
    block.dir = "auto";
    const spans = [];
    for (const group of groups) for (let k = 0; k < group[side].length; k += 2) spans.push([group[side][k], group[side][k + 1], group[0], group[3]]);
    spans.sort((a, b) => a[0] - b[0]);
    let at = 0;
    // Python counts characters, JavaScript UTF-16 units; they part after the first character beyond U+FFFF.
    const characters = /[\ud800-\udfff]/.test(text) ? Array.from(text) : null;
    const slice = (from, to) => characters ? characters.slice(from, to).join("") : text.slice(from, to);
    for (const [from, to, number, message] of spans) {
      if (from < at) continue;
      const { label, title, kind } = labels[number];
      put(block, slice(at, from));
      const span = make("span", `op ${kind}`);
      span.title = message ?? title;
      put(span, slice(from, to));
      span.append(make("sup", "", label));
      block.append(span);
      at = to;
    }
    put(block, slice(at, undefined));
    if (!text) block.append(make("span", "empty", "(empty)"));
    return block;
  };

  // Sentences of a document beside those that they were made from; a row is a link.
  const linked = (i, s) => {
    const grid = make("div", "aligned");
    const characters = [Array.from(sources[i]), Array.from(outputs[s][i])];
    for (const [before, after, what, moved] of data.links.links[s][i]) {
      const name = data.links.happened[what];
      const row = make("div", `link ${name}`);
      [before, after].forEach((places, side) => {
        const cell = make("p", "prose");
        cell.dir = "auto";
        for (let k = 0; k < places.length; k += 2) put(cell, (k ? " " : "") + characters[side].slice(places[k], places[k + 1]).join(""));
        if (!places.length) cell.append(make("span", "empty", side ? "(dropped)" : "(added)"));
        row.append(cell);
      });
      row.append(make("span", "chip", moved ? `${name}, moved` : name));
      grid.append(row);
    }
    return grid;
  };
  const linkable = (i, s) => Boolean(data.links && sources && data.links.links[s]?.[i]);

  // What an output no longer has can only be shown in the words of the source.
  const gone = (i, s) => {
    const groups = operations.groups[s][i].filter((group) => group[1].length && !group[2].length);
    if (!groups.length || !sources) return null;
    const line = make("p", "gone", "No longer there: ");
    const characters = Array.from(sources[i]);
    for (const [number, places] of groups) {
      const { label, title, kind } = operations.labels[number];
      const span = make("span", `op ${kind}`);
      span.title = title;
      for (let k = 0; k < places.length; k += 2) put(span, (k ? " … " : "") + characters.slice(places[k], places[k + 1]).join(""));
      span.append(make("sup", "", label));
      line.append(span, " ");
    }
    return line;
  };

  // What was found in an output, in sentences.
  const findings = (i, s) => {
    const list = make("ul", "findings");
    for (const [number, , , message] of facts.findings[s][i]) {
      const item = make("li");
      put(item, message);
      item.prepend(make("span", "flag", facts.labels[number].label), " ");
      list.append(item);
    }
    return list;
  };

  const legend = () => {
    const kinds = { add: "added", delete: "deleted", replace: "replaced", other: "moved, split or otherwise changed" };
    const items = make("ul", "legend");
    if (state.view === "operations") for (const kind of Object.keys(kinds)) {
      const item = make("li"), sample = make("span", `op ${kind}`, kinds[kind]);
      const example = operations.labels.find((each) => each.kind === kind);
      if (!example) continue;
      sample.append(make("sup", "", example.label));
      item.append(sample);
      items.append(item);
    }
    if (state.view === "changes") {
      for (const [tag, words] of [["del", "only before"], ["ins", "only in this text"]]) {
        const item = make("li");
        const sample = make(tag);
        sample.append(make("span", "", words));
        item.append(sample);
        items.append(item);
      }
    }
    return items;
  };
  const views = () => {
    const set = make("fieldset", "view");
    set.append(make("legend", "", "Show"));
    const names = { plain: "texts", changes: "changes", ...(operations && sources ? { operations: "operations" } : {}),
                    ...(facts && sources ? { facts: "facts" } : {}),
                    ...(linkable(state.items[state.chosen], 0) ? { columns: "side by side" } : {}) };
    if (!(state.view in names)) state.view = "changes";
    for (const [value, name] of Object.entries(names)) {
      const label = make("label"), input = make("input");
      Object.assign(input, { type: "radio", name: "view", value, checked: state.view === value });
      input.addEventListener("change", () => { state.view = value; show(); document.querySelector(`[name=view][value=${value}]`).focus(); });
      label.append(input, name);
      set.append(label);
    }
    if (state.view === "changes") {
      const label = make("label", "", "against "), picker = make("select");
      picker.setAttribute("aria-label", "Show changes against");
      const i = state.items[state.chosen];
      const choices = [...(sources ? [["source", "the source"]] : []),
        ...(references[i] || []).map((_, k) => [`r${k}`, `reference ${k + 1}`]), ...systems.map((name, s) => [`s${s}`, name])];
      for (const [value, name] of choices) picker.append(new Option(name.slice(0, 60), value, false, value === state.against));
      picker.addEventListener("change", () => { state.against = picker.value; show(); detail.querySelector(".view select").focus(); });
      label.append(picker);
      set.append(label);
    }
    return set;
  };
  const block = (name, text, extra = []) => {
    const part = make("div", "text-block"), who = make("div", "who"), bold = make("b");
    put(bold, name);
    who.append(bold, ...extra);
    part.append(who, text);
    return part;
  };
  const base = (i) => {
    const kind = state.against[0], at = Number(state.against.slice(1));
    if (kind === "r" && references[i]?.[at] !== undefined) return references[i][at];
    if (state.against !== "source" && outputs[at]) return outputs[at][i] ?? "";
    return sources ? sources[i] : outputs[0][i] ?? "";
  };
  const show = () => {
    if (!state.items.length) {
      detail.replaceChildren(make("p", "empty", "No item matches. Remove a filter or search for something else."));
      return;
    }
    const i = state.items[state.chosen];
    const head = make("div", "head"), title = make("h3"), step = make("div", "step");
    const link = make("a");
    link.href = `#item-${encodeURIComponent(ids[i].toWellFormed?.() ?? ids[i])}`;
    link.append("Item ");
    put(link, ids[i]);
    title.append(link);
    if (data.groups) { title.append(" in group "); put(title, data.groups[i]); }
    if (data.targets) { title.append(", to be "); put(title, data.targets[i]); }
    for (const [name, by] of [["Previous", -1], ["Next", 1]]) {
      const button = make("button", "", name);
      button.type = "button";
      button.disabled = state.chosen + by < 0 || state.chosen + by >= state.items.length;
      button.addEventListener("click", () => { select(state.chosen + by); detail.querySelectorAll(".step button")[by < 0 ? 0 : 1].focus(); });
      step.append(button);
    }
    head.append(title, step);
    const content = [head, views(), legend()];
    const drawn = (text, s) => state.view === "plain" || text === undefined ? prose(text ?? "")
      : state.view === "columns" ? (s !== undefined && linkable(i, s) ? linked(i, s) : prose(text))
      : state.view === "operations" && s !== undefined ? operated(text, operations.groups[s][i], 2)
      : state.view === "facts" && s !== undefined ? operated(text, facts.findings[s][i], 2, facts.labels)
      : ["operations", "facts"].includes(state.view) ? prose(text) : compared(base(i), text);
    if (sources) {
      // Operations on the source are those of the chosen system, or of the first.
      const s = Math.max(state.system, 0);
      const text = state.view === "operations" && outputs.length ? operated(sources[i], operations.groups[s][i], 1)
        : state.view === "facts" && outputs.length ? operated(sources[i], facts.findings[s][i], 1, facts.labels)
        : state.view === "changes" && state.against !== "source" ? compared(base(i), sources[i]) : prose(sources[i]);
      const part = block("Source", text, ["operations", "facts"].includes(state.view) ? [make("span", "chip", `as changed by ${systems[s].slice(0, 60)}`)] : []);
      part.classList.add("source");
      content.push(part);
    }
    const ordered = systems.map((_, s) => s).sort((a, b) => (b === state.system) - (a === state.system) || a - b);
    // The first dozen systems; the others where one asks for them.
    const others = make("details", "others");
    others.append(make("summary", "", `${systems.length - MOST} more systems`));
    others.open = detail.querySelector("details.others")?.open ?? false;
    for (const s of ordered) {
      if (!outputs[s]) continue;
      const extra = metrics.map((metric, m) => make("span", "chip", `${metric.name} ${shown(scores[m][s][i])}`));
      for (const { short, items } of flags.values()) if (items[s].has(i)) extra.push(make("span", "flag", short));
      const part = block(systems[s], outputs[s][i] === null ? make("p", "empty", "No output.") : drawn(outputs[s][i], s), extra);
      metrics.forEach((metric, m) => {
        const reason = reasons[m][s]?.[i];
        if (reason) part.append(make("p", "reason", `${metric.name}, against what is usual: ${reason}`));
      });
      const lost = state.view === "operations" ? gone(i, s) : null;
      if (lost) part.append(lost);
      if (state.view === "facts" && facts.findings[s][i].length) part.append(findings(i, s));
      if (s === state.system) part.classList.add("here");
      if (ordered.indexOf(s) < MOST) content.push(part);
      else others.append(part);
    }
    if (systems.length > MOST) content.push(others);
    if (references[i]?.length) {
      const more = make("details", "references"), summary = make("summary", "", `${references[i].length} reference${references[i].length === 1 ? "" : "s"}`);
      more.open = detail.querySelector("details.references")?.open ?? false;
      more.append(summary, ...references[i].map((text, k) => block(`Reference ${k + 1}`, drawn(text))));
      content.push(more);
    }
    detail.replaceChildren(...content);
  };

  systems.forEach((name, s) => $("system").append(new Option(name.slice(0, 60), s)));
  $("system").prepend(new Option("All systems", -1, true, true));
  metrics.forEach(({ name }, m) => $("metric").append(new Option(name, m)));
  if (!directed.length || directed.length < 2) $("order").querySelector("[value=disagreement]").remove();
  if (systems.length < 2) $("order").querySelector("[value=difference]").remove();
  const choices = [...flags].map(([key, { label }]) => [key, label]);
  if (directed.length > 1) choices.push(["disagreement", "where metrics disagree"]);
  if (systems.length > 1) choices.push(["difference", "where systems differ most"]);
  for (const [key, words] of choices) {
    const label = make("label"), box = make("input");
    Object.assign(box, { type: "checkbox", value: key });
    box.addEventListener("change", () => { box.checked ? state.filters.add(key) : state.filters.delete(key); refresh(); });
    label.append(box, ` ${words}`);
    document.querySelector(".filters").append(label);
  }
  $("search").addEventListener("input", (event) => { state.query = event.target.value; refresh(); });
  $("search").addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); list.focus(); }
  });
  $("system").addEventListener("change", (event) => { state.system = Number(event.target.value); refresh({ keep: true }); });
  $("metric").addEventListener("change", (event) => { state.metric = Number(event.target.value); refresh(); });
  $("order").addEventListener("change", (event) => { state.order = event.target.value; refresh(); });
  let waiting = false;
  list.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; paint(); });
  });
  new ResizeObserver(paint).observe(list);
  list.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(list.clientHeight / HEIGHT) - 1);
    const to = { ArrowDown: state.chosen + 1, ArrowUp: state.chosen - 1, PageDown: state.chosen + page,
                 PageUp: state.chosen - page, Home: 0, End: state.items.length - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); select(to); }
    else if (event.key === "Enter") { event.preventDefault(); detail.focus(); detail.scrollIntoView({ block: "nearest" }); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    $("search").focus();
    $("search").scrollIntoView({ block: "center" });
  });
  if (!sources) state.against = "s0";
  refresh();

  // A link to an item shows it, whatever was filtered before.
  const follow = () => {
    let wanted = "";
    try { wanted = decodeURIComponent(location.hash); } catch { return; }
    const at = wanted.startsWith("#item-") ? ids.indexOf(wanted.slice(6)) : -1;
    if (at < 0) return;
    state.filters.clear();
    for (const box of document.querySelectorAll(".filters input")) box.checked = false;
    $("search").value = state.query = "";
    choose();
    refresh();
    select(state.items.indexOf(at));
    browser.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  follow();

  // A mark of a plot opens the items behind it.
  document.addEventListener("click", (event) => {
    const mark = event.target.closest("[data-system]");
    if (!mark) return;
    const { system, metric, order, filter } = mark.dataset;
    const set = (id, value) => { if (value !== undefined && [...$(id).options].some((option) => option.value === value)) $(id).value = value; };
    set("system", system);
    set("metric", metric);
    set("order", order);
    state.filters.clear();
    for (const box of document.querySelectorAll(".filters input")) {
      box.checked = box.value === filter;
      if (box.checked) state.filters.add(filter);
    }
    Object.assign(state, { system: Number($("system").value), metric: Number($("metric").value), order: $("order").value });
    refresh();
    hide();
    $("items").scrollIntoView();
    list.focus({ preventScroll: true });
  });
});
