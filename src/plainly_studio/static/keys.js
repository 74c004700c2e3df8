// Shortcuts: shown beside what they do, changed in a dialog, kept in this browser. One-letter keys can be turned off,
// which people who dictate need.
import { t } from "./page.js";
import { storage } from "./storage.js";

const STORE = "studio.keys";

export class Keys extends EventTarget {
  constructor(actions) {
    super();
    this.actions = actions; // [{id, title, key}]
    this.chosen = JSON.parse(storage.get(STORE) || "{}");
  }

  get off() {
    return Boolean(this.chosen["*off"]);
  }

  key(id) {
    const action = this.actions.find((known) => known.id === id);
    return this.chosen[id] ?? action?.key ?? "";
  }

  action(event, scope) {
    if (event.ctrlKey || event.metaKey || event.altKey) return null;
    if (this.off && event.key.length === 1) return null;
    const wanted = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    // The same key may stand for two actions that are never possible at the same time: those of different scopes.
    const fits = (action) => this.key(action.id) === wanted;
    return (this.actions.find((action) => fits(action) && (!action.scope || action.scope.includes(scope))) ?? this.actions.find(fits))?.id ?? null;
  }

  set(id, key) {
    const mine = this.actions.find((known) => known.id === id);
    const meets = (action) => !action.scope || !mine.scope || action.scope.some((side) => mine.scope.includes(side));
    for (const action of this.actions) if (action.id !== id && this.key(action.id) === key && meets(action)) this.chosen[action.id] = "";
    this.chosen[id] = key;
    this.save();
  }

  save() {
    storage.set(STORE, JSON.stringify(this.chosen));
    this.dispatchEvent(new Event("change"));
  }

  dialog(dialog, list, opener) {
    const draw = () => {
      list.replaceChildren(this.switch(draw), ...this.actions.map((action) => this.row(action)));
    };
    opener.addEventListener("click", () => {
      draw();
      dialog.showModal();
    });
    dialog.querySelector("#keys-close").addEventListener("click", () => dialog.close());
    dialog.querySelector("#keys-reset").addEventListener("click", () => {
      this.chosen = {};
      this.save();
      draw();
    });
  }

  switch(draw) {
    const label = document.createElement("label");
    label.className = "check";
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = this.off;
    box.addEventListener("change", () => {
      this.chosen["*off"] = box.checked;
      this.save();
      draw();
    });
    label.append(box, ` ${t("keys_off")}`);
    return label;
  }

  row(action) {
    const row = document.createElement("p");
    row.className = "row";
    const button = document.createElement("button");
    button.type = "button";
    const name = () => keyName(this.key(action.id)) || t("key_none");
    const label = () => button.setAttribute("aria-label", t("key_change", { action: action.title, key: name() }));
    button.textContent = name();
    label();
    button.addEventListener("click", () => {
      button.textContent = t("key_press");
      const take = (event) => {
        if (["Shift", "Control", "Alt", "Meta", "Tab"].includes(event.key)) return;
        event.preventDefault();
        event.stopPropagation();
        button.removeEventListener("keydown", take);
        if (event.key !== "Escape") this.set(action.id, event.key.length === 1 ? event.key.toLowerCase() : event.key);
        button.textContent = name();
        label();
      };
      button.addEventListener("keydown", take);
      button.addEventListener("blur", () => {
        button.removeEventListener("keydown", take);
        button.textContent = name();
      }, { once: true });
    });
    const title = document.createElement("span");
    title.textContent = action.title;
    row.append(button, title);
    return row;
  }
}

export function keyName(key) {
  return { " ": t("space"), ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" }[key] ?? key;
}

export function hint(key) {
  const shown = document.createElement("kbd");
  shown.textContent = keyName(key);
  shown.setAttribute("aria-hidden", "true");
  return shown;
}
