// The work page: one item after another, each answer into the queue before the next item is shown. A key or a click acts
// only on an item that has been on the screen for a moment, so that no item is answered unseen.
import { compare, texts } from "./answers.js";
import { Keys, hint } from "./keys.js";
import { button, commentField, el, minutes, t } from "./page.js";
import { leaveDialog, showEnd } from "./ending.js";
import { Queue, Server } from "./queue.js";
import { storage } from "./storage.js";
import { Timing } from "./timing.js";

const MOMENT = 250; // milliseconds on the screen before an item takes an answer
const STEPS = new Set(["left", "right", "up", "down"]); // the actions that may repeat while a key is held
const about = JSON.parse(document.getElementById("about").textContent);
const task = await import(`./${about.task}.js`);
const server = new Server(about);
const queue = new Queue(server);
const keys = new Keys([
  ...task.actions(about),
  { id: "submit", title: t("submit"), key: "Enter" },
  { id: "back", title: t("back_title"), key: "b" },
  { id: "forward", title: t("forward_title"), key: "." },
  ...(about.cannotJudge ? [{ id: "cannot", title: t("cannot_title"), key: "j" }] : []),
  ...(about.comments ? [{ id: "comment", title: t("comment_title"), key: "/" }] : []),
]);

const place = document.getElementById("task");
const notice = document.getElementById("notice");
const saved = document.getElementById("saved");
const progress = document.getElementById("progress");
const bar = document.getElementById("bar");
const announce = document.getElementById("announce");

let ahead = []; // items that are ours and not yet shown
const past = []; // items answered on this page, for the way back
const later = []; // items left on the way back, for the way forward
const pace = []; // seconds that this person took
let shown = null; // {item, view, comment, timing, settled}
let told = { answered: 0, total: null, seconds: null }; // as the server counts
let asking = null;
let skew = 0; // seconds by which this computer's clock is ahead of the server's

const draftName = (item) => `studio.draft.${about.rater}.${item.assignment}`;
const timingName = (item) => `studio.timing.${about.rater}.${item.assignment}`;
const settled = () => Boolean(shown?.settled);

function tell(message, kind, ...more) {
  const [buttons, parts] = [more.filter((one) => one.matches("button")), more.filter((one) => !one.matches("button"))];
  notice.replaceChildren(el("p", {}, message), ...parts, ...(buttons.length ? [el("p", { class: "row" }, ...buttons)] : []));
  notice.className = `notice ${kind ?? ""}`;
  notice.hidden = !message;
}

function showSaved() {
  const count = queue.pending().length;
  const some = t("some", { count });
  const waits = { "signed-out": "signed_out", "somebody-else": "somebody_else", full: "disk_full", offline: "offline" }[queue.state];
  const calm = told.answered ? t("all_saved", { count: told.answered }) : t("ready");
  saved.textContent = count ? (waits ? t(waits, { some }) : t("saving", { count })) : calm;
  saved.dataset.state = count ? (waits ? "waiting" : "sending") : "saved";
  bar.hidden = !told.total;
  bar.max = told.total || 1;
  bar.value = told.answered;
  progress.textContent = [told.total ? t("progress_of", told) : t("progress", told), timeLeft()].filter(Boolean).join(" · ");
}

function timeLeft() {
  if (!told.total || told.total <= told.answered) return "";
  const own = [...pace].sort((a, b) => a - b)[Math.floor(pace.length / 2)];
  const each = pace.length >= 5 ? own : told.seconds;
  return each ? t("minutes_left", { count: Math.max(1, Math.ceil(((told.total - told.answered) * each) / 60)) }) : "";
}

function keepDraft() {
  if (!shown) return;
  const draft = { ...shown.view.payload(), comment: shown.comment?.field.value || undefined };
  storage.set(draftName(shown.item), JSON.stringify(draft));
  clearTimeout(shown.timer);
  const item = shown.item;
  shown.timer = setTimeout(() => server.post("/api/draft", { assignment: item.assignment, payload: draft }), 2000);
}

