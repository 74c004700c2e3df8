// Rating: a row of buttons for each short scale, a slider for each long one. A digit answers the current scale and goes on
// to the next, so that four scales and Enter are five keys; a minus before it makes it negative.
import { columns, el, passage, t } from "./page.js";
import { hint } from "./keys.js";

const DIGITS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 0];

const isTyped = (scale) => scale.points.length > 0 && scale.points.every((point) => Math.abs(point) <= 10);
const hasMinus = (scale) => isTyped(scale) && scale.points.some((point) => point < 0);

// The value for which a digit stands: itself, and 10 for the 0 of a scale without 0. Points beyond 10 are counted from the
// left, and on a slider a digit is a tenth.
function typed(scale, digit, negative = false) {
  const { minimum, maximum, step, points } = scale;
  const place = (digit + 9) % 10;
  if (!points.length) return minimum + Math.round(((place + 1) * (maximum - minimum)) / 10 / step) * step;
  if (!isTyped(scale)) return points[place];
  const find = (number) => points.find((point) => Math.abs(point - (negative ? -number : number)) < 1e-9);
  return find(digit) ?? (digit === 0 ? find(10) : undefined);
}

export const actions = (about) => {
  const isUsed = (digit) => about.scales.some((scale) => [false, true].some((negative) => typed(scale, digit, negative) !== undefined));
  const digits = DIGITS.filter(isUsed).map((digit) => ({ id: `digit.${digit}`, title: t("answer_digit", { number: digit }), key: String(digit) }));
  if (about.scales.some(hasMinus)) digits.push({ id: "minus", title: t("minus"), key: "-" });
  const rest = [
    { id: "next", title: t("next_question"), key: "n" },
    { id: "previous", title: t("previous_question"), key: "p" },
  ];
  if (about.cannotJudge) rest.push({ id: "skip-scale", title: t("cannot_question"), key: "u" });
  return [...digits, ...rest];
};

export const questions = (about) => about.scales.map((scale) => scale.question);

export function describe({ values = {} }, about) {
  const words = (scale, value) => (value === scale.minimum ? scale.low : value === scale.maximum ? scale.high : "");
  const text = (scale, value) => (value === null ? t("cannot_answer") : [sign(value, scale), words(scale, value)].filter(Boolean).join(" – "));
  return about.scales.filter((scale) => scale.name in values).map((scale) => [scale.question, text(scale, values[scale.name])]);
}

const sign = (point, scale) => (point > 0 && scale.minimum < 0 ? `+${point}` : String(point).replace("-", "−"));

export function mount(root, item, context) {
  const { about, keys, changed } = context;
  const values = {};
  const parts = about.scales.map((scale, at) => (scale.points.length ? choices(scale, at) : slider(scale, at)));
  let current = 0;
  let minus = false; // whether the next digit is negative

  function set(at, value) {
    setMinus(false);
    values[about.scales[at].name] = value;
    parts[at].show(value);
    changed();
  }

  function setMinus(on) {
    minus = on;
    parts.forEach((part, index) => part.box.classList.toggle("minus", on && index === current));
  }

  function go(at) {
    setMinus(false);
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

  function keysFor(scale, point) {
    const [digit, negative] = [false, true].flatMap((sign) => DIGITS.filter((digit) => typed(scale, digit, sign) === point).map((digit) => [digit, sign]))[0] ?? [];
    return digit === undefined ? "" : `${negative ? keys.key("minus") : ""}${keys.key(`digit.${digit}`)}`;
  }

  function choices(scale, at) {
    const inputs = scale.points.map((point, place) => {
      const input = el("input", { type: "radio", name: `scale-${at}`, value: point });
      input.addEventListener("change", () => set(at, point));
      input.addEventListener("focus", () => go(at));
      const key = keysFor(scale, point);
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

  // A long text: its paragraphs beside those of the version, and the questions beside or below them, always in sight.
  const side = item.rows ? el("div", { class: "side" }) : root;
  if (item.rows) root.append(el("div", { class: "document" }, aligned(item.rows, about.direction), side));
  else root.append(el("div", { class: "pair" }, passage(t("original"), item.source, about.direction), passage(t("version"), item.outputs[0], about.direction)));
  const isNarrow = about.scales.some((scale) => scale.points.length > 7);
  side.append(el("div", { class: `scales ${columns(parts.length, isNarrow ? 2 : 3)}` }, ...parts.map((part) => part.box)));
  const earlier = (item.answer ?? item.draft)?.values ?? {};
  about.scales.forEach((scale, at) => scale.name in earlier && ((values[scale.name] = earlier[scale.name]), parts[at].show(earlier[scale.name])));
  const missing = () => about.scales.findIndex((scale) => values[scale.name] === undefined);
  go(Math.max(0, missing()));

  return {
    side,
    payload: () => ({ values: { ...values } }),
    entered: () => Object.values(values).some((value) => value !== undefined),
    problem() {
      const at = missing();
      if (at < 0) return null;
      return { message: t("please_answer", { question: about.scales[at].question }), focus: () => (go(at), parts[at].focus()) };
    },
    act(action) {
      if (action === "minus") {
        if (!hasMinus(about.scales[current])) return false;
        setMinus(!minus);
        return true;
      }
      if (action.startsWith("digit.")) {
        const value = typed(about.scales[current], Number(action.slice(6)), minus);
        setMinus(false);
        if (value === undefined) return false;
        set(current, value);
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

function aligned(rows, direction) {
  const cell = (texts, title) => el("td", { "data-title": texts.length ? title : null }, ...texts.map((text) => el("p", { dir: direction, class: "sentence" }, text)));
  const titles = [t("original"), t("version")];
  return el("table", { class: "aligned" },
    el("thead", {}, el("tr", {}, ...titles.map((title) => el("th", { scope: "col" }, title)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((texts, at) => cell(texts, titles[at]))))));
}
