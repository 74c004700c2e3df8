// Helpers with which every task builds its part of the page, and the page's words in the study's language.

const about = document.getElementById("about");
const words = about ? JSON.parse(about.textContent).words : {};

const counts0AsOne = document.documentElement.lang.startsWith("fr");

// t("saving", { count: 3 }): the words of that name with the gaps in braces filled in; null where there are none. With a
// count of one, the words of NAME_one where there are any.
export function t(name, values = {}) {
  const isOne = values.count === 1 || (counts0AsOne && values.count === 0);
  const text = (isOne && words[`${name}_one`]) || words[name];
  return text?.replace(/\{(\w+)\}/g, (_, key) => values[key] ?? "") ?? null;
}

export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function button(text, action, kind = "") {
  return el("button", { type: "button", class: kind, onclick: action }, text);
}

export function passage(title, text, direction, heading = "h2") {
  return el("section", { class: "text" }, el(heading, {}, title), el("p", { dir: direction, class: "sentence" }, text));
}

// The class of a grid whose rows are all full: two or three columns on a wide screen, or one.
export function columns(count, most = 3) {
  const fits = [3, 2].find((number) => number <= most && count % number === 0);
  return fits ? `by-${fits}` : "";
}

export function commentField(value) {
  const field = el("textarea", { id: "comment", rows: 2, maxlength: 4000 });
  field.value = value || "";
  return { field, box: el("div", { class: "comment" }, el("label", { for: "comment" }, t("comment")), field) };
}

export function minutes(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