function show(item, { quietly = false } = {}) {
  const local = storage.get(draftName(item));
  if (local) item.draft = JSON.parse(local);
  place.replaceChildren();
  const form = el("div", { class: "item" });
  const mine = { item, timing: new Timing(timingName(item)), settled: false, timer: 0, comment: null, view: null };
  shown = mine;
  mine.timing.see(!document.hidden);
  mine.view = task.mount(form, item, { about, keys, changed: keepDraft, submit });
  const side = mine.view.side ?? form;
  if (about.comments) {
    mine.comment = commentField((item.draft ?? item.answer)?.comment);
    mine.comment.field.addEventListener("input", keepDraft);
    side.append(mine.comment.box);
  }
  side.append(el("div", { class: "row actions" },
    el("button", { type: "button", class: "primary", id: "submit", onclick: () => settled() && submit() }, `${t("submit")} `, hint(keys.key("submit"))),
    about.cannotJudge ? el("button", { type: "button", id: "cannot", onclick: () => settled() && cannot() }, `${t("cannot")} `, hint(keys.key("cannot"))) : null,
    el("button", { type: "button", id: "back", class: "quiet", onclick: () => settled() && back() }, `${t("back")} `, hint(keys.key("back"))),
    later.length ? el("button", { type: "button", id: "forward", class: "quiet", onclick: () => settled() && forward() }, `${t("forward")} `, hint(keys.key("forward"))) : null,
    el("span", { class: "small", id: "clock" })));
  if (item.training) form.prepend(el("p", { class: "badge" }, t("practice")));
  if (item.answer) form.prepend(el("p", { class: "badge" }, t("answered_before")));
  const number = told.answered + queue.pending().length + (item.answer ? 0 : 1);
  const title = item.answer ? t("item_again") : t(told.total ? "item_of" : "item", { number, total: told.total });
  form.prepend(el("h2", { class: "hidden", id: "item-title", tabindex: "-1" }, title));
  place.append(form);
  if (!quietly) {
    document.getElementById("item-title").focus({ preventScroll: true });
    announce.textContent = title;
    if (scrollY > place.offsetTop) scrollTo(0, 0);
  }
  // Two frames later it has been painted.
  const settle = () => {
    mine.settled = true;
    form.setAttribute("data-settled", "");
  };
  if (quietly) settle();
  else requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(settle, MOMENT)));
  fill();
}

function next() {
  tell("");
  shown = null;
  const item = later.pop() ?? ahead.shift();
  if (item) show(item);
  else {
    place.replaceChildren(el("p", {}, t("loading_next")));
    fill();
  }
}

function submit() {
  if (!shown) return;
  const problem = shown.view.problem();
  if (problem) {
    tell(problem.message, "problem");
    problem.focus();
    return;
  }
  send(shown.view.payload());
}

function cannot() {
  if (!shown || !about.cannotJudge) return;
  const away = () => (tell(""), send({ cannot_judge: true }));
  if (!shown.view.entered()) return away();
  tell(t("cannot_sure"), "problem", button(t("cannot_yes"), away), button(t("cannot_no"), () => (tell(""), document.getElementById("submit")?.focus())));
  notice.querySelector("button").focus();
}

function send(payload) {
  const { item, comment, timing, timer } = shown;
  clearTimeout(timer);
  if (comment?.field.value) payload.comment = comment.field.value;
  if (!item.answer) pace.push(timing.seconds);
  timing.see(true);
  const waited = (timing.began - item.received) / 1000 || 0;
  const entry = queue.add({ assignment: item.assignment, revision: item.revision, payload, waited, hidden: timing.hidden / 1000 });
  storage.remove(draftName(item));
  timing.forget();
  past.push({ ...item, draft: null, answer: payload, revision: item.revision + 1 });
  if (item.training && !item.answer) {
    shown = null;
    place.replaceChildren(el("p", {}, t("checking")));
    queue.addEventListener("stored", function once({ detail }) {
      if (detail.entry.key !== entry.key) return;
      queue.removeEventListener("stored", once);
      feedback(item, payload, detail.body.feedback);
    });
  } else next();
  showSaved();
}

