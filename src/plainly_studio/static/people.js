// Select all people of the list at once.
const all = document.getElementById("select-all");

if (all) {
  all.hidden = false;
  all.querySelector("input").addEventListener("change", ({ target }) => {
    for (const box of document.querySelectorAll('input[form="bulk"]')) box.checked = target.checked;
  });
}
