// The theme follows the system until the person chooses one.
const button = document.getElementById("theme");
const system = matchMedia("(prefers-color-scheme: dark)");

function dark() {
  const chosen = localStorage.getItem("studio.theme");
  return chosen ? chosen === "dark" : system.matches;
}

function show() {
  document.documentElement.dataset.theme = dark() ? "dark" : "light";
  button.textContent = dark() ? "Light theme" : "Dark theme";
  button.hidden = false;
}

button.addEventListener("click", () => {
  localStorage.setItem("studio.theme", dark() ? "light" : "dark");
  show();
});
system.addEventListener("change", show);
show();
