// The theme follows the system until the person chooses one.
import { storage } from "./storage.js";

const button = document.getElementById("theme");
const system = matchMedia("(prefers-color-scheme: dark)");

function dark() {
  const chosen = storage.get("studio.theme");
  return chosen ? chosen === "dark" : system.matches;
}

function show() {
  document.documentElement.dataset.theme = dark() ? "dark" : "light";
  button.textContent = dark() ? button.dataset.light : button.dataset.dark;
  button.hidden = false;
}

button.addEventListener("click", () => {
  storage.set("studio.theme", dark() ? "light" : "dark");
  show();
});
system.addEventListener("change", show);
show();
