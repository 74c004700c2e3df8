// The dashboard: requests the figures every few seconds and shows them. It computes nothing.
import { el } from "./page.js";

const place = document.getElementById("live");
const base = place.dataset.base;

const number = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "−"));

function tile(name, value) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}

function table(caption, heads, rows) {
  const cell = (kind, content, at) => el(kind, { class: heads[at].number ? "number" : null, scope: kind === "th" ? "col" : null, "data-title": kind === "td" ? heads[at].title : null }, content);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", { class: "stack" }, el("caption", {}, caption),
      el("thead", {}, el("tr", {}, ...heads.map((head, at) => cell("th", head.title, at)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((content, at) => cell("td", content, at)))))));
}

function growth(points) {
  const known = points.filter((point) => point.alpha !== null);
  if (known.length < 2) return "";
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  const line = document.createElementNS(space, "polyline");
  const last = known.at(-1).ratings;
  picture.setAttribute("viewBox", "0 0 100 20");
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("class", "growth");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", known.map((point) => `${point.ratings}: ${number(point.alpha)}`).join(", "));
  line.setAttribute("points", known.map((point) => `${(point.ratings / last) * 100},${20 - Math.max(0, point.alpha) * 20}`).join(" "));
  picture.append(line);
  return picture;
}

function draw(data) {
  const bar = el("progress", { max: Math.max(1, data.wanted), "aria-label": "Answers so far, out of all wanted" });
  bar.value = data.answers;
  const hours = data.hours_left === null ? "–" : data.hours_left < 1 ? `${Math.ceil(data.hours_left * 60)} min` : `${number(data.hours_left, 1)} h`;
  place.replaceChildren(
    bar,
    el("dl", { class: "tiles" },
      tile("Answers", `${data.answers} / ${data.wanted}`), tile("Ratings", String(data.ratings)), tile("Per hour", number(data.pace_per_hour, 0)),
      tile("Left at this pace", hours), tile("Seconds per item", number(data.median_seconds, 1)),
      tile("Cannot judge", data.cannot_judge ? `${data.cannot_judge} (${number(100 * data.cannot_judge_share, 0)} %)` : "0"), tile("Late", String(data.late))),
    el("h2", {}, "Agreement"),
    table("Krippendorff’s alpha with its 95 % interval; 1 is perfect, 0 is chance", [{ title: "Question" }, { title: "Alpha", number: true }, { title: "Interval", number: true }, ...(data.excluded.length ? [{ title: "With the excluded", number: true }] : []), { title: "First half", number: true }, { title: "Second half", number: true }, { title: "Over time" }, { title: "Ratings", number: true }, { title: "Compared", number: true }],
      data.agreement.map((row) => [row.name, number(row.alpha, 3), row.low === null ? "–" : `${number(row.low)} to ${number(row.high)}`, ...(data.excluded.length ? [number(row.alpha_with_excluded, 3)] : []), number(row.first_half), number(row.second_half), growth(row.growth), String(row.ratings), String(row.compared)])),
    ...(data.excluded.length ? [el("p", { class: "notice" }, `Excluded: ${data.excluded.map((row) => `${row.rater} (${row.why})`).join(", ")}. Their answers count in no figure but those under “With the excluded”.`)] : []),
    ...data.rule_changes.map((row) => el("p", { class: "notice" }, `The exclusion rule ${row.rule} was ${row.before} and is ${row.after}: it was changed after the first answer (answers then: ${row.answers}).`)),
    ...(data.self_agreement.length ? [table("Agreement of raters with themselves, on repeated items", [{ title: "Question" }, { title: "Same answer", number: true }, { title: "Alpha", number: true }, { title: "Repeated", number: true }],
      data.self_agreement.map((row) => [row.name, number(row.same), number(row.alpha, 3), String(row.repeated)]))] : []),
    ...(data.preferences.length ? [el("h2", {}, "Preferences"),
      table("Share of comparisons won (a tie is half) and Bradley–Terry strength, with 95 % intervals", [{ title: "System" }, { title: "Win rate", number: true }, { title: "Strength", number: true }, { title: "Wins", number: true }, { title: "Losses", number: true }, { title: "Ties", number: true }, { title: "Best–worst", number: true }],
        data.preferences.map((row) => [row.system, `${number(row.win_rate)} (${number(row.win_rate_low)} to ${number(row.win_rate_high)})`, `${number(row.strength)} (${number(row.strength_low)} to ${number(row.strength_high)})`, String(row.wins), String(row.losses), String(row.ties), number(row.best_worst)]))] : []),
    el("h2", {}, "Raters"),
    table("Distance from the other raters on the same items, in standard deviations", [{ title: "Rater" }, { title: "Answers", number: true }, { title: "Seconds", number: true }, { title: "Distance", number: true }, { title: "Checks", number: true }, { title: "Reasons to look closer" }],
      data.raters.map((row) => [el("a", { href: `${base}/owner/people?search=${row.rater}` }, row.rater), el("a", { href: `${base}/owner/answers?rater=${row.rater}`, "aria-label": `${row.answers} answers of ${row.rater}` }, String(row.answers)), number(row.seconds, 1), number(row.distance), row.checks, el("span", { class: "flag" }, row.reasons.length ? `⚠ ${row.reasons.join("; ")}` : "")])),
    ...(data.precision.length ? [el("h2", {}, "Precision"),
      table("Half-width of the 95 % interval of each mean: now, predicted in an hour, predicted at the end", [{ title: "Question" }, { title: "System" }, { title: "Mean", number: true }, ...(data.excluded.length ? [{ title: "With the excluded", number: true }] : []), { title: "Items", number: true }, { title: "Now ±", number: true }, { title: "In an hour ±", number: true }, { title: "At the end ±", number: true }],
        data.precision.map((row) => [row.dimension, row.system, number(row.mean), ...(data.excluded.length ? [`${number(row.mean_with_excluded)} ± ${number(row.now_with_excluded)}`] : []), String(row.items), number(row.now), number(row.in_an_hour), number(row.at_the_end)]))] : []),
  );
  place.dataset.ready = "yes";
}

async function refresh() {
  try {
    const answer = await fetch(`${base}/api/live`, { credentials: "same-origin" });
    if (answer.ok) {
      const data = await answer.json();
      if (!place.contains(document.activeElement)) draw(data);
    } else if (answer.status === 401) {
      place.replaceChildren(el("p", { class: "notice" }, "Your session has ended. Use a new owner link."));
      return;
    }
  } catch {
    // The next round tries again.
  }
  setTimeout(refresh, 4000);
}

refresh();
