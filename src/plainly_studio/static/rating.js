// Rating: a row of buttons for each short scale, a slider for each long one. A digit answers the current scale and goes on
// to the next, so that four scales and Enter are five keys.
import { el, passage, t } from "./page.js";
import { hint } from "./keys.js";

export const actions = (about) => {
  const most = Math.max(...about.scales.map((scale) => scale.points.length || 10));
  const digits = Array.from({ length: Math.min(most, 10) }, (_, at) => ({
    id: `value.${at}`,
    title: t("answer_number", { number: at + 1 }),
    key: String((at + 1) % 10),
  }));
  const rest = [
    { id: "next", title: t("next_question"), key: "n" },
    { id: "previous", title: t("previous_question"), key: "p" },
  ];
  if (about.cannotJudge) rest.push({ id: "skip-scale", title: t("cannot_question"), key: "u" });
  return [...digits, ...rest];
};

export const describe = (answer, about) => about.scales.map((scale) => `${scale.name} ${sign(answer.values?.[scale.name] ?? "–", scale)}`).join(", ");

const sign = (point, scale) => (point > 0 && scale.minimum < 0 ? `+${point}` : String(point).replace("-", "−"));

export function mount(root, item, context) {
  const { about, keys, changed } = context;
  const values = {};
  const parts = about.scales.map((scale, at) => (scale.points.length ? choices(scale, at) : slider(scale, at)));
  let current = 0;

  function set(at, value) {
    values[about.scales[at].name] = value;
    parts[at].show(value);
    changed();
  }

  function go(at) {
    current = Math.max(0, Math.min(about.scales.length - 1, at));
    parts.forEach((part, index) => part.box.classList.toggle("current", index === current));
  }

  function legend(scale) {
    return el("legend", {}, scale.question);
  }

  function unsure(at) {
    if (!about.cannotJudge) return null;
    const button = el("button", { type: "button", class: "quiet unsure", "aria-pressed": "false" }, t("cannot_answer"));
    button.addEventListener("click", () => {
      go(at);
      set(at, values[about.scales[at].name] === null ? undefined : null);
    });
    return button;
  }

  function choices(scale, at) {
    const inputs = scale.points.map((point, place) => {
      const input = el("input", { type: "radio", name: `scale-${at}`, value: point });
      input.addEventListener("change", () => set(at, point));
      input.addEventListener("focus", () => go(at));
      const key = keys.key(`value.${place}`);
      const last = scale.points.length - 1;
      const words = place === 0 ? scale.low : place === last ? scale.high : "";
      const name = el("span", { class: "point" }, sign(point, scale), words ? el("span", { class: "hidden" }, ` ${words}`) : null);
      return { input, label: el("label", {}, input, name, key && key !== String(point) ? hint(key) : null) };
    });
    const button = unsure(at);
    const ends = el("p", { class: "ends", "aria-hidden": "true" }, el("span", {}, scale.low), el("span", {}, scale.high));
    const row = el("div", { class: "points" }, ...inputs.map((point) => point.label));
    const box = el("fieldset", {}, legend(scale), row, ends, button);
    return {
      box,
      focus: () => (inputs.find((point) => point.input.checked) ?? inputs[0]).input.focus(),
      pick: (place) => place < scale.points.length && (set(at, scale.points[place]), true),
      show(value) {
        inputs.forEach((point, place) => (point.input.checked = value === scale.points[place]));
        button?.setAttribute("aria-pressed", String(value === null));
      },
    };
  }

  function slider(scale, at) {
    const id = `scale-${at}`;
    const range = el("input", {
      type: "range", id, min: scale.minimum, max: scale.maximum, step: scale.step, "aria-label": scale.question,
    });
    const shown = el("output", { for: id }, "–");
    // A finger that goes up or down wants to scroll: the browser moves the thumb all the same, so it is put back.
    let finger = null; // while one is down: where it is, and what was there before
    const take = () => set(at, Number(range.value));
    range.addEventListener("pointerdown", ({ pointerType, clientX: x, clientY: y }) => (finger = pointerType === "touch" ? { x, y, last: y, scrolls: false } : null));
    range.addEventListener("pointermove", ({ clientX: x, clientY: y }) => {
      if (!finger) return;
      finger.scrolls ||= Math.abs(y - finger.y) > 10 && Math.abs(y - finger.y) > Math.abs(x - finger.x);
      if (finger.scrolls) scrollBy(0, finger.last - y);
      finger.last = y;
    });
    range.addEventListener("input", () => finger || take());
    const lift = (scrolls) => {
      finger = null;
      if (scrolls) part.show(values[scale.name]);
      else take();
    };
    range.addEventListener("pointerup", () => lift(finger?.scrolls));
    range.addEventListener("pointercancel", () => lift(true));
    range.addEventListener("wheel", (event) => range.matches(":focus") && (event.preventDefault(), scrollBy(0, event.deltaY)), { passive: false });
    range.addEventListener("focus", () => go(at));
    const button = unsure(at);
    const ends = el("p", { class: "ends", "aria-hidden": "true" }, el("span", {}, scale.low), el("span", {}, scale.high));
    const box = el("fieldset", {}, legend(scale), el("div", { class: "slide" }, range, shown), ends, button);
    const span = scale.maximum - scale.minimum;
    const part = {
      box,
      focus: () => range.focus(),
      pick: (place) => (set(at, scale.minimum + Math.round(((place + 1) * span) / 10 / scale.step) * scale.step), true),
      show(value) {
        const known = typeof value === "number";
        range.value = known ? value : scale.minimum + span / 2;
        range.classList.toggle("untouched", !known);
        range.setAttribute("aria-valuetext", known ? String(value) : t("no_answer"));
        shown.textContent = known ? value : "–";
        button?.setAttribute("aria-pressed", String(value === null));
      },
    };
    part.show(undefined);
    return part;
  }

  root.append(
    el("div", { class: "pair" }, passage(t("original"), item.source, about.direction),
      passage(t("version"), item.outputs[0], about.direction)),
    el("div", { class: "scales" }, ...parts.map((part) => part.box)),
  );
  const earlier = (item.answer ?? item.draft)?.values ?? {};
  about.scales.forEach((scale, at) => scale.name in earlier && ((values[scale.name] = earlier[scale.name]), parts[at].show(earlier[scale.name])));
  const missing = () => about.scales.findIndex((scale) => values[scale.name] === undefined);
  go(Math.max(0, missing()));

  return {
    payload: () => ({ values: { ...values } }),
    entered: () => Object.values(values).some((value) => value !== undefined),
    problem() {
      const at = missing();
      if (at < 0) return null;
      return { message: t("please_answer", { question: about.scales[at].question }), focus: () => (go(at), parts[at].focus()) };
    },
    act(action) {
      if (action.startsWith("value.")) {
        if (!parts[current].pick(Number(action.slice(6)))) return false;
        if (current < parts.length - 1) go(current + 1);
        if (parts.some((part) => part.box.contains(document.activeElement))) parts[current].focus();
        return true;
      }
      if (action === "next" || action === "previous") {
        go(current + (action === "next" ? 1 : -1));
        parts[current].focus();
        return true;
      }
      if (action === "skip-scale") {
        set(current, null);
        if (current < parts.length - 1) go(current + 1);
        return true;
      }
      return false;
    },
  };
}
