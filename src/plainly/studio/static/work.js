// The work page: one item after another, each answer into the queue before the next item is shown.
import { Keys, hint } from "./keys.js";
import { commentField, el, minutes } from "./page.js";
import { Queue, Server } from "./queue.js";

const about = JSON.parse(document.getElementById("about").textContent);
const task = await import(`./${about.task}.js`);
const server = new Server(about);
const queue = new Queue(server);
const keys = new Keys([
  ...task.actions(about),
  { id: "submit", title: "Save and go on", key: "Enter" },
  { id: "back", title: "Back to the item before", key: "b" },
  ...(about.cannotJudge ? [{ id: "cannot", title: "Cannot judge this item", key: "j" }] : []),
  ...(about.comments ? [{ id: "comment", title: "Write a comment", key: "/" }] : []),
]);

const place = document.getElementById("task");
const notice = document.getElementById("notice");
const saved = document.getElementById("saved");
const progress = document.getElementById("progress");

let ahead = []; // items that are ours and not yet shown
const past = []; // items answered on this page, for the way back
let shown = null; // {item, view, comment, began}
let answered = 0; // as the server counts
let total = null;
let early = []; // keys pressed while there was no item to take them
let asking = null;

function draftName(item) {
  return `studio.draft.${about.rater}.${item.assignment}`;
}

function tell(message, kind, ...buttons) {
  notice.replaceChildren(el("p", {}, message), ...(buttons.length ? [el("p", { class: "row" }, ...buttons)] : []));
  notice.className = `notice ${kind ?? ""}`;
  notice.hidden = !message;
}

function button(text, action, kind = "") {
  return el("button", { type: "button", class: kind, onclick: action }, text);
}

function showSaved() {
  const count = queue.pending().length;
  const some = count === 1 ? "1 answer is" : `${count} answers are`;
  const words = {
    "signed-out": `Session ended. ${some} kept in this browser. Open your link again to send.`,
    "somebody-else": `Somebody else uses this browser now. ${some} kept here until the first person's link is opened.`,
    offline: `Not connected. ${some} kept in this browser and will be sent.`,
  };
  saved.textContent = count ? words[queue.state] ?? `Saving … ${count}` : answered ? `All ${answered} answers saved` : "Ready";
  saved.dataset.state = count ? (queue.state in words ? "waiting" : "sending") : "saved";
  progress.textContent = total ? `${answered} of ${total} answered` : `${answered} answered`;
}

function keepDraft() {
  if (!shown) return;
  const draft = { ...shown.view.payload(), comment: shown.comment?.field.value || undefined };
  localStorage.setItem(draftName(shown.item), JSON.stringify(draft));
  clearTimeout(shown.timer);
  const item = shown.item;
  shown.timer = setTimeout(() => server.post("/api/draft", { assignment: item.assignment, payload: draft }), 2000);
}

function show(item) {
  const local = localStorage.getItem(draftName(item));
  if (local) item.draft = JSON.parse(local);
  place.replaceChildren();
  const form = el("div", { class: "item" });
  const mine = { item, began: Date.now(), timer: 0, comment: null, view: null };
  shown = mine;
  mine.view = task.mount(form, item, { about, keys, changed: keepDraft, submit });
  if (about.comments) {
    mine.comment = commentField((item.draft ?? item.answer)?.comment);
    mine.comment.field.addEventListener("input", keepDraft);
    form.append(mine.comment.box);
  }
  const clock = el("span", { class: "small", id: "clock" });
  form.append(el("div", { class: "row actions" },
    el("button", { type: "button", class: "primary", id: "submit", onclick: submit }, "Save and go on ", hint(keys.key("submit"))),
    about.cannotJudge ? el("button", { type: "button", id: "cannot", onclick: cannot }, "I cannot judge this ", hint(keys.key("cannot"))) : null,
    el("button", { type: "button", id: "back", class: "quiet", onclick: back }, "Back ", hint(keys.key("back"))),
    clock));
  if (item.training) form.prepend(el("p", { class: "badge" }, "Practice item"));
  if (item.answer) form.prepend(el("p", { class: "badge" }, "You answered this item before; saving changes your answer."));
  place.append(form);
  fill();
  const waiting = early;
  early = [];
  for (const key of waiting) press(key);
}