function feedback(item, payload, judged) {
  const go = button(t("go_on"), next, "primary");
  place.replaceChildren(el("section", { class: "card", id: "feedback" },
    el("h2", {}, judged?.right ? t("as_expected") : t("not_as_expected")),
    judged?.text ? el("p", { class: "why" }, judged.text) : null,
    compare(task, about, [[t("own_answer"), payload], [t("expected"), judged?.expected]]),
    texts(item, about, "h3"),
    el("p", {}, go)));
  scrollTo(0, 0);
  go.focus({ preventScroll: true });
}

async function back() {
  if (!past.length) {
    const { status, body } = await server.call("/api/answered");
    const fresh = status === 200 ? body.items.filter((item) => !later.some((known) => known.assignment === item.assignment)) : [];
    if (!fresh.length) {
      tell(t(status === 200 ? "no_earlier" : "earlier_unreachable"), "problem");
      return;
    }
    past.push(...fresh.reverse());
  }
  if (shown) {
    keepDraft();
    shown.timing.see(false);
    later.push(shown.item);
  }
  tell("");
  show(past.pop());
}

function forward() {
  if (!later.length || !shown) return;
  if (shown.item.answer) {
    shown.timing.forget();
    past.push(shown.item);
  } else shown.timing.see(false);
  next();
}

function fill() {
  if (!asking) asking = ask().finally(() => (asking = null));
  return asking;
}

async function ask() {
  if (ahead.length >= about.ahead) return;
  const mine = [...ahead, ...later, ...(shown ? [shown.item] : [])].map((item) => item.assignment);
  const waiting = queue.pending().map((entry) => entry.assignment);
  const have = [...new Set([...mine, ...waiting])];
  const { status, body } = await server.post("/api/claim", { want: about.ahead, have });
  if (status !== 200) {
    if (status === 401 || (status === 403 && body.error === "token")) {
      const renewed = await server.renew();
      if (renewed === "ok") return ask();
      if (!shown && renewed === "signed-out") end(t("session_ended"), t("session_ended_text"));
    }
    setTimeout(fill, 3000);
    if (!shown && status === 0) place.replaceChildren(el("p", {}, t("not_connected")));
    return;
  }
  clock(body.now);
  const pending = queue.pending().map((entry) => entry.assignment);
  const seen = new Set([...ahead, ...later, ...past].map((item) => item.assignment));
  for (const assignment of [shown?.item.assignment, ...pending]) seen.add(assignment);
  const fresh = body.items.filter((item) => !seen.has(item.assignment));
  ahead.push(...fresh.map((item) => ({ ...item, received: Date.now() })));
  told = { answered: Math.max(told.answered, body.answered), total: body.total, seconds: body.seconds };
  showSaved();
  if (shown || document.getElementById("feedback")) return;
  if (ahead.length || later.length) next();
  // While an answer is on its way the server cannot know yet whether it was the last.
  else if (pending.length || body.state === "working") setTimeout(fill, 700);
  else {
    finish(body);
    if (body.state === "waiting") setTimeout(fill, 10000);
  }
}

function finish(body) {
  shown = null;
  tell("");
  if (body.state !== "waiting") {
    progress.textContent = "";
    bar.hidden = true;
  }
  showEnd(place, body, { leave: () => leaving.open() });
}

function end(title, text) {
  place.replaceChildren(el("section", { class: "card" }, el("h2", {}, title), el("p", {}, text)));
}

function clock(now) {
  skew = Date.now() / 1000 - now;
  if (Math.abs(skew) < 120 || clock.said) return;
  clock.said = true;
  warn(t("clock_off", { count: Math.round(Math.abs(skew) / 60) }));
}

// Set up once for as long as the page is open.
function warn(text) {
  const place = document.getElementById("warning");
  if ([...place.children].some((known) => known.textContent === text)) return;
  place.append(el("p", {}, text));
  place.hidden = false;
}

