// Two answers to one item, side by side, so that their author can choose.
import { el, t } from "./page.js";

export function conflict(task, about, current, mine) {
  const column = (title, answer) => el("div", {}, el("h3", {}, title), el("p", {}, describe(task, about, answer)));
  return el("div", { class: "pair" }, column(t("answer_saved"), current), column(t("answer_yours"), mine));
}

function describe(task, about, answer) {
  if (!answer) return "–";
  const said = answer.cannot_judge ? t("cannot") : task.describe(answer, about);
  return answer.comment ? `${said} “${answer.comment}”` : said;
}