function next() {
  tell("");
  shown = null;
  const item = ahead.shift();
  if (item) show(item);
  else {
    place.replaceChildren(el("p", {}, "Loading the next item …"));
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
  if (shown && about.cannotJudge) send({ cannot_judge: true });
}

function send(payload) {
  const { item, comment, began, timer } = shown;
  clearTimeout(timer);
  if (comment?.field.value) payload.comment = comment.field.value;
  const seconds = (Date.now() - began) / 1000;
  const entry = queue.add({ assignment: item.assignment, revision: item.revision, payload, seconds });
  localStorage.removeItem(draftName(item));
  past.push({ ...item, draft: null, answer: payload, revision: item.revision + 1 });
  if (item.training) {
    shown = null;
    place.replaceChildren(el("p", {}, "Checking …"));
    queue.addEventListener("stored", function once({ detail }) {
      if (detail.entry.key !== entry.key) return;
      queue.removeEventListener("stored", once);
      feedback(detail.body.feedback);
    });
  } else next();
  showSaved();
}

function feedback(told) {
  const expected = Object.entries(told?.expected?.values ?? {}).map(([name, value]) => `${name}: ${value}`);
  const lines = [...expected, ...(told?.expected?.labels ?? [])].join(", ");
  const go = button("Go on", next, "primary");
  place.replaceChildren(el("section", { class: "card", id: "feedback" },
    el("h2", {}, told?.right ? "As expected" : "Different from what was expected"),
    told?.text ? el("p", {}, told.text) : null,
    lines ? el("p", {}, `Expected: ${lines}`) : null,
    el("p", {}, go)));
  go.focus();
}

async function back() {
  if (shown) keepDraft();
  if (!past.length) {
    const { status, body } = await server.call("/api/answered");
    if (status !== 200 || !body.items.length) {
      tell(status === 200 ? "There is no earlier item." : "The earlier items cannot be reached just now.", "problem");
      return;
    }
    past.push(...body.items.reverse());
  }
  const item = past.pop();
  if (shown) ahead.unshift(shown.item);
  tell("");
  show(item);
}

function fill() {
  if (!asking) asking = ask().finally(() => (asking = null));
  return asking;
}

async function ask() {
  if (ahead.length >= about.ahead) return;
  const mine = [...ahead, ...(shown ? [shown.item] : [])].map((item) => item.assignment);
  const waiting = queue.pending().map((entry) => entry.assignment);
  const have = [...new Set([...mine, ...waiting])];
  const { status, body } = await server.post("/api/claim", { want: about.ahead, have });
  if (status !== 200) {
    if (status === 401 || (status === 403 && body.error === "token")) {
      const renewed = await server.renew();
      if (renewed === "ok") return ask();
      if (!shown && renewed === "signed-out") end("Your session has ended", "Open your link again to go on. Nothing that you entered is lost.");
    }
    setTimeout(fill, 3000);
    if (!shown && status === 0) place.replaceChildren(el("p", {}, "Not connected. The next item comes as soon as the network is back."));
    return;
  }
  const pending = queue.pending().map((entry) => entry.assignment);
  const seen = new Set([...ahead.map((item) => item.assignment), shown?.item.assignment, ...pending, ...past.map((item) => item.assignment)]);
  ahead.push(...body.items.filter((item) => !seen.has(item.assignment)));
  answered = Math.max(answered, body.answered);
  total = body.total;
  showSaved();
  if (shown || document.getElementById("feedback")) return;
  if (ahead.length) next();
  // While an answer is on its way the server cannot know yet whether it was the last.
  else if (pending.length || body.state === "working") setTimeout(fill, 700);
  else if (body.state === "finished") done(body);
  else if (body.state === "failed") end("Thank you", "The practice test did not go as expected, so there are no further items for you.");
  else {
    end("Please wait", "Others are working on the last items. If one comes back it will appear here.");
    setTimeout(fill, 10000);
  }
}

function end(title, text, ...more) {
  place.replaceChildren(el("section", { class: "card" }, el("h2", {}, title), el("p", {}, text), ...more));
}

function done(body) {
  const link = body.completion_url ? el("p", {}, el("a", { href: body.completion_url }, "Back to the platform")) : null;
  end("All done, thank you", `You have answered ${body.answered} items.`, el("p", {}, "Completion code: ", el("strong", { id: "code" }, body.code)), link);
}

function refused({ entry, body }) {
  const forget = () => (queue.forget(entry), tell(""));
  if (body.error === "stale") {
    tell(body.message, "problem",
      button("Keep the saved answer", forget),
      button("Replace it with mine", () => {
        queue.forget(entry);
        const { assignment, payload, seconds } = entry;
        queue.add({ assignment, payload, seconds, revision: body.revision });
        tell("");
      }));
  } else tell(`An answer was not accepted: ${body.message}`, "problem", button("Leave it out", forget));
}

function press(key) {
  const action = keys.action(key, shown?.view.scope?.());
  if (!action) return false;
  if (document.getElementById("feedback")) return action === "submit" && (next(), true);
  if (!shown) {
    if (early.length < 200) early.push(key);
    return true;
  }
  if (action === "submit") submit();
  else if (action === "back") back();
  else if (action === "cannot") cannot();
  else if (action === "comment") shown.comment?.field.focus();
  else return shown.view.act(action, key);
  return true;
}

document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  const target = event.target;
  const typing = target.matches("textarea, input[type=text], input[type=search]");
  if (typing && event.key === "Escape") return target.blur();
  if (typing && !(event.key === "Enter" && (event.ctrlKey || event.metaKey))) return;
  const presses = target.matches("button, a, summary, select") && (event.key === "Enter" || event.key === " ");
  if (presses && !target.matches("[data-token]")) return;
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
  if (press(typing ? { key } : { key, ctrlKey, metaKey, altKey, shiftKey })) event.preventDefault();
});

