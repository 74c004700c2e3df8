// Ranking: the better of two, or the best and the worst of several; ties where the project allows them. The order of the
// versions differs from person to person, and the systems are not known here.
import { columns, el, passage, t } from "./page.js";
import { hint } from "./keys.js";

const LETTERS = "ABCDEFGH";
const WORST_KEYS = "qwertyui"; // On many keyboards each stands below the digit for the best.

export const actions = (about) => {
  const pairwise = about.ranking.method === "pairwise";
  const count = pairwise ? 2 : about.ranking.size;
  const places = (name, title, keys) => Array.from({ length: count }, (_, at) => ({ id: `${name}.${at}`, title: t(title, { letter: LETTERS[at] }), key: keys[at] }));
  const worst = pairwise ? [] : places("worst", "is_worst", WORST_KEYS);
  return [...places("best", pairwise ? "is_better" : "is_best", "12345678"), ...worst, ...(about.ranking.ties ? [{ id: "tie", title: t("tie"), key: "0" }] : [])];
};

export const questions = (about) => [about.ranking.question];

export function describe({ choice = {} }, about) {
  const letter = (name) => t("version_letter", { letter: LETTERS[choice[name]] });
  if (!Object.keys(choice).length) return [];
  if (choice.tie) return [[about.ranking.question, t("tie")]];
  if (about.ranking.method === "pairwise") return [[about.ranking.question, letter("best")]];
  return ["best", "worst"].filter((name) => name in choice).map((name) => [t(name), letter(name)]);
}

export function mount(root, item, context) {
  const { about, keys, changed } = context;
  const { method, ties, question } = about.ranking;
  const wanted = method === "pairwise" ? ["best"] : ["best", "worst"];
  let choice = { ...((item.draft ?? item.answer)?.choice ?? {}) };
  const buttons = [];

  function set(name, at) {
    if (choice.tie) choice = {};
    choice = { ...choice, [name]: at };
    for (const other of wanted) if (other !== name && choice[other] === at) delete choice[other];
    draw();
    changed();
  }

  function draw() {
    for (const { button, name, at } of buttons) button.setAttribute("aria-pressed", String(choice[name] === at));
    tie?.setAttribute("aria-pressed", String(Boolean(choice.tie)));
  }

  const cards = item.outputs.map((text, at) => {
    const row = wanted.map((name) => {
      const words = method === "pairwise" ? t("better") : t(name);
      const button = el("button", { type: "button", "data-choice": `${name}.${at}`, onclick: () => set(name, at) }, el("span", { class: "hidden" }, `${t("version_letter", { letter: LETTERS[at] })}: `), words, " ",
        hint(keys.key(`${name}.${at}`)));
      buttons.push({ button, name, at });
      return button;
    });
    return el("section", { class: "card candidate", "aria-labelledby": `version-${at}` },
      el("h2", { id: `version-${at}` }, t("version_letter", { letter: LETTERS[at] })), el("p", { class: "sentence", dir: about.direction }, text), el("p", { class: "row" }, ...row));
  });
  const tie = ties ? el("button", { type: "button", id: "tie", onclick: () => ((choice = choice.tie ? {} : { tie: true }), draw(), changed()) }, `${t("tie")} `, hint(keys.key("tie"))) : null;
  root.append(passage(t("original"), item.source, about.direction), el("p", {}, el("strong", {}, question)),
    el("div", { class: `candidates ${columns(cards.length)}` }, ...cards), el("p", {}, tie));
  draw();
  const missing = () => (choice.tie ? null : wanted.find((name) => choice[name] === undefined));

  return {
    payload: () => ({ choice: { ...choice } }),
    entered: () => Object.keys(choice).length > 0,
    problem() {
      const name = missing();
      if (!name) return null;
      return { message: t(`choose_${method === "pairwise" ? "better" : name}`), focus: () => buttons.find((choice) => choice.name === name).button.focus() };
    },
    act(action) {
      // Enter on a version's button would press that button; after a choice by key it must save.
      if (buttons.some((choice) => choice.button === document.activeElement)) document.getElementById("submit").focus();
      if (action === "tie") return (choice = { tie: true }), draw(), changed(), true;
      const [name, at] = action.split(".");
      if (!wanted.includes(name) || Number(at) >= item.outputs.length) return false;
      set(name, Number(at));
      return true;
    },
  };
}
