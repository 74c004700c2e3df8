// Answers to one item side by side, question by question, with the texts that they are about: what was expected beside one's
// own answer, or two answers of one person.
import { el, passage, t } from "./page.js";

export function texts(item, about, heading) {
  const title = (at) => (item.outputs.length > 1 ? t("version_letter", { letter: "ABCDEFGH"[at] }) : t("version"));
  return el("div", { class: "pair" }, passage(t("original"), item.source, about.direction, heading),
    ...item.outputs.map((text, at) => passage(title(at), text, about.direction, heading)));
}

// columns: [[title, answer], …]
export function compare(task, about, columns) {
  const sides = columns.map(([, answer]) => new Map(lines(task, about, answer)));
  const questions = [...new Set(sides.flatMap((side) => [...side.keys()]))];
  const head = (text) => el("th", { scope: "col" }, text);
  const row = (question) => el("tr", {}, el("th", { scope: "row" }, question), ...sides.map((side) => el("td", {}, side.get(question) ?? "–")));
  return el("table", { class: "answers" },
    el("thead", {}, el("tr", {}, el("td", {}), ...columns.map(([title]) => head(title)))),
    el("tbody", {}, ...questions.map(row)));
}

function lines(task, about, answer) {
  if (!answer) return [];
  const own = answer.cannot_judge ? task.questions(about).map((question) => [question, t("cannot")]) : task.describe(answer, about);
  return answer.comment ? [...own, [t("comment"), answer.comment]] : own;
}