function refused({ entry, body }) {
  const forget = () => (queue.forget(entry), tell(""));
  if (body.error === "stale") {
    tell(t("stale"), "problem", compare(task, about, [[t("answer_saved"), body.current], [t("answer_yours"), entry.payload]]), texts(body.item, about, "h2"),
      button(t("keep_saved"), forget),
      button(t("replace_saved"), () => {
        queue.forget(entry);
        const { assignment, payload, waited, hidden } = entry;
        queue.add({ assignment, payload, waited, hidden, revision: body.revision });
        tell("");
      }));
  } else tell(t("not_accepted", { why: t(`refused_${body.error}`) ?? body.message ?? "" }), "problem", button(t("leave_out"), forget));
}

function press(event, held) {
  const action = keys.action(event, shown?.view.scope?.());
  if (!action) return false;
  if (held && !STEPS.has(action)) return true;
  if (document.getElementById("feedback")) return action === "submit" && (next(), true);
  if (!settled()) return true;
  if (action === "submit") submit();
  else if (action === "back") back();
  else if (action === "forward") forward();
  else if (action === "cannot") cannot();
  else if (action === "comment") shown.comment?.field.focus();
  else return shown.view.act(action, event);
  return true;
}

document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  const target = event.target;
  const typing = target.matches("textarea, input[type=text], input[type=search]");
  if (typing && event.key === "Escape") return target.blur();
  if (typing && !(event.key === "Enter" && (event.ctrlKey || event.metaKey))) return;
  const presses = target.matches("button, a, summary, select") && (event.key === "Enter" || event.key === " ");
  if (presses && event.repeat) return event.preventDefault();
  if (presses && !target.matches("[data-token]")) return;
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
  if (press(typing ? { key } : { key, ctrlKey, metaKey, altKey, shiftKey }, event.repeat)) event.preventDefault();
});

setInterval(() => {
  if (!shown) return;
  const clock = document.getElementById("clock");
  const spent = shown.timing.seconds;
  if (about.timeLimit && !shown.item.answer) clock.textContent = spent < about.timeLimit ? t("time_left", { time: minutes(about.timeLimit - spent) }) : t("overtime");
  const item = shown.item;
  if (!item.answer && !item.warned && item.expires_at - (Date.now() / 1000 - skew) < 120) {
    item.warned = true;
    tell(t("lease_ends"), "",
      button(t("more_time"), async () => {
        const { status, body } = await server.post("/api/more-time", { assignment: item.assignment });
        if (status === 200) Object.assign(item, { expires_at: body.expires_at, warned: false });
        tell(status === 200 ? "" : t("more_time_failed"));
      }));
  }
}, 1000);

server.shown = () => (shown && !shown.item.answer && !document.hidden ? shown.item.assignment : undefined);
document.addEventListener("visibilitychange", () => shown?.timing.see(!document.hidden));
addEventListener("pagehide", () => shown?.timing.see(false));
addEventListener("pageshow", () => shown?.timing.see(!document.hidden));
const leaving = leaveDialog({ about, server, queue, end: finish });
storage.addEventListener("fault", () => warn(t(storage.fault === "full" ? "storage_full" : "storage_blocked")));
storage.set("studio.probe", "1");
storage.remove("studio.probe");
queue.addEventListener("change", showSaved);
queue.addEventListener("refused", (event) => refused(event.detail));
queue.addEventListener("stored", ({ detail }) => {
  told.answered = Math.max(told.answered, detail.answered);
  // The same answer may have come from another tab before, as a later revision than this page knows.
  for (const item of [...past, ...later, ...(shown ? [shown.item] : [])]) {
    if (item.assignment === detail.entry.assignment) item.revision = Math.max(item.revision, detail.body.revision);
  }
  showSaved();
  if (!shown) fill();
});
keys.dialog(document.getElementById("keys"), document.getElementById("keys-list"), document.getElementById("keys-button"));
keys.addEventListener("change", () => {
  if (!shown) return;
  keepDraft();
  show(shown.item, { quietly: true });
});
addEventListener("beforeunload", (event) => {
  if (queue.pending().length && (queue.state === "ready" || storage.fault)) event.preventDefault();
});
for (const entry of queue.aside()) refused({ entry, body: entry.refusal });
showSaved();
queue.send();
fill();
