// How work ends: done, full, not passed, waiting for others, or left early; and the dialog for leaving.
import { button, el, t } from "./page.js";

const TITLES = { finished: "done", full: "full", failed: "failed", declined: "declined", ended: "ended", waiting: "waiting", left: "left", withdrawn: "withdrawn" };

export function showEnd(place, body, { leave }) {
  const name = TITLES[body.state] ?? "done";
  const parts = [el("h2", {}, t(`${name}_title`)), el("p", {}, t(`${name}_text`, { count: body.answered }))];
  if (body.code) parts.push(el("p", {}, `${t("code")} `, el("strong", { id: "code" }, body.code)));
  if (body.submit_to) parts.push(handIn(body));
  else if (body.completion_url) parts.push(el("p", {}, el("a", { href: body.completion_url }, t("to_platform"))));
  if (body.state === "waiting" && leave) parts.push(el("p", {}, button(t("leave_now"), leave)));
  place.replaceChildren(el("section", { class: "card", id: "end", tabindex: "-1", "data-state": body.state }, ...parts));
  document.getElementById("end").focus();
}

// A platform that shows the page in a frame expects a form back.
function handIn(body) {
  const hidden = (name, value) => el("input", { type: "hidden", name, value });
  return el("form", { method: "post", action: body.submit_to },
    hidden("assignmentId", body.assignment_id), hidden("code", body.code ?? ""), hidden("state", body.state),
    el("button", { class: "primary" }, t("hand_in")));
}

export function leaveDialog({ about, server, queue, end }) {
  const dialog = document.getElementById("leave");
  const opener = document.getElementById("leave-button");
  const open = () => {
    dialog.querySelector("#leave-waits").hidden = !queue.pending().length;
    dialog.showModal();
  };
  if (about.preview) return { open: () => {} };
  opener.addEventListener("click", open);
  dialog.querySelector("#leave-close").addEventListener("click", () => dialog.close());
  const go = async (withdraw) => {
    await queue.send();
    const { status, body } = await server.post("/api/exit", { withdraw });
    dialog.close();
    if (status === 200) end(body);
  };
  dialog.querySelector("#leave-stop").addEventListener("click", () => go(false));
  const sure = dialog.querySelector("#withdraw-sure");
  const withdraw = dialog.querySelector("#leave-withdraw");
  sure.addEventListener("change", () => (withdraw.disabled = !sure.checked));
  withdraw.addEventListener("click", () => go(true));
  return { open };
}