setInterval(() => {
  if (!shown) return;
  const clock = document.getElementById("clock");
  const spent = (Date.now() - shown.began) / 1000;
  if (about.timeLimit) clock.textContent = spent < about.timeLimit ? `${minutes(about.timeLimit - spent)} left` : "Over time; your answer still counts and is marked.";
  const item = shown.item;
  if (!item.answer && !item.warned && item.expires_at * 1000 - Date.now() < 120000) {
    item.warned = true;
    tell("This item will soon be offered to somebody else. Your answer is kept even if it comes later.", "",
      button("I need more time", async () => {
        const { status, body } = await server.post("/api/more-time", { assignment: item.assignment });
        if (status === 200) Object.assign(item, { expires_at: body.expires_at, warned: false });
        tell(status === 200 ? "" : "That did not work just now; your answer will be kept all the same.");
      }));
  }
}, 1000);

queue.addEventListener("change", showSaved);
queue.addEventListener("refused", (event) => refused(event.detail));
queue.addEventListener("stored", ({ detail }) => {
  answered = Math.max(answered, detail.answered);
  showSaved();
  if (!shown) fill();
});
keys.dialog(document.getElementById("keys"), document.getElementById("keys-list"), document.getElementById("keys-button"));
keys.addEventListener("change", () => {
  if (!shown) return;
  keepDraft();
  show(shown.item);
});
addEventListener("beforeunload", (event) => {
  if (queue.pending().length && queue.state === "ready") event.preventDefault();
});
for (const entry of queue.aside()) refused({ entry, body: entry.refusal });
showSaved();
queue.send();
fill();
